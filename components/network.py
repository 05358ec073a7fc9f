"""Who may connect to what: nobody to anything, but for the openings below."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.meta import v1 as meta
from pulumi_kubernetes.networking import v1 as networking

from components.children import child_options
from components.environment import EnvironmentArgs
from components.identity import Identity
from config import NetworkConfig
from config.environment import HEALTH_PORT, PORT, EgressRule
from config.fields import metadata_within
from config.models import Client

_NAMESPACE_NAME = "kubernetes.io/metadata.name"  # a label that Kubernetes gives to every namespace
_DNS_NAMESPACE, _DNS_LABELS = "kube-system", {"k8s-app": "kube-dns"}
_API_SERVER_PORTS = (443, 6443)
_EVERYWHERE = ("0.0.0.0/0", "::/0")


@dataclass(frozen=True)
class NetworkArgs:
    """The network of a fleet.

    namespace, instance: where it is, and the fleet (`Identity.instance`) it is of.
    network: as it is configured.
    environments: those that it connects.
    published: whether the server is reached from outside the cluster too.
    """

    namespace: str
    instance: str
    network: NetworkConfig
    environments: Sequence[EnvironmentArgs]
    published: bool = False


def policies(args: NetworkArgs) -> dict[str, networking.NetworkPolicyInitArgs]:
    """By name, everything that is allowed; and that the rest is not."""
    clients = [_client(each) for each in args.network.clients]
    everything, server, environments = (
        meta.LabelSelectorArgs(),
        _component("server"),
        _component("environment"),
    )
    http, answering = [_port(PORT)], [_port(PORT), _port(HEALTH_PORT)]
    specs = {
        "default-deny": networking.NetworkPolicySpecArgs(
            pod_selector=everything, policy_types=["Ingress", "Egress"]
        ),
        "dns": networking.NetworkPolicySpecArgs(
            pod_selector=everything, policy_types=["Egress"], egress=[_dns()]
        ),
        "environments": networking.NetworkPolicySpecArgs(
            pod_selector=environments,
            policy_types=["Ingress"],
            ingress=[
                networking.NetworkPolicyIngressRuleArgs(
                    from_=[*clients, networking.NetworkPolicyPeerArgs(pod_selector=server)], ports=answering
                )
            ],
        ),
        "server": networking.NetworkPolicySpecArgs(
            pod_selector=server,
            policy_types=["Ingress", "Egress"],
            # Without peers, a rule would allow everybody.
            ingress=[
                networking.NetworkPolicyIngressRuleArgs(from_=None if args.published else clients, ports=http)
            ]
            if args.published or clients
            else [],
            egress=[
                networking.NetworkPolicyEgressRuleArgs(
                    to=[networking.NetworkPolicyPeerArgs(pod_selector=environments)], ports=answering
                ),
                # Its address is not known before the cluster is there, and may change.
                networking.NetworkPolicyEgressRuleArgs(
                    to=[_block(cidr) for cidr in _EVERYWHERE], ports=[_port(p) for p in _API_SERVER_PORTS]
                ),
            ],
        ),
    }
    fleetwide = {
        name: networking.NetworkPolicyInitArgs(
            metadata=Identity(args.instance, "network", name, args.namespace).metadata(), spec=spec
        )
        for name, spec in specs.items()
    }
    return fleetwide | {
        f"{each.name}.egress": _environment_egress(each) for each in args.environments if each.settings.egress
    }


def _environment_egress(args: EnvironmentArgs) -> networking.NetworkPolicyInitArgs:
    """What one environment may connect to."""
    metadata = args.identity.metadata(args.settings.labels)
    metadata.name = f"{args.name}.egress"  # which may be too long for a label
    return networking.NetworkPolicyInitArgs(
        metadata=metadata,
        spec=networking.NetworkPolicySpecArgs(
            pod_selector=meta.LabelSelectorArgs(match_labels=args.identity.selector),
            policy_types=["Egress"],
            egress=[_egress(rule) for rule in args.settings.egress],
        ),
    )


def _egress(rule: EgressRule) -> networking.NetworkPolicyEgressRuleArgs:
    ports = [_port(port, rule.protocol) for port in rule.ports]
    return networking.NetworkPolicyEgressRuleArgs(to=[_block(rule.cidr)], ports=ports or None)


def _block(cidr: str) -> networking.NetworkPolicyPeerArgs:
    """A network without the cloud metadata services in it."""
    block = networking.IPBlockArgs(cidr=cidr, except_=metadata_within(cidr) or None)
    return networking.NetworkPolicyPeerArgs(ip_block=block)


def _client(client: Client) -> networking.NetworkPolicyPeerArgs:
    namespace = {_NAMESPACE_NAME: client.namespace} if client.namespace else None
    return networking.NetworkPolicyPeerArgs(
        namespace_selector=meta.LabelSelectorArgs(match_labels=namespace),
        pod_selector=meta.LabelSelectorArgs(match_labels=client.labels or None),
    )


def _dns() -> networking.NetworkPolicyEgressRuleArgs:
    resolvers = networking.NetworkPolicyPeerArgs(
        namespace_selector=meta.LabelSelectorArgs(match_labels={_NAMESPACE_NAME: _DNS_NAMESPACE}),
        pod_selector=meta.LabelSelectorArgs(match_labels=_DNS_LABELS),
    )
    return networking.NetworkPolicyEgressRuleArgs(to=[resolvers], ports=[_port(53, "UDP"), _port(53, "TCP")])


def _component(component: str) -> meta.LabelSelectorArgs:
    """The pods of one role in the fleet."""
    return meta.LabelSelectorArgs(match_labels={"app.kubernetes.io/component": component})


def _port(port: int | str, protocol: str = "TCP") -> networking.NetworkPolicyPortArgs:
    return networking.NetworkPolicyPortArgs(port=port, protocol=protocol)


class Network(pulumi.ComponentResource):
    """The policies of a fleet; they must exist before its pods."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions) -> None:
        super().__init__("envfleet:components:Network", name, None, opts)
        child = child_options(name, self, ready="1m", deleted="1m")
        allowed = policies(args)
        for policy, spec in allowed.items():
            networking.NetworkPolicy(f"{name}-{policy}-policy", spec, child)
        self.register_outputs({"policies": list(allowed)})
