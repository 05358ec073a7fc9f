"""The kinds of value that the configuration is made of.

A check raises `ValueError` with what to write instead; `ConfigError` adds the key and the value to that.
"""

import ipaddress
import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, SecretStr

NAME_LENGTH = 63  # of a Kubernetes name and of a label's value
OBJECT_NAME_LENGTH = 253  # of names that need not be a host name
LARGEST_COUNT = 3000  # Kubernetes is tested with as many pods in one namespace
CLUSTER_NAME_LENGTH = 40  # kind's longest suffix, "-external-load-balancer", must still fit into a host name
RESERVED_VARIABLES = "ENVFLEET_"  # prefix of what the fleet itself tells its pods
SERVER_VARIABLES = {"PORT": "port", "LOG_LEVEL": "log_level"}  # by the keys that they follow
RESERVED_ENVIRONMENTS = frozenset({"server"})  # Services of the fleet itself
OWN_PREFIX = "envfleet.dev/"  # of labels and annotations
RESERVED_LABELS = re.compile(r"(.*\.)?(kubernetes\.io|k8s\.io|envfleet\.dev)/")
RESERVED_ANNOTATIONS = re.compile(r"(pulumi\.com|kubectl\.kubernetes\.io|envfleet\.dev)/")
# Kubernetes reads these, and refuses a pod on which they contradict its fields or are not well-formed.
_MEANT_ANNOTATIONS = re.compile(
    r"kubernetes\.io/config\.|controller\.kubernetes\.io/|(.+\.)?(alpha|beta)\.kubernetes\.io/"
)
_LONGEST_TEXT = 128_000  # bytes; Linux hands a process at most 128 KiB in one variable or argument
_LONGEST_ANNOTATIONS = 256 * 1024  # bytes, of all keys and values of an object
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# Cloud metadata services, which hand out credentials to whoever asks: AWS, Google and Azure; Alibaba; Azure's
# host agent; AWS and Google over IPv6.
METADATA = tuple(
    ipaddress.ip_network(cidr)
    for cidr in (
        *("169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32"),
        *("fd00:ec2::/32", "fd20:ce::254/128"),
    )
)
SECRET_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
SET_SECRET = "pulumi config set --secret --path secrets.NAME"  # noqa: S105 (a command)
_DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_PATH_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\d+)?/)?{_PATH_COMPONENT}(?:/{_PATH_COMPONENT})*"
    r"(?P<tag>:\w[\w.-]{0,127})?(?P<digest>@sha256:[0-9a-f]{64})?",
    re.ASCII,
)
_LABEL_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN_PART = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DOMAIN = rf"{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*"
_LABEL_KEY = re.compile(rf"(?:(?=.{{1,253}}/){_DOMAIN}/)?{_LABEL_NAME}")


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


def _existing_namespace(text: str) -> str:
    if len(text) > NAME_LENGTH or not re.fullmatch(_DOMAIN_PART, text):
        raise ValueError(f"write a namespace's name: 1 to {NAME_LENGTH} lower-case letters, digits and '-'")
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


def _text(text: str) -> str:
    if "\0" in text:
        raise ValueError("a process can't be handed text with a NUL character; remove it")
    if len(text.encode(errors="surrogatepass")) > _LONGEST_TEXT:
        raise ValueError(f"a process can't be handed more than {_LONGEST_TEXT} bytes at once; use a volume")
    return text


def _environment_variable(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,252}", text):
        raise ValueError(
            "use at most 253 letters, digits and '_' for a variable's name, not starting with a digit"
        )
    if text.startswith(RESERVED_VARIABLES):
        raise ValueError(f"variables named {RESERVED_VARIABLES}… are the fleet's own; choose another name")
    return text


def _server_variable(text: str) -> str:
    if text in SERVER_VARIABLES:
        raise ValueError(f"write it as server.{SERVER_VARIABLES[text]} instead")
    return text


def _qualified_name(text: str) -> str:
    if not _LABEL_KEY.fullmatch(text):
        raise ValueError("write a key as name or prefix/name: letters, digits, '-', '_', '.', at most 63")
    return text


def _label_key(text: str) -> str:
    if RESERVED_LABELS.match(text):
        raise ValueError("labels with this prefix are Kubernetes' and the fleet's own; use another prefix")
    return text


def _annotation_key(text: str) -> str:
    if RESERVED_ANNOTATIONS.match(text):
        raise ValueError("annotations with this prefix are Pulumi's and the fleet's own; use another prefix")
    if _MEANT_ANNOTATIONS.match(text):
        raise ValueError("Kubernetes would take this annotation for an order of its own; use another prefix")
    return text


def _annotations(annotations: dict[str, str]) -> dict[str, str]:
    if sum(len(text.encode()) for item in annotations.items() for text in item) > _LONGEST_ANNOTATIONS:
        raise ValueError("an object has at most 256 KiB of annotations; use a volume for long texts")
    return annotations


def _distinct(texts: list[str]) -> list[str]:
    if repeated := next((text for text in texts if texts.count(text) > 1), None):
        raise ValueError(f'"{repeated}" is listed twice; remove one')
    return texts


def _object_name(text: str) -> str:
    if len(text) > OBJECT_NAME_LENGTH or not re.fullmatch(_DOMAIN, text):
        raise ValueError(
            f"write the name of an existing object: at most {OBJECT_NAME_LENGTH} lower-case letters, digits, "
            "'-' and '.', with a letter or digit at both ends of each part"
        )
    return text


def _secret_name(text: str) -> str:
    if not SECRET_NAME.fullmatch(text):
        raise ValueError("use 1 to 63 letters, digits, '-' and '_' for a secret's name")
    return text


def _visible(example: str) -> AfterValidator:
    def check(text: str) -> str:
        if not text.strip() or not text.isprintable():
            raise ValueError(f'write a text of visible characters, such as "{example}"')
        return text

    return AfterValidator(check)


def _secret(value: object) -> object:
    if not isinstance(value, str | SecretStr):
        raise ValueError(f"write one text, encrypted: {SET_SECRET}")  # noqa: TRY004 (pydantic's protocol)
    _text(value.get_secret_value() if isinstance(value, SecretStr) else value)
    return value


def _mount_path(text: str) -> str:
    if not re.fullmatch(r"(/[^/:\0\s]+)+", text) or not {".", ".."}.isdisjoint(text.split("/")):
        raise ValueError(
            'write an absolute path such as "/data", without spaces, ":", "." and "..", and no "/" at its end'
        )
    if text.split("/")[1] == "proc":
        raise ValueError('belongs to the kernel; choose another, such as "/data"')
    return text


def _sub_path(text: str) -> str:
    if not re.fullmatch(r"[^/\0-\x1f][^\0-\x1f]*", text) or ".." in text.split("/"):
        raise ValueError('write a path within the volume, without "/" in front and without ".."')
    return text


def metadata_within(cidr: str) -> list[str]:
    """The addresses of cloud metadata services that lie in a network."""
    return [str(each) for each in METADATA if _contains(ipaddress.ip_network(cidr), each)]


def _contains(network: _Network, part: _Network) -> bool:
    return network.version == part.version and part.subnet_of(network)  # type: ignore[arg-type]


def _cidr(text: str) -> str:
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        network = None
    if network is None or "%" in text:
        raise ValueError(
            'write a network as address/length, with zeros after the length, such as "10.20.0.0/16"'
        )
    if isinstance(network, ipaddress.IPv6Network) and network.network_address.ipv4_mapped:
        raise ValueError("holds IPv4 addresses; write them as IPv4")
    if "/" not in text:
        raise ValueError(f'write its length too: "{network}" for this address alone')
    if any(_contains(each, network) for each in METADATA):
        raise ValueError("is a cloud's metadata service, which environments never reach; remove it")
    return str(network)


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


def between(lowest: int, highest: int) -> AfterValidator:
    """A check that a number is in a range, both ends included."""

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


QualifiedName = Annotated[str, AfterValidator(_qualified_name)]
LabelValue = Annotated[str, AfterValidator(_label_value)]
ClusterName = Annotated[str, _dns_label(CLUSTER_NAME_LENGTH)]
ExistingNamespace = Annotated[str, AfterValidator(_existing_namespace)]
NamespaceName = Annotated[str, _dns_label(NAME_LENGTH), AfterValidator(_namespace)]
EnvironmentName = Annotated[str, _dns_label(NAME_LENGTH), AfterValidator(_not_reserved)]
Image = Annotated[str, AfterValidator(_image)]
Port = Annotated[int, between(1, 65535)]
Context = Annotated[str, _visible("staging")]
FilePath = Annotated[str, _visible("~/.kube/config")]
ControlPlaneNodes = Annotated[int, between(1, 9), AfterValidator(_odd)]
WorkerNodes = Annotated[int, between(0, 50)]
Timeout = Annotated[int, between(30, 3600)]
Count = Annotated[int, between(1, LARGEST_COUNT)]
NodePort = Annotated[int, between(30000, 32767)]
Address = Annotated[str, AfterValidator(_address)]
HealthPath = Annotated[str, AfterValidator(_health_path)]
VariableName = Annotated[str, AfterValidator(_environment_variable)]
Text = Annotated[str, AfterValidator(_text)]
Variables = dict[VariableName, Text]
ServerVariables = dict[Annotated[VariableName, AfterValidator(_server_variable)], Text]
Labels = dict[Annotated[QualifiedName, AfterValidator(_label_key)], LabelValue]
NodeLabels = dict[QualifiedName, LabelValue]
Annotations = Annotated[
    dict[Annotated[QualifiedName, AfterValidator(_annotation_key)], str], AfterValidator(_annotations)
]
FeatureGates = dict[Annotated[str, AfterValidator(_feature_gate)], bool]
ObjectName = Annotated[str, AfterValidator(_object_name)]
ObjectNames = Annotated[list[ObjectName], AfterValidator(_distinct)]
SecretName = Annotated[str, AfterValidator(_secret_name)]
Secret = Annotated[SecretStr, BeforeValidator(_secret)]
VolumeName = Annotated[str, _dns_label(NAME_LENGTH)]
MountPath = Annotated[str, AfterValidator(_mount_path)]
SubPath = Annotated[str, AfterValidator(_sub_path)]
Cidr = Annotated[str, AfterValidator(_cidr)]
Lifetime = Annotated[int, between(1, 31_536_000)]  # up to a year
Seconds = Annotated[int, between(1, 3600)]
Failures = Annotated[int, between(1, 100)]
Weight = Annotated[int, between(1, 100)]
UserId = Annotated[int, between(0, 2**31 - 1)]
GroupId = Annotated[int, between(0, 2**31 - 1)]
