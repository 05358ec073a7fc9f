"""What a kind cluster is made from."""

import pytest

from config import KindConfig
from providers.kind.dynamic import _REPLACING
from providers.kind.spec import (
    FILTERING_RUNTIME,
    ClusterInputs,
    cluster_inputs,
    containers_of,
    kind_config,
    whole,
)
from toolchain import daemon

CONFIG = KindConfig.model_validate(
    {
        "provider": "kind",
        "name": "lab",
        "control_plane_nodes": 3,
        "worker_nodes": 2,
        "port_mappings": [{"container_port": 30080, "host_port": 8080}],
        "feature_gates": {"SomeGate": False},
        "images": ["envfleet/echo:0.1.0"],
    }
)


def rendered(cgroup_version=2, runtime="runc"):
    return kind_config(cluster_inputs(CONFIG), "node:1", cgroup_version, runtime)


def test_configuration_becomes_inputs_without_what_is_not_the_clusters():
    assert cluster_inputs(CONFIG) == {
        "name": "lab",
        "control_plane_nodes": 3,
        "worker_nodes": 2,
        "port_mappings": [
            {"container_port": 30080, "host_port": 8080, "listen_address": "127.0.0.1", "protocol": "TCP"}
        ],
        "feature_gates": {"SomeGate": False},
        "ready_timeout_seconds": 300,
    }


def test_node_image_is_an_input_only_if_the_user_chose_one():
    chosen = CONFIG.model_copy(update={"node_image": "kindest/node:v1.34.0"})
    assert cluster_inputs(chosen).get("node_image") == "kindest/node:v1.34.0"


def test_every_input_replaces_the_cluster_save_the_timeout():
    assert {*_REPLACING} == {*ClusterInputs.__annotations__, "owner"} - {"ready_timeout_seconds"}


def test_nodes_are_rendered_by_role_and_with_their_image():
    nodes = rendered()["nodes"]
    assert [node["role"] for node in nodes] == ["control-plane"] * 3 + ["worker"] * 2
    assert {node["image"] for node in nodes} == {"node:1"}


def test_ports_are_published_by_the_first_node_only():
    first, *others = rendered()["nodes"]
    assert first["extraPortMappings"] == [
        {"containerPort": 30080, "hostPort": 8080, "listenAddress": "127.0.0.1", "protocol": "TCP"}
    ]
    assert not any("extraPortMappings" in node for node in others)


def test_user_namespace_gate_is_added_only_under_the_filtering_runtime():
    assert rendered()["featureGates"] == {"SomeGate": False}
    assert rendered(runtime=daemon.RUNTIME)["featureGates"] == {
        "SomeGate": False,
        "KubeletInUserNamespace": True,
    }
    assert FILTERING_RUNTIME == daemon.RUNTIME
    assert CONFIG.feature_gates == {"SomeGate": False}


@pytest.mark.parametrize(("cgroup_version", "patches"), [(1, 1), (2, 0)])
def test_kubelet_is_told_to_accept_cgroup_v1_only_where_it_is_in_use(cgroup_version, patches):
    assert len(rendered(cgroup_version).get("kubeadmConfigPatches", [])) == patches


@pytest.mark.parametrize(("control_planes", "containers"), [(1, 3), (3, 6)])
def test_several_control_planes_have_a_load_balancer_container(control_planes, containers):
    inputs = cluster_inputs(CONFIG.model_copy(update={"control_plane_nodes": control_planes}))
    assert containers_of(inputs) == containers


def test_numbers_come_back_from_the_engine_as_integers():
    back = whole({"name": "lab", "worker_nodes": 2.0, "ports": [{"host_port": 8080.0}], "gates": {"A": True}})
    assert back == {"name": "lab", "worker_nodes": 2, "ports": [{"host_port": 8080}], "gates": {"A": True}}
    assert isinstance(back["worker_nodes"], int)
    assert isinstance(back["ports"][0]["host_port"], int)
    assert back["gates"]["A"] is True
