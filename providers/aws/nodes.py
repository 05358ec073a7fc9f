"""Nodes: managed node groups, and the add-ons without which they are of no use."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_aws import ec2, eks

from config.aws import AwsNodePool, architecture
from providers.aws.network import named

_EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}
# Nodes get Ready only with these; the others are pods that need nodes.
_BEFORE_NODES = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent")
_AFTER_NODES = ("coredns", "aws-ebs-csi-driver")
_ROOT_DEVICE = "/dev/xvda"  # of Amazon Linux


@dataclass(frozen=True)
class NodesArgs:
    """The nodes of a cluster.

    cluster: its name, once it is there.
    name: its name, as it is configured.
    version: Kubernetes minor version.
    role_arn: of the nodes; disks_role_arn: of what makes disks for pods.
    subnet_ids: of the zones.
    tags: of instances and disks, which have none of their own accord.
    """

    cluster: pulumi.Input[str]
    name: str
    version: str
    role_arn: pulumi.Input[str]
    disks_role_arn: pulumi.Input[str]
    subnet_ids: Sequence[pulumi.Input[str]]
    pools: Sequence[AwsNodePool]
    tags: dict[str, str]


def launch_template(args: NodesArgs, pool: AwsNodePool) -> ec2.LaunchTemplateArgs:
    """An encrypted disk, and a metadata service that hands no pod the node's credentials."""
    tags = {**args.tags, **named(f"{args.name}-{pool.name}")}
    return ec2.LaunchTemplateArgs(
        name=f"{args.name}-{pool.name}",
        update_default_version=True,
        block_device_mappings=[
            ec2.LaunchTemplateBlockDeviceMappingArgs(
                device_name=_ROOT_DEVICE,
                ebs=ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                    volume_size=pool.disk_gib,
                    volume_type="gp3",
                    encrypted="true",
                    delete_on_termination="true",
                ),
            )
        ],
        metadata_options=ec2.LaunchTemplateMetadataOptionsArgs(
            http_endpoint="enabled",
            http_tokens="required",
            http_put_response_hop_limit=1,  # pods are one further
        ),
        tag_specifications=[
            ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=tags)
            for kind in ("instance", "volume", "network-interface")
        ],
        tags=tags,
    )


def node_group(
    args: NodesArgs, pool: AwsNodePool, template: eks.NodeGroupLaunchTemplateArgs
) -> eks.NodeGroupArgs:
    """The pool's nodes, replaced one after another when something about them changes."""
    return eks.NodeGroupArgs(
        cluster_name=args.cluster,
        node_group_name=pool.name,
        version=args.version,
        node_role_arn=args.role_arn,
        subnet_ids=args.subnet_ids,
        ami_type=architecture(pool.instance_types[0]),
        capacity_type="SPOT" if pool.spot else "ON_DEMAND",
        instance_types=pool.instance_types,
        launch_template=template,
        scaling_config=eks.NodeGroupScalingConfigArgs(
            desired_size=pool.nodes, min_size=pool.nodes, max_size=max(pool.nodes, 1)
        ),
        update_config=eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
        labels=pool.labels,
        taints=[
            eks.NodeGroupTaintArgs(key=taint.key, value=taint.value, effect=_EFFECTS[taint.effect])
            for taint in pool.taints
        ],
        tags=named(f"{args.name}-{pool.name}"),
    )


def addon(args: NodesArgs, name: str) -> eks.AddonArgs:
    """An add-on, in the version that is EKS's default for that of Kubernetes."""
    settings = {"vpc-cni": {"enableNetworkPolicy": "true"}}.get(name)
    role = eks.AddonPodIdentityAssociationArgs(
        role_arn=args.disks_role_arn, service_account="ebs-csi-controller-sa"
    )
    return eks.AddonArgs(
        cluster_name=args.cluster,
        addon_name=name,
        configuration_values=json.dumps(settings) if settings else None,
        pod_identity_associations=[role] if name == "aws-ebs-csi-driver" else None,
        resolve_conflicts_on_create="OVERWRITE",
        resolve_conflicts_on_update="OVERWRITE",
        tags=named(f"{args.name}-{name}"),
    )


class Nodes(pulumi.ComponentResource):
    """The node groups and the add-ons."""

    def __init__(self, name: str, args: NodesArgs, opts: pulumi.ResourceOptions) -> None:
        super().__init__("envfleet:providers:AwsNodes", name, None, opts)
        first = [self._addon(name, args, each, []) for each in _BEFORE_NODES]
        groups = [self._group(name, args, pool, first) for pool in args.pools]
        self.ready: list[pulumi.Resource] = [
            *groups,
            *(self._addon(name, args, each, groups) for each in _AFTER_NODES),
        ]
        """What pods need."""
        self.register_outputs({"pools": [group.node_group_name for group in groups]})

    def _addon(self, name: str, args: NodesArgs, which: str, after: Sequence[pulumi.Resource]) -> eks.Addon:
        timeouts = pulumi.CustomTimeouts(create="20m", update="20m", delete="20m")
        options = pulumi.ResourceOptions(
            parent=self, depends_on=after, delete_before_replace=True, custom_timeouts=timeouts
        )
        return eks.Addon(f"{name}-{which}-addon", addon(args, which), options)

    def _group(
        self, name: str, args: NodesArgs, pool: AwsNodePool, after: Sequence[pulumi.Resource]
    ) -> eks.NodeGroup:
        fixed = pulumi.ResourceOptions(parent=self, delete_before_replace=True)
        template = ec2.LaunchTemplate(
            f"{name}-{pool.name}-launch-template", launch_template(args, pool), fixed
        )
        used = eks.NodeGroupLaunchTemplateArgs(id=template.id, version=template.latest_version.apply(str))
        timeouts = pulumi.CustomTimeouts(create="60m", update="60m", delete="60m")
        options = pulumi.ResourceOptions(depends_on=after, custom_timeouts=timeouts)
        return eks.NodeGroup(
            f"{name}-{pool.name}-node-group",
            node_group(args, pool, used),
            pulumi.ResourceOptions.merge(fixed, options),
        )
