"""The connection to a cluster, by a kubeconfig that is given, and by nothing else."""

import asyncio
import binascii
import ssl
import tempfile
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import kr8s
import kr8s.asyncio
import yaml

CALL_SECONDS = 15.0  # for an answer
_CONNECT_SECONDS = 60  # credential plugins, such as those of the clouds, take their time
_TRANSIENT_STATUS = (408, 410, 429)
# Embedded in a kubeconfig, and the key that names a file of the same content.
_EMBEDDED = {
    "cluster": {"certificate-authority-data": "certificate-authority"},
    "user": {"client-certificate-data": "client-certificate", "client-key-data": "client-key"},
}


class ClusterError(Exception):
    """The cluster can't be reached, or refuses; `is_transient`: another try may well succeed."""

    def __init__(self, message: str, *, is_transient: bool = False) -> None:
        super().__init__(message)
        self.is_transient = is_transient


@asynccontextmanager
async def connect(kubeconfig: str) -> AsyncIterator[kr8s.asyncio.Api]:
    """Connect as the current context of a kubeconfig, which is YAML text.

    Neither another kubeconfig nor a service account is ever used, and no proxy but the kubeconfig's own.
    Keys are in files only as long as the connection lasts, and only their owner may read them.

    Raises:
        ClusterError: the kubeconfig is not usable, or the cluster can't be reached or refuses.
    """
    with tempfile.TemporaryDirectory(prefix="envfleet-") as directory:
        config = _with_files(_current(kubeconfig), Path(directory))
        api = _Api(config)
        try:
            with explained():
                try:
                    async with asyncio.timeout(_CONNECT_SECONDS):
                        await api
                except TimeoutError as error:
                    raise ClusterError(
                        f"no connection within {_CONNECT_SECONDS} s", is_transient=True
                    ) from error
                except ssl.SSLError as error:
                    raise ClusterError(
                        f"a certificate or key of the kubeconfig is not usable: {error}"
                    ) from error
                except (KeyError, OSError, RuntimeError, TypeError, ValueError) as error:
                    raise ClusterError(f"the kubeconfig gives no credentials: {error}") from error
            yield api
        finally:
            await api.close()


@contextmanager
def explained(what: str = "") -> Iterator[None]:
    """Raise what goes wrong with a call as ClusterError; `what` is the subject of its message, if any."""
    prefix = f"{what}: " if what else ""
    try:
        yield
    except kr8s.APITimeoutError as error:
        raise ClusterError(f"{prefix}the Kubernetes API does not answer", is_transient=True) from error
    except httpx.LocalProtocolError as error:  # its text would quote the token
        raise ClusterError(f"{prefix}the token of the kubeconfig is malformed") from error
    except httpx.ConnectError as error:
        is_untrusted = "CERTIFICATE_VERIFY_FAILED" in str(error)
        words = "its certificate is not the kubeconfig's" if is_untrusted else "it is not reachable"
        message = f"{prefix}no connection to the Kubernetes API: {words} ({error})"
        raise ClusterError(message, is_transient=not is_untrusted) from error
    except (httpx.TransportError, httpx.StreamError) as error:
        text = str(error) or type(error).__name__
        message = f"{prefix}the connection to the Kubernetes API broke ({text})"
        raise ClusterError(message, is_transient=True) from error
    except kr8s.ServerError as error:
        status = error.response.status_code if error.response is not None else 0
        words = {401: "does not accept the credentials", 403: "does not allow it"}.get(
            status, f"answers {status}"
        )
        raise ClusterError(
            f"{prefix}the Kubernetes API {words} ({error})",
            is_transient=status in _TRANSIENT_STATUS or status >= 500,
        ) from error


class _Api(kr8s.asyncio.Api):
    """A connection without the environment's proxies. Renewed credentials don't break calls under way."""

    def __init__(self, kubeconfig: dict[str, Any]) -> None:
        # Not by kr8s.asyncio.api(): that hands out one connection for a thread's equal kubeconfigs, perhaps
        # that of an event loop which is closed. And an empty service account: none.
        super().__init__(kubeconfig=kubeconfig, serviceaccount="", bypass_factory=True)
        self._sessions: list[httpx.AsyncClient] = []

    async def _create_session(self) -> None:
        """As kr8s does it, but for `trust_env`, a timeout, and that the session before stays open."""
        token = {"Authorization": f"Bearer {self.auth.token}"} if self.auth.token else {}
        self._session = httpx.AsyncClient(
            base_url=self.auth.server,
            headers={"User-Agent": self.__version__, "content-type": "application/json", **token},
            verify=await self.auth.ssl_context(),  # type: ignore[no-untyped-call]
            timeout=CALL_SECONDS,
            follow_redirects=False,
            proxy=self.auth.proxy,
            trust_env=False,
        )
        self._sessions.append(self._session)

    async def close(self) -> None:
        """End all connections."""
        for session in self._sessions:
            await session.aclose()


def _current(kubeconfig: str) -> dict[str, dict[str, Any]]:
    """The cluster and the user of the current context."""
    try:
        config = yaml.safe_load(kubeconfig)
        names = _named(config["contexts"], "context", config["current-context"])
        return {kind: _named(config[f"{kind}s"], kind, names[kind]) for kind in ("cluster", "user")}
    except yaml.YAMLError:  # its text would quote the kubeconfig
        raise ClusterError("the kubeconfig is not YAML") from None
    except (KeyError, TypeError) as error:
        raise ClusterError(f"the kubeconfig is incomplete: it lacks {error}") from error


def _named(items: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    for item in items:
        if item["name"] == name:
            return dict(item[kind])
    raise KeyError(f"{kind} {name}")


def _with_files(current: dict[str, dict[str, Any]], directory: Path) -> dict[str, Any]:
    """A kubeconfig in which what was embedded is in files: kr8s would leave such files behind."""
    for kind, keys in _EMBEDDED.items():
        for embedded, named in keys.items():
            if data := current[kind].pop(embedded, None):
                path = directory / named
                path.touch(mode=0o600)
                try:
                    path.write_bytes(b64decode(data, validate=True))
                except binascii.Error as error:
                    raise ClusterError(f"{embedded} of the kubeconfig is not base64") from error
                current[kind][named] = str(path)
    if not current["cluster"].get("server"):
        raise ClusterError("the kubeconfig is incomplete: it lacks the cluster's server")
    return {
        "current-context": "envfleet",
        "contexts": [{"name": "envfleet", "context": {"cluster": "envfleet", "user": "envfleet"}}],
        "clusters": [{"name": "envfleet", "cluster": current["cluster"]}],
        "users": [{"name": "envfleet", "user": current["user"]}],
    }
