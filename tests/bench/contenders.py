"""Ways to bring the same objects up, what each does when nothing changed, and how it takes them away."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml

from tests.bench.timeline import Timeline, followed
from tests.engine.cli_stack import CliStack, make
from toolchain import layout

_WAIT_SECONDS = 600
# Awaits each object by itself, as Pulumi does unless it is told otherwise.
_NAIVE = """\
import importlib
import json

import pulumi
import pulumi_kubernetes as kubernetes

with open("cluster.json") as file:
    cluster = json.load(file)
with open("objects.json") as file:
    objects = json.load(file)
provider = kubernetes.Provider("cluster", kubeconfig=pulumi.Output.secret(cluster["kubeconfig"]))
namespace = None
for item in objects:
    group, _, version = item.pop("apiVersion").rpartition("/")
    module = importlib.import_module(f"pulumi_kubernetes.{(group or 'core').split('.')[0]}.{version}")
    kind = item.pop("kind")
    properties = {"role_ref" if key == "roleRef" else
                  "automount_service_account_token" if key == "automountServiceAccountToken" else key: value
                  for key, value in item.items()}
    depends = [namespace] if namespace else []
    options = pulumi.ResourceOptions(provider=provider, depends_on=depends)
    made = getattr(module, kind)(f"{kind}-{item['metadata']['name']}", **properties, opts=options)
    namespace = namespace or made
"""


@dataclass(frozen=True)
class Target:
    """A cluster to run on.

    folder: for files, of this run alone.
    home: of the user.
    images: from the name of a local image to the one by which the nodes know it.
    """

    folder: Path
    home: Path
    kubeconfig: str
    images: Mapping[str, str]

    def run(self, *command: str) -> None:
        """Run a program of the toolchain on the cluster, quietly."""
        file = self.folder / "kubeconfig"
        file.touch(mode=0o600)
        file.write_text(self.kubeconfig)
        environ = {
            "PATH": os.pathsep.join([str(layout.BIN), os.defpath]),
            "HOME": str(self.home),
            "KUBECONFIG": str(file),
        }
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"


class Contender(Protocol):
    """One way. `timeline` is of the last `up`, where it can be had."""

    label: str
    timeline: Timeline | None

    def up(self) -> None:
        """Create all objects, and wait until they are ready."""

    def preview(self) -> None:
        """Say that nothing is to be done."""

    def again(self) -> None:
        """Do nothing, since nothing changed."""

    def down(self) -> None:
        """Remove everything."""


class Kubectl:
    """`kubectl apply`, then `kubectl wait`."""

    label = "kubectl apply + wait"
    timeline = None

    def __init__(self, target: Target, objects: Sequence[Mapping[str, Any]]) -> None:
        self._target = target
        self._namespace = objects[0]["metadata"]["name"]
        self._file = target.folder / "objects.yaml"
        self._file.write_text(yaml.dump_all(objects, Dumper=yaml.CSafeDumper))

    def up(self) -> None:
        self._target.run("kubectl", "apply", f"--filename={self._file}")
        wait = ("kubectl", "wait", f"--namespace={self._namespace}", f"--timeout={_WAIT_SECONDS}s")
        self._target.run(*wait, "--for=condition=Ready", "pods", "--all")
        self._target.run(*wait, "--for=condition=Available", "deployments", "--all")

    def preview(self) -> None:
        self._target.run("kubectl", "diff", f"--filename={self._file}")

    again = up

    def down(self) -> None:
        self._target.run("kubectl", "delete", f"--filename={self._file}", "--wait")


class Helm:
    """`helm install --wait` of a chart without templates; the namespace is there before."""

    label = "helm install --wait"
    timeline = None

    def __init__(self, target: Target, objects: Sequence[Mapping[str, Any]]) -> None:
        namespace, *rest = objects
        self._target = target
        self._namespace = namespace["metadata"]["name"]
        self._first = target.folder / "namespace.yaml"
        self._first.write_text(yaml.safe_dump(namespace))
        self._chart = target.folder / "chart"
        (self._chart / "templates").mkdir(parents=True)
        (self._chart / "Chart.yaml").write_text("apiVersion: v2\nname: fleet\nversion: 0.1.0\n")
        (self._chart / "templates" / "fleet.yaml").write_text(yaml.dump_all(rest, Dumper=yaml.CSafeDumper))
        target.run("kubectl", "apply", f"--filename={self._first}")

    def _helm(self, command: str, *options: str) -> None:
        self._target.run("helm", command, "fleet", f"--namespace={self._namespace}", *options)

    def up(self) -> None:
        self._helm("install", str(self._chart), "--wait", f"--timeout={_WAIT_SECONDS}s")

    def preview(self) -> None:
        self._helm("upgrade", str(self._chart), "--dry-run=server")

    def again(self) -> None:
        self._helm("upgrade", str(self._chart), "--wait", f"--timeout={_WAIT_SECONDS}s")

    def down(self) -> None:
        self._helm("uninstall", "--wait")
        self._target.run("kubectl", "delete", f"--filename={self._first}", "--wait")


class Envfleet:
    """What `envfleet up` runs, but for its look at tools and images, and the table at the end."""

    label = "envfleet up"

    def __init__(self, target: Target, name: str, raw: Mapping[str, object]) -> None:
        folder = target.folder / name
        folder.mkdir()
        self._stack = make(folder, name, target.kubeconfig, target.home, raw=raw, images=target.images)
        self._log = folder / "events"
        self.timeline: Timeline | None = None

    def up(self) -> None:
        with followed(self._log) as self.timeline:
            self._up(self._stack, "--event-log", str(self._log))

    def _up(self, stack: CliStack, *options: str) -> None:
        stack.up(*options)

    def preview(self) -> None:
        self._stack.pulumi("preview", "--diff")

    def again(self) -> None:
        self._stack.up()

    def down(self) -> None:
        with self._stack.selected() as stack:
            stack.destroy()


class WithCheckpoints(Envfleet):
    """The same, but the state is saved at each step."""

    label = "the same with checkpoints"

    def _up(self, stack: CliStack, *options: str) -> None:
        stack.pulumi("up", "--yes", "--skip-preview", *options)


class Naive:
    """A Pulumi program of the same objects, and nothing else."""

    label = "pulumi, naively"
    timeline = None

    def __init__(
        self, target: Target, objects: Sequence[Mapping[str, Any]], raw: Mapping[str, object]
    ) -> None:
        folder = target.folder / "naive"
        folder.mkdir()
        self._stack = make(folder, "naive", target.kubeconfig, target.home, raw=raw)
        (self._stack.folder / "objects.json").write_text(json.dumps(objects))
        (self._stack.folder / "__main__.py").write_text(_NAIVE)

    def up(self) -> None:
        self._stack.pulumi("up", "--yes", "--skip-preview")

    again = up

    def preview(self) -> None:
        self._stack.pulumi("preview")

    def down(self) -> None:
        self._stack.pulumi("destroy", "--yes", "--skip-preview")
