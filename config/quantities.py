"""Amounts of what a node has: processors, memory, devices."""

import re
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator

from config.fields import QualifiedName, between

_QUANTITY = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:([KMGTPE]i|[mkMGTPE])|[eE]([+-]?\d{1,2}))?", re.ASCII)
_SCALE = {"m": Decimal("0.001"), "k": Decimal(10**3)}
_SCALE |= {unit: Decimal(1000 ** (power + 2)) for power, unit in enumerate("MGTPE")}
_SCALE |= {f"{unit}i": Decimal(1024 ** (power + 1)) for power, unit in enumerate("KMGTPE")}
_LONGEST_DEVICE_PREFIX = 253 - len("requests.")


def quantity(text: str) -> Decimal:
    """The number a Kubernetes quantity such as `500m` or `1.5Gi` stands for.

    Raises:
        ValueError: it is none, or not above zero.
    """
    number, unit, exponent = _parts(text)
    amount = Decimal(number) * _SCALE.get(unit, Decimal(1)) * Decimal(10) ** int(exponent or 0)
    if amount <= 0:
        raise ValueError("must be above zero")
    return amount


def _parts(text: str) -> tuple[str, str, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError('write a number with an optional unit, such as "500m", "2" or "512Mi"')
    number, unit, exponent = match.groups("")
    return number, unit, exponent


def _cpu(text: str) -> str:
    if quantity(text) < _SCALE["m"]:
        raise ValueError('the smallest share of a processor is "1m"')
    return text


def _memory(text: str) -> str:
    if quantity(text) < _SCALE["Mi"]:
        raise ValueError(f'is less than a mebibyte; write a unit, such as "{_parts(text)[0]}Mi"')
    return text


def _extended_resource(text: str) -> str:
    # Kubernetes takes every name with this in it for one of its own, and puts "requests." in front of others.
    own = "kubernetes.io/" in text or text.startswith(("requests.", "hugepages-"))
    if "/" not in text or own or len(text.partition("/")[0]) > _LONGEST_DEVICE_PREFIX:
        raise ValueError('write the name by which nodes offer a device, such as "nvidia.com/gpu"')
    return text


Cpu = Annotated[str, AfterValidator(_cpu)]
Memory = Annotated[str, AfterValidator(_memory)]
ExtendedResources = dict[
    Annotated[QualifiedName, AfterValidator(_extended_resource)], Annotated[int, between(1, 1000)]
]
