"""A fleet goes onto the cluster of its own provider, never onto the one that the user's kubeconfig names."""

import json

import pulumi
import pulumi_kubernetes as kubernetes

from tests.engine.decoy import run_decoy


def test_the_users_current_cluster_is_never_contacted(decoy, deployed_fleet, fleet_program):
    program = fleet_program(deployed_fleet.raw)

    deployed_fleet.stack.preview(program)
    deployed_fleet.stack.automation.refresh(program=program)

    assert decoy.requests == []


def test_every_kubernetes_object_names_the_provider_of_the_cluster(deployed_fleet):
    resources = json.loads(deployed_fleet.stack.exported_state())["deployment"]["resources"]
    providers = {
        resource["provider"].split("::")[-2]
        for resource in resources
        if resource["type"].startswith("kubernetes:")
    }

    assert providers == {"cluster"}


def test_a_provider_without_a_kubeconfig_would_be_noticed(new_stack, tmp_path, monkeypatch):
    def ambient() -> None:
        opts = pulumi.ResourceOptions(provider=kubernetes.Provider("ambient"))
        kubernetes.core.v1.ConfigMap("stray", metadata={"name": "stray"}, opts=opts)

    with run_decoy(tmp_path) as own_decoy:
        monkeypatch.setenv("KUBECONFIG", str(own_decoy.kubeconfig))
        with new_stack() as stack:
            stack.preview(ambient)

    assert own_decoy.requests
