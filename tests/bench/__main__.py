"""How long a fleet takes to come up, beside helm, kubectl and a naive Pulumi program: `make bench`.

All make the same objects on the same cluster, one by one: real pods of envfleet/echo on a kind cluster, and
simulated pods on a control plane without nodes. Nothing is asserted: see docs/benchmarks.md.
"""

import argparse
import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from components.fleet import FleetArgs
from config import parse
from tests.bench.contenders import Contender, Envfleet, Helm, Kubectl, Naive, Target, WithCheckpoints
from tests.bench.objects import rendered
from tests.engine.control_plane import PROGRAMS, run_control_plane
from toolchain import engine, images, layout, tools

REFERENCE = Helm.label
STEPS = ("up", "preview", "again", "down")
TITLES = {"up": "up", "preview": "preview, no change", "again": "up, no change", "down": "down"}
# What an idle echo environment needs, so that all fit on one node.
REQUESTS = {"cpu": "5m", "memory": "32Mi", "ephemeral_storage": "8Mi"}
# A machine that is busy is no failure.
PATIENCE_SECONDS = 600
console = Console(width=120)


@contextmanager
def kind_cluster(folder: Path, home: Path) -> Iterator[Target]:
    """A kind cluster of a control plane and a worker."""
    from tests.e2e.lab import run_lab  # noqa: PLC0415 (only where there is a container engine)

    tools.ensure("kind")
    engine.ensure()
    images.ensure()
    (folder / "lab").mkdir()
    with run_lab(folder / "lab", f"bench{os.getpid()}", worker_nodes=1) as lab:
        yield Target(folder, home, lab.kubeconfig, lab.images)


@contextmanager
def simulated_cluster(folder: Path, home: Path) -> Iterator[Target]:
    """A control plane whose nodes and pods kwok simulates."""
    tools.ensure(*PROGRAMS)
    (folder / "control-plane").mkdir()
    with run_control_plane(folder / "control-plane", layout.BIN) as plane:
        yield Target(folder, home, plane.kubeconfig, {})


CLUSTERS = {"kind": kind_cluster, "kwok": simulated_cluster}


def configuration(size: int, *, real: bool) -> dict[str, Any]:
    """A fleet of that many environments."""
    echo, server = (
        ("envfleet/echo:0.1.0", "envfleet/server:0.1.0") if real else ("test/echo:1", "test/server:1")
    )
    entry = {
        "name": "echo",
        "count": size,
        "image": echo,
        "resources": {"requests": REQUESTS},
        "startup_seconds": PATIENCE_SECONDS,
    }
    return {
        "cluster": {"provider": "kind"},
        "readiness": {"through_service": real, "timeout_seconds": PATIENCE_SECONDS},
        "server": {"image": server},
        "environments": [entry],
    }


def contenders(target: Target, raw: dict[str, Any], chosen: list[str], log: Path) -> Iterator[Contender]:
    """Each when its turn comes, in a namespace of its own. What it takes to have them goes to a file."""

    def objects(namespace: str) -> list[dict[str, Any]]:
        config = parse({**raw, "namespace": namespace}, namespace, set())
        return rendered(FleetArgs(config, namespace, "", lambda image: target.images.get(image, image)))

    made: dict[str, Callable[[], Contender]] = {
        "kubectl": lambda: Kubectl(target, objects("kubectl")),
        "helm": lambda: Helm(target, objects("helm")),
        "envfleet": lambda: Envfleet(target, "envfleet", raw),
        "checkpoints": lambda: WithCheckpoints(target, "checkpoints", raw),
        "naive": lambda: Naive(target, objects("naive"), raw),
    }
    for name in chosen:
        with _output_to(log):
            contender = made[name]()
        yield contender


def measure(contender: Contender, log: Path) -> dict[str, float]:
    """The seconds of each step. What the commands print goes to a file."""
    seconds = {}
    for step in STEPS:
        with _output_to(log):
            began = time.monotonic()
            getattr(contender, step)()
            seconds[step] = time.monotonic() - began
        console.print(f"{contender.label}: {TITLES[step]} {seconds[step]:.1f} s")
    return seconds


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Append to a file what this process and its children print."""
    kept = os.dup(1), os.dup(2)
    with log.open("a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        for number, original in enumerate(kept, 1):
            os.dup2(original, number)
            os.close(original)


def run(place: str, size: int, chosen: list[str]) -> None:
    """Measure on one cluster, and print tables."""
    with contextlib.ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="envfleet-bench-")))
        home = folder / "home"
        home.mkdir()
        target = cleanup.enter_context(CLUSTERS[place](folder, home))
        raw = configuration(size, real=place == "kind")
        results: dict[str, dict[str, float]] = {}
        timeline, log = None, layout.LOGS / f"bench-{place}.log"
        for contender in contenders(target, raw, chosen, log):
            results[contender.label] = measure(contender, log)
            timeline = contender.timeline if contender.label == Envfleet.label else timeline
    _print(f"{size} environments on {place}", results)
    if timeline:
        phases = Table("envfleet up, no fleet there before", "seconds")
        for name, seconds in timeline.phases().items():
            phases.add_row(name, f"{seconds:.1f}")
        console.print(phases)


def _print(title: str, results: dict[str, dict[str, float]]) -> None:
    table = Table("seconds (up: ratio to helm)", *(TITLES[step] for step in STEPS), title=title)
    reference = results.get(REFERENCE, {}).get("up")
    for label, seconds in results.items():
        ratio = f" ({seconds['up'] / reference:.2f})" if reference else ""
        table.add_row(label, *(f"{seconds[step]:.1f}{ratio if step == 'up' else ''}" for step in STEPS))
    console.print(table)


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--kind", type=int, default=40, metavar="N", help="environments there; 0: not there")
    parser.add_argument("--kwok", type=int, default=200, metavar="N", help="environments there; 0: not there")
    parser.add_argument("--only", nargs="+", help="such as helm envfleet")
    options = parser.parse_args()
    chosen = options.only or ["kubectl", "helm", "envfleet", "checkpoints", "naive"]
    tools.ensure("pulumi", "pulumi-resource-kubernetes", "kubectl", "helm")
    layout.LOGS.mkdir(parents=True, exist_ok=True)
    for place in CLUSTERS:
        if size := getattr(options, place):
            run(place, size, chosen)


if __name__ == "__main__":
    main()
