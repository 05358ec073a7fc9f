"""checkov, in a virtual environment of its own below `.envfleet/`, made when it is first wanted."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolchain import bootstrap, layout

REQUIREMENTS = layout.ROOT / "requirements-checkov.txt"
ENVIRONMENTS = layout.HOME / "checkov"


def program() -> Path:
    """Return the command, in the versions of the requirements file."""
    environment = ENVIRONMENTS / hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    installed = environment / "installed"  # a killed installation is none
    if not installed.exists():
        shutil.rmtree(ENVIRONMENTS, ignore_errors=True)
        uv = bootstrap.find_uv()
        bootstrap.run(uv, "venv", "--quiet", "--python", sys.executable, str(environment))
        install = (uv, "pip", "install", "--quiet", "--compile-bytecode", "--require-hashes")
        bootstrap.run(*install, "--python", str(environment), "-r", str(REQUIREMENTS))
        installed.touch()
    return environment / "bin" / "checkov"


def failures(manifests: Path, proxy: str) -> list[Mapping[str, Any]]:
    """Scan a file of Kubernetes objects and return what failed; all that checkov sends meets `proxy`."""
    options = ("--framework", "kubernetes", "--skip-download", "--compact", "--output", "json")
    done = subprocess.run(
        [program(), *options, "--file", manifests],
        cwd=manifests.parent,
        env={
            "PATH": os.defpath,
            "HOME": str(manifests.parent),
            "CKV_SKIP_PACKAGE_UPDATE_CHECK": "true",
            "BC_SKIP_MAPPING": "TRUE",  # the identifiers that its vendor's platform gives to checks
            **{f"{scheme}_proxy": proxy for scheme in ("http", "https", "all")},
        },
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)
    assert report["summary"]["parsing_errors"] == 0
    assert report["summary"]["passed"] > 0
    return report["results"]["failed_checks"]
