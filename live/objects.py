"""Reading objects of the Kubernetes API, as they are: all of a kind, and the changes from there on."""

import asyncio
import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import kr8s.asyncio

from live.api import CALL_SECONDS, ClusterError, explained

_PAGE = 500
_WATCH_SECONDS = 60  # after which the API server ends a watch; the next goes on from there


@dataclass(frozen=True)
class Query:
    """Which objects to read.

    namespace: None for all, and for what is in none.
    may_be_refused: whether to do without them where the user may not read them.
    """

    plural: str
    namespace: str | None = None
    version: str = "v1"
    labels: str = ""
    fields: str = ""
    may_be_refused: bool = False

    @property
    def params(self) -> dict[str, str | int]:
        """What selects the objects."""
        selectors = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {key: value for key, value in selectors.items() if value}

    @property
    def address(self) -> dict[str, Any]:
        """Where the objects are."""
        return {"version": self.version, "namespace": self.namespace, "url": self.plural}


@dataclass(frozen=True)
class Listing:
    """Objects at one moment, by the clock of the API server. items: by uid; None if they were refused."""

    items: dict[str, Any] | None
    version: str
    moment: datetime


async def read(api: kr8s.asyncio.Api, query: Query) -> Listing:
    """List the objects, page by page.

    Raises:
        ClusterError: they could not be listed.
    """
    items: dict[str, Any] = {}
    params: dict[str, str | int] = {**query.params, "limit": _PAGE}
    with explained(f"listing {query.plural}"):
        while True:
            async with api.call_api(
                **query.address, params=params, raise_for_status=not query.may_be_refused
            ) as response:
                moment = parsedate_to_datetime(response.headers["Date"])
                if response.is_error:
                    return Listing(None, "", moment)
                page = response.json()
            items |= {item["metadata"]["uid"]: item for item in page["items"]}
            if not page["metadata"].get("continue"):
                return Listing(items, page["metadata"]["resourceVersion"], moment)
            params["continue"] = page["metadata"]["continue"]


class Mirror:
    """The objects of a query, kept as they are on the cluster by `follow`.

    items: by uid; None if they may not be read, and before the first list.
    is_current: whether they are known to be what the cluster has.
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self.items: dict[str, Any] | None = None
        self.is_current = False
        self._ahead = timedelta()

    @property
    def moment(self) -> datetime:
        """The time by the clock of the API server: this machine's may differ by minutes."""
        return datetime.now(UTC) + self._ahead

    async def read(self, api: kr8s.asyncio.Api) -> str:
        """List the objects anew; returns the version from which to watch."""
        listing = await read(api, self.query)
        self.items = listing.items
        self._ahead = listing.moment - datetime.now(UTC)
        self.is_current = True
        return listing.version

    async def follow(self, api: kr8s.asyncio.Api, retry_seconds: float, patience_seconds: float) -> None:
        """Mirror the objects until cancelled; a watch that breaks or expires is followed by a new list.

        Raises:
            ClusterError: the API server refuses, or has been away for longer than `patience_seconds`.
        """
        last_success = time.monotonic()
        while True:
            try:
                version = await self.read(api)
                while self.items is not None:
                    last_success = time.monotonic()
                    version = await self._watch(api, version)
            except ClusterError as error:
                is_over = time.monotonic() - last_success > patience_seconds
                if is_over or not error.is_transient:
                    raise
            else:
                return
            self.is_current = False
            await asyncio.sleep(retry_seconds)

    async def _watch(self, api: kr8s.asyncio.Api, version: str) -> str:
        """Apply changes until the API server ends the watch; returns the version that was reached."""
        items = self.items or {}
        params = {
            **self.query.params,
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": _WATCH_SECONDS,
        }
        # Longer than the watch is silent: a connection that died without a word is noticed then.
        timeout = httpx.Timeout(CALL_SECONDS, read=_WATCH_SECONDS + CALL_SECONDS)
        with explained(f"watching {self.query.plural}"):
            async with api.call_api(
                **self.query.address, params=params, stream=True, timeout=timeout
            ) as response:
                async for line in response.aiter_lines():
                    change = json.loads(line)
                    item = change["object"]
                    match change["type"]:
                        case "ERROR":  # mostly 410: the version is too old
                            raise ClusterError(f"the watch ended ({item.get('message')})", is_transient=True)
                        case "DELETED":
                            items.pop(item["metadata"]["uid"], None)
                        case "ADDED" | "MODIFIED":
                            items[item["metadata"]["uid"]] = item
                    version = item["metadata"]["resourceVersion"]
        return version
