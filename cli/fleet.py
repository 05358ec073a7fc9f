"""What runs in a stack, as a table, and the way to it from this machine."""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import urlparse

from kr8s.asyncio import Api
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cli.leftovers import remove_orphans
from cli.stack import Stack
from live import watch
from live.api import ClusterError, connect
from live.fleet import SERVER, Expected, State, Status
from toolchain import tools
from toolchain.environ import environ
from toolchain.layout import HOME
from toolchain.progress import StepError, console, run
from toolchain.scratch import scratch

# For what was asked for, which may go through a pipe; progress is on the other stream.
results = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
READY = "[green]Ready[/]"
NOT_READY = "[red]not ready:[/]"
RECONNECT_SECONDS = 1
Answer = TypeVar("Answer")


class Fleet:
    """The fleet of a stack that is up.

    Raises:
        StepError: The stack is not up.
    """

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.outputs = stack.outputs()
        tools.ensure("kubectl")

    def statuses(self) -> list[Status]:
        """The control server and the environments, as they are now.

        Raises:
            StepError: The cluster can't be reached.
        """
        expected = [
            SERVER,
            *map(Expected, sorted(self.outputs["environments"])),
        ]

        async def look(api: Api) -> list[Status]:
            return await watch.look(api, self.outputs["namespace"], self.outputs["instance"], expected)

        return self._ask(look)

    def remove_orphans(self) -> list[str]:
        """Remove what belongs to no environment any more, and no state knows; returns what that was.

        Raises:
            StepError: The cluster can't be reached.
        """
        place = self.outputs["namespace"], self.outputs["instance"]
        return self._ask(lambda api: remove_orphans(api, *place, self.outputs["environments"]))

    def show(self) -> None:
        """Print the table of environments, what is wrong with them, and how to reach them."""
        server, *environments = self.statuses()
        cluster, namespace = self.outputs["cluster"], self.outputs["namespace"]
        table = Table(title=f"Stack {self.stack.name}: cluster {cluster}, namespace {namespace}")
        for column in ("Environment", "Status", "URL inside the cluster", "Image", "Restarts"):
            table.add_column(column, overflow="fold")
        for each in environments:
            url = self.outputs["environments"][each.name]["url"]
            table.add_row(each.name, _words(each), url, each.image, str(each.restarts))
        results.print(table)
        results.print(
            f"Control server: {self.outputs['server']}", *([] if _ready(server) else [_words(server)])
        )
        problems = [each.problem for each in (server, *environments) if each.problem]
        for problem in problems:
            results.print(str(problem), markup=False)
        if environments:
            console.print(f"From this machine: [bold]make connect ENV={environments[0].name}[/]")

    def logs(self, name: str, *, lines: int, follow: bool, previous: bool) -> None:
        """Print what an environment, or the control server, wrote.

        Raises:
            StepError: There is no such environment, or no such log.
        """
        self._require(name, "server")
        pod = "deployment/server" if name == "server" else f"pod/{name}"
        flags = (f"--tail={lines}", f"--follow={follow}".lower(), f"--previous={previous}".lower())
        with self._kubectl() as kubectl:
            asked = subprocess.run(
                [*kubectl, f"--namespace={self.outputs['namespace']}", "logs", pod, *flags],
                env=environ(),
                check=False,
            )
        if asked.returncode != 0:
            raise StepError(f"no log of {name}: see above")

    def remove_broken(self) -> list[str]:
        """Delete the pods that can't come back by themselves; returns the names of what needs a new one."""
        broken = [each for each in self.statuses() if each.problem and each.problem.cause.needs_new_pod]
        pods = [f"pod/{each.pod}" for each in broken if each.pod]
        if pods:
            with self._kubectl() as kubectl:
                # By force: on a node that is lost, nobody would confirm that a pod has ended.
                delete = ("delete", *pods, "--ignore-not-found", "--force", "--grace-period=0")
                run(*kubectl, f"--namespace={self.outputs['namespace']}", *delete, env=environ())
        return [each.name for each in broken]

    def connect(self, name: str, port: int) -> None:
        """Forward a local port to an environment until interrupted; reconnects when the pod is replaced.

        Raises:
            StepError: There is no such environment, or the port is taken.
        """
        self._require(name)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                raise StepError(
                    f"port {port} of this machine is taken: choose another one, such as PORT={port + 1}"
                )
        url = urlparse(self.outputs["environments"][name]["url"])
        console.print(f"http://127.0.0.1:{port} -> {url.geturl()} (Ctrl-C ends it)")
        forward = (
            f"--namespace={self.outputs['namespace']}",
            "port-forward",
            f"service/{name}",
            f"{port}:{url.port}",
        )
        with self._kubectl() as kubectl:
            while True:
                subprocess.run([*kubectl, *forward], env=environ(), check=False)
                time.sleep(RECONNECT_SECONDS)

    def _ask(self, question: Callable[[Api], Awaitable[Answer]]) -> Answer:
        async def ask() -> Answer:
            async with connect(self.outputs["kubeconfig"]) as api:
                return await question(api)

        try:
            return asyncio.run(ask())
        except ClusterError as error:
            raise StepError(
                f"the cluster of stack {self.stack.name} can't be asked: {error} "
                f"(`make up STACK={self.stack.name}` starts what is stopped)"
            ) from None

    def _require(self, name: str, *others: str) -> None:
        known = [*self.outputs["environments"], *others]
        if name not in known:
            raise StepError(
                f"stack {self.stack.name} has no environment {name!r}. It has: {', '.join(sorted(known))}"
            )

    @contextmanager
    def _kubectl(self) -> Iterator[tuple[str, ...]]:
        """The kubectl command for the cluster; its kubeconfig is there, for this user only, meanwhile."""
        with scratch("kubeconfig") as folder:
            file = folder / "kubeconfig"
            file.write_text(self.outputs["kubeconfig"])
            # Its cache would be in the user's home.
            yield ("kubectl", f"--kubeconfig={file}", f"--cache-dir={HOME / 'cache' / 'kubectl'}")


def _ready(status: Status) -> bool:
    return status.state is State.READY


def _words(status: Status) -> str:
    if _ready(status):
        return READY
    return f"{NOT_READY} {escape(status.problem.cause if status.problem else status.detail)}"
