"""The fleet works: every workload is ready and answers through its Service, or the reason why not.

Pulumi waits for no Pod by itself (`pods.AWAITED_AS_FLEET`): one resource waits for all, and says more.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

import pulumi
from pulumi import dynamic
from pulumi.runtime import rpc
from typing_extensions import override

from config.models import ReadinessConfig
from live import watch
from live.api import ClusterError, connect
from live.fleet import SERVER, Expected, FleetNotReady, State, Status
from live.through_service import unreachable
from plugin import Provider, say, show_status

_TYPE = "pulumi-python:dynamic/fleet:Readiness"  # as the engine knows it
_INPUTS = ("namespace", "instance", "environments", "incarnations")


class ReadinessProvider(Provider):
    """Waits when something changed, and whenever a look at the cluster shows a workload that is not ready."""

    @override
    def diff(self, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> dynamic.DiffResult:
        moved = [key for key in ("namespace", "instance") if olds.get(key) != news.get(key)]
        changed = rpc.contains_unknowns(news) or any(olds.get(key) != news.get(key) for key in _INPUTS)
        return dynamic.DiffResult(changes=changed or not _all_ready(news), replaces=moved)

    @override
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        asyncio.run(_wait(props))
        return dynamic.CreateResult(f"{props['instance']}/{props['namespace']}", dict(props))

    @override
    def update(self, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> dynamic.UpdateResult:
        asyncio.run(_wait(news))
        return dynamic.UpdateResult(dict(news))


def _all_ready(inputs: Mapping[str, Any]) -> bool:
    """Whether the fleet is ready now; says what is not."""
    try:
        statuses = asyncio.run(_look(inputs))
    except ClusterError as error:
        say(f"whether the fleet is ready is not known: {error}")
        return False
    broken = [status for status in statuses if status.state is not State.READY]
    for status in broken:
        say(f"{status.name} is not ready: {status.detail}")
    return not broken


async def _look(inputs: Mapping[str, Any]) -> list[Status]:
    async with connect(inputs["kubeconfig"]) as api:
        return await watch.look(api, inputs["namespace"], inputs["instance"], _expected(inputs))


async def _wait(inputs: Mapping[str, Any]) -> None:
    place = inputs["namespace"], inputs["instance"]
    async with connect(inputs["kubeconfig"]) as api:
        report = partial(show_status, inputs["urn"])
        await watch.wait(api, *place, _expected(inputs), report, inputs["timeout_seconds"])
        if inputs["through_service"] and (problems := await unreachable(api, *place)):
            total = len(inputs["environments"])
            raise FleetNotReady(problems, total - len(problems), total)


def _expected(inputs: Mapping[str, Any]) -> list[Expected]:
    environments = inputs["environments"].items()
    return [
        SERVER,
        *(Expected(name, startup_seconds=int(seconds)) for name, seconds in environments),
    ]


class Readiness(dynamic.Resource, module="fleet", name="Readiness"):
    """That the fleet works. It must come after everything that it looks at.

    environments: for each by name, how long it may take to start, in seconds.
    incarnations: for each workload by name, what changes whenever it must be waited for again.
    """

    def __init__(
        self,
        name: str,
        kubeconfig: pulumi.Input[str],
        namespace: str,
        instance: str,
        *,
        environments: Mapping[str, int],
        incarnations: Mapping[str, pulumi.Input[str]],
        settings: ReadinessConfig,
        opts: pulumi.ResourceOptions,
    ) -> None:
        inputs = {
            "kubeconfig": kubeconfig,
            "namespace": namespace,
            "instance": instance,
            "environments": environments,
            "incarnations": incarnations,
            "urn": _urn(f"{name}-readiness", opts.parent),
            **settings.model_dump(),
        }
        secret = pulumi.ResourceOptions(additional_secret_outputs=["kubeconfig"])
        super().__init__(
            ReadinessProvider(), f"{name}-readiness", inputs, pulumi.ResourceOptions.merge(opts, secret)
        )


async def _urn(name: str, parent: pulumi.Resource | None) -> str:
    """The resource's own URN, which its provider is not told; as a value that does not depend on the parent.

    That would be a circle, since the parent comes with all its children.
    """
    above = await parent.urn.future() if parent else None
    return f"{(above or '').rpartition('::')[0]}${_TYPE}::{name}"
