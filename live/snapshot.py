"""All that is read of a cluster to judge a fleet: a handful of lists, whatever the fleet's size."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import kr8s.asyncio

from live.api import ClusterError
from live.events import Event, Object, about
from live.objects import Mirror, Query, read

# Of pods that fare well, and most of all events.
_DULL = ("Scheduled", "Pulled", "Created", "Started")


@dataclass(frozen=True)
class Snapshot:
    """A fleet's objects at one moment, `now`, by the clock of the API server. Objects are by name.

    namespace: None if it does not exist; also {} if that is not known.
    nodes: None if they may not be read.
    running: the pods on all nodes; None if nobody asked for them, or may.
    """

    now: datetime
    namespace: Object | None
    pods: Mapping[str, Object]
    services: Mapping[str, Object]
    deployments: Mapping[str, Object]
    slices: Mapping[str, Object]
    events: tuple[Object, ...]
    nodes: Mapping[str, Object] | None
    running: tuple[Object, ...] | None = None

    @cached_property
    def events_by_uid(self) -> Mapping[str, list[Event]]:
        """Events by the uid of what they are about, the latest last."""
        return about(self.events)

    @cached_property
    def claim_events(self) -> Mapping[str, list[Event]]:
        """Events by the name of the PersistentVolumeClaim that they are about, the latest last."""
        claims = [
            event for event in self.events if event["involvedObject"]["kind"] == "PersistentVolumeClaim"
        ]
        names = {event["involvedObject"]["uid"]: event["involvedObject"]["name"] for event in claims}
        return {names[uid]: events for uid, events in about(claims).items()}

    @cached_property
    def addresses(self) -> Mapping[str, frozenset[str]]:
        """The addresses to which each Service leads now, by its name."""
        by_service: dict[str, frozenset[str]] = {}
        for piece in self.slices.values():
            service = (piece["metadata"].get("labels") or {}).get("kubernetes.io/service-name", "")
            by_service[service] = by_service.get(service, frozenset()) | frozenset(_ready_addresses(piece))
        return by_service


def _ready_addresses(piece: Object) -> Iterator[str]:
    for endpoint in piece.get("endpoints") or []:
        if (endpoint.get("conditions") or {}).get("ready", True):
            yield from endpoint["addresses"]


class Mirrors:
    """Mirrors of all that a snapshot of a fleet is made of."""

    def __init__(self, namespace: str, instance: str) -> None:
        labels = f"app.kubernetes.io/instance={instance},app.kubernetes.io/part-of=envfleet"
        self._namespace = Mirror(
            Query("namespaces", fields=f"metadata.name={namespace}", may_be_refused=True)
        )
        self._pods = Mirror(Query("pods", namespace, labels=labels))
        self._services = Mirror(Query("services", namespace, labels=labels))
        self._deployments = Mirror(Query("deployments", namespace, "apps/v1", labels=labels))
        # The labels of a Service are those of its slices.
        self._slices = Mirror(Query("endpointslices", namespace, "discovery.k8s.io/v1", labels=labels))
        self._events = Mirror(
            Query("events", namespace, fields=",".join(f"reason!={reason}" for reason in _DULL))
        )
        self._nodes = Mirror(Query("nodes", may_be_refused=True))
        self.all = [value for value in vars(self).values() if isinstance(value, Mirror)]

    @property
    def are_current(self) -> bool:
        """Whether all is known to be what the cluster has."""
        return all(mirror.is_current for mirror in self.all)

    async def read(self, api: kr8s.asyncio.Api) -> None:
        """Fill all mirrors once.

        Raises:
            ClusterError: something could not be read.
        """
        await asyncio.gather(*(mirror.read(api) for mirror in self.all))

    @staticmethod
    async def running(api: kr8s.asyncio.Api) -> tuple[Object, ...] | None:
        """The pods that use room on the nodes, in all namespaces; None if they can't be read."""
        fields = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
        try:
            listing = await read(api, Query("pods", fields=fields, may_be_refused=True))
        except ClusterError:
            return None
        return None if listing.items is None else tuple(listing.items.values())

    def snapshot(self, running: tuple[Object, ...] | None = None) -> Snapshot:
        """What the mirrors hold now."""
        namespaces = self._namespace.items
        return Snapshot(
            now=self._pods.moment,
            namespace={} if namespaces is None else next(iter(namespaces.values()), None),
            pods=_by_name(self._pods),
            services=_by_name(self._services),
            deployments=_by_name(self._deployments),
            slices=_by_name(self._slices),
            events=tuple((self._events.items or {}).values()),
            nodes=None if self._nodes.items is None else _by_name(self._nodes),
            running=running,
        )


def _by_name(mirror: Mirror) -> dict[str, Object]:
    return {item["metadata"]["name"]: item for item in (mirror.items or {}).values()}
