"""A Pulumi stack of this project: commands on it, its outputs, and what an interrupted run left behind."""

import json
import os
import pwd
import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psutil

from cli import stackfile
from cli.stackfile import PROJECT
from toolchain import tools
from toolchain.environ import TEMPORARY, environ
from toolchain.layout import ROOT
from toolchain.progress import StepError, console
from toolchain.scratch import scratch

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

    @property
    def provider(self) -> str | None:
        """`cluster.provider` as it is written, which may be wrong: such a stack can be destroyed too.

        Raises:
            StepError: Pulumi can't read the file, so it can destroy nothing either.
        """
        cluster = stackfile.read(self.file).get("cluster")
        return cluster.get("provider") if isinstance(cluster, dict) else None

    def validate(self) -> None:
        """Check the configuration file as the program will, before anything is fetched or started.

        Raises:
            StepError: With every problem that it has.
        """
        from config import ConfigError, parse  # noqa: PLC0415 (imports Pulumi: a second that `ps` need not wait)

        try:
            parse(*stackfile.without_ciphers(stackfile.read(self.file), self.name))
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
        """Whether the backend has this stack; Pulumi is needed, and fetched, only where one may be."""
        state = _local_state()
        if state and not any(state.glob(f"stacks/**/{self.name}.json*")):
            return False
        tools.ensure("pulumi")
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
        code = _run_to_its_end("pulumi", *arguments)
        for left in TEMPORARY.glob("kubeconfig*"):
            left.unlink(missing_ok=True)
        if code != 0:
            raise StepError(f"`pulumi {' '.join(arguments)}` ended with {code}")

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secrets included: never print them whole.

        Raises:
            StepError: It is not up, or its first `up` did not come to the end.
        """
        asked = ("stack", "output", "--stack", self.name, "--json", "--show-secrets")
        outputs = json.loads(self._ask(*asked)) if self.exists() else {}
        if not outputs:
            raise StepError(f"stack {self.name} is not up: run `make up STACK={self.name}`")
        return dict(outputs)

    def _ask(self, *arguments: str) -> str:
        asked = subprocess.run(
            ["pulumi", *arguments], cwd=ROOT, env=environ(), check=False, capture_output=True, text=True
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
            with scratch("state") as folder:
                file = folder / "state.json"
                file.write_text(json.dumps(state))
                self._ask("stack", "import", "--stack", self.name, "--file", str(file))

    def _forget_salt(self) -> None:
        """Drop the `encryptionsalt` of a stack that is no more, unless the file has secrets that need it.

        A new passphrase would not fit it.
        """
        text = self.file.read_text()
        if SALT.search(text) and not stackfile.has_secrets(self.file):
            self.file.write_text(SALT.sub("", text))

    def clear_stale_lock(self) -> None:
        """Remove the lock of a Pulumi that was killed on this machine; a living one keeps its lock."""
        state = _local_state()
        if state is None:
            return
        locks = state / "locks" / "organization" / PROJECT / self.name
        for file in locks.glob("*.json"):
            lock = json.loads(file.read_text())
            if lock["hostname"] == socket.gethostname() and not _is_pulumi(lock["pid"]):
                console.print(f"An earlier run (process {lock['pid']}) was killed: its lock is removed.")
                file.unlink()


def _run_to_its_end(*command: str) -> int:
    """Run a command and return its exit code; signals are left to it, so that it stops in an orderly way.

    Ctrl-C reaches it from the terminal as it reaches us, and a second one would make it stop at once.
    """
    running: list[subprocess.Popen[bytes]] = []
    asked: list[int] = []

    def end(number: int, _frame: object) -> None:
        asked.append(number)
        for process in running:
            process.terminate()

    handlers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: end, signal.SIGHUP: end}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        process = subprocess.Popen(command, cwd=ROOT, env=environ())
        running.append(process)
        if asked:  # before it ran
            process.terminate()
        return process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _local_state() -> Path | None:
    """The folder of a backend on this machine, found from its URL as Pulumi does."""
    scheme, _, rest = environ()["PULUMI_BACKEND_URL"].partition("://")
    if scheme != "file":
        return None
    path = unquote(rest.partition("?")[0])
    if path.startswith("~"):
        path = pwd.getpwuid(os.getuid()).pw_dir + path[1:]  # whatever $HOME is
    return ROOT / path / ".pulumi"


def _is_pulumi(pid: int) -> bool:
    try:
        return "pulumi" in psutil.Process(pid).name()
    except psutil.NoSuchProcess:
        return False
