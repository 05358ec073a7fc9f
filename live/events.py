"""Times and events as the Kubernetes API writes them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Object = Mapping[str, Any]  # a Kubernetes object, or a part of one, as the API returns it

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Event:
    """Something that was reported, `count` times from `first` to `last`."""

    reason: str
    message: str
    first: datetime
    last: datetime
    count: int

    @classmethod
    def of(cls, raw: Object) -> "Event":
        """Read an event; a reporter fills in only some of the fields for time and count."""
        series = raw.get("series") or {}
        created = raw["metadata"].get("creationTimestamp")
        first = raw.get("firstTimestamp") or raw.get("eventTime") or created
        last = series.get("lastObservedTime") or raw.get("lastTimestamp") or raw.get("eventTime") or created
        count = series.get("count") or raw.get("count") or 1
        return cls(raw.get("reason", ""), raw.get("message", ""), moment(first), moment(last), count)


def moment(text: str | None) -> datetime:
    """A time of the API; where it has none, one so long ago that whatever began then is old."""
    return datetime.fromisoformat(text) if text else _LONG_AGO


def about(events: Iterable[Object]) -> dict[str, list[Event]]:
    """Events by the uid of the object that they are about, the latest last."""
    by_uid: dict[str, list[Event]] = {}
    for raw in events:
        by_uid.setdefault(raw["involvedObject"].get("uid", ""), []).append(Event.of(raw))
    for some in by_uid.values():
        some.sort(key=lambda event: event.last)
    return by_uid


def latest(events: Sequence[Event], *reasons: str) -> Event | None:
    """The latest event that has one of the reasons."""
    return next((event for event in reversed(events) if event.reason in reasons), None)
