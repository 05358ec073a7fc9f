"""Amounts of resources as Kubernetes writes them, and what pods and nodes have of them."""

import re
from collections.abc import Iterable, Mapping

from live.events import Object

_FACTORS = {
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "": 1,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "Pi": 2**50,
    "Ei": 2**60,
}
_BYTES = ("memory", "ephemeral-storage")


def amount(quantity: str | float) -> float:
    """A quantity such as "500m" or "64Gi" as a number, of processors, bytes or pieces."""
    number, suffix = re.fullmatch(r"([-+.\deE]*\d\.?)([a-zA-Z]*)", str(quantity)).groups()  # type: ignore[union-attr]
    return float(number) * _FACTORS[suffix]


def written(resource: str, number: float) -> str:
    """A number of a resource for people, such as "13.2Gi"."""
    if resource in _BYTES:
        unit = next((unit for unit in ("Ti", "Gi", "Mi", "Ki") if number >= _FACTORS[unit]), "")
        return f"{round(number / _FACTORS[unit], 1):g}{unit}"
    return f"{round(number, 3):g}"


def requested(pod: Object) -> dict[str, float]:
    """What the scheduler sets aside for a pod: all its containers, or the largest init container."""
    spec = pod["spec"]
    total = _sum(_requests(container) for container in spec["containers"])
    for container in spec.get("initContainers") or []:
        for resource, number in _requests(container).items():
            total[resource] = max(total.get(resource, 0), number)
    return _sum([total, _amounts(spec.get("overhead")), {"pods": 1}])


def free(node: Object, running: Iterable[Object]) -> dict[str, float]:
    """What a node has left beside the pods that run on it; `running` may include others."""
    name = node["metadata"]["name"]
    used = _sum(requested(pod) for pod in running if pod["spec"].get("nodeName") == name)
    return {
        resource: number - used.get(resource, 0)
        for resource, number in _amounts(node["status"]["allocatable"]).items()
    }


def _requests(container: Object) -> dict[str, float]:
    return _amounts((container.get("resources") or {}).get("requests"))


def _amounts(quantities: Mapping[str, str] | None) -> dict[str, float]:
    return {resource: amount(quantity) for resource, quantity in (quantities or {}).items()}


def _sum(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for part in parts:
        for resource, number in part.items():
            total[resource] = total.get(resource, 0) + number
    return total
