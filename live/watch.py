"""Looking at a fleet once, and waiting until it is ready or certainly won't be."""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import kr8s.asyncio

from live.api import ClusterError
from live.diagnosis import diagnose
from live.explain import Explainer
from live.fleet import Cause, Expected, FleetNotReady, Problem, State, Status
from live.remedies import REMEDIES
from live.snapshot import Mirrors, Snapshot

_AWAY = "the Kubernetes API does not answer"


@dataclass(frozen=True)
class Pace:
    """How long things take, in seconds.

    tick: from one judgement of the fleet to the next.
    settle: from the first problem to the failure, so that others that show then are in the same message.
    retry: until the API server is tried again.
    patience: how long the API server may be away.
    """

    tick: float = 0.5
    settle: float = 3
    retry: float = 1
    patience: float = 30


async def look(
    api: kr8s.asyncio.Api, namespace: str, instance: str, expected: Sequence[Expected]
) -> list[Status]:
    """The status of each workload now, in the order given.

    Raises:
        ClusterError: the cluster can't be reached, or refuses to be read.
    """
    mirrors = Mirrors(namespace, instance)
    await mirrors.read(api)
    snapshot, statuses = await _judged(api, mirrors, expected)
    return await Explainer(api, snapshot, expected).statuses(statuses)


async def wait(  # noqa: PLR0917 - where, what for, whom to tell, and how long
    api: kr8s.asyncio.Api,
    namespace: str,
    instance: str,
    expected: Sequence[Expected],
    report: Callable[[str], None],
    timeout_seconds: float,
    *,
    pace: Pace = Pace(),
) -> None:
    """Return when every workload is ready; `report` is told how many are, whenever that changes.

    Raises:
        FleetNotReady: a workload certainly won't be ready, or some were not in time; it says why each.
        ClusterError: the cluster can't be reached, or refuses to be read.
    """
    mirrors = Mirrors(namespace, instance)
    async with _following(api, mirrors, pace) as check:
        if await _becomes_ready(
            mirrors, expected, report, timeout_seconds=timeout_seconds, pace=pace, check=check
        ):
            return
    snapshot, statuses = await _judged(api, mirrors, expected)
    unready = [status for status in statuses if status.state is not State.READY]
    # Either some certainly won't be ready, or the time was too short for all of these.
    problems = [status.problem for status in unready if status.problem]
    if not problems:
        problems = [_late(status, timeout_seconds) for status in unready]
    problems = await Explainer(api, snapshot, expected).problems(problems)
    raise FleetNotReady(problems, len(statuses) - len(unready), len(statuses))


async def _judged(
    api: kr8s.asyncio.Api, mirrors: Mirrors, expected: Sequence[Expected]
) -> tuple[Snapshot, list[Status]]:
    """What the mirrors hold, and what it means; what is on the nodes is read only if it matters."""
    snapshot = mirrors.snapshot()
    statuses = diagnose(snapshot, expected)
    if any(status.state is State.PENDING or _is_unscheduled(status) for status in statuses):
        snapshot = mirrors.snapshot(await mirrors.running(api))
        statuses = diagnose(snapshot, expected)
    return snapshot, statuses


def _is_unscheduled(status: Status) -> bool:
    return status.problem is not None and status.problem.cause in (Cause.NO_ROOM, Cause.NO_DEVICE)


async def _becomes_ready(
    mirrors: Mirrors,
    expected: Sequence[Expected],
    report: Callable[[str], None],
    *,
    timeout_seconds: float,
    pace: Pace,
    check: Callable[[], None],
) -> bool:
    """Whether all become ready; False once some certainly won't, or the time is over."""
    clock = asyncio.get_running_loop().time
    ends_at = clock() + timeout_seconds
    fails_at = math.inf
    reported = ""
    while True:
        check()
        # What is not current is not judged: it may be long mended.
        statuses = diagnose(mirrors.snapshot(), expected) if mirrors.are_current else None
        text = _AWAY if statuses is None else _progress(statuses)
        if text != reported:
            report(text)
            reported = text
        if statuses is None:
            if clock() >= ends_at:
                raise ClusterError(f"{_AWAY}, and {timeout_seconds:g} s are over", is_transient=True)
        elif all(status.state is State.READY for status in statuses):
            return True
        else:
            is_hopeless = any(status.problem for status in statuses)
            fails_at = min(fails_at, clock() + pace.settle) if is_hopeless else math.inf
            if clock() >= min(fails_at, ends_at):
                return False
        await asyncio.sleep(pace.tick)


@asynccontextmanager
async def _following(
    api: kr8s.asyncio.Api, mirrors: Mirrors, pace: Pace
) -> AsyncIterator[Callable[[], None]]:
    """Keep the mirrors, once all are filled, up to date.

    The function that is yielded raises what made that impossible.
    """
    tasks = [asyncio.create_task(mirror.follow(api, pace.retry, pace.patience)) for mirror in mirrors.all]

    def check() -> None:
        for task in tasks:
            if task.done():
                task.result()

    try:
        while not mirrors.are_current:
            await asyncio.sleep(pace.tick)
            check()
        yield check
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _progress(statuses: Sequence[Status]) -> str:
    """Such as "41/50 ready, 2 pulling, 7 starting"."""
    count = Counter(status.state for status in statuses)
    parts = [f"{count[State.READY]}/{len(statuses)} ready"]
    parts += [
        f"{count[state]} {state.lower()}" for state in State if count[state] and state is not State.READY
    ]
    return ", ".join(parts)


def _late(status: Status, timeout_seconds: float) -> Problem:
    """What is known about a workload that is not ready when the time is over."""
    known = status.suspicion or Problem(
        status.name, Cause.SLOW, status.detail or f"is {status.state.lower()}", REMEDIES[Cause.SLOW]
    )
    return replace(known, message=f"not ready after {timeout_seconds:g} s: {known.message}")
