"""The container engine: the one that runs, else (root on a Debian-family machine) one of our own.

Our own engine is Debian's dockerd, unpacked under `.envfleet/` and not installed. Its socket is at a fixed
place, so every clone on the machine shares it, and `stop` ends it only when no container is left.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

from toolchain import debian
from toolchain.layout import BIN, HOME, LOGS
from toolchain.progress import StepError, console, run, step

RUN = Path("/run/envfleet")
SOCKET = RUN / "docker.sock"
PIDFILE = RUN / "dockerd.pid"
# What dockerd changes on the machine and never puts back by itself.
BEFORE = RUN / "before.json"
RUNTIME = "envfleet-runc"
START_TIMEOUT_SECONDS = 60


@cache
def docker_host() -> str | None:
    """The DOCKER_HOST to use: None for docker's own default.

    Raises:
        StepError: No engine answers.
    """
    if _answers(None):
        return None
    if _answers(f"unix://{SOCKET}"):
        return f"unix://{SOCKET}"
    raise StepError(
        "no container engine answers (`docker info` fails). Start Docker, or run `make up`, then try again."
    )


def ensure() -> None:
    """Have a running engine: find one, or start our own; or say exactly what to do."""
    with suppress(StepError):
        docker_host()
        return
    if os.geteuid() != 0 or not debian.available():
        raise StepError(
            "no container engine answers (`docker info` fails) and envfleet installs one only as root on a "
            "Debian-family machine. Install Docker Engine or Docker Desktop, start it, check that "
            "`docker info` works for your user, then run this command again."
        )
    console.print("No container engine is running: envfleet starts its own (`make down` stops it).")
    debian.unpack("Fetch a container engine from Debian's packages", "docker.io")
    if not shutil.which("docker"):
        BIN.mkdir(parents=True, exist_ok=True)
        (BIN / "docker").unlink(missing_ok=True)
        (BIN / "docker").symlink_to(debian.PREFIX / "usr" / "bin" / "docker")
    with step("Start the container engine"):
        _start()
    docker_host.cache_clear()


def stop() -> bool:
    """Stop the engine if it is ours and idle, and put back what it changed. True if it was stopped."""
    if not _answers(f"unix://{SOCKET}"):
        return False
    if left := run(*_docker(f"unix://{SOCKET}"), "ps", "--all", "--quiet").split():
        console.print(f"The container engine keeps running: {len(left)} containers are still there.")
        return False
    with step("Stop the container engine"):
        daemon = psutil.Process(int(PIDFILE.read_text()))
        children = daemon.children(recursive=True)
        daemon.send_signal(signal.SIGTERM)
        _, alive = psutil.wait_procs([daemon, *children], timeout=START_TIMEOUT_SECONDS)
        for process in alive:
            process.kill()
        _restore()
        shutil.rmtree(RUN, ignore_errors=True)
    docker_host.cache_clear()
    return True


def lacks_capabilities() -> bool:
    """Whether privileged containers need the filtering runtime here (see runc_filter.py)."""
    status = Path("/proc/self/status").read_text()
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    bounding = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapBnd:"))
    return bounding != (1 << (last + 1)) - 1


def docker(*arguments: str | Path) -> str:
    """Run a docker command against the engine and return what it printed."""
    return run(*_docker(docker_host()), *arguments, env=os.environ | _builder())


def import_root(root: Path, tag: str, *changes: str) -> None:
    """Make an image of a folder; `changes` are Dockerfile instructions such as `ENV a=b`."""
    flags = [flag for change in changes for flag in ("--change", change)]
    archive = root.with_suffix(".tar")
    run("tar", "--directory", root, "--create", "--file", archive, ".")
    docker("import", *flags, archive, tag)
    archive.unlink()


@cache
def _builder() -> dict[str, str]:
    """Without the buildx plugin, `docker build` works only with the classic builder."""
    has_buildx = (
        subprocess.run([*_docker(None), "buildx", "version"], capture_output=True, check=False).returncode
        == 0
    )
    return {} if has_buildx else {"DOCKER_BUILDKIT": "0"}


def _docker(host: str | None) -> list[str]:
    docker = shutil.which("docker") or str(debian.PREFIX / "usr" / "bin" / "docker")
    return [docker, *(["--host", host] if host else [])]


def _answers(host: str | None) -> bool:
    if host and not SOCKET.exists():
        return False
    try:
        # `docker info` exits 0 even when the server can't be reached; `version` does not.
        asked = subprocess.run(
            [*_docker(host), "version", "--format", "{{.Server.Version}}"],
            capture_output=True,
            check=False,
            timeout=20,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


def _start() -> None:
    RUN.mkdir(mode=0o755, exist_ok=True)
    LOGS.mkdir(parents=True, exist_ok=True)
    environ = debian.environ()
    BEFORE.write_text(
        json.dumps(
            {
                "ip_forward": Path("/proc/sys/net/ipv4/ip_forward").read_text().strip(),
                "forward_policy": run("iptables", "-S", "FORWARD", env=environ).split()[2],
            }
        )
    )
    # Debian's own python3 starts in a third of the time of most others; this runs once per container.
    runtime = HOME / "engine" / RUNTIME
    runtime.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("runc_filter.py"), runtime)
    configuration = HOME / "engine" / "daemon.json"
    filtered = {"runtimes": {RUNTIME: {"path": str(runtime)}}, "default-runtime": RUNTIME}
    configuration.write_text(
        json.dumps({"storage-driver": "overlay2", **(filtered if lacks_capabilities() else {})})
    )
    log = LOGS / "dockerd.log"
    with log.open("w") as output:
        daemon = subprocess.Popen(
            [
                "dockerd",
                f"--config-file={configuration}",
                f"--host=unix://{SOCKET}",
                f"--data-root={HOME / 'engine' / 'data'}",
                f"--exec-root={RUN / 'exec'}",
                f"--pidfile={PIDFILE}",
                f"--mtu={_mtu()}",
            ],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while not _answers(f"unix://{SOCKET}"):
        if daemon.poll() is not None or time.monotonic() > deadline:
            daemon.kill()
            tail = "\n".join(log.read_text().splitlines()[-5:])
            raise StepError(f"dockerd did not start; the end of {log}:\n{tail}")
        time.sleep(0.2)


def _mtu() -> int:
    """The smallest MTU of this machine's own links: a bridge with a larger one loses packets silently."""
    return min(stats.mtu for name, stats in psutil.net_if_stats().items() if name != "lo" and stats.isup)


def _restore() -> None:
    """Remove dockerd's bridge and firewall rules; others' rules stay as they are."""
    environ = debian.environ()
    before = json.loads(BEFORE.read_text())
    for family in ("iptables", "ip6tables"):
        rules = run(f"{family}-save", env=environ)
        kept = "\n".join(line for line in rules.splitlines() if "docker" not in line.lower())
        run(f"{family}-restore", env=environ, stdin=kept + "\n")
    run("iptables", "-P", "FORWARD", before["forward_policy"], env=environ)
    if "docker0" in psutil.net_if_stats():
        run("ip", "link", "delete", "docker0")
    Path("/proc/sys/net/ipv4/ip_forward").write_text(before["ip_forward"])
