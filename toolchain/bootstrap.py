"""The first step on a fresh machine, on the standard library alone: uv, then the virtual environment.

    python3 toolchain/bootstrap.py [requirements.txt]

Does nothing, in milliseconds, when the environment already holds what the requirements file asks for.
Standard output stays empty, since `eval "$(make -s env)"` runs what it finds there.
"""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".envfleet"
VENV = ROOT / ".venv"
BASE = "requirements.txt"  # all other requirements files contain it, in the same versions


def main() -> None:
    """Have `.venv` hold what the requirements file asks for."""
    requirements = ROOT / (sys.argv[1] if len(sys.argv) > 1 else BASE)
    stamp = VENV / "installed.json"
    installed = json.loads(stamp.read_text()) if stamp.exists() else {}
    wanted = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (ROOT / BASE, requirements)
    }
    if wanted.items() <= installed.items():
        return
    uv = find_uv()
    stamp.unlink(missing_ok=True)  # a killed installation is none
    if not (VENV / "bin" / "python").exists():
        say("Creating the virtual environment .venv")
        # --seed: Pulumi's own language host lists packages with pip.
        run(uv, "venv", "--quiet", "--seed", "--python", sys.executable, str(VENV))
    say(f"Installing {requirements.name} into .venv")
    # Compiled once here: some machines forbid Python to do it later, and importing takes seconds then.
    install = (uv, "pip", "install", "--python", str(VENV))
    run(*install, "--compile-bytecode", "--require-hashes", "-r", str(requirements))
    # The project itself: puts the `envfleet` command on the environment's PATH.
    run(*install, "--quiet", "--no-deps", "--editable", str(ROOT))
    # Of other files installed before, only those with the same base still hold.
    kept = installed if installed.get(BASE) == wanted[BASE] else {}
    stamp.write_text(json.dumps(kept | wanted))


def find_uv() -> str:
    """The uv on PATH, else the pinned one, fetched from the package index into `.envfleet/`."""
    if on_path := shutil.which("uv"):
        return on_path
    own = HOME / "uv" / "bin" / "uv"
    if own.exists():
        return str(own)
    say("Fetching uv (there is none on PATH)")
    staging = HOME / "uv.part"  # so that a killed run leaves no half of it in its place
    shutil.rmtree(staging, ignore_errors=True)
    requirement = ROOT / "toolchain" / "requirements-uv.txt"
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode == 0:
        # The target is a folder of ours, so root breaks nothing.
        options = ("--quiet", "--no-cache-dir", "--no-deps", "--require-hashes", "--root-user-action=ignore")
        run(*pip, "install", *options, "--target", str(staging), "-r", str(requirement))
    else:
        download_uv(requirement.read_text(), staging)
    staging.rename(HOME / "uv")
    return str(own)


def download_uv(hashed_requirement: str, target: Path) -> None:
    """For a Python without pip, as Debian ships it: the wheel itself, checked against our hashes."""
    uv = tomllib.loads((ROOT / "toolchain" / "versions.toml").read_text())["uv"]
    platform = (
        f"macosx_11_0_{os.uname().machine}"
        if sys.platform == "darwin"
        else f"manylinux_2_17_{os.uname().machine}"
    )
    index = urllib.request.Request(uv["index"], headers={"Accept": "application/vnd.pypi.simple.v1+json"})  # noqa: S310
    with urllib.request.urlopen(index) as response:  # noqa: S310 (the address is pinned in versions.toml)
        files = json.load(response)["files"]
    prefix = f"uv-{uv['version']}-py3-none-{platform}"
    url = next((f["url"] for f in files if f["filename"].startswith(prefix)), None)
    if url is None:
        sys.exit(f"error: no uv {uv['version']} for {platform}; install uv and run again")
    with urllib.request.urlopen(url) as response:  # noqa: S310
        wheel = response.read()
    if hashlib.sha256(wheel).hexdigest() not in hashed_requirement:
        sys.exit(f"error: {url} does not match toolchain/requirements-uv.txt; nothing was installed")
    with zipfile.ZipFile(io.BytesIO(wheel)) as members:
        program = members.read(f"uv-{uv['version']}.data/scripts/uv")
    binary = target / "bin" / "uv"
    binary.parent.mkdir(parents=True, exist_ok=True)
    binary.write_bytes(program)
    binary.chmod(0o755)


def say(text: str) -> None:
    """Tell the user what happens."""
    print(text, file=sys.stderr, flush=True)


def run(*command: str) -> None:
    """Run a command, its output shown; end the program if it fails."""
    # The cache is project-local as all else, unless the user has chosen a place for it.
    env = {"UV_CACHE_DIR": str(HOME / "cache" / "uv"), **os.environ}
    if (code := subprocess.run(command, cwd=ROOT, env=env, stdout=sys.stderr, check=False).returncode) != 0:
        sys.exit(f"error: `{' '.join(command)}` ended with {code}")


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036 (this file runs on whatever `python3` is)
        sys.exit(f"error: envfleet needs Python 3.11 or newer, `python3` is {sys.version.split()[0]}")
    main()
