"""A Pulumi program with each type that the simulated account knows: a VPC, and a cluster in it."""

import json
from collections.abc import Callable, Mapping

import pulumi
from pulumi import ResourceOptions
from pulumi_aws import (
    Provider,
    cloudwatch,
    ec2,
    eks,
    get_availability_zones,
    get_caller_identity,
    iam,
    kms,
)

from tests.engine.clouds.conftest import aws_provider

MANAGED = "arn:aws:iam::aws:policy/"
ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
ANYWHERE = "0.0.0.0/0"
LOGS_USE_IT = {
    "Effect": "Allow",
    "Principal": {"Service": "logs.amazonaws.com"},
    "Action": "kms:*",
    "Resource": "*",
}


def cluster_program(
    name: str = "lab",
    *,
    version: str = "1.34",
    nodes: int = 2,
    labels: Mapping[str, str] | None = None,
    disk: int = 20,
    instance_type: str = "t3.large",
    owner: str = "me",
) -> Callable[[], None]:
    """With fixed names where Amazon's are unique, as programs that must find their things again have."""

    def program() -> None:
        provider = aws_provider(default_tags={"tags": {"owner": owner}})
        opts = ResourceOptions(provider=provider)
        vpc, private = _network(provider, opts)
        key = _logs(name, vpc, opts)
        control_role = _role(f"{name}-control", ["AmazonEKSClusterPolicy"], "eks.amazonaws.com", opts)
        node_policies = [
            "AmazonEKSWorkerNodePolicy",
            "AmazonEC2ContainerRegistryReadOnly",
            "AmazonEKS_CNI_Policy",
        ]
        node_role = _role(f"{name}-nodes", node_policies, "ec2.amazonaws.com", opts)
        group = ec2.SecurityGroup(
            "extra",
            vpc_id=vpc.id,
            ingress=[{"protocol": "tcp", "from_port": 443, "to_port": 443, "cidr_blocks": ["10.0.0.0/16"]}],
            egress=[{"protocol": "-1", "from_port": 0, "to_port": 0, "cidr_blocks": [ANYWHERE]}],
            opts=opts,
        )
        cluster = eks.Cluster(
            "cluster",
            name=name,
            version=version,
            role_arn=control_role.arn,
            vpc_config={
                "subnet_ids": [subnet.id for subnet in private],
                "security_group_ids": [group.id],
                "endpoint_private_access": True,
                "endpoint_public_access": True,
                "public_access_cidrs": ["192.0.2.0/24"],
            },
            access_config={
                "authentication_mode": "API",
                "bootstrap_cluster_creator_admin_permissions": False,
            },
            kubernetes_network_config={"service_ipv4_cidr": "172.20.0.0/16"},
            upgrade_policy={"support_type": "STANDARD"},
            encryption_config={"provider": {"key_arn": key.arn}, "resources": ["secrets"]},
            enabled_cluster_log_types=["api", "audit"],
            bootstrap_self_managed_addons=False,
            tags={"Name": name},
            # Amazon needs the role's rights until the cluster is gone, and would make the log group itself.
            opts=ResourceOptions.merge(
                opts, ResourceOptions(depends_on=[*control_role.rights, key.log_group])
            ),
        )
        inside = ResourceOptions.merge(opts, ResourceOptions(depends_on=cluster))
        caller = get_caller_identity(opts=pulumi.InvokeOptions(provider=provider)).arn
        entry = eks.AccessEntry("caller", cluster_name=cluster.name, principal_arn=caller, opts=inside)
        eks.AccessPolicyAssociation(
            "caller",
            cluster_name=cluster.name,
            principal_arn=entry.principal_arn,
            policy_arn=ADMIN,
            access_scope={"type": "cluster"},
            opts=opts,
        )
        cni = eks.Addon("vpc-cni", cluster_name=cluster.name, addon_name="vpc-cni", opts=opts)
        template = ec2.LaunchTemplate(
            "nodes",
            name=f"{name}-nodes",
            block_device_mappings=[
                {
                    "device_name": "/dev/xvda",
                    "ebs": {"volume_size": disk, "volume_type": "gp3", "encrypted": "true"},
                }
            ],
            metadata_options={"http_tokens": "required", "http_put_response_hop_limit": 1},
            tag_specifications=[{"resource_type": "instance", "tags": {"Name": name}}],
            update_default_version=True,
            opts=opts,
        )
        nodes_ready = eks.NodeGroup(
            "nodes",
            cluster_name=cluster.name,
            node_group_name="system",
            node_role_arn=node_role.arn,
            subnet_ids=[subnet.id for subnet in private],
            instance_types=[instance_type],
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            scaling_config={"desired_size": nodes, "min_size": 1, "max_size": 5},
            update_config={"max_unavailable": 1},
            labels={"pool": "system", **(labels or {})},
            taints=[{"key": "critical", "value": "true", "effect": "NO_SCHEDULE"}],
            opts=ResourceOptions.merge(
                opts, ResourceOptions(depends_on=[*node_role.rights, cni, *vpc.ways_out])
            ),
        )
        _pods(name, cluster, nodes_ready, opts)
        pulumi.export("endpoint", cluster.endpoint)
        pulumi.export("authority", cluster.certificate_authority.data)
        pulumi.export("group", cluster.vpc_config.cluster_security_group_id)
        pulumi.export("tags", cluster.tags_all)

    return program


def _network(provider: Provider, opts: ResourceOptions) -> tuple[ec2.Vpc, list[ec2.Subnet]]:
    zones = get_availability_zones(state="available", opts=pulumi.InvokeOptions(provider=provider)).names[:2]
    vpc = ec2.Vpc("vpc", cidr_block="10.0.0.0/16", enable_dns_hostnames=True, opts=opts)
    ec2.DefaultSecurityGroup("closed", vpc_id=vpc.id, opts=opts)
    gateway = ec2.InternetGateway("internet", vpc_id=vpc.id, opts=opts)
    public_table = ec2.RouteTable("public", vpc_id=vpc.id, opts=opts)
    out = ec2.Route(
        "public-out",
        route_table_id=public_table.id,
        destination_cidr_block=ANYWHERE,
        gateway_id=gateway.id,
        opts=opts,
    )
    public = ec2.Subnet(
        "public",
        vpc_id=vpc.id,
        cidr_block="10.0.0.0/24",
        availability_zone=zones[0],
        map_public_ip_on_launch=True,
        opts=opts,
    )
    ec2.RouteTableAssociation("public", subnet_id=public.id, route_table_id=public_table.id, opts=opts)
    address = ec2.Eip("nat", domain="vpc", opts=opts)
    nat = ec2.NatGateway(
        "nat",
        allocation_id=address.id,
        subnet_id=public.id,
        opts=ResourceOptions.merge(opts, ResourceOptions(depends_on=out)),
    )
    table = ec2.RouteTable(
        "private",
        vpc_id=vpc.id,
        routes=[{"cidr_block": ANYWHERE, "nat_gateway_id": nat.id}],
        opts=opts,
    )
    private = [
        ec2.Subnet(
            f"private-{number}",
            vpc_id=vpc.id,
            cidr_block=f"10.0.{number}.0/24",
            availability_zone=zone,
            opts=opts,
        )
        for number, zone in enumerate(zones, start=1)
    ]
    vpc.ways_out = [
        ec2.RouteTableAssociation(
            f"private-{number}", subnet_id=subnet.id, route_table_id=table.id, opts=opts
        )
        for number, subnet in enumerate(private, start=1)
    ]
    return vpc, private


def _logs(name: str, vpc: ec2.Vpc, opts: ResourceOptions) -> kms.Key:
    key = kms.Key(
        "key",
        enable_key_rotation=True,
        deletion_window_in_days=7,
        policy=json.dumps({"Version": "2012-10-17", "Statement": [LOGS_USE_IT]}),
        opts=opts,
    )
    kms.Alias("key", name=f"alias/{name}", target_key_id=key.id, opts=opts)
    key.log_group = cloudwatch.LogGroup(
        "control", name=f"/aws/eks/{name}/cluster", retention_in_days=30, kms_key_id=key.arn, opts=opts
    )
    flows = cloudwatch.LogGroup("flows", name=f"/{name}/flows", retention_in_days=7, opts=opts)
    writer = _role(f"{name}-flows", [], "vpc-flow-logs.amazonaws.com", opts)
    ec2.FlowLog(
        "flows",
        vpc_id=vpc.id,
        traffic_type="REJECT",
        iam_role_arn=writer.arn,
        log_destination=flows.arn,
        max_aggregation_interval=60,
        opts=opts,
    )
    return key


def _role(name: str, policies: list[str], service: str, opts: ResourceOptions) -> iam.Role:
    trust = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
    }
    role = iam.Role(
        name,
        name=name,
        assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [trust]}),
        opts=opts,
    )
    role.rights = [
        iam.RolePolicyAttachment(
            f"{name}-{policy}", role=role.name, policy_arn=f"{MANAGED}{policy}", opts=opts
        )
        for policy in policies
    ]
    return role


def _pods(name: str, cluster: eks.Cluster, nodes: eks.NodeGroup, opts: ResourceOptions) -> None:
    on_nodes = ResourceOptions.merge(opts, ResourceOptions(depends_on=nodes))
    eks.Addon("coredns", cluster_name=cluster.name, addon_name="coredns", opts=on_nodes)
    storage = _role(
        f"{name}-storage", ["service-role/AmazonEBSCSIDriverPolicy"], "pods.eks.amazonaws.com", opts
    )
    eks.PodIdentityAssociation(
        "storage",
        cluster_name=cluster.name,
        namespace="kube-system",
        service_account="ebs-csi-controller-sa",
        role_arn=storage.arn,
        opts=opts,
    )
    issuer = cluster.identities[0].oidcs[0].issuer
    iam.OpenIdConnectProvider("pods", url=issuer, client_id_lists=["sts.amazonaws.com"], opts=opts)
