"""A fleet on a given cluster, brought up as `envfleet` does: its own code, the real Pulumi and language host.

The cluster is in the state before the fleet, as it is in all but a stack's first `up`.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import yaml

from cli.stack import Stack
from toolchain import layout

CLUSTER = """\
import gc
import json

import pulumi
import pulumi_kubernetes as kubernetes

from components.fleet import Fleet, FleetArgs
from config import load

gc.disable()  # as __main__.py
with open("cluster.json") as file:
    cluster = json.load(file)
kubeconfig = pulumi.Output.secret(cluster["kubeconfig"])
provider = kubernetes.Provider(
    "cluster",
    kubeconfig=kubeconfig,
    cluster_identifier="given",
    kube_client_settings=kubernetes.KubeClientSettingsArgs(qps=100, burst=200, timeout=60),
)
"""
FLEET = """\
fleet = Fleet(
    "fleet",
    FleetArgs(load(), pulumi.get_stack(), kubeconfig, lambda image: cluster["images"].get(image, image)),
    pulumi.ResourceOptions(providers=[provider]),
)
pulumi.export("kubeconfig", kubeconfig)
pulumi.export("namespace", fleet.namespace)
pulumi.export("instance", fleet.instance)
pulumi.export("environments", fleet.environments)
"""


@dataclass(frozen=True)
class CliStack:
    """A stack in a folder of its own, which is its project. Its fleet is in the namespace of its name."""

    folder: Path
    name: str
    environ: Mapping[str, str]

    def configure(self, raw: Mapping[str, object]) -> None:
        """Write the configuration of the next `up`."""
        file = self.folder / f"Pulumi.{self.name}.yaml"
        kept = yaml.safe_load(file.read_text()) if file.exists() else {}
        config = {f"envfleet:{key}": value for key, value in {**raw, "namespace": self.name}.items()}
        file.write_text(yaml.safe_dump({**kept, "config": config}))

    @contextmanager
    def selected(self) -> Iterator[Stack]:
        """The stack as `envfleet` has it when it runs Pulumi."""
        with (
            mock.patch("cli.stack.ROOT", self.folder),
            mock.patch("cli.stack.environ", return_value=dict(self.environ)),
            mock.patch("cli.unsaved.HOME", self.folder),
        ):
            stack = Stack(self.name)
            stack.select()
            yield stack

    def up(self, *options: str) -> None:
        """Bring the stack up as `envfleet up` does."""
        with self.selected() as stack:
            stack.up(*options)

    def pulumi(self, command: str, *options: str) -> None:
        """Run another Pulumi command as `envfleet` does."""
        with self.selected() as stack:
            stack.pulumi(command, "--stack", self.name, *options)


def make(
    folder: Path,
    name: str,
    kubeconfig: str,
    home: Path,
    *,
    raw: Mapping[str, object],
    images: Mapping[str, str] | None = None,
) -> CliStack:
    """Make a stack in an empty folder whose state has the cluster, but not yet the fleet that is configured.

    home: of the user.
    images: from the name of a local image to the one by which the nodes know it.
    """
    project, state, pulumi = (folder / part for part in ("project", "state", "pulumi"))
    for path in (project, state, pulumi):
        path.mkdir()
    (pulumi / "plugins").symlink_to(layout.PULUMI_HOME / "plugins")
    (project / ".venv").symlink_to(layout.VENV)
    (project / "Pulumi.yaml").write_text(
        "name: envfleet\nruntime: {name: python, options: {virtualenv: .venv}}\n"
    )
    (project / "cluster.json").write_text(json.dumps({"kubeconfig": kubeconfig, "images": images or {}}))
    environ = {
        "PATH": os.pathsep.join([str(layout.BIN), str(layout.VENV / "bin"), os.defpath]),
        "HOME": str(home),
        "PULUMI_HOME": str(pulumi),
        "PULUMI_BACKEND_URL": state.as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": "test",
        "PULUMI_DEBUG_COMMANDS": "true",  # which has `--event-log`
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PYTHONPATH": str(layout.ROOT),
    }
    made = CliStack(project, name, environ)
    made.configure(raw)
    program = project / "__main__.py"
    program.write_text(CLUSTER)
    made.up()
    program.write_text(CLUSTER + FLEET)
    return made
