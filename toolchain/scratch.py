"""Temporary folders, in the project: what a killed run leaves can be an image's size, or a credential."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from toolchain.layout import HOME

FOLDER = HOME / "tmp"


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """A folder that only this user can read, removed at the end; also removes those of killed processes."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for left in FOLDER.glob("*-*"):
        if not psutil.pid_exists(int(left.name.split("-")[0])):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{os.getpid()}-{purpose}-", dir=FOLDER) as folder:
        yield Path(folder)
