"""Nothing that is not the fleet's own is ever taken over: looked at before anything is written.

Server-side apply, by which Pulumi creates, would merge into an existing object of the same name.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi import dynamic
from pulumi.runtime import rpc
from typing_extensions import override

from live import ownership
from live.api import ClusterError, connect
from plugin import Provider, say


class OwnershipProvider(Provider):
    """Looks each time the engine checks the resource: in every preview and every `up`."""

    @override
    def check(self, olds: dict[str, Any], news: dict[str, Any]) -> dynamic.CheckResult:
        kept = {key: news[key] for key in ("namespace", "instance")}
        if rpc.contains_unknowns(news):  # a cluster that is yet to be made
            return dynamic.CheckResult(kept, [])
        try:
            found = asyncio.run(_strangers(news))
        except ClusterError as error:
            if not news["preview"]:
                raise
            say(f"what exists in namespace {news['namespace']!r} could not be checked: {error}")
            found = []
        return dynamic.CheckResult(kept, [dynamic.CheckFailure("namespace", text) for text in found])

    @override
    def diff(self, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> dynamic.DiffResult:
        moved = [key for key in ("namespace", "instance") if olds[key] != news[key]]
        return dynamic.DiffResult(changes=bool(moved), replaces=moved)

    @override
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        return dynamic.CreateResult(f"{props['instance']}/{props['namespace']}", dict(props))


async def _strangers(inputs: Mapping[str, Any]) -> list[str]:
    async with connect(inputs["kubeconfig"]) as api:
        return await ownership.strangers(api, inputs["namespace"], inputs["instance"], inputs["declared"])


class Ownership(dynamic.Resource, module="fleet", name="Ownership"):
    """That the fleet's names are free or its own; whatever is written comes after it.

    declared: the names of the fleet's objects in the namespace, by kind.
    """

    def __init__(
        self,
        name: str,
        kubeconfig: pulumi.Input[str],
        namespace: str,
        instance: str,
        *,
        declared: Mapping[str, Sequence[str]],
        opts: pulumi.ResourceOptions,
    ) -> None:
        # Of these only two are kept in the state: see `check`.
        inputs = {
            "kubeconfig": kubeconfig,
            "namespace": namespace,
            "instance": instance,
            "declared": declared,
            "preview": pulumi.runtime.is_dry_run(),
        }
        super().__init__(OwnershipProvider(), f"{name}-ownership", inputs, opts)
