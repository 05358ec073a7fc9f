"""Where the time of a `pulumi up` goes, from the engine's events as they come."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_POLL_SECONDS = 0.05
_READINESS = "pulumi-python:dynamic/fleet:Readiness"


@dataclass
class Timeline:
    """Moments of one run, by a monotonic clock."""

    began: float = field(default_factory=time.monotonic)
    ended: float = 0
    events: list[tuple[float, dict[str, Any]]] = field(default_factory=list)

    def phases(self) -> dict[str, float]:
        """What the run did one after another, each with its seconds."""
        steps = [(moment, step) for moment, event in self.events if (step := _step(event))]
        first = steps[0][0]
        readiness = [moment for moment, (kind, _) in steps if kind == _READINESS]
        objects = max(moment for moment, (kind, _) in steps if kind.startswith("kubernetes:"))
        ready = readiness[-1] if readiness else objects
        return {
            "until the program asks for its first resource": first - self.began,
            "objects registered, compared and written": objects - first,
            "until all are ready": max(0, ready - objects),
            "state saved, plugins ended": self.ended - max(ready, objects),
        }


def _step(event: dict[str, Any]) -> tuple[str, str] | None:
    for kind in ("resourcePreEvent", "resOutputsEvent"):
        if kind in event:
            metadata = event[kind]["metadata"]
            return metadata["type"], metadata["op"]
    return None


@contextmanager
def followed(log: Path) -> Iterator[Timeline]:
    """Note when each event of an event log appears, until the `with` block ends; events have only seconds."""
    timeline, ended = Timeline(), threading.Event()

    def follow() -> None:
        rest = ""
        offset = 0
        while True:
            last = ended.wait(_POLL_SECONDS)
            if log.exists():
                with log.open() as file:
                    file.seek(offset)
                    text = file.read()
                    offset = file.tell()
                *lines, rest = (rest + text).split("\n")
                now = time.monotonic()
                timeline.events += [(now, json.loads(line)) for line in lines if line]
            if last:
                return

    follower = threading.Thread(target=follow)
    follower.start()
    try:
        yield timeline
    finally:
        timeline.ended = time.monotonic()
        ended.set()
        follower.join()
