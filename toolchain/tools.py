"""Programs that envfleet runs: each is taken from PATH, a cache, the official release or its source.

`ensure("kind", "kubectl")` puts them into `.envfleet/bin`; a tool that is there costs nothing.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from toolchain import download, golang
from toolchain.layout import BIN, PULUMI_HOME, TOOLS, VERSIONS
from toolchain.progress import StepError, console, step

LANGUAGE_HOST = Path(__file__).with_name("language_host.py")
# What `pulumi` runs beside itself: the language host's executor and the host of dynamic providers.
PULUMI_SCRIPTS = {
    "pulumi-language-python-exec": "python/cmd/pulumi-language-python-exec",
    "pulumi-resource-pulumi-python": "python/dist/pulumi-resource-pulumi-python",
}
PLUGIN = "pulumi-resource-"
SUMS = "SHA256SUMS"
VERSION_ARGUMENTS = {"kubectl": ("version", "--client")}


@dataclass(frozen=True)
class Tool:
    """One entry of versions.toml; see the head of that file for the fields."""

    name: str
    version: str
    accept: str | None = None
    url: str | None = None
    sums: str | None = None
    arch: dict[str, str] = field(default_factory=dict)
    module: str | None = None
    package: str = "."
    ldflags: str = ""
    part_of: str | None = None

    @property
    def folder(self) -> Path:
        """Where this version is kept."""
        return TOOLS / f"{self.name}-{self.version}"

    @property
    def link(self) -> Path:
        """Where it is found: Pulumi warns about a provider plugin on PATH, so those are elsewhere."""
        if self.name.startswith(PLUGIN):
            provider = self.name.removeprefix(PLUGIN)
            return PULUMI_HOME / "plugins" / f"resource-{provider}-v{self.version}" / self.name
        return BIN / self.name

    def fill(self, template: str) -> str:
        """Fill a template of versions.toml for this machine."""
        machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
        return template.format(version=self.version, os=sys.platform, arch=self.arch.get(machine, machine))


def ensure(*names: str) -> None:
    """Have these tools in `.envfleet/bin`.

    Raises:
        StepError: A tool can be had from none of its sources.
    """
    missing = [tool for name in names if not present(tool := Tool(name=name, **VERSIONS[name]))]
    for tool in missing:
        _acquire(tool)
    if missing:
        golang.clean()


def present(tool: Tool) -> bool:
    """Whether the tool is there, in the pinned version or from PATH."""
    if not tool.link.exists():
        return False
    target = tool.link.readlink()
    return target.parent == tool.folder or TOOLS not in target.parents


def on_path(tool: Tool) -> tuple[Path, str] | None:
    """The tool on the user's PATH and its version, if it is one we accept."""
    search = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if Path(p) != BIN)
    found = shutil.which(tool.name, path=search)
    if found is None or tool.accept is None:
        return None
    if tool.name == "pulumi" and not all(shutil.which(script, path=search) for script in PULUMI_SCRIPTS):
        return None
    version = _version_of(found, tool.name)
    return (Path(found), version) if version and Version(version) in SpecifierSet(tool.accept) else None


def cache() -> Path | None:
    """The folder that ENVFLEET_TOOLCHAIN_CACHE names: `NAME.zst` files and their SHA256SUMS.

    Raises:
        StepError: It names what is no folder; going on without it could mean an hour of building.
    """
    named = os.environ.get("ENVFLEET_TOOLCHAIN_CACHE")
    if named and not Path(named).is_dir():
        raise StepError(f"ENVFLEET_TOOLCHAIN_CACHE={named} is not a folder: correct it, or unset it")
    return Path(named) if named else None


def export(folder: Path) -> None:
    """Write the tools of this clone into a cache folder, for machines that download and build nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, entry in VERSIONS.items():
        kept = TOOLS / f"{name}-{entry.get('version')}"
        # What is a link belongs to a multi-call binary, which is written by itself.
        if not kept.is_dir() or (kept / name).is_symlink():
            continue
        with step(f"Write {name} to {folder}"):
            download.compress(kept / name, folder / f"{name}.zst")
            if name == "pulumi":
                for script in PULUMI_SCRIPTS:
                    shutil.copyfile(kept / script, folder / script)
    files = sorted(file for file in folder.iterdir() if file.name != SUMS)
    (folder / SUMS).write_text("".join(f"{download.sha256(file)}  {file.name}\n" for file in files))


def _acquire(tool: Tool) -> None:
    if found := on_path(tool):
        program, version = found
        console.print(f"Using {tool.name} {version} from {program}")
        _link(tool, program)
        return
    if not tool.folder.exists():
        _fetch(tool)
    # Only the tool itself: `pulumi` finds its language host beside its own file, and warns about one on PATH.
    _link(tool, tool.folder / tool.name)


def _fetch(tool: Tool) -> None:
    """Fill the tool's folder from the first source that has it; it appears whole or not at all."""
    staging = tool.folder.with_name(tool.folder.name + ".part")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    if not any(source(tool, staging) for source in (_from_cache, _from_release, _from_source)):
        raise StepError(f"{tool.name} {tool.version} can be had from no source on {sys.platform}")
    for file in staging.iterdir():
        file.chmod(0o755)
    staging.rename(tool.folder)


def _from_cache(tool: Tool, target: Path) -> bool:
    folder = cache()
    if folder and tool.part_of and (folder / f"{tool.part_of}.zst").exists():
        return _from_whole(tool, target)
    if folder is None or not (folder / f"{tool.name}.zst").exists():
        return False
    with step(f"Take {tool.name} {tool.version} from the cache {folder}"):
        sums = (folder / SUMS).read_text()
        download.decompress(download.verified(folder / f"{tool.name}.zst", sums), target / tool.name)
        if tool.name == "pulumi":
            for script in PULUMI_SCRIPTS:
                shutil.copyfile(download.verified(folder / script, sums), target / script)
            (target / "pulumi-language-python").symlink_to(LANGUAGE_HOST)
    return True


def _from_release(tool: Tool, target: Path) -> bool:
    if not tool.url or not tool.sums:
        return False
    url, sums = tool.fill(tool.url), tool.fill(tool.sums)
    try:
        with step(f"Download {tool.name} {tool.version}", optional=True) as progress:
            file = download.fetch(url, sums, target, progress)
    except download.UnreachableError as error:
        console.print(f"  [dim]not reachable from here ({error}); building it from source instead")
        return False
    if file.suffix == ".gz":
        download.unpack_programs(file, target)
    else:
        file.rename(target / tool.name)
    return True


def _from_source(tool: Tool, target: Path) -> bool:
    if tool.part_of:
        return _from_whole(tool, target)
    golang.build(
        tool.name, target / tool.name, tool.fill(tool.module or ""), tool.package, tool.fill(tool.ldflags)
    )
    if tool.name == "pulumi":
        sdk = golang.download_module(f"github.com/pulumi/pulumi/sdk/v3@v{tool.version}")
        for script, path in PULUMI_SCRIPTS.items():
            shutil.copyfile(sdk / path, target / script)
        (target / "pulumi-language-python").symlink_to(LANGUAGE_HOST)
    return True


def _from_whole(tool: Tool, target: Path) -> bool:
    """A program that is a name of a multi-call binary."""
    ensure(tool.part_of or "")
    (target / tool.name).symlink_to((BIN / (tool.part_of or "")).resolve())
    return True


def _link(tool: Tool, program: Path) -> None:
    tool.link.parent.mkdir(parents=True, exist_ok=True)
    tool.link.unlink(missing_ok=True)
    tool.link.symlink_to(program)


def _version_of(program: str, name: str) -> str | None:
    arguments = VERSION_ARGUMENTS.get(name, ("version",))
    # A kubectl that only dispatches to others asks the user's cluster for its version, unless there is none.
    env = {**os.environ, "KUBECONFIG": os.devnull}
    said = subprocess.run([program, *arguments], env=env, capture_output=True, text=True, check=False).stdout
    found = re.search(r"v?(\d+\.\d+\.\d+)", said)
    return found[1] if found else None
