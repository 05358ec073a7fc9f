"""What is on this machine: to see what a command left behind."""

import time
from pathlib import Path

import psutil

from toolchain import daemon, engine, traces
from toolchain.progress import StepError

# Where programs leave files, and how deep to look. The clone's user has another home and $TMPDIR, which are
# looked through completely; this is for what ignores $HOME, or is for all users. /tmp is left to others.
PLACES = {
    Path("/"): ("etc/*", "etc/*/*", "opt/*", "opt/*/*", "run/*", "run/*/*", "usr/local/*/*", "var/lib/*"),
    Path.home(): (".*", ".docker/*", ".kube/*", ".pulumi/*"),
}
KIND_LABEL = "io.x-k8s.kind.cluster"


def inventory(root: Path, prefix: str) -> set[str]:
    """Files, processes, and docker's objects or, without an engine, links and kernel settings; each as text.

    Of processes only those of the clone under `root` count, and of kind clusters only those whose name begins
    with `prefix`: others may come and go on this machine.
    """
    found = _files() | _processes(root)
    if engine_runs():
        # What belongs to the engine itself comes and goes with containers.
        engines = {f"file {path}" for path in (*traces.FOLDERS, *daemon.RUN.glob("*"))}
        return (found - engines) | {"container engine"} | _docker_objects(prefix)
    links = {f"link {name}" for name in psutil.net_if_stats()}
    return found | links | {f"sysctl {name} = {traces.sysctl(name)}" for name in traces.SYSCTLS}


def engine_runs() -> bool:
    """Whether a container engine answers, also if another process has started or stopped it."""
    engine.docker_host.cache_clear()
    try:
        engine.docker_host()
    except StepError:
        return False
    return True


def left_behind(before: set[str], root: Path, prefix: str, seconds: float = 30) -> set[str]:
    """What was not there before and stays; what is only on its way out is given some seconds."""
    deadline = time.monotonic() + seconds
    while (left := inventory(root, prefix) - before) and time.monotonic() < deadline:
        time.sleep(1)
    return left


def _files() -> set[str]:
    return {
        f"file {path}"
        for top, patterns in PLACES.items()
        for pattern in patterns
        for path in top.glob(pattern)
    }


def _processes(root: Path) -> set[str]:
    found = set()
    for process in psutil.process_iter():
        try:
            marks = [*process.cmdline(), process.environ().get("HOME", "")]
        except psutil.Error:  # it has ended, or is another user's
            continue
        if any(str(root) in mark for mark in marks):
            found.add(f"process {process.pid}: {' '.join(marks)}")
    return found


def _docker_objects(prefix: str) -> set[str]:
    """Containers, and the networks and volumes that no container uses."""
    layout = f'{{{{.Label "{KIND_LABEL}"}}}}\t{{{{.ID}}}} {{{{.Image}}}} {{{{.Names}}}}'
    rows = (line.split("\t") for line in engine.docker("ps", "--all", "--format", layout).splitlines())
    containers = {container for cluster, container in rows if not cluster or cluster.startswith(prefix)}
    unused = ("ls", "--quiet", "--filter=dangling=true")
    return (
        {f"container {container}" for container in containers}
        | {f"network {network}" for network in engine.docker("network", *unused).split()}
        | {f"volume {volume}" for volume in engine.docker("volume", *unused).split()}
    )
