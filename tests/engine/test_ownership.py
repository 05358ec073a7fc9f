"""Only what is the fleet's own is ever changed, and what is its own is found again."""

import time
from typing import Any

import pytest
from pulumi.automation import CommandError, Deployment
from pydantic import SecretStr

from components.namespace import NamespaceArgs
from components.namespace import namespace as namespace_of
from config import EnvironmentConfig
from tests.engine.fleets import small_fleet
from tests.engine.inventory import all_objects
from tests.engine.manifests import apply, manifest
from tests.engine.pulumi_stack import STACK

OURS = {"app.kubernetes.io/part-of": "envfleet", "app.kubernetes.io/instance": STACK}
ANOTHERS = {**OURS, "app.kubernetes.io/instance": "production"}
HELMS = {"app.kubernetes.io/managed-by": "Helm"}
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
# Every key, with what Kubernetes completes, writes differently, or has an admission plugin for.
EVERYTHING: dict[str, Any] = {
    "name": "everything",
    "count": 2,
    "image": "test/echo:1",
    "image_pull_policy": "Always",
    "image_pull_secrets": ["registry", "other"],
    "command": ["serve"],
    "args": ["--fast", ""],
    "port": 9000,
    "env": {"B": "2", "A": "1"},
    "secret_env": {"KEY": "key", "OTHER": "key"},
    "resources": {
        "requests": {"cpu": "0.5", "memory": "0.5Gi", "ephemeral_storage": "1024Ki"},
        "limits": {"cpu": "1000m", "memory": "1024Mi", "ephemeral_storage": "1e9"},
        "extended": {"example.com/device": 1},
    },
    "health": {
        "path": "/ok?deep=1",
        "port": 9001,
        "scheme": "HTTPS",
        "timeout_seconds": 3,
        "period_seconds": 7,
        "failures": 2,
        "restart_seconds": 33,
    },
    "startup_seconds": 60,
    "ttl_seconds": 31_536_000,
    "volumes": [
        {"name": "empty", "mount_path": "/empty", "empty_dir": {"size_limit": "1024Mi", "memory": True}},
        {
            "name": "disk",
            "mount_path": "/disk",
            "ephemeral_claim": {"size": "1e9", "storage_class": "manual"},
        },
        {"name": "shared", "mount_path": "/shared", "read_only": True, "persistent_volume_claim": "shared"},
        {"name": "files", "mount_path": "/files", "sub_path": "a/b", "config_map": "files"},
        {"name": "keys", "mount_path": "/keys", "secret": "keys"},
    ],
    "egress": [
        {"cidr": "0.0.0.0/0", "ports": [443, 80], "protocol": "TCP"},
        {"cidr": "FD00:0::/16", "protocol": "UDP"},
    ],
    "security": {
        "level": "privileged",
        "run_as_user": 1000,
        "run_as_group": 1000,
        "fs_group": 1000,
        "read_only_root_filesystem": True,
        "capabilities": ["SYS_ADMIN", "CHOWN"],
        "privileged": True,
    },
    "service_account": "simulator",
    "runtime_class": "sandbox",
    "priority_class": "training",
    "node_selector": {"kubernetes.io/hostname": "node-0"},
    "affinity": {
        "node_affinity": {
            "required": [[{"key": "kubernetes.io/hostname", "operator": "Exists"}]],
            "preferred": [
                {"weight": 1, "requirements": [{"key": "zone", "operator": "NotIn", "values": ["b", "a"]}]}
            ],
        },
        "pod_affinity": {
            "required": [{"match_labels": {"team": "x"}, "topology_key": "kubernetes.io/hostname"}],
            "preferred": [{"weight": 2, "term": {"match_labels": {}, "topology_key": "zone"}}],
        },
        "pod_anti_affinity": {
            "required": [
                {"match_labels": {"noisy": ""}, "topology_key": "zone", "namespaces": ["b", "a"]},
            ],
        },
    },
    "tolerations": [
        {"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "old", "effect": "NoExecute", "toleration_seconds": 60},
    ],
    "labels": {"team": "x"},
    "annotations": {"example.com/owner": "me"},
}


def create(client, path: str, name: str, labels: dict[str, str] | None = None, **content: Any) -> str:
    """Make an object; return where it is."""
    metadata = {"name": name, "labels": labels or {}}
    client.post(path, json={"metadata": metadata, **content}).raise_for_status()
    return f"{path}/{name}"


@pytest.fixture
def furnished(control_plane, namespace):
    """A namespace of our own, with all that EVERYTHING names in it and in the cluster."""
    client, inside = control_plane.client, f"/api/v1/namespaces/{namespace}"
    level = NamespaceArgs(namespace, STACK, "privileged")
    apply(client, manifest(namespace_of, level)).raise_for_status()
    create(client, f"{inside}/serviceaccounts", "simulator")
    create(client, f"{inside}/configmaps", "files")
    create(client, f"{inside}/secrets", "keys")
    create(client, f"{inside}/persistentvolumeclaims", "shared", spec=claim("ReadWriteMany"))
    outside = [
        create(client, "/apis/node.k8s.io/v1/runtimeclasses", "sandbox", handler="runsc"),
        create(client, "/apis/scheduling.k8s.io/v1/priorityclasses", "training", value=1000),
        create(
            client,
            CLASSES,
            "manual",
            provisioner="kubernetes.io/no-provisioner",
            volumeBindingMode="WaitForFirstConsumer",
        ),
        *(create(client, "/api/v1/persistentvolumes", f"disk-{number}", spec=DISK) for number in range(3)),
    ]
    device = {"example.com~1device": "2"}
    capacity = [
        {"op": "add", "path": f"/status/{what}/{name}", "value": value}
        for name, value in device.items()
        for what in ("capacity", "allocatable")
    ]
    patch(client, capacity)
    yield namespace
    patch(client, [{**each, "op": "remove"} for each in capacity])
    for path in outside:
        client.delete(path).raise_for_status()
    wait_for(lambda: not any(client.get(path).is_success for path in outside))


DISK = {
    "capacity": {"storage": "10Gi"},
    "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
    "storageClassName": "manual",
    "persistentVolumeReclaimPolicy": "Retain",
    "hostPath": {"path": "/tmp/disk"},
}


def claim(mode: str) -> dict[str, Any]:
    return {
        "accessModes": [mode],
        "storageClassName": "manual",
        "resources": {"requests": {"storage": "1Gi"}},
    }


def patch(client, operations) -> None:
    client.patch(
        "/api/v1/nodes/node-0/status",
        json=operations,
        headers={"content-type": "application/json-patch+json"},
    ).raise_for_status()


def test_after_a_lost_state_an_environment_with_every_key_is_taken_back_as_it_runs(
    furnished, stack, fleet_program, control_plane
):
    assert EVERYTHING.keys() == EnvironmentConfig.model_fields.keys()
    raw = {
        **small_fleet(furnished),
        "secrets": {"key": SecretStr("hunter2")},
        "network": {"clients": [{"namespace": "trainers", "labels": {"role": "b"}}, {}]},
        "environments": [EVERYTHING],
    }
    program = fleet_program(raw)
    stack.up(program)
    pods = f"/api/v1/namespaces/{furnished}/pods"

    def state() -> dict[str, Any]:
        items = control_plane.client.get(pods).raise_for_status().json()["items"]
        return {item["metadata"]["name"]: (item["metadata"]["uid"], item["spec"]) for item in items}

    before = state()
    assert stack.preview(program) == set()

    stack.automation.import_stack(Deployment(version=3, deployment={}))
    created = stack.up(program)

    assert {step.op for step in created} == {"create"}
    assert state() == before
    assert stack.preview(program) == set()


def versions(client, namespace: str) -> dict[str, str]:
    """Return all that is in the cluster, with the version of what is in the namespace, once it is at rest."""
    deadline = time.monotonic() + 20
    before: dict[str, str] = {}
    while time.monotonic() < deadline:
        now = {
            name: item["metadata"]["resourceVersion"] if name.split()[-1].startswith(f"{namespace}/") else ""
            for name, item in all_objects(client).items()
        }
        if now == before:
            return now
        before = now
        time.sleep(0.3)
    raise AssertionError("the namespace does not come to rest")


def refused(operation, program) -> str:
    """Return what Pulumi says, without line breaks."""
    with pytest.raises(CommandError) as caught:
        operation(program)
    said = " ".join(str(caught.value).split())
    assert "Traceback" not in said
    return said


def assert_refused_and_untouched(stack, program, client, namespace: str, messages: list[str]) -> None:
    """A preview and an update say all that is in the way, once, and neither they nor a destroy change it."""
    before = versions(client, namespace)
    for operation in (stack.preview, stack.up):
        said = refused(operation, program)
        diagnostics = said.partition("Diagnostics:")[2]
        for message in messages:
            assert diagnostics.count(message) == 1, said
        assert versions(client, namespace) == before
    stack.destroy()
    assert versions(client, namespace) == before


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        ({}, "is not this stack's: it was made by 'kubectl-create'"),
        (HELMS, "is not this stack's: it was made by 'Helm'"),
        (ANOTHERS, "belongs to the stack 'production'"),
    ],
    ids=["nobody's", "a chart's", "another stack's"],
)
def test_a_namespace_of_somebody_else_is_not_touched(
    labels, owner, stack, fleet_program, namespace, control_plane
):
    client = control_plane.client
    body = {"metadata": {"name": namespace, "labels": labels}}
    client.post("/api/v1/namespaces", json=body, params={"fieldManager": "kubectl-create"}).raise_for_status()

    message = f"namespace '{namespace}' exists and {owner}. Choose another envfleet:namespace"
    assert_refused_and_untouched(stack, fleet_program(small_fleet(namespace)), client, namespace, [message])


def test_a_namespace_that_is_being_deleted_is_waited_for_by_the_user_who_is_told_what_holds_it(
    stack, fleet_program, namespace, control_plane
):
    client, path = control_plane.client, f"/api/v1/namespaces/{namespace}"
    client.post(
        "/api/v1/namespaces", json={"metadata": {"name": namespace, "labels": OURS}}
    ).raise_for_status()
    held = {"metadata": {"name": "held", "finalizers": ["example.com/held"]}}
    client.post(f"{path}/configmaps", json=held).raise_for_status()
    client.delete(path).raise_for_status()
    wait_for(lambda: "example.com/held" in client.get(path).text)

    messages = [f"namespace '{namespace}' is being deleted", "example.com/held in 1 resource instances"]
    assert_refused_and_untouched(stack, fleet_program(small_fleet(namespace)), client, namespace, messages)

    release = {"metadata": {"finalizers": None}}
    client.patch(
        f"{path}/configmaps/held", json=release, headers={"content-type": "application/merge-patch+json"}
    ).raise_for_status()
    wait_for(lambda: not client.get(path).is_success)


FOREIGN = {
    "ServiceAccount environment": ("api/v1", "serviceaccounts", {}),
    "Role server": ("apis/rbac.authorization.k8s.io/v1", "roles", {}),
    "RoleBinding server": (
        "apis/rbac.authorization.k8s.io/v1",
        "rolebindings",
        {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "other"}},
    ),
    "NetworkPolicy default-deny": (
        "apis/networking.k8s.io/v1",
        "networkpolicies",
        {"spec": {"podSelector": {}}},
    ),
    "NetworkPolicy echo.egress": (
        "apis/networking.k8s.io/v1",
        "networkpolicies",
        {"spec": {"podSelector": {}}},
    ),
    "Secret echo": ("api/v1", "secrets", {}),
    "Service guess": ("api/v1", "services", {"spec": {"ports": [{"port": 1}]}}),
    "Deployment server": (
        "apis/apps/v1",
        "deployments",
        {
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"a": "b"}},
                "template": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"containers": [{"name": "main", "image": "x:1"}]},
                },
            }
        },
    ),
    "Pod echo": ("api/v1", "pods", {"spec": {"containers": [{"name": "main", "image": "x:1"}]}}),
}


def test_in_our_own_namespace_nothing_of_our_names_that_is_somebody_elses_is_touched(
    stack, fleet_program, namespace, control_plane
):
    client = control_plane.client
    apply(client, manifest(namespace_of, NamespaceArgs(namespace, STACK, "privileged"))).raise_for_status()
    wait_for(lambda: client.get(f"/api/v1/namespaces/{namespace}/serviceaccounts/default").is_success)
    owners = [
        (HELMS, "is not this stack's: it was made by 'Helm'"),
        (ANOTHERS, "belongs to the stack 'production'"),
    ]
    messages = []
    for index, (object_, (group, resources, content)) in enumerate(FOREIGN.items()):
        kind, name = object_.split()
        labels, owner = owners[index % 2]
        create(client, f"/{group}/namespaces/{namespace}/{resources}", name, labels=labels, **content)
        messages.append(f"{kind} {namespace}/{name} exists and {owner}.")
    raw = small_fleet(namespace)
    raw["secrets"] = {"key": SecretStr("hunter2")}
    raw["environments"][0] |= {"secret_env": {"KEY": "key"}, "egress": [{"cidr": "10.0.0.0/8"}]}

    assert_refused_and_untouched(stack, fleet_program(raw), client, namespace, messages)


def test_a_foreign_object_stops_a_fleet_that_is_up_and_leaves_it_as_it_is(
    stack, fleet_program, namespace, control_plane
):
    client, raw = control_plane.client, small_fleet(namespace)
    stack.up(fleet_program(raw))
    create(client, f"/api/v1/namespaces/{namespace}/services", "third", spec={"ports": [{"port": 1}]})
    before = versions(client, namespace)
    raw["environments"][0]["image"] = "test/echo:2"
    raw["environments"].append({"name": "third", "image": "test/echo:1"})

    said = refused(stack.up, fleet_program(raw))

    assert f"Service {namespace}/third exists and is not this stack's" in said
    assert versions(client, namespace) == before


def wait_for(condition) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
