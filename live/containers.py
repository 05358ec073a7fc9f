"""Why a container can't be created or does not keep running."""

import re
from collections.abc import Iterator, Sequence

from live.events import Object, moment
from live.fleet import Cause
from live.view import Finding, View, shown

_SIGKILL_EXIT = 137
_SIGNALS = range(129, 129 + 64)  # exit codes of what a signal ended: 128 and its number
_START_FAILURES = ("RunContainerError", "CreateContainerError", "StartError", "ContainerCannotRun")

_CONFIG_CAUSES = [
    (r"image will run as root|runAsUser breaks non-root", Cause.RUNS_AS_ROOT, "would run as root"),
    (r"non-numeric user", Cause.NAMED_USER, "runs as a user with a name, which may be root"),
    (
        r"not found|couldn't find key|non-existent config key",
        Cause.REFERENCE_MISSING,
        "lacks what `env` names",
    ),
    (r"", Cause.CONTAINER_REFUSED, "can't be created"),
]
_START_CAUSES = [
    (r"exec format error", Cause.WRONG_ARCHITECTURE, "can't run: its program is not one for its node"),
    (
        r"executable file not found|no such file or directory|no command specified",
        Cause.COMMAND_NOT_RUNNABLE,
        "can't run: there is no such command",
    ),
    (
        r"permission denied|is a directory",
        Cause.COMMAND_NOT_RUNNABLE,
        "can't run: its command is not executable",
    ),
    (r"", Cause.CONTAINER_REFUSED, "can't be started"),
]


def ends(container: Object) -> Iterator[Object]:
    """How the container ended, the latest time first; Kubernetes keeps one or two."""
    for state in (container["state"], container.get("lastState") or {}):
        if "terminated" in state:
            yield state["terminated"]


def keeps_ending(view: View, container: Object, end: Object) -> bool:
    """Whether it is in a crash loop, or has ended twice soon after its start.

    What had run for long was ended by something of that moment, such as a restart of its node.
    """
    if (container["state"].get("waiting") or {}).get("reason") == "CrashLoopBackOff":
        return True
    return _end_count(container) >= 2 and _seconds_lived(end) < view.expected.startup_seconds


def container_refused(view: View) -> Finding | None:
    """A container that never came to run its program."""
    for container in view.containers:
        waiting = container["state"].get("waiting") or {}
        if waiting.get("reason") == "CreateContainerConfigError":
            return _classified(waiting, _CONFIG_CAUSES)
        for stopped in (waiting, *ends(container)):
            if stopped.get("reason") in _START_FAILURES:
                return _classified(stopped, _START_CAUSES)
    return None


def out_of_memory(view: View) -> Finding | None:
    """A container that the kernel killed at its memory limit."""
    for container in view.containers:
        if any(end.get("reason") == "OOMKilled" for end in ends(container)):
            limit = _memory_limit(view, container["name"])
            return Finding(Cause.OUT_OF_MEMORY, f"was killed at its memory limit{limit}{_times(container)}")
    return None


def crashed(view: View) -> Finding | None:
    """A container whose program ended, although a server keeps running."""
    steps = {container["name"] for container in view.status.get("initContainerStatuses") or []}
    for container in view.containers:
        end = next(ends(container), None)
        if end is None or (container["name"] in steps and end["exitCode"] == 0):
            continue
        cause, words = _exit(end["exitCode"])
        message = f"{words} after {_seconds_lived(end):.0f} s{_times(container)}"
        return Finding(cause, message, is_definite=keeps_ending(view, container, end))
    return None


def _classified(stopped: Object, causes: Sequence[tuple[str, Cause, str]]) -> Finding:
    text = stopped.get("message") or ""
    cause, words = next((cause, words) for pattern, cause, words in causes if re.search(pattern, text))
    return Finding(cause, f"{words} ({shown(text.rsplit('container process: ', 1)[-1])})")


def _exit(code: int) -> tuple[Cause, str]:
    if code == 0:
        return Cause.EXITS, "ended with exit code 0"
    if code == _SIGKILL_EXIT:
        return Cause.KILLED, "was killed by SIGKILL, perhaps for its memory,"
    if code in _SIGNALS:
        return Cause.CRASHES, f"was ended by signal {code - 128}"
    return Cause.CRASHES, f"crashed with exit code {code}"


def _seconds_lived(end: Object) -> float:
    return (moment(end.get("finishedAt")) - moment(end.get("startedAt"))).total_seconds()


def _end_count(container: Object) -> int:
    return int(container["restartCount"]) + ("terminated" in container["state"])


def _times(container: Object) -> str:
    count = _end_count(container)
    return f", {count} times so far" if count > 1 else ""


def _memory_limit(view: View, name: str) -> str:
    spec = view.pod["spec"]
    for container in [*(spec.get("initContainers") or []), *spec["containers"]]:
        limit = (container.get("resources", {}).get("limits") or {}).get("memory")
        if container["name"] == name and limit:
            return f" of {limit}"
    return ""
