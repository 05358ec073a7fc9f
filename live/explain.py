"""Problems as they may be shown: without the values of Secrets, and with the end of a log where it helps."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import kr8s.asyncio

from live.diagnosis import pod_of
from live.fleet import Cause, Expected, Problem, Status
from live.logs import has_run, last_lines
from live.remedies import REMEDIES
from live.secrets import Mask, masks
from live.snapshot import Snapshot

_LOG_HELPS = (
    Cause.CRASHES,
    Cause.EXITS,
    Cause.OUT_OF_MEMORY,
    Cause.KILLED,
    Cause.NOTHING_LISTENS,
    Cause.HEALTH_ERROR,
    Cause.HEALTH_TIMEOUT,
    Cause.HEALTH_PATH_REFUSED,
    Cause.SLOW,
)


class Explainer:
    """Shows what a snapshot says of a fleet's workloads."""

    def __init__(self, api: kr8s.asyncio.Api, snapshot: Snapshot, expected: Sequence[Expected]) -> None:
        self._api = api
        self._pods = {one.name: pod for one in expected if (pod := pod_of(snapshot, one))}

    async def statuses(self, statuses: Sequence[Status]) -> list[Status]:
        """The statuses, in whose texts no value of a Secret is left."""
        mask = await self._masks([one.name for one in statuses if one.problem or one.suspicion])
        return [_status(one, mask[one.name]) if one.name in mask else one for one in statuses]

    async def problems(self, problems: Sequence[Problem]) -> list[Problem]:
        """The problems, without secrets, and each with the end of the log if that may say more."""
        mask = await self._masks([problem.name for problem in problems])
        return await asyncio.gather(*(self._problem(one, mask.get(one.name)) for one in problems))

    async def _masks(self, names: Sequence[str]) -> dict[str, Mask]:
        """The mask of each workload that has a pod, by the workload's name."""
        pods = {name: self._pods[name] for name in names if name in self._pods}
        return dict(zip(pods, await masks(self._api, list(pods.values())), strict=True))

    async def _problem(self, problem: Problem, mask: Mask | None) -> Problem:
        if mask is None:
            return problem
        masked = _masked(problem, mask)
        pod = self._pods[problem.name]
        if problem.cause not in _LOG_HELPS or not has_run(pod):
            return masked
        log = await last_lines(self._api, pod, mask)
        if any("exec format error" in line for line in log):
            remedy = REMEDIES[Cause.WRONG_ARCHITECTURE]
            return replace(masked, cause=Cause.WRONG_ARCHITECTURE, remedy=remedy, log=log)
        return replace(masked, log=log)


def _status(status: Status, mask: Mask) -> Status:
    problem = status.problem and _masked(status.problem, mask)
    suspicion = status.suspicion and _masked(status.suspicion, mask)
    shown = problem or suspicion
    return replace(
        status, detail=shown.message if shown else status.detail, problem=problem, suspicion=suspicion
    )


def _masked(problem: Problem, mask: Mask) -> Problem:
    if mask.is_blind:
        return replace(problem, message=f"{problem.cause} (details are not shown: {mask.unsafe})")
    return replace(problem, message=mask.text(problem.message))
