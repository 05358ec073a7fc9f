"""How plugin processes reach the cloud in the test process, and how the engine finds the plugin."""

import shlex
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from tests.engine.clouds import plugin
from tests.engine.clouds.cloud import Cloud, Hangup
from tests.engine.clouds.provider import Provider, ProviderError


@contextmanager
def serve(cloud: Cloud, provider: type[Provider]) -> Iterator[Path]:
    """Answer the plugins of a cloud for as long as the `with` block lasts; yields their socket."""
    configs: dict[int, dict[str, Any]] = {}  # by plugin process

    def answer(connection: Connection) -> None:
        with connection, suppress(Hangup, OSError, EOFError):
            pid, method, request = connection.recv()
            session = cloud.session(pid, connection)
            try:
                called = provider(cloud, session, configs.setdefault(pid, {}))
                connection.send((called.handle(method, request), None))
            except ProviderError as error:
                connection.send((None, error.answer()))
            except Hangup:
                raise
            except Exception:  # noqa: BLE001 (a mistake of ours, shown by the engine as a panic would be)
                connection.send((None, ("INTERNAL", traceback.format_exc(), b"")))

    # A short path of its own: a socket's name has at most 107 characters.
    with tempfile.TemporaryDirectory(prefix="cloud-") as folder, Listener(f"{folder}/socket") as listener:
        stopping = threading.Event()
        accepting = threading.Thread(target=_accept, args=(listener, answer, stopping), daemon=True)
        accepting.start()
        try:
            yield Path(folder, "socket")
        finally:
            stopping.set()
            Client(listener.address).close()  # wakes `accept`
            accepting.join()


def _accept(listener: Listener, answer: Callable[[Connection], None], stopping: threading.Event) -> None:
    while True:
        connection = listener.accept()
        if stopping.is_set():
            return
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def install(plugins: Path, package: str, version: str, socket: Path) -> None:
    """Put the plugin where the engine looks for it in a PULUMI_HOME."""
    folder = plugins / f"resource-{package}-v{version}"
    folder.mkdir()
    write_program(folder / f"pulumi-resource-{package}", sys.executable, plugin.__file__, str(socket))


def write_program(path: Path, *command: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)
