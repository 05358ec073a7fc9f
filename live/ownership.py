"""Whose the objects in a cluster are."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import kr8s
from kr8s.asyncio.objects import (
    APIObject,
    Deployment,
    Namespace,
    NetworkPolicy,
    Pod,
    Role,
    RoleBinding,
    Secret,
    Service,
    ServiceAccount,
)

from live.api import explained

# Of a fleet's objects in its namespace.
KINDS: dict[str, type[APIObject]] = {
    kind.kind: kind
    for kind in (ServiceAccount, Role, RoleBinding, NetworkPolicy, Secret, Service, Deployment, Pod)
}
_PART_OF, _INSTANCE, _MANAGER = (
    f"app.kubernetes.io/{label}" for label in ("part-of", "instance", "managed-by")
)

Object = Mapping[str, Any]


async def strangers(
    api: kr8s.asyncio.Api, namespace: str, instance: str, declared: Mapping[str, Sequence[str]]
) -> list[str]:
    """What is in the way of a fleet, in words: objects of its names that are not its own, or going away.

    declared: the names of the fleet's objects in the namespace, by kind.

    Raises:
        ClusterError: the cluster can't be reached, or refuses to be read.
    """
    found = await _get(api, Namespace, field_selector={"metadata.name": namespace})
    if not found:
        return []
    (existing,) = found
    if not _is_ours(existing, instance):
        return [f"namespace {namespace!r} exists and {_owner(existing)}. Choose another envfleet:namespace"]
    if "deletionTimestamp" in existing["metadata"]:
        return [f"namespace {namespace!r} is being deleted{_why_stuck(existing)}. Try again when it is gone"]
    names = {kind: set(names) for kind, names in declared.items() if names}  # no look at Secrets for nothing
    listed = await asyncio.gather(*(_get(api, KINDS[kind], namespace=namespace) for kind in names))
    return [
        text
        for kind, objects in zip(names, listed, strict=True)
        for text in _taken(kind, objects, names[kind], instance, namespace)
    ]


def _taken(
    kind: str, objects: Sequence[Object], names: set[str], instance: str, namespace: str
) -> Iterator[str]:
    for each in objects:
        name = each["metadata"]["name"]
        if name in names and not _is_ours(each, instance):
            yield (
                f"{kind} {namespace}/{name} exists and {_owner(each)}. "
                "Rename the environment, or delete the object if nobody needs it"
            )


def _is_ours(item: Object, instance: str) -> bool:
    labels = item["metadata"].get("labels") or {}
    return labels.get(_PART_OF) == "envfleet" and labels.get(_INSTANCE) == instance


def _owner(item: Object) -> str:
    """Whose an object is, as far as it tells."""
    labels = item["metadata"].get("labels") or {}
    if labels.get(_PART_OF) == "envfleet":
        return f"belongs to the stack {labels.get(_INSTANCE)!r}"
    managers = [entry.get("manager") for entry in item["metadata"].get("managedFields", [])]
    if manager := labels.get(_MANAGER) or next(filter(None, managers), None):
        return f"is not this stack's: it was made by {manager!r}"
    return "is not this stack's"


def _why_stuck(namespace: Object) -> str:
    """What keeps a namespace from going away, after a colon."""
    messages = [
        condition["message"]
        for condition in namespace.get("status", {}).get("conditions", [])
        if condition["status"] == "True" and condition.get("message")
    ]
    return f": {'; '.join(messages)}" if messages else ""


async def _get(api: kr8s.asyncio.Api, kind: type[APIObject], **where: Any) -> list[Object]:  # noqa: ANN401
    with explained(f"list {kind.plural}"):
        return [item async for item in api.async_get(kind, raw=True, **where) if isinstance(item, dict)]
