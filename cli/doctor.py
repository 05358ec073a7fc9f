"""What this machine has of what envfleet needs."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from rich.table import Table

from toolchain import debian, engine, images, tools
from toolchain.layout import HOME, TOOLS, VERSIONS
from toolchain.progress import StepError, console

BUILT_LATER = "nothing: `make up` makes it"
NEEDED = ("pulumi", "pulumi-resource-kubernetes", "kind", "kubectl")


@dataclass(frozen=True)
class Finding:
    """One line of the report; remedy: what to do when it is not there; blocking: `make up` can't do it."""

    what: str
    there: bool
    state: str
    remedy: str = ""
    blocking: bool = False


def report() -> bool:
    """Print the report; whether `make up` can run on this machine."""
    table = Table("", "What", "State", "What to do")
    findings = list(_findings())
    for finding in findings:
        table.add_row("✓" if finding.there else "✗", finding.what, finding.state, finding.remedy)
    console.print(table)
    return not any(finding.blocking for finding in findings)


def _findings() -> Iterator[Finding]:
    yield Finding("Python", True, sys.version.split()[0])
    for name in NEEDED:
        yield _tool(tools.Tool(name=name, **VERSIONS[name]))
    try:
        engine.docker_host()
    except engine.NoEngineError:
        yield _missing_engine()
    except StepError as error:  # one is there, but not for this user
        yield Finding("container engine", False, "does not answer", str(error), blocking=True)
    else:
        yield Finding(
            "container engine", True, engine.docker("version", "--format", "{{.Server.Version}}").strip()
        )
        yield _image(*(VERSIONS["node-image"][source] for source in ("local", "reference")))
        for reference in images.contexts():
            yield _image(reference)


def _image(*references: str) -> Finding:
    """An image that goes by one of these references."""
    there = next(filter(images.exists, references), None)
    if there:
        return Finding(f"image {there}", True, "in the container engine")
    return Finding(f"image {references[0]}", False, "not here yet", BUILT_LATER)


def _missing_engine() -> Finding:
    if debian.usable():
        return Finding("container engine", False, "none runs", "nothing: `make up` starts one of its own")
    return Finding(
        "container engine",
        False,
        "none runs",
        "Install and start Docker, until `docker info` works",
        blocking=True,
    )


def _tool(tool: tools.Tool) -> Finding:
    if tools.present(tool):
        target = tool.link.readlink()
        ours = TOOLS in target.parents
        return Finding(tool.name, True, f"{tool.version} in {HOME.name}/" if ours else f"yours, {target}")
    if found := tools.on_path(tool):
        return Finding(tool.name, True, f"{found[1]} at {found[0]}")
    source = "the cache" if tools.cache() else "its official release, or its source"
    return Finding(tool.name, False, "not here yet", f"nothing: `make up` takes {tool.version} from {source}")
