"""The kinds of value that the configuration is made of.

A check raises `ValueError` with what to write instead; `ConfigError` adds the key and the value to that.
"""

import ipaddress
import re
from decimal import Decimal
from string import ascii_letters
from typing import Annotated

from pydantic import AfterValidator

NAME_LENGTH = 63  # of a Kubernetes name and of a label's value
LARGEST_COUNT = 3000  # Kubernetes is tested with as many pods in one namespace
CLUSTER_NAME_LENGTH = 40  # kind's longest suffix, "-external-load-balancer", must still fit into a host name
RESERVED_VARIABLES = "ENVFLEET_"  # prefix of what the fleet itself tells its pods
SERVER_VARIABLES = {"PORT": "port", "LOG_LEVEL": "log_level"}  # by the keys that they follow
RESERVED_ENVIRONMENTS = frozenset({"server"})  # Services of the fleet itself
RESERVED_LABELS = re.compile(r"(.*\.)?(kubernetes|k8s)\.io/")

_DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_QUANTITY = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:([KMGTPE]i|[mkMGTPE])|[eE]([+-]?\d{1,2}))?", re.ASCII)
_SCALE = {"m": Decimal("0.001"), "k": Decimal(10**3)}
_SCALE |= {unit: Decimal(1000 ** (power + 2)) for power, unit in enumerate("MGTPE")}
_SCALE |= {f"{unit}i": Decimal(1024 ** (power + 1)) for power, unit in enumerate("KMGTPE")}
_PATH_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\d+)?/)?{_PATH_COMPONENT}(?:/{_PATH_COMPONENT})*"
    r"(?P<tag>:\w[\w.-]{0,127})?(?P<digest>@sha256:[0-9a-f]{64})?",
    re.ASCII,
)
_LABEL_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN_PART = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_LABEL_KEY = re.compile(rf"(?:(?=.{{1,253}}/){_DOMAIN_PART}(?:\.{_DOMAIN_PART})*/)?{_LABEL_NAME}")


def quantity(text: str) -> Decimal:
    """The number a Kubernetes quantity such as `500m` or `1.5Gi` stands for.

    Raises:
        ValueError: it is none, or not above zero.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError('write a number with an optional unit, such as "500m", "2" or "512Mi"')
    number, unit, exponent = match.groups()
    amount = Decimal(number) * _SCALE.get(unit, Decimal(1)) * Decimal(10) ** int(exponent or 0)
    if amount <= 0:
        raise ValueError("must be above zero")
    return amount


def _cpu(text: str) -> str:
    if quantity(text) < _SCALE["m"]:
        raise ValueError('the smallest share of a processor is "1m"')
    return text


def _memory(text: str) -> str:
    if quantity(text) < _SCALE["Mi"]:
        raise ValueError(f'is less than a mebibyte; write a unit, such as "{text.rstrip(ascii_letters)}Mi"')
    return text


def _dns_label(longest: int) -> AfterValidator:
    def check(text: str) -> str:
        if not _DNS_LABEL.fullmatch(text) or len(text) > longest:
            raise ValueError(
                f"use 1 to {longest} lower-case letters, digits and '-', "
                "starting with a letter and not ending with '-'"
            )
        return text

    return AfterValidator(check)


def _not_reserved(text: str) -> str:
    if text in RESERVED_ENVIRONMENTS:
        raise ValueError("is the name of a part of the fleet itself; choose another")
    return text


def _namespace(text: str) -> str:
    if text == "default" or text.startswith("kube-"):
        raise ValueError('belongs to Kubernetes; choose another, such as "envfleet"')
    return text


def _image(text: str) -> str:
    match = _IMAGE.fullmatch(text)
    if match is None:
        raise ValueError("write [registry/]repository:tag, without spaces, the repository in lower case")
    if match["digest"] is None and match["tag"] in (None, ":latest"):
        raise ValueError('pin it: add a tag other than "latest", or a digest (@sha256:…)')
    return text


def _environment_variable(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise ValueError("use letters, digits and '_' for a variable's name, not starting with a digit")
    if text.startswith(RESERVED_VARIABLES):
        raise ValueError(f"variables named {RESERVED_VARIABLES}… are the fleet's own; choose another name")
    return text


def _server_variable(text: str) -> str:
    if text in SERVER_VARIABLES:
        raise ValueError(f"write it as server.{SERVER_VARIABLES[text]} instead")
    return text


def _label_key(text: str) -> str:
    if RESERVED_LABELS.match(text):
        raise ValueError("labels with this prefix are Kubernetes' and the fleet's own; use another prefix")
    if not _LABEL_KEY.fullmatch(text):
        raise ValueError(
            "write a label's key as name or prefix/name: letters, digits, '-', '_', '.', at most 63"
        )
    return text


def _label_value(text: str) -> str:
    if text and not re.fullmatch(_LABEL_NAME, text):
        raise ValueError(
            "use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
        )
    return text


def _health_path(text: str) -> str:
    if not re.fullmatch(r"/[!-~]*", text):
        raise ValueError('write the path of a URL, beginning with "/" and without spaces, such as "/health"')
    return text


def _address(text: str) -> str:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(
            'write an IP address: "127.0.0.1" for this machine only, "0.0.0.0" for all its networks'
        ) from None
    return text


def _between(lowest: int, highest: int) -> AfterValidator:
    def check(number: int) -> int:
        if not lowest <= number <= highest:
            raise ValueError(f"write a whole number from {lowest} to {highest}")
        return number

    return AfterValidator(check)


def _odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError(
            "etcd keeps a majority only among an odd number of control plane nodes; write 1, 3 or 5"
        )
    return number


def _feature_gate(text: str) -> str:
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", text):
        raise ValueError(
            "write a Kubernetes feature gate as it is documented, such as InPlacePodVerticalScaling"
        )
    return text


ClusterName = Annotated[str, _dns_label(CLUSTER_NAME_LENGTH)]
NamespaceName = Annotated[str, _dns_label(NAME_LENGTH), AfterValidator(_namespace)]
EnvironmentName = Annotated[str, _dns_label(NAME_LENGTH), AfterValidator(_not_reserved)]
Image = Annotated[str, AfterValidator(_image)]
Cpu = Annotated[str, AfterValidator(_cpu)]
Memory = Annotated[str, AfterValidator(_memory)]
Port = Annotated[int, _between(1, 65535)]
ControlPlaneNodes = Annotated[int, _between(1, 9), AfterValidator(_odd)]
WorkerNodes = Annotated[int, _between(0, 50)]
Timeout = Annotated[int, _between(30, 3600)]
Count = Annotated[int, _between(1, LARGEST_COUNT)]
NodePort = Annotated[int, _between(30000, 32767)]
Address = Annotated[str, AfterValidator(_address)]
HealthPath = Annotated[str, AfterValidator(_health_path)]
VariableName = Annotated[str, AfterValidator(_environment_variable)]
Variables = dict[VariableName, str]
ServerVariables = dict[Annotated[VariableName, AfterValidator(_server_variable)], str]
Labels = dict[Annotated[str, AfterValidator(_label_key)], Annotated[str, AfterValidator(_label_value)]]
FeatureGates = dict[Annotated[str, AfterValidator(_feature_gate)], bool]
