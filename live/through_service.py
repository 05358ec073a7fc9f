"""Whether clients reach the environments: asked of the control server, which is where clients are."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import kr8s
from kr8s.asyncio.objects import Pod

from live.api import ClusterError
from live.fleet import SERVER, Cause, Problem
from live.watch import look

_ASK_SECONDS = 30
# Nodes learn of a new endpoint some seconds after the API server does, and a busy server may answer 503.
_SETTLE_SECONDS = 30
_CLOSE_SECONDS = 5


async def unreachable(api: kr8s.asyncio.Api, namespace: str, instance: str) -> list[Problem]:
    """The environments that do not answer their health path through their Service, though they are ready.

    A port is forwarded to the server, which no network policy can prevent.

    Raises:
        ClusterError: the server can't be asked.
    """
    # Which pod it is, `look` knows: one that has failed, or is ending, may still be there beside it.
    (status,) = await look(api, namespace, instance, [SERVER])
    server = await Pod.get(status.pod, namespace=namespace, api=api)
    port = server.raw["spec"]["containers"][0]["ports"][0]["containerPort"]
    deadline = asyncio.get_running_loop().time() + _SETTLE_SECONDS
    async with _forwarded(server, port) as local:
        while True:
            is_late = asyncio.get_running_loop().time() > deadline
            try:
                found = [each for each in await _ask(local) if not each["reachable"]]
                if not found or is_late:
                    return [_problem(each) for each in found]
            except ClusterError:
                if is_late:
                    raise
            await asyncio.sleep(1)


@asynccontextmanager
async def _forwarded(pod: Pod, port: int) -> AsyncIterator[int]:
    """A local port that leads to the pod's."""
    before = asyncio.all_tasks()
    async with pod.portforward(port, local_port="auto") as local:
        yield local
    # kr8s leaves its connections, closed by now, to end by themselves; if the loop ended first, Python would
    # write a traceback of each.
    if connections := asyncio.all_tasks() - before:
        await asyncio.wait(connections, timeout=_CLOSE_SECONDS)


async def _ask(port: int) -> Sequence[dict[str, Any]]:
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=_ASK_SECONDS) as client:
            answer = await client.get(f"http://127.0.0.1:{port}/v1/reachability")
            return list(answer.raise_for_status().json())
    except httpx.HTTPError as error:
        raise ClusterError(
            f"the control server can't be asked whether environments answer through a Service: {error!r}. "
            "Where ports can't be forwarded to pods, write envfleet:readiness.through_service: false"
        ) from error


def _problem(answer: dict[str, Any]) -> Problem:
    return Problem(
        answer["name"],
        Cause.NOT_IN_SERVICE,
        f"its pod is ready, but through its Service {answer['url']} gives: {answer['detail']}",
        "look for a network policy that is not envfleet's, or at the cluster's DNS and kube-proxy",
    )
