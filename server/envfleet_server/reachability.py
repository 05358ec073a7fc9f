"""Whether environments answer their health path through their Service, as seen from inside the cluster."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from kr8s.asyncio.objects import Pod, Service
from pydantic import BaseModel, Field

from envfleet_server.environments import SELECTOR
from envfleet_server.kubernetes import Kubernetes

AT_ONCE = 50  # requests
HEALTH_PORT = "health"  # of a Service whose environment is asked on another port than its clients use

Object = Mapping[str, Any]  # a Kubernetes object, or a part of one, as the API returns it


class Reachability(BaseModel):
    """What became of asking one environment."""

    name: str
    url: str = Field(description="What was asked")
    reachable: bool
    detail: str = Field(description="The answer's status, or why there was none")


async def check_environments(kubernetes: Kubernetes) -> list[Reachability]:
    """Ask every environment that has a Pod and a Service, once, by name.

    Raises:
        KubernetesError: pods or services could not be listed.
    """
    services = {service["metadata"]["name"]: service for service in await kubernetes.list(Service, SELECTOR)}
    pods = {pod["metadata"]["name"]: pod for pod in await kubernetes.list(Pod, SELECTOR)}
    limit = asyncio.Semaphore(AT_ONCE)
    # Kubernetes' own probes accept any certificate too; no proxy is between us and a Service.
    async with httpx.AsyncClient(verify=False, trust_env=False) as client:  # noqa: S501
        return await asyncio.gather(
            *(
                _ask(client, limit, Target.of(pods[name], services[name]))
                for name in sorted(pods.keys() & services.keys())
            )
        )


@dataclass(frozen=True)
class Target:
    """What to ask an environment."""

    name: str
    url: str
    timeout_seconds: float

    @classmethod
    def of(cls, pod: Object, service: Object) -> "Target":
        """What Kubernetes asks the Pod, through its Service."""
        name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
        probe = pod["spec"]["containers"][0]["readinessProbe"]
        get = probe["httpGet"]
        ports = {port["name"]: port["port"] for port in service["spec"]["ports"]}
        port = ports.get(HEALTH_PORT) or next(iter(ports.values()))
        url = f"{get['scheme'].lower()}://{name}.{namespace}:{port}{get['path']}"
        return cls(name, url, probe["timeoutSeconds"])


async def _ask(client: httpx.AsyncClient, limit: asyncio.Semaphore, target: Target) -> Reachability:
    try:
        async with limit:
            answer = await client.get(target.url, timeout=target.timeout_seconds)
    except httpx.HTTPError as error:
        detail = str(error) or f"no answer within {target.timeout_seconds:g} s"
        return Reachability(name=target.name, url=target.url, reachable=False, detail=detail)
    # What Kubernetes' own probes count as an answer.
    return Reachability(
        name=target.name,
        url=target.url,
        reachable=200 <= answer.status_code < 400,
        detail=f"HTTP {answer.status_code}",
    )
