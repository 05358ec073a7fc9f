"""What runs in a stack, as a table, and the way to it from this machine."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlparse

from rich.console import Console
from rich.table import Table

from cli.stack import Stack
from toolchain import tools
from toolchain.environ import environ
from toolchain.layout import HOME
from toolchain.progress import StepError, console, run, step
from toolchain.scratch import scratch

# For what was asked for, which may go through a pipe; progress is on the other stream.
results = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
READY = "[green]Ready[/]"
NOT_READY = "[red]not ready:[/]"
RECONNECT_SECONDS = 1
READY_SECONDS = 120
POLL_SECONDS = 2
ANSWER_SECONDS = 10


class Fleet:
    """The fleet of a stack that is up.

    Raises:
        StepError: The stack is not up.
    """

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.outputs = stack.outputs()
        tools.ensure("kubectl")

    def environments(self) -> list[dict[str, Any]]:
        """The environments as the control server sees them, asked once, through the API server.

        Raises:
            StepError: The control server does not answer.
        """
        server = urlparse(self.outputs["server"]).hostname or ""
        service = f"/api/v1/namespaces/{self.outputs['namespace']}/services/{server.split('.')[0]}:http"
        ask = ("get", "--raw", f"{service}/proxy/v1/environments", f"--request-timeout={ANSWER_SECONDS}s")
        try:
            with self._kubectl() as kubectl:
                answer = run(*kubectl, *ask, env=environ())
        except StepError as error:
            said = str(error).rpartition("\n")[2]
            raise StepError(
                f"the control server of stack {self.stack.name} does not answer: {said} "
                f"(`make up STACK={self.stack.name}` starts what is stopped)"
            ) from None
        return list(json.loads(answer))

    def wait(self) -> None:
        """Wait for the control server and every environment: nodes that were stopped take a while.

        Raises:
            StepError: They are not ready in time.
        """
        deadline = time.monotonic() + READY_SECONDS
        with step("Wait until every environment is ready") as progress:
            while missing := self._missing():
                if time.monotonic() > deadline:
                    raise StepError(f"not ready in time: {missing}")
                progress.note(missing)
                time.sleep(POLL_SECONDS)

    def show(self) -> bool:
        """Print the table of environments and how to reach them; whether all of them are ready."""
        rows = self.environments()
        cluster, namespace = self.outputs["cluster"], self.outputs["namespace"]
        table = Table(title=f"Stack {self.stack.name}: cluster {cluster}, namespace {namespace}")
        for column in ("Environment", "Status", "URL inside the cluster", "Image", "Restarts"):
            table.add_column(column, overflow="fold")
        for row in rows:
            status = READY if row["ready"] else f"{NOT_READY} {row['reason'] or row['phase']}"
            table.add_row(row["name"], status, row["url"], row["image"], str(row["restarts"]))
        results.print(table)
        results.print(f"Control server: {self.outputs['server']}")
        if rows:
            console.print(f"From this machine: [bold]make connect ENV={rows[0]['name']}[/]")
        return all(row["ready"] for row in rows)

    def connect(self, name: str, port: int) -> None:
        """Forward a local port to an environment until interrupted; reconnects when the pod is replaced.

        Raises:
            StepError: There is no such environment, or the port is taken.
        """
        known = self.outputs["environments"]
        if name not in known:
            raise StepError(
                f"stack {self.stack.name} has no environment {name!r}. It has: {', '.join(sorted(known))}"
            )
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                raise StepError(
                    f"port {port} of this machine is taken: choose another one, such as PORT={port + 1}"
                )
        url = urlparse(known[name]["url"])
        console.print(f"http://127.0.0.1:{port} -> {url.geturl()} (Ctrl-C ends it)")
        forward = (
            f"--namespace={self.outputs['namespace']}",
            f"--cache-dir={HOME / 'cache' / 'kubectl'}",
            "port-forward",
            f"service/{name}",
            f"{port}:{url.port}",
        )
        with self._kubectl() as kubectl:
            while True:
                subprocess.run([*kubectl, *forward], env=environ(), check=False)
                time.sleep(RECONNECT_SECONDS)

    def _missing(self) -> str:
        """What is not ready, in a few words."""
        try:
            rows = self.environments()
        except StepError:
            return "the control server"
        return ", ".join(row["name"] for row in rows if not row["ready"])

    @contextmanager
    def _kubectl(self) -> Iterator[tuple[str, ...]]:
        """The kubectl command for the cluster; its kubeconfig is there, for this user only, meanwhile."""
        with scratch("kubeconfig") as folder:
            file = folder / "kubeconfig"
            file.write_text(self.outputs["kubeconfig"])
            yield ("kubectl", f"--kubeconfig={file}")
