"""Environments as somebody may write them: valid ones, and ones with a few things changed at random."""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

SECRETS = ["api-key", "Pass_word", "0"]
Path = tuple[str | int, ...]


@dataclass
class Spec:
    """An environment, and the paths of what was changed in it: if there are none, it is valid."""

    environment: dict[str, Any]
    changed: list[Path] = field(default_factory=list)


def _some(*values: object) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


def _mapping(required: dict[str, Any], /, **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(required, optional=optional)


def _pairs(ascending: tuple[str, ...]) -> st.SearchStrategy[tuple[str, str]]:
    """Two of the values, the lower one first."""
    places = st.tuples(*[st.integers(0, len(ascending) - 1)] * 2).map(sorted)
    return places.map(lambda pair: (ascending[pair[0]], ascending[pair[1]]))


@st.composite
def _resources(draw: st.DrawFn) -> dict[str, Any]:
    ascending = {
        "cpu": ("1m", ".05", "100m", "0.5", "1000m", "1.", "2e0", "1k"),
        "memory": ("1Mi", "1048577", "64Mi", "1e8", "0.5Gi", "1024Mi", "1.5Gi", "2E"),
        "ephemeral_storage": ("1Mi", "64M", "1000Mi", "1Gi", "99e10", "10E"),
    }
    resources: dict[str, Any] = {"requests": {}, "limits": {}}
    for what, values in ascending.items():
        if draw(st.booleans()):
            resources["requests"][what], resources["limits"][what] = draw(_pairs(values))
    if draw(st.booleans()):
        devices = _some("nvidia.com/gpu", "a/b", "x" * 63 + ".com/" + "y" * 63)
        resources["extended"] = draw(st.dictionaries(devices, st.integers(1, 1000), max_size=2))
    return resources


@st.composite
def _health(draw: st.DrawFn) -> dict[str, Any]:
    timeout = draw(st.integers(1, 3600))
    restart = draw(st.none() | st.integers(timeout, 31_536_000))
    others = _mapping(
        {},
        path=_some("/", "/ok?x=%20", "/a//b;c", "/" + "x" * 2000),
        port=st.integers(1, 65535),
        scheme=_some("HTTP", "HTTPS"),
        period_seconds=st.integers(1, 3600),
        failures=st.integers(1, 100),
    )
    return {**draw(others), "timeout_seconds": timeout, "restart_seconds": restart}


@st.composite
def _security(draw: st.DrawFn) -> dict[str, Any]:
    level = draw(_some("restricted", "baseline", "privileged"))
    capabilities = {
        "restricted": ["NET_BIND_SERVICE"],
        "baseline": ["NET_BIND_SERVICE", "CHOWN", "SETUID"],
        "privileged": ["CHOWN", "SYS_ADMIN", "NET_RAW"],
    }
    others = _mapping(
        {},
        run_as_user=st.integers(1 if level == "restricted" else 0, 2**31 - 1),
        run_as_group=st.integers(0, 2**31 - 1),
        fs_group=st.integers(0, 2**31 - 1),
        read_only_root_filesystem=st.booleans(),
        capabilities=st.lists(st.sampled_from(capabilities[level]), max_size=3),
        privileged=st.booleans() if level == "privileged" else st.just(False),
    )
    return {"level": level, **draw(others)}


names = st.from_regex(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True) | st.just("x" * 63)
environment_names = names.filter(lambda name: name != "server")
objects = _some("a", "1.b-2", "x" * 63, ".".join(["y" * 62] * 4))
qualified = _some("zone", "A_b.c", "kubernetes.io/os", "x" * 63, "example.com/" + "y" * 63)
values = _some("", "a", "A_b.c-1", "1", "x" * 63)
labels = st.dictionaries(_some("team", "X.y_z", "a.b/c", ".".join(["y" * 62] * 4) + "/" + "n" * 63), values)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)

_source = st.one_of(
    st.fixed_dictionaries(
        {"empty_dir": _mapping({}, size_limit=_some("1Mi", "1.5Gi"), memory=st.booleans())}
    ),
    st.fixed_dictionaries(
        {"ephemeral_claim": _mapping({"size": _some("10Gi", "1e9", "1.5Gi")}, storage_class=objects)}
    ),
    *(st.fixed_dictionaries({key: objects}) for key in ("persistent_volume_claim", "config_map", "secret")),
)
_volume = st.builds(
    lambda place, source: {**place, **source},
    _mapping(
        {"name": names, "mount_path": _some("/data", "/data/x", "/opt/é", "/a~b", "/" + "x" * 200)},
        sub_path=_some("a", "a/b", "x y", "...", "ü"),
        read_only=st.booleans(),
    ),
    _source,
)
volumes = st.lists(
    _volume, max_size=3, unique_by=(lambda each: each["name"], lambda each: each["mount_path"])
)

egress = st.lists(
    _mapping(
        {
            "cidr": _some(
                *("0.0.0.0/0", "10.20.0.0/16", "169.0.0.0/8", "::/0", "fd00::/8", "1.2.3.4/32"),
                *("FD00:0::/16", "::1/128"),
            )
        },
        ports=st.lists(st.integers(1, 65535), max_size=3),
        protocol=_some("TCP", "UDP"),
    ),
    max_size=3,
)

toleration = st.one_of(
    _mapping({"operator": st.just("Exists")}, key=qualified, effect=_some("NoSchedule", "NoExecute")),
    _mapping({"key": qualified}, operator=st.just("Equal"), value=values, effect=_some("PreferNoSchedule")),
    _mapping(
        {"key": qualified, "effect": st.just("NoExecute"), "toleration_seconds": st.integers(1, 31_536_000)}
    ),
    st.just({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}),
)

requirement = st.one_of(
    _mapping({"key": qualified, "operator": _some("In", "NotIn"), "values": st.lists(values, min_size=1)}),
    _mapping({"key": qualified, "operator": _some("Exists", "DoesNotExist")}, values=st.just([])),
    _mapping({"key": qualified, "operator": _some("Gt", "Lt"), "values": st.just(["0010"])}),
)
requirements = st.lists(requirement, min_size=1, max_size=2)
pod_term = _mapping(
    {"match_labels": labels, "topology_key": qualified}, namespaces=st.lists(names, max_size=2)
)
weight = st.integers(1, 100)
pod_affinity = _mapping(
    {},
    required=st.lists(pod_term, max_size=2),
    preferred=st.lists(_mapping({"weight": weight, "term": pod_term}), max_size=2),
)
affinity = _mapping(
    {},
    node_affinity=_mapping(
        {},
        required=st.lists(requirements, max_size=2),
        preferred=st.lists(_mapping({"weight": weight, "requirements": requirements}), max_size=2),
    ),
    pod_affinity=pod_affinity,
    pod_anti_affinity=pod_affinity,
)

valid = _mapping(
    {
        "name": environment_names,
        "image": _some("echo:1", "r.example.com:5000/a/b:v1.2_3-x", "a@sha256:" + "0" * 64),
    },
    image_pull_policy=_some("Always", "IfNotPresent", "Never"),
    image_pull_secrets=st.lists(objects, max_size=2, unique=True),
    command=st.lists(texts, max_size=2),
    args=st.lists(texts, max_size=2),
    port=st.integers(1, 65535),
    env=st.dictionaries(_some("A", "_b", "C3", "D" * 253), texts),
    secret_env=st.dictionaries(_some("S_A", "s3", "T" * 253), st.sampled_from(SECRETS)),
    resources=_resources(),
    health=_health(),
    startup_seconds=st.integers(1, 3600),
    ttl_seconds=st.integers(1, 31_536_000),
    volumes=volumes,
    egress=egress,
    security=_security(),
    service_account=objects,
    runtime_class=objects,
    priority_class=objects,
    node_selector=st.dictionaries(qualified, values, max_size=2),
    affinity=affinity,
    tolerations=st.lists(toleration, max_size=3),
    labels=labels,
    annotations=st.dictionaries(_some("note", "example.com/a", "pod.kubernetes.io/x"), texts, max_size=2),
)

# Where rules of Kubernetes begin and end: of any text, and of those under some keys.
_LONG_DOMAIN = ".".join(["y" * 62] * 4)
_TEXTS = st.one_of(
    st.text(max_size=5),
    _some(
        *(
            "",
            " ",
            "a",
            "A",
            "0",
            "-",
            "a-",
            "-a",
            "a b",
            "a\n",
            "a.b",
            "a..b",
            "a_b",
            "a/b",
            "/",
            "/a",
            "é",
            "\0",
        ),
        *(
            "a" * 57,
            "a" * 63,
            "a" * 64,
            "a" * 253,
            "a" * 254,
            "a.b/" + "c" * 64,
            _LONG_DOMAIN,
            "x/" * 2,
            "A.b/c",
        ),
        *("server", "default", "environment", "http", "HTTP", "true", "null", "1", "$(A)", "{{x}}"),
    ),
)
_QUANTITIES = (
    *(
        "0",
        ".",
        "1n",
        "1u",
        "0.1m",
        "1m",
        "-1",
        "+1",
        "1.",
        ".5",
        "1e99",
        "1e-2",
        "1E3",
        "1e3Mi",
        "1.5Mi",
        "1MiB",
    ),
    *(
        "9E",
        "99999E",
        "16Ei",
        "00001Gi",
        "0.00001Gi",
        "1048576.5",
        "0.0005",
        "1.0005",
        "1" * 40,
        "0." + "1" * 40,
    ),
)
_DEVICES = (
    *("hugepages-2Mi", "hugepages-2Mi/x", "hugepages-x.com/y", "requests.x.com/y", "kubernetes.io/x"),
    *("attachable-volumes-x.com/y", "limits.x.com/y", _LONG_DOMAIN + "/y", ".".join(["y" * 60] * 4) + "/y"),
)
_TEXTS_OF = {
    "image": _some(
        "echo", "echo:latest", "Echo:1", "echo@sha256:0", "u" * 300 + ":1", " echo:1", "http://x:1"
    ),
    "annotations": _some(
        *("kubernetes.io/config.mirror", "kubernetes.io/config.source", "kubernetes.io/ingress-bandwidth"),
        *("container.apparmor.security.beta.kubernetes.io/environment", "pod.alpha.kubernetes.io/x"),
        *("seccomp.security.alpha.kubernetes.io/pod", "controller.kubernetes.io/pod-deletion-cost"),
        *(
            "container.seccomp.security.alpha.kubernetes.io/environment",
            "scheduler.alpha.kubernetes.io/affinity",
        ),
        *("scheduler.alpha.kubernetes.io/tolerations", "service.kubernetes.io/topology-mode"),
        *("security.alpha.kubernetes.io/sysctls", "x" * 200_000),
    ),
    "resources": _some(*_QUANTITIES, *_DEVICES),
    "volumes": _some(
        *_QUANTITIES, "/a/../b", "..", "a/..", "/a:b", "/a//b", "/a/", "/proc", "/dev/x", "/x" * 3000
    ),
    "health": _some("/a b", "/\n", "http://x", "/%zz", "/x" * 9000, "https"),
    "egress": _some(
        *(
            "10.0.0.0/33",
            "10.0.0.1/8",
            "10.0.0.1",
            "169.254.0.0/15",
            "169.254.1.0/24",
            "100.64.0.0/10",
            "::/0",
        ),
        *(
            "::ffff:0:0/96",
            "::ffff:10.0.0.0/104",
            "0.0.0.0/00",
            "010.0.0.0/8",
            "fe80::%1/64",
            "fd00:ec2::/31",
        ),
        *("0.0.0.0/0.0.0.0", "10.0.0.0/0.255.255.255", "10.0.0.0/255.0.0.0", "1::/ff::", "SCTP"),
    ),
    "security": _some(
        "CAP_KILL", "KILL", "ALL", "SYS_ADMIN", "CHOWN", "restricted", "baseline", "privileged"
    ),
    "priority_class": _some("system-node-critical"),
    "affinity": _some("In", "Exists", "Gt", "01", "-1", "9" * 18, "9" * 19, "kube-system", "Cluster"),
    "tolerations": _some("Exists", "Equal", "NoExecute", "NoSchedule", "node.kubernetes.io/unreachable"),
    "labels": _some("app.kubernetes.io/name", "pod-template-hash", "service.kubernetes.io/headless"),
    "env": _some("x" * 131_070, "x" * 131_071, "PATH", "ENVFLEET_X", "A.B", "A-B", "=", "A=B", "$(A", "1A"),
}
_NUMBERS = _some(-1, 0, 1, 2, 80, 8000, 9999, 65535, 65536, 2**31 - 1, 2**31, 2**63, 3600, 3601, 31_536_001)
_ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    _NUMBERS,
    _TEXTS,
    st.floats(),
    st.just([]),
    st.just({}),
    st.lists(_TEXTS, max_size=2),
)


def _walk(value: object, path: Path = ()) -> Iterator[Path]:
    """Every place within a value."""
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in entries:
        yield (*path, key)
        yield from _walk(inner, (*path, key))


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """An environment with at most three changes: other values, other keys, and entries twice."""
    spec = Spec(
        json.loads(json.dumps(draw(valid)))
    )  # a copy whose parts are not shared, not even with each other
    for _ in range(draw(_some(0, 1, 1, 1, 2, 3))):
        _change(draw, spec)
    return spec


def _change(draw: st.DrawFn, spec: Spec) -> None:
    top = draw(st.sampled_from(list(spec.environment)))
    path = draw(st.sampled_from([(top,), *_walk(spec.environment[top], (top,))]))
    *parents, key = path
    texts = st.one_of(_TEXTS_OF.get(top, _TEXTS), _TEXTS)
    owner: Any = spec.environment
    for part in parents:
        owner = owner[part]
    value = owner[key]
    spec.changed.append(path)
    kind = draw(_some("value", "value", "value", "key"))
    if kind == "value":
        alike = texts if isinstance(value, str) else _NUMBERS if type(value) is int else _ANYTHING
        owner[key] = draw(st.one_of(alike, alike, alike, _ANYTHING))
    elif isinstance(owner, list):
        owner.append(copy.deepcopy(value))
        spec.changed.append((*parents, len(owner) - 1))
    else:
        renamed = draw(texts)
        owner[renamed] = owner.pop(key)
        spec.changed.append((*parents, renamed))
