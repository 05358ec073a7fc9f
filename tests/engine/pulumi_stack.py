"""One isolated Pulumi stack under the real engine, and what an operation did as plain data."""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pulumi import automation

from toolchain.layout import ROOT

PROJECT = "envfleet"
STACK = "test"
Program = Callable[[], None]


class Step(NamedTuple):
    """What the engine did, or would do, to one resource."""

    op: str  # "create", "update", "delete", "replace", …
    type: str  # "kubernetes:core/v1:Pod"
    name: str  # the last part of the URN


@dataclass(frozen=True)
class PulumiStack:
    """A stack with its own home, state and passphrase.

    Operations run an inline program: no language host, and breakpoints work. They return the set of
    steps other than "same", and raise `automation.CommandError` when the engine fails.
    """

    automation: automation.Stack

    def preview(self, program: Program) -> set[Step]:
        """Return what `up` would do."""
        return _recorded(self.automation.preview, program=program)

    def up(self, program: Program) -> set[Step]:
        """Update the stack, as `envfleet up` does, and return what was done."""
        return _recorded(self.automation.up, program=program, continue_on_error=True)

    def destroy(self) -> set[Step]:
        """Delete every resource and return what was deleted."""
        return _recorded(self.automation.destroy)

    def exported_state(self) -> str:
        """Return what `pulumi stack export` prints; the Automation API's own export shows secrets."""
        workspace = self.automation.workspace
        environment = {"PULUMI_HOME": str(workspace.pulumi_home), **workspace.env_vars}
        command = ["stack", "export", "--stack", self.automation.name]
        return workspace.pulumi_command.run(command, workspace.work_dir, environment).stdout


@contextmanager
def run_stack(directory: Path, toolchain: Path, environment: Mapping[str, str]) -> Iterator[PulumiStack]:
    """Create a stack inside the empty `directory`; destroy what it deployed in the end.

    `toolchain` is a directory with `bin/pulumi` and `pulumi/plugins`.
    `environment` is added to that of the `pulumi` processes.
    """
    home, state, work = (directory / part for part in ("home", "state", "work"))
    for path in (home, state, work):
        path.mkdir()
    (home / "plugins").symlink_to(toolchain / "pulumi" / "plugins")
    stack = PulumiStack(
        automation.create_stack(
            STACK,
            project_name=PROJECT,
            program=lambda: None,
            opts=automation.LocalWorkspaceOptions(
                work_dir=str(work),
                pulumi_home=str(home),
                pulumi_command=automation.PulumiCommand(root=str(toolchain)),
                project_settings=automation.ProjectSettings(name=PROJECT, runtime="python", main=str(work)),
                env_vars={
                    "PULUMI_BACKEND_URL": state.as_uri(),
                    "PULUMI_CONFIG_PASSPHRASE": "test",
                    "PULUMI_SKIP_UPDATE_CHECK": "true",
                    "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
                    "PULUMI_IGNORE_AMBIENT_PLUGINS": "true",  # that are on PATH
                    # Dynamic providers are our modules, in a process of this Python.
                    "PULUMI_RUNTIME_VIRTUALENV": sys.prefix,
                    "PYTHONPATH": str(ROOT),
                    **environment,
                },
            ),
        )
    )
    try:
        yield stack
    finally:
        stack.destroy()


def _recorded(operation: Callable[..., object], **arguments: object) -> set[Step]:
    """Run an operation of the Automation API and return its steps other than "same"."""
    steps: set[Step] = set()

    def record(event: automation.EngineEvent) -> None:
        if event.resource_pre_event and event.resource_pre_event.metadata.op != automation.OpType.SAME:
            metadata = event.resource_pre_event.metadata
            steps.add(Step(metadata.op.value, metadata.type, metadata.urn.rsplit("::", 1)[-1]))

    try:
        operation(on_event=record, **arguments)
    except automation.CommandError:
        # Coroutines of the aborted program, if collected later, could do so while pytest parses the source
        # of the failed test, which ends the whole run (pytest-dev/pytest#10763).
        gc.collect()
        raise
    return steps
