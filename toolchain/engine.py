"""The container engine: the one that runs, else (root on a Debian-family machine) one of our own."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from toolchain import daemon, debian
from toolchain.layout import BIN
from toolchain.progress import StepError, console, run


class NoEngineError(StepError):
    """No container engine answers and the user has named none: one of our own may be started."""


@cache
def docker_host() -> str | None:
    """The DOCKER_HOST to use: None for docker's own choice.

    Raises:
        NoEngineError: No engine answers.
        StepError: One is there, but not for us.
    """
    named = _named()
    # Ours comes first while it runs: this machine's clusters are in it.
    if not named and daemon.runs() and not _problem(daemon.HOST):
        return daemon.HOST
    if not (problem := _problem(None)):
        return None
    if "permission denied" in problem.lower() and "unix://" in problem:
        raise StepError(
            f"{problem}\nDocker is there, but not for your user: add yourself to the group docker "
            "(`sudo usermod -aG docker $USER`), log in again, then try again."
        )
    if named:
        raise StepError(
            f"{named} is set, but: {problem}\nStart that container engine, or unset the variable."
        )
    raise NoEngineError(
        f"no container engine answers: {problem}\nStart Docker, or run `make up`, then try again."
    )


def ensure() -> None:
    """Have a running engine: find one, or start our own; or say exactly what to do."""
    try:
        docker_host()
    except NoEngineError as missing:
        if not debian.usable():
            raise StepError(
                "no container engine answers (`docker version` fails), and envfleet starts its own only as "
                "root on a Debian-family machine. Install Docker Engine or Docker Desktop, start it, check "
                "that `docker version` works for your user, then run this command again."
            ) from missing
        _ensure_ours()


def keep() -> None:
    """Keep the engine, if it is ours, from being stopped by another clone while this process lives."""
    if docker_host() == daemon.HOST:
        daemon.use()


def stop() -> bool:
    """Stop the engine if it is ours and idle, and put back what it changed. True if it was stopped."""
    if os.geteuid() != 0 or not daemon.started():
        return False
    if daemon.is_used():
        console.print("The container engine keeps running: another command uses it.")
        return False
    daemon.start()  # if it died: it alone can tell which containers are left, and clean up after them
    if left := daemon.containers():
        console.print(f"The container engine keeps running: {left} containers are still there.")
        return False
    daemon.stop()
    docker_host.cache_clear()
    return True


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


def _ensure_ours() -> None:
    if not daemon.runs():  # else it runs, and only this clone lacks a client
        console.print("No container engine is running: envfleet starts its own (`make down` stops it).")
        daemon.start()
    if not shutil.which("docker"):
        daemon.unpack()
        BIN.mkdir(parents=True, exist_ok=True)
        (BIN / "docker").unlink(missing_ok=True)
        (BIN / "docker").symlink_to(debian.PREFIX / "usr" / "bin" / "docker")
    docker_host.cache_clear()


def _named() -> str | None:
    """The variable by which the user has chosen an engine, if so; `make env` sets it to ours."""
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        if (value := os.environ.get(name, "")) not in ("", "default", daemon.HOST):
            return f"{name}={value}"
    return None


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


def _problem(host: str | None) -> str | None:
    """Why no engine answers at this host, in one line; None if one does."""
    try:
        # `docker info` exits 0 even when the server can't be reached; `version` does not.
        asked = subprocess.run(
            [*_docker(host), "version", "--format", "{{.Server.Version}}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
        )
    except FileNotFoundError:
        return "docker is not installed"
    except subprocess.TimeoutExpired:
        return "it did not answer within 20 seconds"
    if asked.returncode == 0:
        return None
    return asked.stderr.strip().splitlines()[-1] if asked.stderr.strip() else "`docker version` failed"
