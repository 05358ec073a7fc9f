"""A Pulumi stack of this project: commands on it, its outputs, and what an interrupted run left behind."""

import json
import re
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import psutil
import yaml

from toolchain.environ import environ
from toolchain.layout import HOME, ROOT
from toolchain.progress import StepError, console

PROJECT = "envfleet"
SALT = re.compile(r"^encryptionsalt:.*\n?", re.MULTILINE)


class Stack:
    """One stack, by name; its configuration is `Pulumi.NAME.yaml`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.file = ROOT / f"Pulumi.{name}.yaml"
        if not self.file.exists():
            known = sorted(path.name.split(".")[1] for path in ROOT.glob("Pulumi.*.yaml"))
            raise StepError(
                f"there is no {self.file.name}. Stacks here: {', '.join(known)}. "
                f"To make a new one, copy a file: cp Pulumi.dev.yaml {self.file.name}"
            )

    @cached_property
    def environ(self) -> dict[str, str]:
        """The environment in which Pulumi runs for this stack."""
        return environ()

    @property
    def provider(self) -> str | None:
        """`cluster.provider` as it is written, which may be wrong: a stack can always be destroyed."""
        cluster = self._written().get("cluster")
        return cluster.get("provider") if isinstance(cluster, dict) else None

    def validate(self) -> None:
        """Check the configuration file as the program will, before anything is fetched or started.

        Raises:
            StepError: With every problem that it has.
        """
        from config import ConfigError, parse  # noqa: PLC0415 (imports Pulumi: a second that `ps` need not wait)

        written = self._written()
        secret = {key for key, value in written.items() if isinstance(value, dict) and "secure" in value}
        try:
            parse(written, self.name, secret)
        except ConfigError as error:
            raise StepError(str(error)) from None

    def select(self) -> None:
        """Make the stack if the backend does not have it, and free it of what a killed run left."""
        if not self.exists():
            self._forget_salt()
            written = self.file.read_text()
            self.pulumi("stack", "init", self.name)
            # Pulumi adds the salt of the passphrase, and loses blank lines on the way.
            if salt := SALT.search(self.file.read_text()):
                self.file.write_text(f"{written.rstrip()}\n{salt[0]}")
        self.clear_stale_lock()
        self._clear_pending_creates()

    def exists(self) -> bool:
        """Whether the backend has this stack."""
        listed = json.loads(self._ask("stack", "ls", "--json"))
        return self.name in {stack["name"].rsplit("/", 1)[-1] for stack in listed}

    def remove(self) -> None:
        """Remove the (empty) stack from the backend; its configuration file stays as it was written."""
        self.pulumi("stack", "rm", self.name, "--yes", "--preserve-config")
        self._forget_salt()

    def pulumi(self, *arguments: str) -> None:
        """Run a Pulumi command, its output shown.

        Raises:
            StepError: It failed; what went wrong stands above, in Pulumi's words.
        """
        process = subprocess.Popen(["pulumi", *arguments], cwd=ROOT, env=self.environ)
        with _signals_for(process):
            code = process.wait()
        if code != 0:
            raise StepError(f"`pulumi {' '.join(arguments)}` ended with {code}")

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secrets included: never print them whole."""
        outputs = self._ask("stack", "output", "--stack", self.name, "--json", "--show-secrets")
        return dict(json.loads(outputs))

    @contextmanager
    def kubeconfig(self) -> Iterator[Path]:
        """The cluster's kubeconfig in a file that only this user can read, removed at the end."""
        with tempfile.TemporaryDirectory(prefix="kubeconfig-", dir=HOME) as folder:
            file = Path(folder) / "kubeconfig"
            file.touch(mode=0o600)
            file.write_text(self.outputs()["kubeconfig"])
            yield file

    def _written(self) -> dict[str, Any]:
        """The project's keys in the configuration file, without the project's name in front."""
        config = (yaml.safe_load(self.file.read_text()) or {}).get("config") or {}
        prefix = f"{PROJECT}:"
        return {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}

    def _ask(self, *arguments: str) -> str:
        asked = subprocess.run(
            ["pulumi", *arguments], cwd=ROOT, env=self.environ, check=False, capture_output=True, text=True
        )
        if asked.returncode != 0:
            raise StepError(
                f"`pulumi {' '.join(arguments)}` ended with {asked.returncode}: {asked.stderr.strip()}"
            )
        return asked.stdout

    def _clear_pending_creates(self) -> None:
        """Forget creates that a killed run did not see the end of, of which Pulumi would warn for ever.

        It can't know what they made, but our next create does: it finds it, by owner or name.
        """
        state = json.loads(self._ask("stack", "export", "--stack", self.name))
        deployment = state["deployment"]
        pending = deployment.get("pending_operations", [])
        deployment["pending_operations"] = kept = [item for item in pending if item["type"] != "creating"]
        if kept != pending:
            lost = len(pending) - len(kept)
            console.print(f"An earlier run was killed while it created {lost} resources: once more.")
            with tempfile.NamedTemporaryFile("w", prefix="state-", suffix=".json", dir=HOME) as file:
                json.dump(state, file)
                file.flush()
                self._ask("stack", "import", "--stack", self.name, "--file", file.name)

    def _forget_salt(self) -> None:
        """Drop the `encryptionsalt` of a stack that is no more: a new passphrase would not fit it."""
        text = self.file.read_text()
        if SALT.search(text):
            self.file.write_text(SALT.sub("", text))

    def clear_stale_lock(self) -> None:
        """Remove the lock of a Pulumi that was killed on this machine; a living one keeps its lock."""
        backend = self.environ["PULUMI_BACKEND_URL"]
        if not backend.startswith("file://"):
            return
        state = Path(urlparse(backend).path).expanduser() / ".pulumi"
        locks = state / "locks" / "organization" / PROJECT / self.name
        for file in locks.glob("*.json"):
            lock = json.loads(file.read_text())
            if lock["hostname"] == socket.gethostname() and not _is_pulumi(lock["pid"]):
                console.print(f"An earlier run (process {lock['pid']}) was killed: its lock is removed.")
                file.unlink()


@contextmanager
def _signals_for(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Leave signals to Pulumi, which then stops in an orderly way, and wait for it.

    Ctrl-C reaches it from the terminal as it reaches us, and a second one would make it stop at once.
    """
    handlers = {signal.SIGINT: lambda *_: None}
    handlers |= dict.fromkeys((signal.SIGTERM, signal.SIGHUP), lambda *_: process.terminate())
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_pulumi(pid: int) -> bool:
    try:
        return "pulumi" in psutil.Process(pid).name()
    except psutil.NoSuchProcess:
        return False
