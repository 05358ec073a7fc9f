"""The resources that a fleet asks Pulumi for."""

import base64
from types import SimpleNamespace

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
from pulumi.runtime import rpc
from pydantic import SecretStr

import config
from components.fleet import Fleet, FleetArgs, declared, environment_args

ENVIRONMENTS = [
    {"name": "echo", "image": "local:1"},
    {"name": "many", "image": "remote:1", "count": 2},
]
KUBERNETES = "kubernetes:"
POD, SERVICE = f"{KUBERNETES}core/v1:Pod", f"{KUBERNETES}core/v1:Service"
SECRET = f"{KUBERNETES}core/v1:Secret"
POLICY = f"{KUBERNETES}networking.k8s.io/v1:NetworkPolicy"
DEPLOYMENT, NAMESPACE = f"{KUBERNETES}apps/v1:Deployment", f"{KUBERNETES}core/v1:Namespace"


@pytest.fixture
def deploy(run_program):
    """Deploy a fleet of these environments; returns what was asked for, and the fleet."""

    def run(environments=ENVIRONMENTS, *, secrets=(), **server) -> SimpleNamespace:
        raw = {
            "cluster": {"provider": "kind", "name": "test"},
            "namespace": "rl",
            "secrets": dict(secrets),
            "server": {"image": "local:2", **server},
            "environments": environments,
        }
        fleets = []

        def program() -> None:
            provider = kubernetes.Provider("theirs", kubeconfig="x", cluster_identifier="1")
            args = FleetArgs(
                config.StackConfig.model_validate(raw),
                "dev",
                "kubeconfig",
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
        "fleet-default-deny-policy",
        "fleet-dns-policy",
        "fleet-environments-policy",
        "fleet-server-policy",
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


@pytest.mark.parametrize(
    ("levels", "admitted"),
    [
        ([], "restricted"),
        (["restricted", "restricted"], "restricted"),
        (["restricted", "baseline"], "baseline"),
        (["privileged", "baseline"], "privileged"),
    ],
)
def test_the_namespace_admits_no_more_than_the_least_strict_environment_needs(deploy, levels, admitted):
    environments = [
        {"name": f"e{index}", "image": "x:1", "security": {"level": level}}
        for index, level in enumerate(levels)
    ]
    labels = deploy(environments).objects[NAMESPACE, "fleet-namespace"].object["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == admitted
    assert labels["pod-security.kubernetes.io/audit"] == "restricted"
    assert labels["pod-security.kubernetes.io/warn"] == "restricted"


def test_only_an_environment_with_secrets_has_a_secret_which_pulumi_encrypts(deploy):
    secretive = {"name": "echo", "image": "x:1", "secret_env": {"KEY": "api-key"}}
    fleet = deploy([secretive, {"name": "plain", "image": "x:1"}], secrets={"api-key": SecretStr("hunter2")})
    assert [name for kind, name in fleet.objects if kind == SECRET] == ["fleet-echo-secret"]
    data = fleet.objects[SECRET, "fleet-echo-secret"].object["data"]
    assert data[rpc._special_sig_key] == rpc._special_secret_sig
    value = base64.b64encode(b"hunter2").decode()
    assert data["value"]["KEY"] == value
    pod = fleet.objects[POD, "fleet-echo-pod"].object
    assert value not in str(pod)


def test_a_changed_secret_replaces_the_pod(deploy):
    def trigger(value):
        entry = {"name": "echo", "image": "x:1", "secret_env": {"KEY": "api-key"}}
        fleet = deploy([entry], secrets={"api-key": SecretStr(value)})
        request = fleet.objects[POD, "fleet-echo-pod"]
        assert any(each.endswith("::fleet-echo-secret") for each in request.dependencies)
        return request.replacement_trigger

    assert trigger("one") != trigger("two")
    assert trigger("one") == trigger("one")


def test_an_environment_with_egress_has_a_policy_of_its_own(deploy):
    open_ = {"name": "many", "image": "x:1", "count": 2, "egress": [{"cidr": "10.0.0.0/8"}]}
    objects = deploy([open_, {"name": "echo", "image": "x:1"}]).objects
    own = [name for kind, name in objects if kind == POLICY and name.endswith(".egress-policy")]
    assert own == ["fleet-many-0.egress-policy", "fleet-many-1.egress-policy"]


def test_the_declared_names_are_all_that_is_made_in_the_namespace():
    raw = {
        "cluster": {"provider": "kind", "name": "test"},
        "secrets": {"api-key": SecretStr("x")},
        "server": {"image": "x:1"},
        "environments": [
            {"name": "echo", "image": "x:1", "secret_env": {"KEY": "api-key"}, "egress": [{"cidr": "::/0"}]},
            {"name": "plain", "image": "x:1"},
        ],
    }
    args = FleetArgs(config.StackConfig.model_validate(raw), "dev", "kubeconfig", lambda image: image)
    names = declared(environment_args(args), ["dns"])
    assert names["Pod"] == ["echo", "plain"]
    assert names["Service"] == ["server", "echo", "plain"]
    assert names["Secret"] == ["echo"]
    assert names["NetworkPolicy"] == ["dns"]


@pytest.mark.parametrize("setting", [{}, {"service_type": "NodePort"}])
def test_a_published_server_is_reached_from_outside_too(deploy, setting):
    policy = deploy([], **setting).objects[POLICY, "fleet-server-policy"].object["spec"]
    assert ("from" not in policy["ingress"][0]) == bool(setting)


def test_pods_come_after_the_policies(deploy):
    requests = deploy().requests
    environments = next(request for request in requests if request.type.endswith(":Environments"))
    names = {dependency.rpartition("::")[2] for dependency in environments.dependencies}
    assert {"fleet-default-deny-policy", "fleet-environments-policy"} <= names


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
        "Network": "fleet-namespace",
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
