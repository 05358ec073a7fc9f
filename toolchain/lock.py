"""One command at a time provides tools, engine and images in a clone: others wait for it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from toolchain.layout import HOME
from toolchain.progress import console


@contextmanager
def exclusive() -> Iterator[None]:
    """Keep other processes out of the block until it ends, or this process does, however."""
    HOME.mkdir(exist_ok=True)
    with (HOME / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.print("Another command is preparing this clone: waiting for it to end.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
