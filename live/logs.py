"""What a container wrote last, without secrets."""

import re

import kr8s.asyncio

from live.api import ClusterError, explained
from live.events import Object
from live.secrets import Mask

_LINES = 10
_CHARACTERS = 2000  # of all lines
_LONGEST_LINE = 300
_READ_BYTES = 100_000  # at most; of them the last lines are shown
_READ_SECONDS = 5  # a node that is lost does not answer
# What would command the terminal that shows the log.
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


async def last_lines(api: kr8s.asyncio.Api, pod: Object, mask: Mask, lines: int = _LINES) -> tuple[str, ...]:
    """The last lines that the pod's container wrote: before it crashed, if it has and runs again.

    With several containers, that of the first which is not ready. Where the log can't be shown, the one line
    that is returned says why.
    """
    container = _container(pod)
    if mask.unsafe:
        return (f"(not shown: {mask.unsafe})",)
    params: dict[str, str | int] = {
        "container": container["name"],
        "tailLines": lines,
        "limitBytes": _READ_BYTES,
        "previous": "true" if _runs_again(container) else "false",
    }
    metadata = pod["metadata"]
    try:
        with explained("reading the log"):
            async with api.call_api(
                namespace=metadata["namespace"],
                url=f"pods/{metadata['name']}/log",
                params=params,
                timeout=_READ_SECONDS,
            ) as response:
                text = response.text
    except ClusterError as error:
        return (f"(not shown: {error})",)
    return shortened(mask.text(text), is_cut=len(response.content) >= _READ_BYTES)


def has_run(pod: Object) -> bool:
    """Whether a container of the pod has ever run, and so may have a log."""
    return any("running" in state or "terminated" in state for state in _states(pod))


def shortened(text: str, *, is_cut: bool = False) -> tuple[str, ...]:
    """The last of the lines that fit on a screen. `is_cut`: the last may be part of one, or of a secret."""
    lines = [_CONTROL.sub("", line).rstrip() for line in text.split("\n")]
    lines = [line for line in (lines[:-1] if is_cut else lines) if line]
    shown: list[str] = []
    room = _CHARACTERS
    for line in reversed(lines):
        short = line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
        room -= len(short)
        if room < 0:
            break
        shown.append(short)
    return tuple(reversed(shown))


def _container(pod: Object) -> Object:
    statuses: list[Object] = [
        *(pod["status"].get("initContainerStatuses") or []),
        *(pod["status"].get("containerStatuses") or []),
    ]
    return next((status for status in statuses if not status["ready"]), statuses[-1])


def _states(pod: Object) -> list[Object]:
    statuses = pod["status"].get("containerStatuses") or []
    return [state for status in statuses for state in (status["state"], status.get("lastState") or {})]


def _runs_again(container: Object) -> bool:
    return "running" in container["state"] and "terminated" in (container.get("lastState") or {})
