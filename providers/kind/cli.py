"""The kind CLI: create a cluster, wait for its nodes, load images into them.

Every call gets a kubeconfig of its own in a temporary directory, so the user's is never read or written.
"""

import json
import re
import time
from pathlib import Path

from providers.kind import engine
from providers.kind.engine import CommandError, Container, KindError, run
from providers.kind.spec import ClusterInputs, kind_config
from toolchain.layout import VERSIONS
from toolchain.scratch import scratch

_KUBECTL = ("kubectl", "--kubeconfig=/etc/kubernetes/admin.conf")
_NOT_READY = '{range .items[*]}{.metadata.name}: {.status.conditions[?(@.type=="Ready")].message}{"\\n"}{end}'
# What went wrong, as the tools say it -> what the user can do about it.
_REMEDIES = {
    r"port is already allocated|address already in use|ports are not available": (
        "a host port is taken: stop what listens on it, or choose another host_port in "
        "envfleet:cluster.port_mappings"
    ),
    r"no space left on device": "the disk is full: free some space (`docker system df` shows who uses it)",
    r"failed to pull image|Unable to find image": (
        "an image is not in the container engine and can't be pulled: check "
        "envfleet:cluster.node_image, or leave it out and run `make images`"
    ),
    r"too many open files": "raise fs.inotify.max_user_watches and fs.inotify.max_user_instances",
    r"took longer than|timed out waiting for the condition": (
        "not ready in time: see below what is missing, or raise envfleet:cluster.ready_timeout_seconds"
    ),
}
_NOISE = re.compile(r"WARNING: |using docker due to|cgroup v1 is deprecated|Run 'docker run --help'")
_LINES_SHOWN = 12


def require() -> None:
    """Check that this machine can make clusters.

    Raises:
        KindError: No container engine answers, or kind is not installed.
    """
    engine.engine()
    run("kind", "version")


def default_node_image() -> str:
    """The pinned node image where the engine has it, else the one built on this machine.

    Raises:
        KindError: The engine has neither.
    """
    candidates = [VERSIONS["node-image"]["reference"], VERSIONS["node-image"]["local"]]
    for reference in candidates:
        if engine.image_id(reference):
            return str(reference)
    raise KindError(
        f"no kind node image: the engine has neither {' nor '.join(candidates)}. Run `make images`."
    )


def create(inputs: ClusterInputs, owner: str, image: str) -> str:
    """Create a cluster, wait until every node is Ready, and return its kubeconfig.

    On any failure nothing of it is left.

    Raises:
        KindError: It could not be created, with the reason and the remedy.
    """
    limit = inputs["ready_timeout_seconds"]
    deadline = time.monotonic() + limit
    running = engine.engine()
    config = kind_config(inputs, image, running.cgroup_version, running.default_runtime)
    try:
        with scratch("kind") as folder:
            kubeconfig = folder / "kubeconfig"
            run(
                # `--retain`, since kind cleans up by name, whoever made it; we do it by owner.
                *("kind", "create", "cluster", f"--kubeconfig={kubeconfig}", "--config=-", "--retain"),
                stdin=json.dumps(config),
                timeout=limit,
                **_environ(folder, KIND_EXPERIMENTAL_DOCKER_NETWORK=engine.network(owner)),
            )
            wait_ready(owner, deadline)
            return kubeconfig.read_text()
    except CommandError as failed:
        engine.remove(owner)
        raise KindError(f"can't create kind cluster {inputs['name']!r}: {explain(failed)}") from None
    except BaseException:
        engine.remove(owner)
        raise


def wait_ready(owner: str, deadline: float) -> None:
    """Wait until every node of the cluster is Ready.

    Args:
        owner: Whose cluster.
        deadline: Until when, as of `time.monotonic()`.

    Raises:
        CommandError: Some are not by then; its output names them.
    """
    node = _control_plane(owner)
    while True:
        left = max(1, int(deadline - time.monotonic()))
        wait = (*_KUBECTL, "wait", "--for=condition=Ready", "nodes", "--all", f"--timeout={left}s")
        try:
            run("docker", "exec", node.id, *wait, timeout=left + 10)
        except CommandError as failed:
            # After a restart the API server itself takes a while to answer.
            if time.monotonic() < deadline:
                time.sleep(1)
                continue
            raise CommandError(str(failed), _why_not_ready(node) or failed.output) from None
        else:
            return


def start(owner: str, timeout: float) -> None:
    """Start the stopped containers of a cluster and wait up to `timeout` seconds until its nodes are Ready.

    Raises:
        KindError: They don't start, or are not Ready in time.
    """
    deadline = time.monotonic() + timeout
    try:
        for container in engine.owned(owner):
            if not container.running:
                run("docker", "start", container.id)
        wait_ready(owner, deadline)
    except CommandError as failed:
        raise KindError(f"the cluster's nodes were stopped and don't come back: {explain(failed)}") from None


def load_image(cluster: str, owner: str, source: str, image_id: str, reference: str) -> None:
    """Load a local image into all nodes of a cluster, and name it `reference` there.

    Raises:
        KindError: The image is no longer the one with `image_id`, or it can't be loaded.
    """
    try:
        with scratch("kind") as folder:
            run(
                *("kind", "load", "docker-image", f"--name={cluster}", source),
                timeout=600,
                **_environ(folder),
            )
        if engine.image_id(source) != image_id:
            raise KindError(
                f"image {source} was built anew while it was being loaded. Run the same command again."
            )
        tag = ("ctr", "--namespace=k8s.io", "images", "tag", "--force")
        for container in engine.owned(owner):
            if container.role in {"control-plane", "worker"}:
                run("docker", "exec", container.id, *tag, qualified(source), qualified(reference))
    except CommandError as failed:
        raise KindError(f"can't load image {source} into {cluster!r}: {explain(failed)}") from None


def qualified(reference: str) -> str:
    """The full name of an image, as containerd needs it: with its registry."""
    registry, slash, _ = reference.partition("/")
    if not slash:
        return f"docker.io/library/{reference}"
    is_host = "." in registry or ":" in registry or registry == "localhost"
    return reference if is_host else f"docker.io/{reference}"


def explain(failed: CommandError) -> str:
    """What a failed command means: the remedy where it is known, then the last lines of its output."""
    everything = f"{failed}\n{failed.output}"
    remedy = next(
        (text for pattern, text in _REMEDIES.items() if re.search(pattern, everything)), str(failed)
    )
    output = failed.output.partition("ERROR: ")[2] or failed.output
    lines = [line for line in output.splitlines() if line.strip() and not _NOISE.match(line)]
    # kind repeats whole `docker run` command lines.
    return "\n  ".join([remedy, *(line[:300] for line in lines[-_LINES_SHOWN:])])


def _control_plane(owner: str) -> Container:
    for container in engine.owned(owner):
        if container.role == "control-plane":
            return container
    raise KindError("kind created no control plane node that carries our mark")


def _why_not_ready(node: Container) -> str:
    try:
        return run("docker", "exec", node.id, *_KUBECTL, "get", "nodes", "--output", f"jsonpath={_NOT_READY}")
    except CommandError:
        return ""


def _environ(folder: Path, **more: str) -> dict[str, str]:
    return {
        "KUBECONFIG": str(folder / "kubeconfig"),
        "TMPDIR": str(folder),
        "KIND_EXPERIMENTAL_PROVIDER": "docker",
        **more,
    }
