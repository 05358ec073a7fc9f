"""Objects of a fleet that no state knows: a run without checkpoints made them, and was killed.

Only what carries all labels of the fleet is looked at, in namespaces that are the fleet's own.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import kr8s.asyncio
from kr8s.asyncio.objects import APIObject, Namespace

from live.api import connect, explained
from live.objects import Query, read
from live.ownership import KINDS

_NAME, _COMPONENT = (f"app.kubernetes.io/{label}" for label in ("name", "component"))
# Of these an environment consists.
_OF_ENVIRONMENTS = ("Pod", "Service", "Secret", "NetworkPolicy")

Object = Mapping[str, Any]
Found = tuple[type[APIObject], Object]


@dataclass(frozen=True)
class Known:
    """What a state knows of a cluster.

    kubeconfig: the way to it.
    applied: by the uid of each object, when Pulumi last wrote to it.
    namespaces: where the objects are.
    """

    kubeconfig: str
    applied: Mapping[str, str]
    namespaces: frozenset[str]

    @classmethod
    def of(cls, resources: Iterable[Object]) -> "Known | None":
        """What the resources of a state, exported with its secrets, know; None if they have no cluster."""
        found = list(resources)
        configs = [_plain(each["inputs"]["kubeconfig"]) for each in found if is_cluster_access(each)]
        objects = [
            each["outputs"]
            for each in found
            if each["type"].startswith("kubernetes:") and "uid" in each.get("outputs", {}).get("metadata", {})
        ]
        namespaces = {each["metadata"].get("namespace", each["metadata"]["name"]) for each in objects}
        applied = {each["metadata"]["uid"]: _applied(each) for each in objects}
        return cls(configs[0], applied, frozenset(namespaces)) if configs else None

    def has(self, item: Object) -> bool:
        """Whether an object is as the state has it, as far as Pulumi wrote it."""
        return self.applied.get(item["metadata"]["uid"], "") >= (_applied(item) or "-")


def is_cluster_access(resource: Object) -> bool:
    """Whether a resource of a state is a Kubernetes provider: it comes once its cluster is there."""
    return bool(resource["type"] == "pulumi:providers:kubernetes" and not resource.get("delete"))


def _plain(value: Any) -> Any:  # noqa: ANN401 - as the state has it
    """A value of a state that was exported with its secrets."""
    return json.loads(value["plaintext"]) if isinstance(value, dict) else value


async def remove_unknown(
    known: Known, instance: str, namespaces: Iterable[str], *, keep: bool, wanted: str | None
) -> list[str]:
    """Free a cluster of what a killed run left half done; returns what was removed.

    namespaces: where to look, besides those of the state.
    keep: what was made is as it is wanted, so that the next run takes it over; only what goes away anyway
        is hurried.
    wanted: the namespace that stays even if the state does not know it.

    Raises:
        ClusterError: The cluster can't be reached, or refuses.
    """
    removed: list[str] = []
    async with connect(known.kubeconfig) as api:
        for namespace in sorted({*namespaces, *known.namespaces}):
            own = await _list(api, Namespace, _ours(instance), field=f"metadata.name={namespace}")
            if not own:
                continue
            if not keep and namespace != wanted and not known.has(own[0]):
                removed += await _delete(api, [(Namespace, own[0])])
                continue
            stale = [
                (kind, item)
                for kind, item in await _all(api, KINDS, namespace, _ours(instance))
                if "deletionTimestamp" in item["metadata"] or not (keep or known.has(item))
            ]
            removed += await _delete(api, stale)
    return removed


async def remove_orphans(
    api: kr8s.asyncio.Api, namespace: str, instance: str, environments: Iterable[str]
) -> list[str]:
    """Remove what belongs to no environment of a fleet that is up; returns what was removed.

    Raises:
        ClusterError: The cluster can't be reached, or refuses.
    """
    names = set(environments)
    labels = f"{_ours(instance)},{_COMPONENT}=environment"
    found = await _all(api, _OF_ENVIRONMENTS, namespace, labels)
    return await _delete(
        api, [each for each in found if each[1]["metadata"]["labels"].get(_NAME) not in names]
    )


def _ours(instance: str) -> str:
    labels = {"part-of": "envfleet", "instance": instance, "managed-by": "pulumi"}
    return ",".join(f"app.kubernetes.io/{label}={value}" for label, value in labels.items())


async def _all(api: kr8s.asyncio.Api, kinds: Iterable[str], namespace: str, labels: str) -> list[Found]:
    chosen = [KINDS[kind] for kind in kinds]
    listed = await asyncio.gather(*(_list(api, kind, labels, namespace=namespace) for kind in chosen))
    return [
        (kind, item)
        for kind, items in zip(chosen, listed, strict=True)
        for item in items
        if not item["metadata"].get("ownerReferences")  # what a controller made goes with its owner
    ]


async def _list(
    api: kr8s.asyncio.Api,
    kind: type[APIObject],
    labels: str,
    *,
    namespace: str | None = None,
    field: str = "",
) -> list[Object]:
    query = Query(kind.plural, namespace, kind.version, labels=labels, fields=field)
    return list(((await read(api, query)).items or {}).values())


async def _delete(api: kr8s.asyncio.Api, found: Sequence[Found]) -> list[str]:
    """By force: their names are needed at once, and on a node that is lost nobody would confirm the end."""

    async def delete(kind: type[APIObject], item: Object) -> str:
        made = kind(dict(item), api=api)
        with explained(f"deleting {kind.kind} {made.name}"), suppress(kr8s.NotFoundError):
            await made.delete(force=kind.kind == "Pod")
        return f"{kind.kind} {made.name}"

    return list(await asyncio.gather(*(delete(kind, item) for kind, item in found)))


def _applied(item: Object) -> str:
    """When Pulumi last wrote to an object; empty if it never did. Times of this form sort as text."""
    fields: Sequence[Object] = item["metadata"].get("managedFields") or ()
    written = [
        each for each in fields if each["operation"] == "Apply" and each["manager"].startswith("pulumi")
    ]
    return max((each.get("time", "") for each in written), default="")
