"""Programs from the sources that their Go modules publish, for machines that reach no release downloads."""

import json
import os
import re
import shutil
import sys
from functools import cache
from pathlib import Path

from packaging.specifiers import SpecifierSet

from toolchain.layout import HOME, VERSIONS
from toolchain.progress import StepError, run, step

GO = HOME / "go"
WHEEL = Path(__file__).with_name("requirements-go.txt")
COMMITTED = Path(__file__).parent / "go"


def build(name: str, output: Path, module: str, package: str, ldflags: str) -> None:
    """Build a program from a module `path@version`, or from the main package in `toolchain/go/NAME`.

    Raises:
        StepError: The compiler failed, or there is none and none can be fetched.
    """
    go = _compiler()
    source = GO / "src" / name
    shutil.rmtree(source, ignore_errors=True)
    if (COMMITTED / name).exists():
        shutil.copytree(COMMITTED / name, source)
    else:
        source.mkdir(parents=True)
    with step(f"Build {name} from source") as progress:
        if not (source / "go.mod").exists():
            run(go, "mod", "init", f"envfleet/{name}", cwd=source, env=environ())
            if name == "pulumi-resource-kubernetes":
                _lay_schema(download_module(module), source)
                module = module.replace("@", "/pkg/provider@", 1)
            progress.note("downloading modules")
            run(go, "get", module, cwd=source, env=environ())
        packages = run(go, "list", "-deps", package, cwd=source, env=environ()).split()
        compiled = 0

        def count(line: str) -> None:
            nonlocal compiled
            compiled += 1
            progress.note(line)
            progress.advance(compiled, len(packages))

        flags = ("-trimpath", "-buildvcs=false", f"-ldflags=-s -w {ldflags}")
        run(go, "build", "-v", *flags, "-o", output, package, cwd=source, env=environ(), on_line=count)
    shutil.rmtree(source)


def download_module(module: str) -> Path:
    """Fetch a module `path@version` and return the folder of its sources (read-only)."""
    listing = run(_compiler(), "mod", "download", "-json", module, env=environ())
    return Path(json.loads(listing)["Dir"])


def environ() -> dict[str, str]:
    """The environment of a build: caches under `.envfleet/`, the machine's proxy and checksum settings."""
    return {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOCACHE": str(GO / "cache"),
        "GOFLAGS": "-mod=mod -modcacherw",
        "GOMODCACHE": str(GO / "mod"),
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "XDG_CONFIG_HOME": str(GO / "config"),  # where Go counts its own use
    }


def clean() -> None:
    """Remove sources and build caches (gigabytes) once the programs are built."""
    shutil.rmtree(GO, ignore_errors=True)


@cache
def _compiler() -> str:
    """The `go` on PATH if it is new enough, else the one that the package index publishes."""
    accept = SpecifierSet(VERSIONS["go"]["accept"])
    on_path = shutil.which("go")
    if (
        on_path
        and (found := re.search(r"go(\d+\.\d+(\.\d+)?)", run(on_path, "version")))
        and found[1] in accept
    ):
        return on_path
    own = HOME / "go-compiler"
    if not (own / "go" / "bin" / "go").exists():
        staging = own.with_suffix(".part")
        shutil.rmtree(staging, ignore_errors=True)
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--require-hashes")
        with step("Fetch the Go compiler from the package index"):
            try:
                run(*pip, "--target", staging, "-r", WHEEL)
            except StepError as error:
                raise StepError(
                    f"install Go {accept}: there is none on PATH and none can be fetched\n{error}"
                ) from error
        staging.rename(own)
    return str(own / "go" / "bin" / "go")


def _lay_schema(module: Path, source: Path) -> None:
    """What the provider embeds: its schema, stamped with the release's version, and its mapping."""
    published = module / "cmd" / "pulumi-resource-kubernetes"
    schema = json.loads((published / "schema.json").read_text())
    schema["version"] = VERSIONS["pulumi-resource-kubernetes"]["version"]
    (source / "schema.json").write_text(json.dumps(schema))
    shutil.copy(published / "terraform-mapping.json", source)
