"""Debian packages without installing them: fetched with a private apt state and unpacked under `.envfleet/`.

So a machine without a container engine gets one although nothing global changes: only the packages it lacks.
"""

import os
import shutil
from pathlib import Path

from toolchain.layout import HOME
from toolchain.progress import StepError, run, step

SUITE = "bookworm"
PREFIX = HOME / "debian" / "root"


def available() -> bool:
    """Whether this is a Debian-family machine where packages can be fetched."""
    return shutil.which("apt-get") is not None and shutil.which("dpkg-deb") is not None


def usable() -> bool:
    """Whether an engine and images can be made from Debian's packages here: that needs root as well."""
    return os.geteuid() == 0 and available()


def unpack(title: str, *packages: str) -> None:
    """Fetch and unpack packages, with those dependencies that the machine lacks, into `PREFIX`."""
    done = HOME / "debian" / ("-".join(packages) + ".done")
    if done.exists():
        return
    state = HOME / "debian"
    for folder in (PREFIX, state / "lists" / "partial", state / "archives" / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    apt = (
        "apt-get",
        *("-o", f"Dir::State::lists={state}/lists"),
        *("-o", f"Dir::Cache={state}", "-o", f"Dir::Cache::archives={state}/archives"),
        *("-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root"),
    )
    with step(title):
        run(*apt, "update")
        # `install --download-only` resolves against what the machine has, and leaves it as it is.
        run(*apt, "install", "--yes", "--download-only", "--reinstall", "--no-install-recommends", *packages)
        archives = sorted((state / "archives").glob("*.deb"))
        if not archives:
            raise StepError(f"apt-get fetched nothing for {', '.join(packages)}")
        for archive in archives:
            run("dpkg-deb", "--extract", archive, PREFIX)
            archive.unlink()
    if (PREFIX / "usr" / "sbin" / "xtables-nft-multi").exists():
        link_iptables(PREFIX)
    done.touch()


def environ(prefix: Path = PREFIX) -> dict[str, str]:
    """This process's environment, with the unpacked programs and their libraries first."""
    # Packages of this suite are not all moved to /usr.
    programs = [prefix / folder for folder in ("usr/sbin", "usr/bin", "sbin", "bin")]
    libraries = [prefix / folder / f"{os.uname().machine}-linux-gnu" for folder in ("usr/lib", "lib")]
    return {
        **os.environ,
        "PATH": os.pathsep.join([*map(str, programs), os.environ["PATH"], "/usr/sbin", "/sbin"]),
        "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries)),
        "XTABLES_LIBDIR": str(libraries[0] / "xtables"),
    }


def link_iptables(root: Path) -> None:
    """Make the links that the iptables package's own scripts would make (update-alternatives)."""
    folder = root / "usr" / "sbin"
    for family in ("iptables", "ip6tables"):
        for name in (family, f"{family}-save", f"{family}-restore"):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to("xtables-nft-multi")


def bootstrap(root: Path, variant: str, packages: str) -> None:
    """Make a root of Debian packages (comma-separated) in a new folder; the variant is mmdebstrap's."""
    run("mmdebstrap", f"--variant={variant}", f"--include={packages}", SUITE, root, env=environ())


def chroot(root: Path, *command: str) -> None:
    """Run a command inside a root, where this machine's folders, such as $TMPDIR, do not exist."""
    run("chroot", root, *command, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
