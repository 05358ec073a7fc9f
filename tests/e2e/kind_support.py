"""Stacks of a kind cluster and two ConfigMaps, run by the real `pulumi`, and what docker sees of them."""

import json
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from cli.stack import Stack
from toolchain.layout import ROOT

# The second ConfigMap is deleted with its cluster, as a fleet is; the first is not, as somebody's own object.
PROGRAM = """\
import pulumi
import pulumi_kubernetes as kubernetes

from config import KindConfig
from providers.kind import KindCluster

config = KindConfig(**pulumi.Config("envfleet").require_object("cluster"))
cluster = KindCluster("cluster", config)
images = {str(number): cluster.image(image) for number, image in enumerate(config.images)}
for name, deleted_with in {"alone": None, "with-cluster": cluster.deleted_with}.items():
    kubernetes.core.v1.ConfigMap(
        name,
        metadata={"name": name, "namespace": "default"},
        data={"proof": "yes", **images},
        opts=pulumi.ResourceOptions(provider=cluster.provider, deleted_with=deleted_with),
    )
pulumi.export("kubeconfig", cluster.kubeconfig)
"""
COMMAND_SECONDS = 300


@dataclass(frozen=True)
class Result:
    """A finished command."""

    code: int
    output: str


@dataclass(frozen=True)
class KindStack:
    """One Pulumi stack in a folder of its own, as a user has it."""

    name: str
    folder: Path
    environ: Mapping[str, str]

    @classmethod
    def create(cls, name: str, folder: Path, environ: Mapping[str, str]) -> "KindStack":
        """Make the stack; its cluster is called as the stack."""
        folder.mkdir()
        (folder / "Pulumi.yaml").write_text("name: envfleet\nruntime: python\n")
        (folder / "__main__.py").write_text(PROGRAM)
        stack = cls(name, folder, {**environ, "PYTHONPATH": str(ROOT)})
        assert stack.pulumi("stack", "init", name).code == 0
        stack.configure()
        return stack

    def configure(self, **cluster: object) -> None:
        """Write the configuration anew."""
        file = self.folder / f"Pulumi.{self.name}.yaml"
        settings = yaml.safe_load(file.read_text()) or {}
        settings["config"] = {"envfleet:cluster": {"provider": "kind", "name": self.name, **cluster}}
        file.write_text(yaml.safe_dump(settings))

    def pulumi(self, *arguments: str) -> Result:
        """Run a command to its end."""
        command = ["pulumi", *arguments, "--non-interactive", "--color=never"]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )
        return Result(done.returncode, done.stdout)

    def start_up(self) -> subprocess.Popen[str]:
        """Begin `pulumi up`."""
        return subprocess.Popen(
            ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--color=never"],
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def up(self) -> str:
        """Bring the stack up; its output."""
        result = self.pulumi("up", "--yes", "--skip-preview")
        assert result.code == 0, result.output
        return result.output

    def destroy(self) -> str:
        """Destroy the stack; the output."""
        result = self.pulumi("destroy", "--yes", "--skip-preview")
        assert result.code == 0, result.output
        return result.output

    def recover(self) -> None:
        """Free the stack of what a killed `pulumi` left in the backend, as `envfleet up` does."""
        environ = dict(self.environ)
        with (
            mock.patch("cli.stack.ROOT", self.folder),
            mock.patch("cli.stack.environ", return_value=environ),
        ):
            Stack(self.name).select()

    def preview(self) -> dict[str, dict[str, Any]]:
        """The planned steps that change something, by the resource's name."""
        result = subprocess.run(
            ["pulumi", "preview", "--json"],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        steps = json.loads(result.stdout)["steps"]
        return {step["urn"].rsplit("::", 1)[-1]: step for step in steps if step["op"] != "same"}

    def export(self) -> dict[str, Any]:
        """The state, as `pulumi stack export` shows it."""
        return dict(json.loads(self.pulumi("stack", "export").output))

    def kubeconfig(self) -> str:
        """The stack's own."""
        return self.pulumi("stack", "output", "kubeconfig", "--show-secrets").output


def kubeconfig_of_others(port: int) -> str:
    """A kubeconfig that leads to a port of this machine."""
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "theirs", "cluster": {"server": f"https://127.0.0.1:{port}"}}],
            "users": [{"name": "theirs", "user": {"token": "theirs"}}],
            "contexts": [{"name": "theirs", "context": {"cluster": "theirs", "user": "theirs"}}],
            "current-context": "theirs",
        }
    )


def docker(environ: Mapping[str, str], *arguments: str) -> str:
    """Run docker; its output."""
    return subprocess.run(
        ["docker", *arguments], env=environ, capture_output=True, text=True, check=True
    ).stdout.strip()


def nodes(environ: Mapping[str, str], cluster: str) -> dict[str, str]:
    """The state of each container of a cluster, by its full id."""
    listed = docker(
        environ,
        *("ps", "--all", "--no-trunc", "--format", "{{.ID}} {{.State}}"),
        *("--filter", f"label=io.x-k8s.kind.cluster={cluster}"),
    )
    return dict(line.split() for line in listed.splitlines())


def network(environ: Mapping[str, str], cluster: str) -> str:
    """The docker network of a cluster, or nothing if it has no containers."""
    listed = docker(
        environ, "ps", "--all", "--format={{.Networks}}", f"--filter=label=io.x-k8s.kind.cluster={cluster}"
    )
    return "".join(set(listed.splitlines()))


def address(environ: Mapping[str, str], cluster: str) -> str:
    """The address of a cluster's first control plane node, while it runs."""
    fields = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    return docker(environ, "inspect", f"--format={fields}", f"{cluster}-control-plane")


def on_node(environ: Mapping[str, str], cluster: str, *command: str) -> str:
    """Run a command on a cluster's first control plane node."""
    return docker(environ, "exec", f"{cluster}-control-plane", *command)


def config_maps(environ: Mapping[str, str], cluster: str) -> set[str]:
    """The names of the ConfigMaps in the default namespace, less Kubernetes' own."""
    listed = on_node(
        environ,
        cluster,
        *("kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "--namespace=default"),
        *("get", "configmaps", "--output=name"),
    )
    return {line.removeprefix("configmap/") for line in listed.splitlines()} - {"kube-root-ca.crt"}


def wait_until(happened: Any, seconds: float, what: str) -> None:
    """Wait for something, a tenth of a second at a time."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.1)


def local_image(environ: Mapping[str, str], reference: str, content: bytes, folder: Path) -> None:
    """Make a small image that differs by its content."""
    (folder / "content").write_bytes(content)
    archive = folder / "image.tar"
    subprocess.run(["tar", "-C", folder, "-cf", archive, "content"], check=True)
    docker(environ, "import", os.fspath(archive), reference)
