"""Keeping the values of Secrets out of what a pod says: its log, and what Kubernetes quotes of it."""

import asyncio
import json
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

import kr8s.asyncio

from live.api import ClusterError, explained
from live.events import Object

_SHORTEST = 4  # characters; anything shorter is also part of ordinary words
_MASK = "***"


@dataclass(frozen=True)
class Mask:
    """Hides the values of the Secrets that a pod uses.

    spellings: of the values, the longest first.
    unsafe: why some value could not be hidden; empty if all can.
    is_blind: the values are not known although they exist.
    """

    spellings: tuple[str, ...] = ()
    unsafe: str = ""
    is_blind: bool = False

    def text(self, text: str) -> str:
        """The text without secrets."""
        for spelling in self.spellings:
            text = text.replace(spelling, _MASK)
        return text


async def masks(api: kr8s.asyncio.Api, pods: Sequence[Object]) -> list[Mask]:
    """A mask for each pod, in the order given; each Secret is read once."""
    used = [{(pod["metadata"]["namespace"], name) for name in _secrets_of(pod)} for pod in pods]
    places = sorted(set().union(*used))
    values = dict(zip(places, await asyncio.gather(*(_values(api, *place) for place in places)), strict=True))
    return [_mask({place[1]: values[place] for place in sorted(some)}) for some in used]


def _secrets_of(pod: Object) -> Iterator[str]:
    spec = pod["spec"]
    for container in [*(spec.get("initContainers") or []), *spec["containers"]]:
        for variable in container.get("env") or []:
            if reference := (variable.get("valueFrom") or {}).get("secretKeyRef"):
                yield reference["name"]
        for source in container.get("envFrom") or []:
            if reference := source.get("secretRef"):
                yield reference["name"]
    for volume in spec.get("volumes") or []:
        if secret := volume.get("secret"):
            yield secret["secretName"]


async def _values(api: kr8s.asyncio.Api, namespace: str, name: str) -> tuple[int, list[bytes]]:
    """The HTTP status of reading a Secret, 0 without an answer, and its values."""
    try:
        with explained():
            async with api.call_api(
                namespace=namespace, url=f"secrets/{name}", raise_for_status=False
            ) as response:
                data = (response.json().get("data") or {}) if response.is_success else {}
    except ClusterError:
        return 0, []
    return response.status_code, [b64decode(value) for value in data.values()]


def _mask(secrets: Mapping[str, tuple[int, list[bytes]]]) -> Mask:
    spellings: set[str] = set()
    unsafe, is_blind = "", False
    for name, (status, values) in secrets.items():
        if status == 404:
            unsafe = f"Secret {name}, whose values it may hold, is gone"
        elif status != 200:
            unsafe, is_blind = f"Secret {name}, whose values it may hold, can't be read", True
        for value in values:
            if 0 < len(value.strip()) < _SHORTEST:
                unsafe = f"a value of Secret {name} is too short to be hidden in it"
            spellings.update(_spellings(value))
    return Mask(tuple(sorted(spellings, key=len, reverse=True)), unsafe, is_blind)


def _spellings(value: bytes) -> Iterator[str]:
    """The forms in which a value is likely to be printed."""
    encoded = [encode(value).decode() for encode in (b64encode, urlsafe_b64encode)]
    text = value.decode(errors="replace")
    forms = [*encoded, *(form.rstrip("=") for form in encoded)]
    for part in (text, text.strip(), *(line.strip() for line in text.splitlines())):
        forms += [part, quote(part), quote(part, safe=""), quote_plus(part), repr(part)[1:-1]]
        forms += [json.dumps(part)[1:-1], json.dumps(part, ensure_ascii=False)[1:-1]]
    yield from (form for form in forms if len(form) >= _SHORTEST)
