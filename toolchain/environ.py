"""The environment in which Pulumi and the tools run: project-local, unless the user chose otherwise."""

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from toolchain import engine, scratch
from toolchain.layout import BIN, HOME, PULUMI_HOME, VENV
from toolchain.progress import StepError

STATE = HOME / "state"
PASSPHRASE = HOME / "passphrase"
# Pulumi's Kubernetes plugin leaves a kubeconfig in the temporary folder each time it runs.
TEMPORARY = scratch.FOLDER / "pulumi"


def environ() -> dict[str, str]:
    """This process's environment with envfleet's settings on top."""
    return {**os.environ, **settings()}


def settings() -> dict[str, str]:
    """The variables that envfleet sets; a backend and a passphrase of the user's are kept.

    Without them, state lives in `.envfleet/state`, its secrets encrypted with a passphrase made at random for
    this clone.
    """
    own = {
        "ENVFLEET_HOME": str(HOME),
        "PATH": os.pathsep.join([str(BIN), str(VENV / "bin"), os.environ["PATH"]]),
        "PULUMI_HOME": str(PULUMI_HOME),  # where its plugins are
        # The tools are here already; without this every cloud SDK in .venv would have its plugin downloaded.
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "TMPDIR": str(TEMPORARY),
    }
    TEMPORARY.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _chosen("PULUMI_BACKEND_URL"):
        STATE.mkdir(parents=True, exist_ok=True)
        own["PULUMI_BACKEND_URL"] = f"file://{STATE}"
    if not _chosen("PULUMI_CONFIG_PASSPHRASE") and not _chosen("PULUMI_CONFIG_PASSPHRASE_FILE"):
        own["PULUMI_CONFIG_PASSPHRASE_FILE"] = str(_passphrase())
    try:
        host = engine.docker_host()
    except StepError:
        host = None  # a stack in a cloud needs no engine
    return {**own, "DOCKER_HOST": host} if host else own


def _chosen(name: str) -> bool:
    """Whether the user set a variable, and not `eval "$(make -s env)"` in another clone."""
    value = os.environ.get(name)
    other = os.environ.get("ENVFLEET_HOME")
    return value is not None and not (other and other in value)


def _passphrase() -> Path:
    """The file of this clone's passphrase; it appears whole, and the first of two that make it wins."""
    if not PASSPHRASE.exists():
        HOME.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile("w", prefix="passphrase-", dir=HOME) as file:
            file.write(secrets.token_urlsafe(32))
            file.flush()
            with suppress(FileExistsError):
                os.link(file.name, PASSPHRASE)
    return PASSPHRASE
