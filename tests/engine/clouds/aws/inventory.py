"""Everything that exists in the simulated account, as "kind name"."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.engine.clouds.aws.cloud import AwsCloud

LISTED = (
    # kind, operation, the list in its answer, the name in each
    ("vpc", "ec2:DescribeVpcs", "Vpcs", "VpcId"),
    ("subnet", "ec2:DescribeSubnets", "Subnets", "SubnetId"),
    ("internet-gateway", "ec2:DescribeInternetGateways", "InternetGateways", "InternetGatewayId"),
    ("address", "ec2:DescribeAddresses", "Addresses", "AllocationId"),
    ("route-table", "ec2:DescribeRouteTables", "RouteTables", "RouteTableId"),
    ("security-group", "ec2:DescribeSecurityGroups", "SecurityGroups", "GroupId"),
    ("network-interface", "ec2:DescribeNetworkInterfaces", "NetworkInterfaces", "NetworkInterfaceId"),
    ("flow-log", "ec2:DescribeFlowLogs", "FlowLogs", "FlowLogId"),
    ("launch-template", "ec2:DescribeLaunchTemplates", "LaunchTemplates", "LaunchTemplateName"),
    ("instance-profile", "iam:ListInstanceProfiles", "InstanceProfiles", "InstanceProfileName"),
    ("oidc-provider", "iam:ListOpenIDConnectProviders", "OpenIDConnectProviderList", "Arn"),
    ("role", "iam:ListRoles", "Roles", "RoleName"),
    ("key-alias", "kms:ListAliases", "Aliases", "AliasName"),
    ("log-group", "logs:DescribeLogGroups", "logGroups", "logGroupName"),
)


def everything(cloud: "AwsCloud") -> Iterator[str]:
    for kind, operation, plural, name in LISTED:
        for each in cloud.ask(operation)[plural]:
            yield f"{kind} {each[name]}"
    for gateway in cloud.ask("ec2:DescribeNatGateways")["NatGateways"]:
        if gateway["State"] != "deleted":
            yield f"nat-gateway {gateway['NatGatewayId']}"
    for listed in cloud.ask("kms:ListKeys")["Keys"]:
        key = cloud.ask("kms:DescribeKey", KeyId=listed["KeyId"])["KeyMetadata"]
        # A key whose deletion is scheduled costs nothing, and can't be deleted any sooner.
        if key["KeyState"] != "PendingDeletion" and key["KeyManager"] == "CUSTOMER":
            yield f"key {key['KeyId']}"
    yield from cloud.eks.inventory()
