"""A kind cluster for fleets of a test's own making, and such fleets, both run by the real Pulumi engine.

The programs run in this process; everything else is as a user has it: `KindCluster`, `Fleet`, the providers.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import pulumi
import pulumi_kubernetes
import yaml
from pulumi import automation

from components.fleet import Fleet, FleetArgs
from config import KindConfig, parse
from providers.kind import KindCluster
from tests.engine.pulumi_stack import PulumiStack, Step, run_stack
from toolchain import engine
from toolchain.environ import environ, settings
from toolchain.layout import HOME

ECHO, SERVER = "envfleet/echo:0.1.0", "envfleet/server:0.1.0"
PYTHON = "/opt/venv/bin/python"  # in the images
INSTANCE = "test"


@dataclass(frozen=True)
class Lab:
    """A running cluster.

    kubeconfig: its administrator's, as YAML; also in a file.
    images: from the name of a local image to the one by which the nodes know it.
    """

    name: str
    kubeconfig: str
    kubeconfig_file: Path
    images: Mapping[str, str]

    @property
    def worker(self) -> str:
        """The name of the worker node, which is that of its container too."""
        return f"{self.name}-worker"

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl as the administrator; its output."""
        cache = self.kubeconfig_file.with_name("cache")  # not in the user's home
        done = subprocess.run(
            ["kubectl", f"--kubeconfig={self.kubeconfig_file}", f"--cache-dir={cache}", *arguments],
            env=environ(),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def apply(self, *objects: Mapping[str, Any]) -> None:
        """Create objects, or change them."""
        self.kubectl("apply", "--filename=-", stdin=yaml.safe_dump_all(objects))


@contextmanager
def container(network: str, *command: str, flags: Sequence[str] = ()) -> Iterator[str]:
    """Run Python in a container on this machine's engine until the `with` block ends; its id."""
    made = engine.docker(
        *("run", "--detach", f"--network={network}", *flags, f"--entrypoint={PYTHON}", ECHO, *command)
    ).strip()
    try:
        yield made
    finally:
        engine.docker("rm", "--force", "--volumes", made)


def machine() -> dict[str, str]:
    """The tools and the engine, but neither state nor passphrase of this clone."""
    return {name: value for name, value in settings().items() if not name.startswith("PULUMI")}


@contextmanager
def run_lab(folder: Path, name: str, **settings: Any) -> Iterator[Lab]:
    """Run a cluster until the `with` block ends."""
    config = KindConfig(provider="kind", name=name, images=[ECHO, SERVER], **settings)

    def program() -> None:
        cluster = KindCluster("cluster", config)
        pulumi.export("kubeconfig", cluster.kubeconfig)
        pulumi.export("images", {image: cluster.image(image) for image in config.images})

    with mock.patch.dict(os.environ, machine()), run_stack(folder, HOME, machine()) as stack:
        stack.up(program)
        outputs = {key: output.value for key, output in stack.automation.outputs().items()}
        file = folder / "kubeconfig"
        file.write_text(outputs["kubeconfig"])
        file.chmod(0o600)
        yield Lab(name, outputs["kubeconfig"], file, outputs["images"])


@dataclass
class LabFleet:
    """A fleet in a namespace of its own on a lab.

    configuration: what the next `up` makes of it, without the cluster.
    """

    lab: Lab
    stack: PulumiStack
    configuration: dict[str, Any] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        return str(self.configuration["namespace"])

    def program(self) -> Callable[[], None]:
        config = parse({"cluster": {"provider": "kind"}, **self.configuration}, INSTANCE, {"secrets"})

        def run() -> None:
            kubeconfig = pulumi.Output.secret(self.lab.kubeconfig)
            provider = pulumi_kubernetes.Provider(
                "lab", kubeconfig=kubeconfig, cluster_identifier=self.lab.name
            )
            Fleet(
                "fleet",
                FleetArgs(config, INSTANCE, kubeconfig, lambda image: self.lab.images.get(image, image)),
                pulumi.ResourceOptions(providers=[provider]),
            )

        return run

    def up(self) -> set[Step]:
        """Bring the fleet up, as it is configured now."""
        return self.stack.up(self.program())

    def fails(self) -> "Failure":
        """Try to, which must fail."""
        started = time.monotonic()
        try:
            self.up()
        except automation.CommandError as error:
            return Failure(str(error), time.monotonic() - started)
        raise AssertionError("`up` succeeded")

    def pods(self) -> dict[str, dict[str, Any]]:
        """The pods of the namespace, by name."""
        listed = json.loads(self.lab.kubectl("get", "pods", f"--namespace={self.namespace}", "--output=json"))
        return {pod["metadata"]["name"]: pod for pod in listed["items"]}


@dataclass(frozen=True)
class Failure:
    """An `up` that failed, what it said, and how long it took in seconds."""

    text: str
    seconds: float

    def about(self, name: str) -> str:
        """What it said about one workload."""
        found = re.search(rf"^ *{name}: .*(?:\n {{4,}}.*)*", self.text, re.MULTILINE)
        assert found, self.text
        return found[0]
