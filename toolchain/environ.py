"""The environment in which Pulumi and the tools run: project-local, unless the user chose otherwise."""

import os
import secrets
from pathlib import Path

from toolchain import engine
from toolchain.layout import BIN, HOME, PULUMI_HOME, VENV
from toolchain.progress import StepError

STATE = HOME / "state"
PASSPHRASE = HOME / "passphrase"


def environ() -> dict[str, str]:
    """This process's environment with envfleet's settings on top."""
    return {**os.environ, **settings()}


def settings() -> dict[str, str]:
    """The variables that envfleet sets; what the user has set of Pulumi's own is kept.

    Without a backend of the user's, state lives in `.envfleet/state`, its secrets encrypted with a
    passphrase made at random for this clone.
    """
    own = {
        "PATH": os.pathsep.join([str(BIN), str(VENV / "bin"), os.environ["PATH"]]),
        # The tools are here already; without this every cloud SDK in .venv would have its plugin downloaded.
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }
    defaults = {"PULUMI_HOME": str(PULUMI_HOME), "PULUMI_BACKEND_URL": f"file://{_folder(STATE)}"}
    if "PULUMI_CONFIG_PASSPHRASE" not in os.environ:
        defaults["PULUMI_CONFIG_PASSPHRASE_FILE"] = str(_passphrase())
    own |= {name: value for name, value in defaults.items() if name not in os.environ}
    try:
        host = engine.docker_host()
    except StepError:
        host = None  # a stack in a cloud needs no engine
    return {**own, "DOCKER_HOST": host} if host else own


def _passphrase() -> Path:
    _folder(HOME)
    if not PASSPHRASE.exists():
        PASSPHRASE.touch(mode=0o600)
        PASSPHRASE.write_text(secrets.token_urlsafe(32))
    return PASSPHRASE


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path
