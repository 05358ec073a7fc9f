"""Why a container that runs is not ready: what its probes met."""

import re
from collections.abc import Sequence
from datetime import timedelta

from live.containers import ends, keeps_ending
from live.events import Event, Object, moment
from live.fleet import Cause
from live.view import Finding, View, shown

_TRIES = 3  # of an answer that waiting won't change,
_TRY_SECONDS = 3  # over so long
_UNREADY_SECONDS = 30  # how long a container that has started may not be ready

# The first pattern that is found decides; "{port}" and "{path}" are those of the probe.
_CAUSES = [
    (r"connection refused", Cause.NOTHING_LISTENS, "nothing listens on port {port}"),
    (r"statuscode: (404|410)", Cause.HEALTH_PATH_WRONG, "{path} on port {port} is answered with {code}"),
    (
        r"statuscode: (408|425|429|5\d\d)",
        Cause.HEALTH_ERROR,
        "{path} on port {port} is answered with {code}",
    ),
    (r"statuscode: \d+", Cause.HEALTH_PATH_REFUSED, "{path} on port {port} is answered with {code}"),
    (
        r"HTTP response to HTTPS client|does not look like a TLS handshake",
        Cause.HEALTH_SCHEME_WRONG,
        "port {port} speaks HTTP, and is asked by HTTPS",
    ),
    (
        r"malformed HTTP response",
        Cause.HEALTH_SCHEME_WRONG,
        "port {port} does not speak HTTP; perhaps it speaks HTTPS",
    ),
    (
        r"Client\.Timeout|deadline exceeded|i/o timeout|no route to host",
        Cause.HEALTH_TIMEOUT,
        "{path} on port {port} does not answer within {timeout} s",
    ),
    (r"", Cause.HEALTH_ERROR, "{path} on port {port} gives no answer ({text})"),
]
_WAITING_IS_VAIN = (Cause.HEALTH_PATH_WRONG, Cause.HEALTH_PATH_REFUSED, Cause.HEALTH_SCHEME_WRONG)


def killed_by_probe(view: View) -> Finding | None:
    """A container that kubelet ended, because its startup or liveness probe failed too often."""
    for container in view.containers:
        end = next(ends(container), None)
        if end is None or container.get("started"):
            continue
        for event in reversed(view.events):
            found = re.search(r"failed (startup|liveness) probe", event.message)
            if event.reason == "Killing" and found and _is_within(event, end):
                probe = found[1].capitalize()
                failures = [some for some in view.events if f"{probe} probe failed: " in some.message]
                most = max(failures, key=lambda some: some.count, default=event)
                cause, words = _classified(view, container, most)
                message = f"was restarted, since its {found[1]} probe failed: {words}"
                return Finding(cause, message, probe == "Startup" or keeps_ending(view, container, end))
    return None


def not_answering(view: View) -> Finding | None:
    """A container whose probes fail; definite once its time is up, or the answer won't change."""
    for container in view.containers:
        running = container["state"].get("running")
        if running is None or container.get("ready"):
            continue
        began = moment(running.get("startedAt"))
        if container.get("started"):
            since = max(began, moment(view.condition.get("Ready", {}).get("lastTransitionTime")))
            seconds = _UNREADY_SECONDS
        else:
            since, seconds = began, view.expected.startup_seconds
        is_over = view.has_lasted(since, seconds)
        failures = [event for event in view.events if event.reason == "Unhealthy" and event.last >= began]
        if failures:
            cause, words = _classified(view, container, failures[-1])
            same = [event for event in failures if _classified(view, container, event)[0] is cause]
            return Finding(cause, words, is_over or (cause in _WAITING_IS_VAIN and _is_repeated(same)))
        if is_over:
            return Finding(Cause.SLOW, f"runs, but has not become ready within {seconds} s")
    return None


def _is_within(event: Event, end: Object) -> bool:
    """Whether the event belongs to the run of a container that ended so; clocks show whole seconds."""
    second = timedelta(seconds=1)
    return moment(end.get("startedAt")) - second <= event.last <= moment(end.get("finishedAt")) + second


def _is_repeated(failures: Sequence[Event]) -> bool:
    span = max(event.last for event in failures) - min(event.first for event in failures)
    return sum(event.count for event in failures) >= _TRIES and span.total_seconds() >= _TRY_SECONDS


def _classified(view: View, container: Object, failure: Event) -> tuple[Cause, str]:
    text = failure.message.split("probe failed: ", 1)[-1]
    cause, words = next((cause, words) for pattern, cause, words in _CAUSES if re.search(pattern, text))
    probe = _probe(view, container["name"])
    code = re.search(r"statuscode: (\d+)", text)
    return cause, words.format(
        port=probe.get("port"),
        path=probe.get("path"),
        timeout=probe.get("timeout"),
        code=code and code[1],
        text=shown(text),
    )


def _probe(view: View, name: str) -> Object:
    """Port, path and timeout of the container's HTTP probes, which differ only in how often they ask."""
    spec = next(container for container in view.pod["spec"]["containers"] if container["name"] == name)
    probe = spec.get("startupProbe") or spec.get("readinessProbe") or {}
    request = probe.get("httpGet") or {}
    ports = {port.get("name"): port["containerPort"] for port in spec.get("ports") or []}
    return {
        "port": ports.get(request.get("port"), request.get("port")),
        "path": request.get("path"),
        "timeout": probe.get("timeoutSeconds"),
    }
