"""What is asked of each environment through its Service, and what counts as an answer."""

import asyncio
from typing import Any

import httpx
import pytest
from envfleet_server.reachability import Target, _ask

PORTS = [{"name": "http", "port": 8000}]


def target(ports: list[dict[str, Any]] = PORTS, scheme: str = "HTTP") -> Target:
    probe = {"httpGet": {"path": "/health", "port": "http", "scheme": scheme}, "timeoutSeconds": 2}
    pod = {"spec": {"containers": [{"readinessProbe": probe}]}}
    return Target.of(pod, {"metadata": {"name": "echo", "namespace": "rl"}, "spec": {"ports": ports}})


@pytest.mark.parametrize(
    ("asked", "url"),
    [
        (target(), "http://echo.rl:8000/health"),
        (target(scheme="HTTPS"), "https://echo.rl:8000/health"),
        (target([*PORTS, {"name": "health", "port": 9000}]), "http://echo.rl:9000/health"),
    ],
)
def test_the_question_is_that_of_the_readiness_probe_through_the_service(asked: Target, url: str) -> None:
    assert (asked.url, asked.timeout_seconds) == (url, 2)


async def ask(answer: int | Exception) -> tuple[bool, str]:
    def respond(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer)

    async with httpx.AsyncClient(transport=httpx.MockTransport(respond)) as client:
        found = await _ask(client, asyncio.Semaphore(1), target())
    return found.reachable, found.detail


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (200, (True, "HTTP 200")),
        (307, (True, "HTTP 307")),
        (404, (False, "HTTP 404")),
        (503, (False, "HTTP 503")),
        (httpx.ConnectError("no route to host"), (False, "no route to host")),
        (httpx.ReadTimeout(""), (False, "no answer within 2 s")),
    ],
)
async def test_an_answer_counts_as_it_does_for_kubernetes(
    answer: int | Exception, expected: tuple[bool, str]
) -> None:
    assert await ask(answer) == expected
