"""A cluster in AWS: EKS, with a VPC of its own."""

from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
import yaml

from providers import Cluster, checkpointed_within
from providers.aws.control_plane import ControlPlane, ControlPlaneArgs
from providers.aws.network import Network, NetworkArgs
from providers.aws.nodes import Nodes, NodesArgs
from providers.aws.roles import Role, cluster_roles

if TYPE_CHECKING:
    from config import AwsConfig

_ZONES = 2  # by default


class AwsCluster(Cluster):
    """An EKS cluster and all that it needs."""

    def __init__(
        self, name: str, config: "AwsConfig", stack: str, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        lasting = pulumi.ResourceOptions(transformations=[checkpointed_within("aws:")])
        super().__init__(
            "envfleet:providers:AwsCluster", name, None, pulumi.ResourceOptions.merge(lasting, opts)
        )
        tags = own_tags(config, stack)
        access = aws.Provider(
            f"{name}-aws",
            region=config.region,
            default_tags=aws.ProviderDefaultTagsArgs(tags=tags),
            opts=pulumi.ResourceOptions(parent=self),
        )
        asked = pulumi.InvokeOptions(parent=self, provider=access)
        zones = config.network.zones or first_zones(config.region, asked)
        caller = aws.get_caller_identity(opts=asked)
        partition = caller.arn.split(":")[1]
        child = pulumi.ResourceOptions(parent=self, providers=[access])
        network = Network(
            f"{name}-network",
            NetworkArgs(config.name, config.network.cidr, zones, config.network.nat_gateways == "per-zone"),
            child,
        )
        roles = {
            purpose: Role(f"{name}-{purpose}", args, child)
            for purpose, args in cluster_roles(config.name, partition).items()
        }
        control_plane = ControlPlane(
            name,
            ControlPlaneArgs(
                name=config.name,
                version=config.kubernetes_version,
                account=caller.account_id,
                partition=partition,
                region=config.region,
                subnet_ids=network.private_subnet_ids,
                role_arn=roles["cluster"].arn,
                service_cidr=config.network.service_cidr,
                api_access=config.api_access,
                administrators=config.administrators,
                log_days=config.log_days,
                protected=config.expires is None,
            ),
            pulumi.ResourceOptions.merge(
                child, pulumi.ResourceOptions(depends_on=roles["cluster"].attachments)
            ),
        )
        nodes = Nodes(
            name,
            NodesArgs(
                cluster=control_plane.resource.name,
                name=config.name,
                version=config.kubernetes_version,
                role_arn=roles["node"].arn,
                disks_role_arn=roles["disks"].arn,
                subnet_ids=network.private_subnet_ids,
                pools=config.node_pools,
                tags=tags,
            ),
            pulumi.ResourceOptions.merge(
                child,
                pulumi.ResourceOptions(
                    depends_on=[*network.routes, *roles["node"].attachments, *roles["disks"].attachments]
                ),
            ),
        )
        self.name = config.name
        self.identifier = control_plane.identifier
        self.kubeconfig = pulumi.Output.secret(
            pulumi.Output.all(
                name=config.name,
                region=config.region,
                endpoint=control_plane.endpoint,
                certificate_authority=control_plane.certificate_authority,
            ).apply(kubeconfig)
        )
        self.provider = kubernetes.Provider(
            f"{name}-kubernetes",
            kubeconfig=self.kubeconfig,
            cluster_identifier=self.identifier,
            kube_client_settings=kubernetes.KubeClientSettingsArgs(qps=100, burst=200, timeout=60),
            opts=pulumi.ResourceOptions(parent=self, depends_on=nodes.ready),
        )
        self.register_outputs(
            {"name": self.name, "identifier": self.identifier, "kubeconfig": self.kubeconfig}
        )


def own_tags(config: "AwsConfig", stack: str) -> dict[str, str]:
    """What every resource carries: whose it is, and until when."""
    tags = {"owner": config.owner, "stack": stack, "cluster": config.name}
    if config.expires:
        tags["expires"] = config.expires
    return {f"envfleet:{key}": value for key, value in tags.items()}


def first_zones(region: str, opts: pulumi.InvokeOptions) -> list[str]:
    """The region's first zones.

    Raises:
        pulumi.RunError: It has too few.
    """
    found = aws.get_availability_zones(
        state="available",
        filters=[aws.GetAvailabilityZonesFilterArgs(name="opt-in-status", values=["opt-in-not-required"])],
        opts=opts,
    ).names
    if len(found) < _ZONES:
        raise pulumi.RunError(
            f'envfleet:cluster.region = "{region}": has {len(found)} zones; EKS needs {_ZONES}'
        )
    return sorted(found)[:_ZONES]


def kubeconfig(cluster: dict[str, Any]) -> str:
    """A kubeconfig whose credentials last minutes: the `aws` command gets new ones each time."""
    name = cluster["name"]
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": [
            "--region",
            cluster["region"],
            "eks",
            "get-token",
            "--cluster-name",
            name,
            "--output",
            "json",
        ],
        "interactiveMode": "Never",
    }
    server = {
        "server": cluster["endpoint"],
        "certificate-authority-data": cluster["certificate_authority"],
    }
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": server}],
            "users": [{"name": name, "user": {"exec": plugin}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }
    )
