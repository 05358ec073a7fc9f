"""Container images: the node image, the base of our own, and one per folder that has a Dockerfile.

What a registry can give is pulled, the rest is built here; an image that would come out the same stays.
"""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from toolchain import debian, node_image
from toolchain.engine import docker, import_root
from toolchain.layout import ROOT, VERSIONS
from toolchain.progress import StepError, console, step
from toolchain.scratch import scratch

TAG = "0.1.0"
# Label on each image: the hash of what it was made from.
RECIPE = "dev.envfleet.recipe"
BASE_PACKAGES = "python3,python3-pip,python3-venv,ca-certificates"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
MACHINE_CERTIFICATES = Path("/usr/local/share/ca-certificates")


def contexts() -> dict[str, Path]:
    """Our images by reference, each with the folder of its Dockerfile."""
    environments = sorted(file.parent for file in (ROOT / "environments").glob("*/Dockerfile"))
    folders = [ROOT / "server", *environments]
    return {f"envfleet/{folder.name}:{TAG}": folder for folder in folders}


def ensure() -> None:
    """Have all images in the engine, up to date."""
    node()
    base = _base()
    for reference, folder in contexts().items():
        wanted = recipe(folder, docker("image", "inspect", "--format", "{{.Id}}", base))
        if _recipe_of(reference) == wanted:
            continue
        with step(f"Build the image {reference}") as progress:
            progress.note("docker build")
            docker(
                *("build", "--build-arg", f"BASE_IMAGE={base}", "--label", f"{RECIPE}={wanted}"),
                *("--tag", reference, folder),
            )


def node() -> str:
    """Have the node image; returns its reference."""
    programs = [VERSIONS[name] for name in node_image.PROGRAMS]
    return _pulled_or_built(
        "node-image", node_image.build, Path(node_image.__file__).parent, debian.SUITE, programs
    )


def _base() -> str:
    certificates = recipe(MACHINE_CERTIFICATES)
    return _pulled_or_built("base-image", _build_base, Path(__file__), debian.SUITE, certificates)


def _pulled_or_built(name: str, build: Callable[[str, str], None], sources: Path, *inputs: object) -> str:
    reference, local = VERSIONS[name]["reference"], VERSIONS[name]["local"]
    wanted = recipe(sources, *inputs)
    if exists(reference):
        return str(reference)
    if _recipe_of(local) != wanted:
        try:
            with step(f"Pull {reference}", optional=True):
                docker("pull", "--quiet", reference)
        except StepError:
            console.print("  [dim]no registry gives it to this machine; building one here instead")
        else:
            return str(reference)
        if not debian.usable():
            raise StepError(
                f"{reference} can't be pulled, and without a registry envfleet builds images only as root on "
                f"Debian. Check `docker pull {reference}`, or run this command on such a machine."
            )
        build(local, f"LABEL {RECIPE}={wanted}")
    return str(local)


def _build_base(tag: str, label: str) -> None:
    """Debian with Python, and the certificates this machine trusts (its package mirror may need them)."""
    debian.unpack("Fetch the Debian image builder", "mmdebstrap", "containerd")
    with scratch("base-image") as folder, step(f"Build {tag}"):
        root = folder / "root"
        debian.bootstrap(root, "minbase", BASE_PACKAGES)
        if MACHINE_CERTIFICATES.is_dir():
            trusted = root / MACHINE_CERTIFICATES.relative_to("/")
            shutil.copytree(MACHINE_CERTIFICATES, trusted, dirs_exist_ok=True)
        debian.chroot(root, "update-ca-certificates")
        (root / "usr" / "bin" / "python").symlink_to("python3")
        import_root(root, tag, label, f"ENV PIP_CERT={CERTIFICATES} SSL_CERT_FILE={CERTIFICATES}")


def exists(reference: str) -> bool:
    """Whether the engine has this image."""
    return _inspect(reference, "{{.Id}}") is not None


def _recipe_of(reference: str) -> str | None:
    return _inspect(reference, f'{{{{index .Config.Labels "{RECIPE}"}}}}')


def _inspect(reference: str, fields: str) -> str | None:
    """What the engine knows of an image, or None if it has none of this name."""
    try:
        # Not `docker images`: that does not find `name:tag@digest`.
        return docker("image", "inspect", "--format", fields, reference).strip()
    except StepError as error:
        if "no such image" in str(error).lower():
            return None
        raise


def recipe(sources: Path, *inputs: object) -> str:
    """A digest of a file or of every file in a folder, and of anything else that goes into an image."""
    digest = hashlib.sha256(repr(inputs).encode())
    files = sorted(sources.rglob("*")) if sources.is_dir() else [sources]
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(f"{file.relative_to(sources.parent)} {file.stat().st_mode:o}".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
