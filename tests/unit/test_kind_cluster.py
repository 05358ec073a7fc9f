"""The resources of a kind cluster, and what others get from it."""

import asyncio
from typing import Any

import pulumi
import pytest
from pulumi.runtime.mocks import MockMonitor

from config import KindConfig
from providers.kind import KindCluster, cli, engine, local_image_ids

LOCAL = "envfleet/echo:0.1.0"


class Kind(pulumi.runtime.Mocks):
    """A cluster comes up."""

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        made = {"owner": "abc", "identifier": "lab-1", "kubeconfig": "the kubeconfig"}
        return f"{args.name}-id", {**args.inputs, **(made if args.name == "cluster-kind" else {})}

    def call(self, args: pulumi.runtime.MockCallArgs) -> dict[str, Any]:
        raise AssertionError(f"unexpected call of {args.token}")


class Recorder(MockMonitor):
    """Keeps the requests: mocks are told nothing of a resource's options."""

    def __init__(self) -> None:
        super().__init__(Kind())
        self.requests: dict[str, Any] = {}

    def RegisterResource(self, request):  # noqa: N802 - named by the protocol
        self.requests[request.name] = request
        return super().RegisterResource(request)


@pytest.fixture
def images(monkeypatch):
    """A machine that can make clusters and has one image."""
    monkeypatch.setattr(cli, "require", lambda: None)
    monkeypatch.setattr(engine, "image_id", {LOCAL: "sha256:0123456789abcdef"}.get)


@pytest.fixture
def program(images, event_loop_for_pulumi):
    """What a cluster with one local image asks for, by name; and the cluster."""
    recorder = Recorder()
    pulumi.runtime.set_mocks(recorder.mocks, "envfleet", "dev", monitor=recorder)
    clusters = []

    @pulumi.runtime.test
    def run():
        clusters.append(KindCluster("cluster", KindConfig(provider="kind", name="lab", images=[LOCAL])))

    run()
    recorder.requests.pop("envfleet-dev", None)  # registered once a process
    return recorder.requests, clusters[0]


def test_cluster_owner_provider_and_image_are_children_of_the_component(program):
    requests, _ = program
    component = requests.pop("cluster")
    assert component.type == "envfleet:providers:KindCluster"
    assert {name: request.type for name, request in requests.items()} == {
        "cluster-owner": "pulumi-python:dynamic/kind:Owner",
        "cluster-kind": "pulumi-python:dynamic/kind:Cluster",
        "cluster-kubernetes": "pulumi:providers:kubernetes",
        f"cluster-image-{LOCAL}": "pulumi-python:dynamic/kind:Image",
    }
    assert all(request.parent.endswith("::cluster") for request in requests.values())


def test_kubeconfig_is_a_secret_of_the_state(program):
    requests, _ = program
    assert list(requests["cluster-kind"].additionalSecretOutputs) == ["kubeconfig"]


def test_kubernetes_provider_has_an_explicit_kubeconfig_and_identifier(program):
    requests, _ = program
    connection = requests["cluster-kubernetes"].object
    assert connection["kubeconfig"] == "the kubeconfig"
    assert connection["clusterIdentifier"] == "lab-1"
    assert connection["deleteUnreachable"] == "true"


def test_kubernetes_provider_is_deleted_with_its_cluster(program):
    """Else the engine closes the old one too early when the cluster is replaced, and `up` fails."""
    requests, _ = program
    assert requests["cluster-kubernetes"].deletedWith.endswith("::cluster-kind")


def test_local_image_is_named_by_content_and_others_are_as_they_were(program):
    requests, cluster = program
    assert cluster.image("redis:7.4") == "redis:7.4"
    on_nodes = cluster.image(LOCAL)
    assert isinstance(on_nodes, pulumi.Output)
    loaded = requests[f"cluster-image-{LOCAL}"].object
    assert loaded["reference"] == f"{LOCAL}-0123456789ab"


def test_pods_wait_until_their_image_is_loaded(program, event_loop_for_pulumi):
    _, cluster = program
    dependencies = asyncio.get_event_loop().run_until_complete(cluster.image(LOCAL).resources())
    assert f"cluster-image-{LOCAL}" in {resource._name for resource in dependencies}


def test_missing_image_is_named_with_its_remedy(images):
    with pytest.raises(pulumi.RunError, match=r"has no envfleet/gone:1\. Build with `make images`"):
        local_image_ids([LOCAL, "envfleet/gone:1"])


def test_digest_is_refused_as_a_local_image(images, monkeypatch):
    monkeypatch.setattr(engine, "image_id", lambda _reference: "sha256:1")
    with pytest.raises(pulumi.RunError, match="write repository:tag instead of a/b@sha256:1"):
        local_image_ids(["a/b@sha256:1"])


def test_machine_without_an_engine_gets_one_clean_error(monkeypatch):
    def fail():
        raise engine.KindError("no container engine answers. Start Docker, or run `make up`, then try again.")

    monkeypatch.setattr(cli, "require", fail)
    with pytest.raises(pulumi.RunError, match="no container engine answers"):
        local_image_ids([])
