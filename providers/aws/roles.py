"""IAM roles: of the control plane, of the nodes, and of the EBS driver, which makes disks."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_aws import iam

from providers.aws.network import named


@dataclass(frozen=True)
class RoleArgs:
    """A role of a cluster.

    cluster: name of the cluster.
    purpose: what has the role.
    service: who takes it on, such as "eks.amazonaws.com".
    policies: of AWS's own, by the ends of their ARNs.
    partition: of AWS, such as "aws" or "aws-cn".
    """

    cluster: str
    purpose: str
    service: str
    policies: Sequence[str]
    partition: str = "aws"

    @property
    def name(self) -> str:
        """Fixed, so that no second run makes a second one."""
        return f"{self.cluster}-{self.purpose}"


def cluster_roles(cluster: str, partition: str) -> dict[str, RoleArgs]:
    """All roles of a cluster, by purpose."""
    roles = (
        RoleArgs(cluster, "cluster", "eks.amazonaws.com", ["AmazonEKSClusterPolicy"], partition),
        RoleArgs(
            cluster,
            "node",
            "ec2.amazonaws.com",
            ["AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_Policy"],
            partition,
        ),
        RoleArgs(
            cluster, "disks", "pods.eks.amazonaws.com", ["service-role/AmazonEBSCSIDriverPolicy"], partition
        ),
    )
    return {role.purpose: role for role in roles}


def role(args: RoleArgs) -> iam.RoleArgs:
    """The role, which nobody but the service takes on."""
    # What EKS hands to pods carries the pod's name and namespace, as tags.
    actions = ["sts:AssumeRole", *(["sts:TagSession"] if args.service.startswith("pods.") else [])]
    statement = {"Effect": "Allow", "Principal": {"Service": args.service}, "Action": actions}
    return iam.RoleArgs(
        name=args.name,
        assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
        tags=named(args.name),
    )


class Role(pulumi.ComponentResource):
    """A role with its policies."""

    def __init__(self, name: str, args: RoleArgs, opts: pulumi.ResourceOptions) -> None:
        super().__init__("envfleet:providers:AwsRole", name, None, opts)
        # The names are fixed, so two can't exist at once.
        child = pulumi.ResourceOptions(parent=self, delete_before_replace=True)
        made = iam.Role(f"{name}-role", role(args), child)
        self.attachments = [
            iam.RolePolicyAttachment(
                f"{name}-{policy.rpartition('/')[2]}-attachment",
                iam.RolePolicyAttachmentArgs(
                    role=made.name, policy_arn=f"arn:{args.partition}:iam::aws:policy/{policy}"
                ),
                child,
            )
            for policy in args.policies
        ]
        """Without which who has the role can't do its work; and to be gone after it."""
        self.arn = made.arn
        self.register_outputs({"arn": self.arn})
