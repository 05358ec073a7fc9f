"""One workload's pod and what is around it: what the functions of the diagnosis look at."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from live.events import Event, Object, moment
from live.fleet import Cause, Expected


@dataclass(frozen=True)
class View:
    """A pod at one moment.

    events: about the pod, the latest last.
    nodes: all nodes by name; None if they may not be listed.
    running: the pods on all nodes, whichever namespace they are in; None where nobody asked or may ask.
    claim_events: about the PersistentVolumeClaims of the namespace, by their names.
    now: by the clock of the API server.
    """

    expected: Expected
    pod: Object
    now: datetime
    events: Sequence[Event] = ()
    nodes: Mapping[str, Object] | None = None
    running: Sequence[Object] | None = None
    claim_events: Mapping[str, Sequence[Event]] = field(default_factory=dict)

    @property
    def status(self) -> Object:
        """The pod's own."""
        status: Object = self.pod.get("status") or {}
        return status

    @property
    def condition(self) -> Mapping[str, Object]:
        """The pod's conditions by type."""
        return {condition["type"]: condition for condition in self.status.get("conditions") or []}

    @property
    def is_ready(self) -> bool:
        """The pod answers its readiness probe."""
        return self.condition.get("Ready", {}).get("status") == "True"

    @property
    def containers(self) -> Iterator[Object]:
        """The status of each container, in the order in which they start."""
        yield from self.status.get("initContainerStatuses") or []
        yield from self.status.get("containerStatuses") or []

    def has_lasted(self, since: str | datetime | None, seconds: float) -> bool:
        """Whether something has been so for that long."""
        began = since if isinstance(since, datetime) else moment(since)
        return self.now - began >= timedelta(seconds=seconds)


@dataclass(frozen=True)
class Finding:
    """What keeps a pod from being ready. `is_definite`: waiting longer would not help."""

    cause: Cause
    message: str
    is_definite: bool = True


def shown(text: str, longest: int = 300) -> str:
    """Kubernetes' own words on one line, and not too many of them."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
