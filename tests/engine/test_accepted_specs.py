"""What the configuration accepts, Kubernetes accepts; what it refuses, it says where."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from pydantic import SecretStr

from components import environment, network
from components.fleet import FleetArgs, environment_args, security_level
from components.namespace import NamespaceArgs
from components.namespace import namespace as namespace_of
from components.network import NetworkArgs
from config import ConfigError, StackConfig, parse
from config.errors import Problem
from tests.engine.manifests import apply, manifest
from tests.engine.specs import SECRETS, Path, Spec, specs

LEVELS = ("restricted", "baseline", "privileged")
# Objects of the cluster that an environment may name, and what it takes to make one.
NAMED = {
    "service_account": ("/api/v1/namespaces/{namespace}/serviceaccounts", {}),
    "runtime_class": ("/apis/node.k8s.io/v1/runtimeclasses", {"handler": "runc"}),
    "priority_class": ("/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 1}),
}
KUBERNETES_OWN = {"system-node-critical", "system-cluster-critical"}
SMALLEST = {"name": "echo", "image": "echo:1"}
# What has one owner as a whole. If Kubernetes added to it, it could not be applied again after a lost state.
WHOLE = {"Pod": ("tolerations", "affinity"), "NetworkPolicy": ("egress", "policyTypes")}
# A contradiction may be reported at either of two keys.
TOGETHER = ({"env", "secret_env"}, {"name", "count"})


@pytest.fixture(scope="module")
def namespaces(control_plane):
    """A namespace of each Pod Security level, as the fleet makes it."""
    found = {level: f"specs-{level}" for level in LEVELS}
    for level, name in found.items():
        apply(
            control_plane.client, manifest(namespace_of, NamespaceArgs(name, "specs", level))
        ).raise_for_status()
        make(control_plane.client, name, service_account="environment")
    yield found
    for name in found.values():
        control_plane.client.delete(f"/api/v1/namespaces/{name}").raise_for_status()


def make(client: httpx.Client, namespace: str, **names: str | None) -> None:
    """Make what an environment names, unless it is there."""
    for what, name in names.items():
        url, content = NAMED[what]
        if name and name not in KUBERNETES_OWN:
            answer = client.post(
                url.format(namespace=namespace), json={"metadata": {"name": name}, **content}
            )
            assert answer.is_success or answer.status_code == 409, (what, answer.json()["message"])


def parsed(spec: Spec, namespace: str) -> StackConfig:
    raw = {
        "cluster": {"provider": "kind"},
        "namespace": namespace,
        "secrets": {name: SecretStr("hünter2\n") for name in SECRETS},
        "server": {"image": "server:1"},
        "environments": [spec.environment],
    }
    return parse(raw, "specs", {"secrets"})


def objects_of(spec: Spec, namespaces: Mapping[str, str], client: httpx.Client) -> Iterator[dict[str, Any]]:
    """What the fleet makes of an environment, in a namespace that has what it names."""
    config = parsed(spec, namespaces[security_level(parsed(spec, "any"))])
    (args,) = environment_args(FleetArgs(config, "specs", "", image=lambda reference: reference))
    make(client, config.namespace, **{what: getattr(args.settings, what) for what in NAMED})
    for build in (environment.pod, environment.service, *([environment.secret] if args.secrets else [])):
        yield manifest(build, args)
    policies = network.policies(NetworkArgs(config.namespace, "specs", config.network, [args]))
    if own := policies.get(f"{args.name}.egress"):
        yield manifest(lambda: own)


def is_about(problem: Path, change: Path) -> bool:
    """Whether a problem is at what was changed, or at what belongs to it."""
    top, *_ = change
    if any({top, problem[0]} == keys for keys in TOGETHER):
        return True
    common = change[: max(1, len(change) - 2)]
    return problem[: len(common)] == common


def refusal(spec: Spec) -> tuple[Problem, ...]:
    try:
        parsed(spec, "any")
    except ConfigError as error:
        return error.problems
    return ()


@settings(
    max_examples=400,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(spec=specs())
@example(spec=Spec(SMALLEST | {"image_pull_secrets": ["a", "b", "a"]}, [("image_pull_secrets",)]))
@example(spec=Spec(SMALLEST | {"annotations": {"kubernetes.io/config.mirror": "x"}}, [("annotations",)]))
@example(spec=Spec(SMALLEST | {"annotations": {"a": "x" * 2**18}}, [("annotations",)]))
@example(spec=Spec(SMALLEST | {"args": ["x" * 10**5] * 40}, [("args",)]))
@example(spec=Spec(SMALLEST | {"resources": {"extended": {"hugepages-x.com/y": 1}}}, [("resources",)]))
@example(spec=Spec(SMALLEST | {"name": "x" * 63, "egress": [{"cidr": "0.0.0.0/0"}]}, []))
def test_kubernetes_accepts_what_the_configuration_accepts_and_a_refusal_names_what_is_wrong(
    spec, control_plane, namespaces
):
    problems = refusal(spec)
    if not problems:
        for item in objects_of(spec, namespaces, control_plane.client):
            answer = apply(control_plane.client, item, dry=True)
            assert answer.is_success, f"{item['kind']}: {answer.json()['message']}"
            for key in WHOLE.get(item["kind"], ()):
                assert answer.json()["spec"].get(key) == item["spec"].get(key), key
    for problem in problems:
        place, index, *path = problem.path
        assert (place, index) == ("environments", 0)
        assert any(is_about(tuple(path), change) for change in spec.changed), str(problem)
        assert str(problem).isprintable()
