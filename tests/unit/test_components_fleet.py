"""The resources that a fleet asks Pulumi for."""

from types import SimpleNamespace

import pulumi
import pulumi_kubernetes as kubernetes
import pytest

import config
from components.fleet import Fleet, FleetArgs

ENVIRONMENTS = [
    {"name": "echo", "image": "local:1"},
    {"name": "many", "image": "remote:1", "count": 2},
]
KUBERNETES = "kubernetes:"
POD, SERVICE = f"{KUBERNETES}core/v1:Pod", f"{KUBERNETES}core/v1:Service"
DEPLOYMENT, NAMESPACE = f"{KUBERNETES}apps/v1:Deployment", f"{KUBERNETES}core/v1:Namespace"


@pytest.fixture
def deploy(run_program):
    """Deploy a fleet of these environments; returns what was asked for, and the fleet."""

    def run(environments=ENVIRONMENTS, **server) -> SimpleNamespace:
        raw = {
            "cluster": {"provider": "kind", "name": "test"},
            "namespace": "rl",
            "server": {"image": "local:2", **server},
            "environments": environments,
        }
        fleets = []

        def program() -> None:
            provider = kubernetes.Provider("theirs", kubeconfig="x", cluster_identifier="1")
            args = FleetArgs(
                config.StackConfig.model_validate(raw),
                "dev",
                lambda image: pulumi.Output.from_input(f"{image}-id") if image.startswith("local") else image,
                deleted_with=provider,
            )
            fleets.append(Fleet("fleet", args, pulumi.ResourceOptions(providers=[provider])))

        recorder = run_program(program)
        objects = {
            (request.type, request.name): request
            for request in recorder.requests
            if request.type.startswith(KUBERNETES)
        }
        return SimpleNamespace(
            objects=objects, requests=recorder.requests, outputs=recorder.outputs, fleet=fleets[0]
        )

    return run


def components(fleet: SimpleNamespace) -> list[str]:
    return sorted(request.type for request in fleet.requests if request.type.startswith("envfleet:"))


def test_an_environment_is_two_resources_and_a_server_two(deploy):
    without, fleet = deploy([]), deploy()
    assert fleet.objects.keys() - without.objects.keys() == {
        (kind, f"fleet-{name}-{suffix}")
        for kind, suffix in ((POD, "pod"), (SERVICE, "service"))
        for name in ("echo", "many-0", "many-1")
    }
    assert components(fleet) == components(without), "in a preview, a component counts as a resource"
    assert {name for _, name in without.objects} == {
        "fleet-namespace",
        "fleet-server-account",
        "fleet-environment-account",
        "fleet-server-role",
        "fleet-server-role-binding",
        "fleet-server-deployment",
        "fleet-server-service",
    }


def test_pods_use_the_names_that_the_nodes_know_images_by(deploy):
    objects = deploy().objects

    def image(spec):
        return spec["containers"][0]["image"]

    assert image(objects[POD, "fleet-echo-pod"].object["spec"]) == "local:1-id"
    assert image(objects[POD, "fleet-many-1-pod"].object["spec"]) == "remote:1"
    deployment = objects[DEPLOYMENT, "fleet-server-deployment"].object
    assert image(deployment["spec"]["template"]["spec"]) == "local:2-id"


def test_everything_is_in_the_namespace_under_a_fixed_name_and_labelled(deploy):
    for (kind, _), request in deploy().objects.items():
        metadata = request.object["metadata"]
        assert metadata["name"]
        assert kind == NAMESPACE or metadata["namespace"] == "rl"
        assert metadata["labels"]["app.kubernetes.io/part-of"] == "envfleet"
        assert metadata["labels"]["app.kubernetes.io/instance"] == "dev"


def test_the_namespace_admits_only_restricted_pods(deploy):
    labels = deploy().objects[NAMESPACE, "fleet-namespace"].object["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_every_object_goes_to_the_given_cluster_in_bounded_time(deploy):
    for key, request in deploy().objects.items():
        assert "::theirs::" in request.provider, key
        assert request.customTimeouts.create, key
        assert request.customTimeouts.delete, key


def test_a_pod_is_deleted_before_its_successor_is_created(deploy):
    assert deploy().objects[POD, "fleet-echo-pod"].deleteBeforeReplace is True


def test_pods_wait_for_the_namespace_and_the_accounts(deploy):
    requests = deploy().requests
    environments = next(request for request in requests if request.type.endswith(":Environments"))
    names = {dependency.rpartition("::")[2] for dependency in environments.dependencies}
    assert {"fleet-environment-account", "fleet-server-role-binding"} <= names
    rbac = next(request for request in requests if request.type.endswith(":Rbac"))
    assert any(dependency.endswith("::fleet-namespace") for dependency in rbac.dependencies)


def deleted_with(fleet: SimpleNamespace) -> dict[str, str]:
    return {
        request.type.rpartition(":")[2]: request.deletedWith.rpartition("::")[2]
        for request in fleet.requests
        if request.type.startswith("envfleet:")
    }


def test_everything_goes_with_the_namespace_and_that_with_the_cluster(deploy):
    # The engine passes the option on from a component to its children.
    assert deleted_with(deploy()) == {
        "Fleet": "",
        "Namespace": "theirs",
        "Rbac": "fleet-namespace",
        "Server": "fleet-namespace",
        "Environments": "fleet-namespace",
    }


def test_a_load_balancer_is_deleted_itself(deploy):
    assert deleted_with(deploy(service_type="LoadBalancer"))["Server"] == ""


SETTINGS = {
    "image": "server:2",
    "port": 9,
    "resources": {"limits": {"cpu": "2"}},
    "log_level": "debug",
    "env": {"A": "1"},
    "service_type": "NodePort",
    "node_port": 30000,
}
OF_THE_SERVICE = {"service_type", "node_port"}


def test_every_setting_of_the_server_is_tried():
    assert SETTINGS.keys() == config.ServerConfig.model_fields.keys()


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_changed_setting_rolls_the_server_unless_it_is_the_services(deploy, setting):
    def spec(**server):
        return deploy([], **server).objects[DEPLOYMENT, "fleet-server-deployment"].object["spec"]

    node_port = {"service_type": "NodePort"} if setting == "node_port" else {}
    before, after = spec(), spec(**{setting: SETTINGS[setting]}, **node_port)
    assert (before["template"] != after["template"]) == (setting not in OF_THE_SERVICE)
    assert before["selector"] == after["selector"], "a Deployment's selector can't be changed"


def test_a_fleet_says_where_everything_is(deploy):
    fleet = deploy()
    assert fleet.fleet.server_url == "http://server.rl:8080"
    assert {name: output["url"] for name, output in fleet.fleet.environments.items()} == {
        "echo": "http://echo.rl:8000",
        "many-0": "http://many-0.rl:8000",
        "many-1": "http://many-1.rl:8000",
    }
    assert all(outputs for urn, outputs in fleet.outputs.items() if "envfleet:" in urn)
