"""Files from elsewhere, never used before their checksum was found right."""

import hashlib
import re
import shutil
import tarfile
from pathlib import Path

import httpx
import zstandard

from toolchain.progress import Step, StepError

CHUNK = 1 << 20
WINDOW_LOG = 27  # the cache is compressed with `zstd --long=27`


class UnreachableError(RuntimeError):
    """The address can't be reached from this machine."""


def fetch(url: str, sums_url: str, target: Path, progress: Step) -> Path:
    """Download a release file into a folder and verify it against its published SHA-256.

    Raises:
        UnreachableError: One of the two addresses does not answer.
        StepError: The checksum differs.
    """
    file = target / url.rsplit("/", 1)[-1]
    try:
        with httpx.Client(follow_redirects=True, timeout=30) as client:
            sums = client.get(sums_url).raise_for_status().text
            with client.stream("GET", url) as response, file.open("wb") as output:
                size = float(response.raise_for_status().headers.get("content-length", 0)) or None
                for chunk in response.iter_bytes(CHUNK):
                    output.write(chunk)
                    progress.advance(response.num_bytes_downloaded, size)
    except httpx.HTTPError as error:
        file.unlink(missing_ok=True)
        raise UnreachableError(str(error)) from error
    return verified(file, sums)


def verified(file: Path, sums: str) -> Path:
    """Return the file if its SHA-256 is the one that `sums` lists for it (or the only one in `sums`).

    Raises:
        StepError: It is not; says which was expected and found.
    """
    expected = [
        line.split()[0] for line in sums.splitlines() if re.search(rf"[ */]{re.escape(file.name)}$", line)
    ]
    if not expected and len(sums.split()) in {1, 2}:
        expected = sums.split()[:1]
    found = sha256(file)
    if found not in expected:
        raise StepError(
            f"{file} has SHA-256 {found}, its publisher lists {' or '.join(expected) or 'none'}. "
            "Remove the file and try again; if it stays so, do not use it."
        )
    return file


def sha256(file: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def compress(file: Path, target: Path) -> None:
    """Write a file as `.zst`, quickly rather than small."""
    with file.open("rb") as content, target.open("wb") as output:
        zstandard.ZstdCompressor(threads=-1).copy_stream(content, output)


def decompress(file: Path, target: Path) -> None:
    """Decompress a `.zst` file."""
    with file.open("rb") as packed, target.open("wb") as output:
        zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).copy_stream(packed, output)


def unpack_programs(archive: Path, target: Path) -> None:
    """Unpack the executable files of a release archive, without their folders, and remove the archive."""
    with tarfile.open(archive) as members:
        for member in members:
            content = members.extractfile(member) if member.isfile() and member.mode & 0o111 else None
            if content is not None:
                with (target / Path(member.name).name).open("wb") as output:
                    shutil.copyfileobj(content, output)
    archive.unlink()
