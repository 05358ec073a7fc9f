"""Our own container engine: Debian's dockerd, unpacked under `.envfleet/` and not installed.

Its socket is at a fixed place, so every clone on the machine shares it. From its first start until the
machine is as it was again there is `BEFORE`, also if it is killed: whoever comes next goes on from there.
"""

import fcntl
import http.client
import json
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

import psutil

from toolchain import debian, traces
from toolchain.layout import HOME
from toolchain.progress import StepError, console, run, step

RUN = Path("/run/envfleet")
SOCKET = RUN / "docker.sock"
HOST = f"unix://{SOCKET}"
PIDFILE = RUN / "dockerd.pid"
EXEC_ROOT = RUN / "exec"
# How the machine was, and the `.envfleet/` whose packages and data the daemon uses.
BEFORE = RUN / "before.json"
LOCK = RUN / "lock"
OTHER_SOCKET = Path("/var/run/docker.sock")
RUNTIME = "envfleet-runc"
TIMEOUT_SECONDS = 60


def runs() -> bool:
    """Whether it answers; needs no docker client."""
    return _answers(SOCKET)


def started() -> bool:
    """Whether a clone started it and none has stopped it since: it runs, or it has died."""
    return BEFORE.exists()


def containers() -> int:
    """How many containers it has, running or not."""
    return len(json.loads(_get("/containers/json?all=true", SOCKET)))


@cache
def use() -> IO[str]:
    """Keep other processes from stopping it for as long as this one lives; returns the locked file."""
    file = LOCK.open("w")
    fcntl.flock(file, fcntl.LOCK_SH)
    return file


def is_used() -> bool:
    """Whether another process uses it."""
    try:
        fcntl.flock(use(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def unpack() -> None:
    """Have its packages in this clone."""
    debian.unpack("Fetch a container engine from Debian's packages", "docker.io", "iproute2")


def start() -> None:
    """Start it, unless it runs. After it died it comes back with its containers, stopped.

    Raises:
        StepError: It does not start; the machine is as before.
    """
    if runs():
        return
    if not started():
        unpack()
        _note({"home": str(HOME), **traces.observe(debian.environ())})
    before = _before()
    try:
        with step("Start the container engine"):
            _launch(Path(before["home"]), _environ(before))
    except StepError:
        with suppress(StepError):  # of the two this error is the cause
            stop()
        raise


def stop() -> None:
    """End it, and its containers if it has any, and put the machine back as it was before `start`.

    Raises:
        StepError: Not everything could be put back; the next `stop` tries again.
    """
    before = _before()
    with step("Stop the container engine"):
        daemons = _processes("dockerd")
        for process in daemons:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        psutil.wait_procs(daemons, timeout=TIMEOUT_SECONDS)
        for process in _processes("dockerd", "containerd", "containerd-shim-runc-v2"):
            with suppress(psutil.NoSuchProcess):
                for left in (*process.children(recursive=True), process):
                    left.kill()
        _unmount(RUN, Path(before["home"]))
        if _answers(OTHER_SOCKET):
            console.print("Another Docker runs by now: bridge, firewall and settings stay as they are.")
        else:
            traces.undo(before, _environ(before))
        shutil.rmtree(RUN, ignore_errors=True)
        use.cache_clear()


def lacks_capabilities() -> bool:
    """Whether privileged containers need the filtering runtime here (see runc_filter.py)."""
    status = Path("/proc/self/status").read_text()
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    bounding = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapBnd:"))
    return bounding != (1 << (last + 1)) - 1


def _answers(path: Path) -> bool:
    try:
        return _get("/_ping", path) == b"OK"
    except (OSError, http.client.HTTPException):
        return False


def _get(path: str, host: Path) -> bytes:
    connection = http.client.HTTPConnection("docker")
    connection.sock = socket.socket(socket.AF_UNIX)
    try:
        connection.sock.settimeout(20)
        connection.sock.connect(str(host))
        connection.request("GET", path)
        return connection.getresponse().read()
    finally:
        connection.close()


def _before() -> dict[str, Any]:
    before: dict[str, Any] = json.loads(BEFORE.read_text())
    if not (_prefix(before) / "usr" / "sbin" / "dockerd").exists():
        # The clone that started it is gone, and the containers with it.
        unpack()
        before["home"] = str(HOME)
        _note(before)
    return before


def _note(before: dict[str, Any]) -> None:
    RUN.mkdir(mode=0o755, exist_ok=True)
    new = BEFORE.with_suffix(".new")
    new.write_text(json.dumps(before))
    new.replace(BEFORE)


def _environ(before: dict[str, Any]) -> dict[str, str]:
    return debian.environ(_prefix(before))


def _prefix(before: dict[str, Any]) -> Path:
    return Path(before["home"]) / debian.PREFIX.relative_to(HOME)


def _launch(home: Path, environ: dict[str, str]) -> None:
    log = home / "logs" / "dockerd.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    # If there is one that does not answer yet, another command has just launched it.
    ours = None if _processes("dockerd") else _dockerd(home / "engine", environ, log)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not runs():
        ended = ours.poll() is not None if ours else not _processes("dockerd")
        if ended or time.monotonic() > deadline:
            tail = "\n".join(log.read_text().splitlines()[-5:])
            raise StepError(f"dockerd did not start; the end of {log}:\n{tail}")
        time.sleep(0.2)


def _dockerd(folder: Path, environ: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    for stale in (PIDFILE, EXEC_ROOT / "containerd" / "containerd.pid"):
        stale.unlink(missing_ok=True)  # after a crash the numbers may be other processes'
    with log.open("w") as output:
        return subprocess.Popen(
            [
                "dockerd",
                f"--config-file={_configure(folder)}",
                f"--host={HOST}",
                f"--data-root={folder / 'data'}",
                f"--exec-root={EXEC_ROOT}",
                f"--pidfile={PIDFILE}",
                f"--mtu={_mtu()}",
            ],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _configure(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    # Debian's own python3 starts in a third of the time of most others; this runs once per container.
    runtime = folder / RUNTIME
    shutil.copy(Path(__file__).with_name("runc_filter.py"), runtime)
    filtered = {"runtimes": {RUNTIME: {"path": str(runtime)}}, "default-runtime": RUNTIME}
    file = folder / "daemon.json"
    file.write_text(
        json.dumps(
            {
                "storage-driver": "overlay2",
                "deprecated-key-path": str(folder / "key.json"),  # else it is in /etc/docker
                **(filtered if lacks_capabilities() else {}),
            }
        )
    )
    return file


def _mtu() -> int:
    """The smallest MTU of this machine's own links: a bridge with a larger one loses packets silently."""
    return min(stats.mtu for name, stats in psutil.net_if_stats().items() if name != "lo" and stats.isup)


def _processes(*names: str) -> list[psutil.Process]:
    """Our daemon's processes of these names: those that were told of its folder."""
    return [
        process
        for process in psutil.process_iter(["name", "cmdline"])
        if process.info["name"] in names
        and any(str(EXEC_ROOT) in argument for argument in process.info["cmdline"] or ())
    ]


def _unmount(*folders: Path) -> None:
    """What a killed dockerd had mounted stays mounted also after the next one; it could not be removed."""
    mounted = [Path(partition.mountpoint) for partition in psutil.disk_partitions(all=True)]
    for mount in sorted(mounted, reverse=True):
        if any(mount.is_relative_to(folder) for folder in folders):
            run("umount", "--lazy", "--no-mtab", mount)
