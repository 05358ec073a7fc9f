"""A Pulumi stack of this project: commands on it, its outputs, and what an interrupted run left behind."""

import asyncio
import json
import os
import pwd
import re
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import psutil

from cli import leftovers, stackfile
from cli.stackfile import PROJECT
from cli.unsaved import Intent, Unsaved
from live.api import ClusterError
from toolchain import engine, images, tools
from toolchain.checkpoints import SKIP
from toolchain.environ import TEMPORARY, environ
from toolchain.layout import ROOT
from toolchain.progress import StepError, console
from toolchain.scratch import scratch

if TYPE_CHECKING:
    from config import StackConfig

# Beside the stack's own file and its local images, all that decides what a run makes.
SOURCES = ("Pulumi.yaml", "__main__.py", "components", "config", "providers")

SALT = re.compile(r"^encryptionsalt:.*\n?", re.MULTILINE)


class Stack:
    """One stack, by name; its configuration is `Pulumi.NAME.yaml`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._unsaved = Unsaved(name)
        self._has_cluster = self._was_killed = False
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

    def validate(self) -> "StackConfig":
        """Check the configuration file as the program will, before anything is fetched or started.

        Raises:
            StepError: With every problem that it has.
        """
        from config import ConfigError, parse  # noqa: PLC0415 (imports Pulumi: a second that `ps` need not wait)

        try:
            return parse(*stackfile.without_ciphers(stackfile.read(self.file), self.name))
        except ConfigError as error:
            raise StepError(str(error)) from None

    def select(self) -> None:
        """Make the stack if the backend does not have it, and free its state of what a killed run left."""
        state = self.state()
        if state is None:
            self._forget_salt()
            written = SALT.sub("", self.file.read_text())
            self.pulumi("stack", "init", self.name)
            # Pulumi adds the salt of the passphrase, and loses blank lines on the way.
            if salt := SALT.search(self.file.read_text()):
                self.file.write_text(f"{written.rstrip()}\n{salt[0]}")
            state = {"deployment": {}}
        self._has_cluster = any(map(leftovers.is_cluster_access, _resources(state)))
        lock, pending = self.clear_stale_lock(), self._clear_pending_creates(state)
        self._was_killed = lock or pending or self._unsaved.intent is not None

    def exists(self) -> bool:
        """Whether the backend has this stack."""
        return self.state() is not None

    def state(self, *options: str) -> dict[str, Any] | None:
        """The state, as Pulumi exports it; None if the backend does not have this stack."""
        exported = self._ask_if_there("stack", "export", *options)
        return None if exported is None else dict(json.loads(exported))

    def up(self, *options: str) -> None:
        """Run `pulumi up` on the stack, which is selected. What is broken keeps nothing else from being made.

        Once the state has the cluster, without checkpoints: they would take most of a large fleet's time.

        Raises:
            StepError: It failed; what went wrong stands above.
        """
        command = ["up", "--stack", self.name, "--yes", "--skip-preview", "--continue-on-error", *options]
        intent = self._intent()
        is_known = True
        if self._was_killed:
            is_known = self._remove_leftovers(intent)
            command = list(dict.fromkeys([*command, "--refresh"]))
        if self._has_cluster and is_known and self._up_without_checkpoints(intent, command):
            return
        self.pulumi(*command)
        self._unsaved.end()

    def preview(self) -> None:
        """Run `pulumi preview` on the stack, which is selected."""
        refresh = ("--refresh",) if self._was_killed else ()
        self.pulumi("preview", "--stack", self.name, "--diff", *refresh)

    def destroy(self) -> None:
        """Run `pulumi destroy` on the stack, which is selected.

        It needs no checkpoints: killed, it leaves a state that knows of too much, never of too little.
        """
        if self._was_killed:
            self._remove_leftovers(None)
        code = self._run("destroy", "--stack", self.name, "--yes", "--skip-preview", **{SKIP: "true"})
        _check(code, "destroy")
        self._unsaved.end()

    def remove(self) -> None:
        """Remove the (empty) stack from the backend; its configuration file stays as it was written."""
        self.pulumi("stack", "rm", self.name, "--yes", "--preserve-config")
        self._forget_salt()

    def pulumi(self, *arguments: str) -> None:
        """Run a Pulumi command, its output shown.

        Raises:
            StepError: It failed; what went wrong stands above, in Pulumi's words.
        """
        _check(self._run(*arguments, **{SKIP: "false"}), *arguments)

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secrets included: never print them whole.

        Raises:
            StepError: It is not up, or its first `up` did not come to the end.
        """
        outputs = json.loads(self._ask_if_there("stack", "output", "--json", "--show-secrets") or "{}")
        if not outputs:
            raise StepError(f"stack {self.name} is not up: run `make up STACK={self.name}`")
        return dict(outputs)

    def _run(self, *arguments: str, **settings: str) -> int:
        """Run a Pulumi command, its output shown, with settings on top of its environment; its exit code."""
        code = _run_to_its_end("pulumi", *arguments, settings=settings)
        for left in TEMPORARY.glob("kubeconfig*"):
            left.unlink(missing_ok=True)
        return code

    def _ask_if_there(self, *arguments: str) -> str | None:
        """What a command says of this stack; None if there is no such stack.

        Pulumi is asked, and fetched, only where there may be one.
        """
        folder = _local_state()
        if folder and not any(folder.glob(f"stacks/**/{self.name}.json*")):
            return None
        tools.ensure("pulumi")
        try:
            return self._ask(*arguments, "--stack", self.name)
        except StepError as error:
            if "no stack named" in str(error):
                return None
            raise

    def _ask(self, *arguments: str) -> str:
        asked = subprocess.run(
            ["pulumi", *arguments], cwd=ROOT, env=environ(), check=False, capture_output=True, text=True
        )
        if asked.returncode != 0:
            raise StepError(
                f"`pulumi {' '.join(arguments)}` ended with {asked.returncode}: {asked.stderr.strip()}"
            )
        return asked.stdout

    def _up_without_checkpoints(self, intent: Intent, command: list[str]) -> bool:
        """Whether `up` came to its end so; False if the cluster itself changes, which needs checkpoints."""
        started = time.time()
        code = self._run(*command, **self._unsaved.begin(intent))
        if code == 0 or (code > 0 and self._is_saved_since(started)):
            self._unsaved.end()
        if code != 0 and self._unsaved.was_refused:
            console.print("The cluster itself changes: once more, with the state saved at each step.")
            return False
        _check(code, *command)
        return True

    def _is_saved_since(self, moment: float) -> bool:
        """Whether the state is known to be saved later than that; never, where it is not on this machine."""
        folder = _local_state()
        files = folder.glob(f"stacks/{PROJECT}/{self.name}.json*") if folder else ()
        return any(file.stat().st_mtime > moment for file in files)

    def _intent(self) -> Intent:
        """What a run is to make."""
        config = self.validate()
        local = getattr(config.cluster, "images", [])
        made_of = [images.recipe(ROOT / source) for source in SOURCES]
        with suppress(StepError):  # an image that is missing is the program's to report
            made_of.append(engine.docker("image", "inspect", "--format={{.Id}}", *local) if local else "")
        return Intent(images.recipe(self.file, *made_of), config.namespace)

    def _remove_leftovers(self, intent: Intent | None) -> bool:
        """Free the cluster of what a killed run left half done, unless it is what is wanted now.

        intent: what is wanted; None for nothing at all.
        Returns whether the cluster could be looked at.
        """
        from components.identity import instance_of  # noqa: PLC0415 (two seconds that only this need wait)

        known = leftovers.Known.of(_resources(self.state("--show-secrets") or {}))
        if known is None:
            return True
        killed = self._unsaved.intent
        spaces = {each.namespace for each in (killed, intent) if each}
        try:
            removed = asyncio.run(
                leftovers.remove_unknown(
                    known,
                    instance_of(self.name),
                    spaces,
                    keep=intent is not None and intent == killed,
                    wanted=intent.namespace if intent else None,
                )
            )
        except ClusterError as error:
            console.print(f"What a killed run left in the cluster could not be looked at: {error}")
            return False
        if removed:
            console.print(f"Removed what a killed run left half done: {', '.join(removed)}")
        return True

    def _clear_pending_creates(self, state: dict[str, Any]) -> bool:
        """Forget creates that a killed run did not see the end of, of which Pulumi would warn for ever.

        It can't know what they made, but our next create does: it finds it, by owner or name.
        Returns whether a run was killed in the midst of anything.
        """
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
        return bool(pending)

    def _forget_salt(self) -> None:
        """Drop the `encryptionsalt` of a stack that is no more, unless the file has secrets that need it.

        A new passphrase would not fit it.
        """
        text = self.file.read_text()
        if SALT.search(text) and not stackfile.has_secrets(self.file):
            self.file.write_text(SALT.sub("", text))

    def clear_stale_lock(self) -> bool:
        """Remove the lock of a Pulumi that was killed on this machine; a living one keeps its lock.

        Returns whether there was one.
        """
        state = _local_state()
        stale = False
        files = state.glob(f"locks/organization/{PROJECT}/{self.name}/*.json") if state else ()
        for file in files:
            lock = json.loads(file.read_text())
            if lock["hostname"] == socket.gethostname() and not _is_pulumi(lock["pid"]):
                console.print(f"An earlier run (process {lock['pid']}) was killed: its lock is removed.")
                file.unlink()
                stale = True
        return stale


def _check(code: int, *arguments: str) -> None:
    if code != 0:
        raise StepError(f"`pulumi {' '.join(arguments)}` ended with {code}")


def _resources(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(state.get("deployment", {}).get("resources", []))


def _run_to_its_end(*command: str, settings: Mapping[str, str]) -> int:
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
        process = subprocess.Popen(command, cwd=ROOT, env={**environ(), **settings})
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
