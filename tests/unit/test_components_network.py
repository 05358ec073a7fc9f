"""Network policies: who may connect to whom."""

import pytest

from components import environment, server
from components.environment import EnvironmentArgs
from components.network import NetworkArgs, policies
from components.server import ServerArgs
from config import EnvironmentConfig, NetworkConfig, ServerConfig


def environment_args(**settings) -> EnvironmentArgs:
    config = EnvironmentConfig(name="echo", image="echo:1", **settings)
    return EnvironmentArgs("echo", "fleet", "dev", "echo:1", config)


def specs(*environments, published=False, **network):
    args = NetworkArgs("fleet", "dev", NetworkConfig(**network), environments, published)
    return {name: policy.spec for name, policy in policies(args).items()}


def egress(*rules):
    return specs(environment_args(egress=list(rules)))["echo.egress"].egress


def test_nothing_is_allowed_that_no_other_policy_allows():
    deny = specs()["default-deny"]
    assert (deny.pod_selector.match_labels, deny.pod_selector.match_expressions) == (None, None)
    assert deny.policy_types == ["Ingress", "Egress"]
    assert deny.ingress is deny.egress is None


def test_every_policy_is_in_the_fleets_namespace_under_its_name():
    args = NetworkArgs("fleet", "dev", NetworkConfig(), [environment_args(egress=[{"cidr": "::/0"}])])
    for name, policy in policies(args).items():
        assert (policy.metadata.name, policy.metadata.namespace) == (name, "fleet")
        assert policy.metadata.labels["app.kubernetes.io/instance"] == "dev"


def test_the_longest_name_still_makes_labels_that_kubernetes_accepts():
    settings = EnvironmentConfig(name="e" * 63, image="echo:1", egress=[{"cidr": "10.0.0.0/8"}])
    args = EnvironmentArgs(settings.name, "fleet", "dev", "echo:1", settings)
    made = policies(NetworkArgs("fleet", "dev", NetworkConfig(), [args]))
    assert max(len(value) for policy in made.values() for value in policy.metadata.labels.values()) <= 63


def test_all_pods_may_ask_the_clusters_dns_and_nobody_else():
    (rule,) = specs()["dns"].egress
    (resolvers,) = rule.to
    assert resolvers.namespace_selector.match_labels == {"kubernetes.io/metadata.name": "kube-system"}
    assert resolvers.pod_selector.match_labels == {"k8s-app": "kube-dns"}
    assert {(port.port, port.protocol) for port in rule.ports} == {(53, "UDP"), (53, "TCP")}


def test_environments_and_server_are_selected_by_labels_that_their_pods_have():
    pod = environment.pod(environment_args())
    template = server.deployment(ServerArgs("fleet", "dev", "s:1", ServerConfig(image="s:1"))).spec.template
    found = specs()
    assert found["environments"].pod_selector.match_labels.items() <= pod.metadata.labels.items()
    assert found["server"].pod_selector.match_labels.items() <= template.metadata.labels.items()
    assert not found["server"].pod_selector.match_labels.items() <= pod.metadata.labels.items()


def test_the_server_and_clients_reach_the_environments():
    found = specs(clients=[{"namespace": "trainers", "labels": {"role": "trainer"}}])
    (rule,) = found["environments"].ingress
    client, server_itself = rule.from_
    assert client.namespace_selector.match_labels == {"kubernetes.io/metadata.name": "trainers"}
    assert client.pod_selector.match_labels == {"role": "trainer"}
    assert server_itself.namespace_selector is None
    assert server_itself.pod_selector.match_labels == found["server"].pod_selector.match_labels
    assert {port.port for port in rule.ports} == {"http", "health"}


def test_a_client_without_a_namespace_may_be_in_any_and_one_without_labels_is_any_pod():
    (rule,) = specs(clients=[{"labels": {"role": "trainer"}}, {"namespace": "a"}])["environments"].ingress
    anywhere, anyone, _ = rule.from_
    assert anywhere.namespace_selector is not None, "without a selector it would be the fleet's namespace"
    assert anywhere.namespace_selector.match_labels is None
    assert anyone.pod_selector.match_labels is None


@pytest.mark.parametrize("published", [True, False])
def test_only_a_published_server_is_open_to_everybody(published):
    (rule,) = specs(published=published, clients=[{"namespace": "trainers"}])["server"].ingress
    assert (rule.from_ is None) == published
    assert [port.port for port in rule.ports] == ["http"]


def test_without_clients_only_the_server_reaches_environments_and_nobody_the_server():
    found = specs(clients=[])
    assert len(found["environments"].ingress[0].from_) == 1
    # To Kubernetes, a rule with an empty list of peers allows everybody.
    assert all(rule.from_ for rule in found["server"].ingress)


def test_the_server_reaches_environments_and_kubernetes():
    environments, kubernetes = specs()["server"].egress
    assert environments.to[0].pod_selector.match_labels == specs()["environments"].pod_selector.match_labels
    assert {port.port for port in kubernetes.ports} == {443, 6443}
    for peer in kubernetes.to:
        assert peer.ip_block.except_, "a metadata service is not Kubernetes"


def test_an_environment_without_egress_has_no_policy_of_its_own():
    assert "echo.egress" not in specs(environment_args())


def test_egress_goes_to_the_ports_of_its_networks():
    some, every = egress(
        {"cidr": "10.20.0.0/16", "ports": [443, 5432], "protocol": "TCP"}, {"cidr": "192.168.1.0/24"}
    )
    assert [peer.ip_block.cidr for peer in some.to] == ["10.20.0.0/16"]
    assert [(port.port, port.protocol) for port in some.ports] == [(443, "TCP"), (5432, "TCP")]
    assert some.to[0].ip_block.except_ is None
    assert every.ports is None


@pytest.mark.parametrize(
    ("cidr", "excepted"),
    [
        ("0.0.0.0/0", {"169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32"}),
        ("::/0", {"fd00:ec2::/32", "fd20:ce::254/128"}),
        ("168.0.0.0/7", {"169.254.0.0/16", "168.63.129.16/32"}),
    ],
)
def test_metadata_services_are_left_out_of_what_is_allowed(cidr, excepted):
    (rule,) = egress({"cidr": cidr})
    assert set(rule.to[0].ip_block.except_) == excepted


def test_egress_is_for_the_pods_of_one_environment():
    args = environment_args(egress=[{"cidr": "10.0.0.0/8"}])
    selector = specs(args)["echo.egress"].pod_selector.match_labels
    assert selector.items() <= environment.pod(args).metadata.labels.items()
    other = EnvironmentArgs("other", "fleet", "dev", "echo:1", args.settings)
    assert not selector.items() <= environment.pod(other).metadata.labels.items()
