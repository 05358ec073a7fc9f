"""The EKS control plane: its key, its logs, who may use it, and its OIDC issuer."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_aws import cloudwatch, eks, iam, kms

from providers.aws.network import named

_LOGS = ("api", "audit", "authenticator", "controllerManager", "scheduler")
_KEY_DAYS = 30  # in which a deleted key could be had back
_ADMINISTRATOR = "arn:{partition}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


@dataclass(frozen=True)
class ControlPlaneArgs:
    """The control plane of a cluster.

    name: of the cluster.
    version: Kubernetes minor version.
    account, partition, region: of AWS, where it is.
    subnet_ids: where it meets the nodes.
    role_arn: of the control plane.
    service_cidr: addresses of Services.
    api_access: networks from which its API can be reached.
    administrators: ARNs of IAM roles and users, besides whoever makes it.
    log_days: how long its logs are kept.
    protected: whether its deletion is refused.
    """

    name: str
    version: str
    account: str
    partition: str
    region: str
    subnet_ids: Sequence[pulumi.Input[str]]
    role_arn: pulumi.Input[str]
    service_cidr: str
    api_access: Sequence[str]
    administrators: Sequence[str]
    log_days: int
    protected: bool

    @property
    def log_group(self) -> str:
        """Where EKS writes, whether it exists or not."""
        return f"/aws/eks/{self.name}/cluster"


def key(args: ControlPlaneArgs) -> kms.KeyArgs:
    """The key of the cluster's Secrets and logs."""
    root = f"arn:{args.partition}:iam::{args.account}:root"
    logs = f"arn:{args.partition}:logs:{args.region}:{args.account}:log-group:{args.log_group}"
    statements = [
        # Who may use the key is up to the account's IAM, as is all else.
        {
            "Sid": "account",
            "Effect": "Allow",
            "Principal": {"AWS": root},
            "Action": "kms:*",
            "Resource": "*",
        },
        {
            "Sid": "logs",
            "Effect": "Allow",
            "Principal": {"Service": f"logs.{args.region}.amazonaws.com"},
            "Action": [
                "kms:Encrypt*",
                "kms:Decrypt*",
                "kms:ReEncrypt*",
                "kms:GenerateDataKey*",
                "kms:Describe*",
            ],
            "Resource": "*",
            "Condition": {"ArnEquals": {"kms:EncryptionContext:aws:logs:arn": logs}},
        },
    ]
    return kms.KeyArgs(
        description=f"Secrets and logs of the EKS cluster {args.name}",
        deletion_window_in_days=_KEY_DAYS if args.protected else 7,
        enable_key_rotation=True,
        policy=json.dumps({"Version": "2012-10-17", "Statement": statements}),
        tags=named(args.name),
    )


def log_group(args: ControlPlaneArgs, key_arn: pulumi.Input[str]) -> cloudwatch.LogGroupArgs:
    """The logs. EKS would make the group itself, for ever and without a key."""
    return cloudwatch.LogGroupArgs(
        name=args.log_group,
        retention_in_days=args.log_days,
        kms_key_id=key_arn,
        tags=named(args.name),
    )


def cluster(args: ControlPlaneArgs, key_arn: pulumi.Input[str]) -> eks.ClusterArgs:
    """The control plane. Nodes reach it privately, others from `api_access`."""
    return eks.ClusterArgs(
        name=args.name,
        version=args.version,
        role_arn=args.role_arn,
        access_config=eks.ClusterAccessConfigArgs(
            authentication_mode="API", bootstrap_cluster_creator_admin_permissions=True
        ),
        vpc_config=eks.ClusterVpcConfigArgs(
            subnet_ids=args.subnet_ids,
            endpoint_private_access=True,
            endpoint_public_access=True,
            public_access_cidrs=args.api_access,
        ),
        kubernetes_network_config=eks.ClusterKubernetesNetworkConfigArgs(
            ip_family="ipv4", service_ipv4_cidr=args.service_cidr
        ),
        encryption_config=eks.ClusterEncryptionConfigArgs(
            provider=eks.ClusterEncryptionConfigProviderArgs(key_arn=key_arn), resources=["secrets"]
        ),
        enabled_cluster_log_types=_LOGS,
        # After standard support EKS upgrades, rather than charge six times as much.
        upgrade_policy=eks.ClusterUpgradePolicyArgs(support_type="STANDARD"),
        bootstrap_self_managed_addons=False,  # which nobody would update
        deletion_protection=args.protected,
        tags=named(args.name),
    )


class ControlPlane(pulumi.ComponentResource):
    """The control plane, without nodes."""

    def __init__(self, name: str, args: ControlPlaneArgs, opts: pulumi.ResourceOptions) -> None:
        super().__init__("envfleet:providers:AwsControlPlane", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        fixed = pulumi.ResourceOptions(parent=self, delete_before_replace=True)
        made_key = kms.Key(f"{name}-key", key(args), child)
        kms.Alias(
            f"{name}-key-alias",
            kms.AliasArgs(name=f"alias/eks/{args.name}", target_key_id=made_key.id),
            fixed,
        )
        logs = cloudwatch.LogGroup(f"{name}-log-group", log_group(args, made_key.arn), fixed)
        made = eks.Cluster(
            f"{name}-eks",
            cluster(args, made_key.arn),
            pulumi.ResourceOptions(
                parent=self,
                depends_on=[logs],
                delete_before_replace=True,
                protect=args.protected,
                custom_timeouts=pulumi.CustomTimeouts(create="30m", update="60m", delete="30m"),
            ),
        )
        for principal in args.administrators:
            self._administrator(
                f"{name}-{principal.partition(':iam::')[2]}", made.name, principal, args.partition
            )
        issuer = made.identities[0].oidcs[0].issuer
        iam.OpenIdConnectProvider(
            f"{name}-oidc-provider",
            iam.OpenIdConnectProviderArgs(
                url=issuer, client_id_lists=["sts.amazonaws.com"], tags=named(args.name)
            ),
            child,
        )
        self.resource = made
        self.identifier: pulumi.Output[str] = issuer
        """One per incarnation: its ARN is the same again when it is made anew."""
        self.endpoint = made.endpoint
        self.certificate_authority = made.certificate_authority.data
        self.register_outputs({"endpoint": self.endpoint, "identifier": self.identifier})

    def _administrator(
        self, name: str, cluster_name: pulumi.Input[str], principal: str, partition: str
    ) -> None:
        child = pulumi.ResourceOptions(parent=self, delete_before_replace=True)
        entry = eks.AccessEntry(
            f"{name}-access-entry",
            eks.AccessEntryArgs(cluster_name=cluster_name, principal_arn=principal),
            child,
        )
        eks.AccessPolicyAssociation(
            f"{name}-access-policy",
            eks.AccessPolicyAssociationArgs(
                cluster_name=cluster_name,
                principal_arn=entry.principal_arn,
                policy_arn=_ADMINISTRATOR.format(partition=partition),
                access_scope=eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
            ),
            child,
        )
