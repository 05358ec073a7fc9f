"""The container engine as kind uses it, through the docker CLI.

kind can't label its containers, so a cluster is marked by the docker network all its containers are on:
its name holds the random owner id that the stack's state holds. The mark is there from a container's first
moment, and with it a half-made cluster of ours is told from anyone else's cluster of the same name.
"""

import json
import os
import subprocess
import time
from dataclasses import dataclass

from toolchain.layout import BIN

CLUSTER_LABEL = "io.x-k8s.kind.cluster"
ROLE_LABEL = "io.x-k8s.kind.role"


class KindError(Exception):
    """Something the user has to know about, said in one message with its remedy."""

    # Pulumi shows the name with its module, unless it is a built-in one.
    __module__ = "builtins"


class CommandError(KindError):
    """A command failed or ran out of time; `output` is all it printed."""

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output


@dataclass(frozen=True)
class Container:
    """A container of some kind cluster: a node, or the load balancer before several control planes."""

    id: str
    name: str
    role: str
    running: bool


@dataclass(frozen=True)
class Engine:
    """What of the engine decides how a cluster is configured."""

    cgroup_version: int
    default_runtime: str


def run(*command: str, timeout: float = 120, stdin: str = "", **environ: str) -> str:
    """Run a command and return what it wrote to stdout, without surrounding blanks.

    Args:
        command: Program and arguments.
        timeout: Seconds after which the command is killed.
        stdin: Text for its standard input.
        environ: Variables to add to its environment.

    Raises:
        CommandError: It failed, or took longer than `timeout`.
        KindError: The program is not installed.
    """
    environment = {**os.environ, **environ, "PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", "")])}

    def text(*streams: bytes | None) -> str:
        return b"".join(stream or b"" for stream in streams).decode(errors="replace").strip()

    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            env=environment,
            input=stdin.encode(),
            timeout=timeout,
        )
    except FileNotFoundError:
        raise KindError(f"`{command[0]}` is not installed. Run `make up`, or put it on PATH.") from None
    except subprocess.TimeoutExpired as expired:
        message = f"`{' '.join(command[:3])}` took longer than {timeout:.0f} s"
        raise CommandError(message, text(expired.stdout, expired.stderr)) from None
    if done.returncode == 0:
        return text(done.stdout)
    output = text(done.stdout, done.stderr)
    if "Cannot connect to the Docker daemon" in output or "error during connect" in output:
        raise KindError("no container engine answers. Start Docker, or run `make up`, then try again.")
    raise CommandError(output.splitlines()[-1] if output else f"`{command[0]}` failed without a word", output)


def network(owner: str) -> str:
    """The docker network, and mark, of the cluster that belongs to `owner`."""
    return f"envfleet-{owner}"


def owned(owner: str) -> list[Container]:
    """Every container of the owner's cluster, also stopped and half-made ones."""
    return _containers(f"label={CLUSTER_LABEL}", f"network={network(owner)}")


def named(cluster: str) -> list[Container]:
    """Every container of the cluster of this name, whoever owns it."""
    return _containers(f"label={CLUSTER_LABEL}={cluster}")


def _containers(*filters: str) -> list[Container]:
    layout = f'{{{{.ID}}}}\t{{{{.Names}}}}\t{{{{.Label "{ROLE_LABEL}"}}}}\t{{{{.State}}}}'
    selected = [argument for one in filters for argument in ("--filter", one)]
    listed = run("docker", "ps", "--all", "--no-trunc", "--format", layout, *selected)
    rows = (line.split("\t") for line in listed.splitlines())
    return [Container(id_, name, role, state == "running") for id_, name, role, state in rows]


def remove(owner: str, timeout: float = 120) -> None:
    """Remove the owner's containers, their volumes and their network; fine if there are none.

    Raises:
        KindError: A container is still there after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while left := owned(owner):
        try:
            run("docker", "rm", "--force", "--volumes", *(container.id for container in left))
        except CommandError as failed:
            # Another removal of the same container may be under way: look again.
            if time.monotonic() > deadline:
                raise KindError(f"can't remove container {left[0].name}: {failed}") from None
            time.sleep(0.5)
    try:
        run("docker", "network", "rm", network(owner))
    except CommandError as failed:
        # A network that others have joined since stays theirs.
        harmless = ("not found", "no such network", "active endpoints")
        if not any(reason in failed.output.lower() for reason in harmless):
            raise


def engine() -> Engine:
    """The running engine.

    Raises:
        KindError: None answers.
    """
    # `docker info` exits 0 where the daemon does not answer; `version` tells.
    run("docker", "version", "--format", "{{.Server.Version}}")
    info = json.loads(run("docker", "info", "--format", "{{json .}}"))
    return Engine(int(info["CgroupVersion"]), info["DefaultRuntime"])


def image_id(reference: str) -> str | None:
    """The ID (`sha256:…`) of an image in the engine, or None if it is not there."""
    try:
        return run("docker", "image", "inspect", "--format", "{{.Id}}", reference)
    except CommandError as failed:
        if "no such image" in failed.output.lower():
            return None
        raise
