"""Reading pods and services from the Kubernetes API, with its failures as one kind of exception."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import kr8s
from kr8s.asyncio.objects import APIObject

# kr8s reads $KUBECONFIG or ~/.kube/config unless it is given a path; with one that cannot exist it goes
# on to the service account. The server never talks to whichever cluster happens to be current.
NO_KUBECONFIG = "/nonexistent"
LIST_TIMEOUT = 10.0  # seconds, all pages together
CHECK_TIMEOUT = 2.0  # seconds; a readiness probe makes two checks


class KubernetesError(Exception):
    """The Kubernetes API refused, or could not be reached in time; the message says which and what for."""


class Kubernetes:
    """The Kubernetes API, confined to one namespace.

    Needs the verb `list` on the kinds asked for, and no other: `/version`, which kr8s reads when it
    connects, is open to every authenticated user. The connection is made at first use, so that the server
    starts without it and can say why it isn't ready.
    """

    def __init__(self, namespace: str, kubeconfig: Path | None = None) -> None:
        self.namespace = namespace
        self._kubeconfig = str(kubeconfig or NO_KUBECONFIG)
        self._api: kr8s.asyncio.Api | None = None

    async def list(self, kind: type[APIObject], label_selector: str) -> list[dict[str, Any]]:
        """All objects of a kind that carry the labels, as the API returns them.

        Raises:
            KubernetesError: they could not be listed.
        """
        async with self._calling(kind, LIST_TIMEOUT) as api:
            objects = api.async_get(kind, namespace=self.namespace, label_selector=label_selector, raw=True)
            return [item async for item in objects if isinstance(item, dict)]

    async def check(self, kind: type[APIObject]) -> None:
        """Show that a kind can be listed, by listing at most one object of it.

        Raises:
            KubernetesError: it cannot.
        """
        async with (
            self._calling(kind, CHECK_TIMEOUT) as api,
            api.call_api(url=kind.endpoint, namespace=self.namespace, params={"limit": 1}),
        ):
            pass

    @asynccontextmanager
    async def _calling(
        self, kind: type[APIObject], timeout_seconds: float
    ) -> AsyncIterator[kr8s.asyncio.Api]:
        try:
            async with asyncio.timeout(timeout_seconds):
                yield await self._connection()
        except TimeoutError:
            cause = f"the Kubernetes API did not answer within {timeout_seconds:g} s"
        except httpx.LocalProtocolError:  # its text would quote the token
            cause = "the service account's token is malformed"
        except httpx.TransportError as error:
            cause = f"no connection to the Kubernetes API: {error!r}"
        except (kr8s.ServerError, KubernetesError) as error:
            cause = str(error)
        else:
            return
        raise KubernetesError(f"cannot list {kind.plural} in namespace {self.namespace}: {cause}")

    async def _connection(self) -> kr8s.asyncio.Api:
        if self._api is None:
            try:
                self._api = await kr8s.asyncio.api(kubeconfig=self._kubeconfig, namespace=self.namespace)
            except (KeyError, OSError, ValueError) as error:  # what kr8s raises on absent credentials
                raise KubernetesError(f"no service account token is mounted ({error!r})") from error
        return self._api
