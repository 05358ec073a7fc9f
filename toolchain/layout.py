"""Where everything lives. Nothing outside the project's own directory is written, save sockets under /run."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".envfleet"
BIN = HOME / "bin"
TOOLS = HOME / "tools"
LOGS = HOME / "logs"
PULUMI_HOME = HOME / "pulumi"
VENV = ROOT / ".venv"

VERSIONS: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).with_name("versions.toml")).read_text())
