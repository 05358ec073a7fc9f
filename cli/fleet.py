"""What runs in a stack, as a table, and the way to it from this machine."""

import json
import socket
import subprocess
import time
from typing import Any
from urllib.parse import urlparse

from rich.table import Table

from cli.stack import Stack
from toolchain.layout import HOME
from toolchain.progress import StepError, console, run

READY = "[green]Ready[/]"
NOT_READY = "[red]not ready:[/]"
RECONNECT_SECONDS = 1


def environments(stack: Stack) -> list[dict[str, Any]]:
    """The fleet as its control server sees it, asked through the API server.

    Raises:
        StepError: The control server does not answer.
    """
    outputs = stack.outputs()
    server = urlparse(outputs["server"]).hostname or ""
    service = f"/api/v1/namespaces/{outputs['namespace']}/services/{server.split('.')[0]}:http"
    with stack.kubeconfig() as kubeconfig:
        path = f"{service}/proxy/v1/environments"
        answer = run("kubectl", f"--kubeconfig={kubeconfig}", "get", "--raw", path, env=stack.environ)
    return list(json.loads(answer))


def show(stack: Stack) -> bool:
    """Print the table of environments and how to reach them; whether all of them are ready."""
    outputs = stack.outputs()
    rows = environments(stack)
    table = Table(title=f"Stack {stack.name}: cluster {outputs['cluster']}, namespace {outputs['namespace']}")
    for column in ("Environment", "Status", "URL inside the cluster", "Image", "Restarts"):
        table.add_column(column, overflow="fold")
    for row in rows:
        status = READY if row["ready"] else f"{NOT_READY} {row['reason'] or row['phase']}"
        table.add_row(row["name"], status, row["url"], row["image"], str(row["restarts"]))
    console.print(table)
    console.print(f"Control server: {outputs['server']}")
    if rows:
        console.print(f"From this machine: [bold]make connect ENV={rows[0]['name']}[/]")
    return all(row["ready"] for row in rows)


def connect(stack: Stack, name: str, port: int) -> None:
    """Forward a local port to an environment until interrupted; reconnects when the pod is replaced.

    Raises:
        StepError: There is no such environment, or the port is taken.
    """
    outputs = stack.outputs()
    known = outputs["environments"]
    if name not in known:
        raise StepError(f"stack {stack.name} has no environment {name!r}. It has: {', '.join(sorted(known))}")
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise StepError(
                f"port {port} of this machine is taken: choose another one, such as PORT={port + 1}"
            )
    url = urlparse(known[name]["url"])
    console.print(f"http://127.0.0.1:{port} -> {url.geturl()} (Ctrl-C ends it)")
    with stack.kubeconfig() as kubeconfig:
        kubectl = ("kubectl", f"--kubeconfig={kubeconfig}", f"--cache-dir={HOME / 'cache' / 'kubectl'}")
        forward = (
            *kubectl,
            f"--namespace={outputs['namespace']}",
            "port-forward",
            f"service/{name}",
            f"{port}:{url.port}",
        )
        while True:
            subprocess.run(forward, env=stack.environ, check=False)
            time.sleep(RECONNECT_SECONDS)
