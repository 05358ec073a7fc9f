"""What Amazon refuses and moto allows, and what Amazon does by itself afterwards."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.engine.clouds.cloud import CloudError

if TYPE_CHECKING:
    from tests.engine.clouds.aws.cloud import AwsCloud

Parameters = Mapping[str, Any]
Rule = Callable[["AwsCloud", Parameters], None]


def check(cloud: "AwsCloud", operation: str, parameters: Parameters) -> None:
    """Raise CloudError if Amazon would refuse this now."""
    if rule := RULES.get(operation):
        rule(cloud, parameters)


def follow(cloud: "AwsCloud", operation: str, answer: Any) -> None:
    """Have happen what takes Amazon a while."""
    if operation == "ec2:CreateNatGateway":
        _start_nat_gateway(cloud, answer["NatGateway"])
    elif operation == "ec2:DeleteNatGateway":
        _end_nat_gateway(cloud, answer["NatGatewayId"])
    elif operation == "logs:DeleteLogGroup":
        for cluster in cloud.eks.clusters.kept.values():
            cloud.later(partial(cloud.eks.clusters.log, cluster))


def _filtered(cloud: "AwsCloud", operation: str, plural: str, **filters: str) -> list[dict[str, Any]]:
    given = [{"Name": name.replace("_", "-"), "Values": [value]} for name, value in filters.items()]
    return cloud.ask(f"ec2:{operation}", Filters=given)[plural]


def nat_gateways(cloud: "AwsCloud", **filters: str) -> list[dict[str, Any]]:
    """Those that are not deleted yet."""
    found = _filtered(cloud, "DescribeNatGateways", "NatGateways", **filters)
    return [gateway for gateway in found if gateway["State"] != "deleted"]


def interfaces(cloud: "AwsCloud", **filters: str) -> list[dict[str, Any]]:
    return _filtered(cloud, "DescribeNetworkInterfaces", "NetworkInterfaces", **filters)


def _internet_gateways(cloud: "AwsCloud", vpc: str) -> list[dict[str, Any]]:
    found = cloud.ask("ec2:DescribeInternetGateways")["InternetGateways"]
    return [each for each in found if vpc in [attachment["VpcId"] for attachment in each["Attachments"]]]


def _depended_on(what: str) -> CloudError:
    return CloudError("DependencyViolation", f"The {what} has dependencies and cannot be deleted.")


def _delete_vpc(cloud: "AwsCloud", parameters: Parameters) -> None:
    vpc = parameters["VpcId"]
    tables = _filtered(cloud, "DescribeRouteTables", "RouteTables", vpc_id=vpc)
    groups = _filtered(cloud, "DescribeSecurityGroups", "SecurityGroups", vpc_id=vpc)
    if (
        _filtered(cloud, "DescribeSubnets", "Subnets", vpc_id=vpc)
        or _internet_gateways(cloud, vpc)
        or nat_gateways(cloud, vpc_id=vpc)
        or interfaces(cloud, vpc_id=vpc)
        or [table for table in tables if not any(each["Main"] for each in table["Associations"])]
        or [group for group in groups if group["GroupName"] != "default"]
    ):
        raise _depended_on(f"vpc '{vpc}'")


def _delete_subnet(cloud: "AwsCloud", parameters: Parameters) -> None:
    subnet = parameters["SubnetId"]
    if interfaces(cloud, subnet_id=subnet) or nat_gateways(cloud, subnet_id=subnet):
        raise _depended_on(f"subnet '{subnet}'")


def _detach_internet_gateway(cloud: "AwsCloud", parameters: Parameters) -> None:
    vpc = parameters["VpcId"]
    if any(each.get("Association") for each in interfaces(cloud, vpc_id=vpc)):
        message = f"Network {vpc} has some mapped public address(es). Please unmap them before detaching"
        raise CloudError("DependencyViolation", message)


def _release_address(cloud: "AwsCloud", parameters: Parameters) -> None:
    [address] = cloud.ask("ec2:DescribeAddresses", AllocationIds=[parameters["AllocationId"]])["Addresses"]
    if address.get("AssociationId"):
        raise CloudError("InvalidIPAddress.InUse", f"The address {address['PublicIp']} is in use.")


def _create_nat_gateway(cloud: "AwsCloud", parameters: Parameters) -> None:
    cloud.ask("ec2:DescribeSubnets", SubnetIds=[parameters["SubnetId"]])
    if allocation := parameters.get("AllocationId"):
        [address] = cloud.ask("ec2:DescribeAddresses", AllocationIds=[allocation])["Addresses"]
        if address.get("AssociationId"):
            message = f"Elastic IP address [{allocation}] is already associated"
            raise CloudError("Resource.AlreadyAssociated", message)


def _start_nat_gateway(cloud: "AwsCloud", gateway: Mapping[str, Any]) -> None:
    """It becomes available after a while, or fails if nothing leads from its VPC to the internet."""
    stored = cloud.backend("ec2").nat_gateways[gateway["NatGatewayId"]]
    stored.state = gateway["State"] = "pending"
    attached = stored.connectivity_type == "private" or _internet_gateways(cloud, gateway["VpcId"])

    def end() -> None:
        stored.state = "available" if attached else "failed"

    cloud.later(end)


def _delete_nat_gateway(cloud: "AwsCloud", parameters: Parameters) -> None:
    if (id_ := parameters["NatGatewayId"]) not in cloud.backend("ec2").nat_gateways:
        raise CloudError("NatGatewayNotFound", f"The Nat Gateway {id_} was not found")


def _end_nat_gateway(cloud: "AwsCloud", id_: str) -> None:
    """Its interface and its address are in use until it is gone."""
    stored = cloud.backend("ec2").nat_gateways[id_]
    stored.state = "deleting"

    def end() -> None:
        stored.state = "deleted"
        for address in stored.address_set:
            if association := address.get("associationId"):
                cloud.ask("ec2:DisassociateAddress", AssociationId=association)
            cloud.ask("ec2:DeleteNetworkInterface", NetworkInterfaceId=address["networkInterfaceId"])

    cloud.later(end)


def _create_route(cloud: "AwsCloud", parameters: Parameters) -> None:
    [table] = cloud.ask("ec2:DescribeRouteTables", RouteTableIds=[parameters["RouteTableId"]])["RouteTables"]
    vpc = table["VpcId"]
    gateway, nat = parameters.get("GatewayId"), parameters.get("NatGatewayId")
    if gateway and gateway not in [each["InternetGatewayId"] for each in _internet_gateways(cloud, vpc)]:
        message = f"{table['RouteTableId']} and network gateway {gateway} belong to different networks"
        raise CloudError("InvalidParameterValue", message)
    if nat and nat not in [each["NatGatewayId"] for each in nat_gateways(cloud, vpc_id=vpc)]:
        raise CloudError("InvalidNatGatewayID.NotFound", f"The natGateway ID '{nat}' does not exist")


def _associate_route_table(cloud: "AwsCloud", parameters: Parameters) -> None:
    subnet = parameters["SubnetId"]
    for table in cloud.ask("ec2:DescribeRouteTables")["RouteTables"]:
        for association in table["Associations"]:
            if association.get("SubnetId") == subnet:
                id_ = association["RouteTableAssociationId"]
                message = (
                    f"the specified association for route table {table['RouteTableId']} conflicts with {id_}"
                )
                raise CloudError("Resource.AlreadyAssociated", message)


def _delete_route_table(cloud: "AwsCloud", parameters: Parameters) -> None:
    [table] = cloud.ask("ec2:DescribeRouteTables", RouteTableIds=[parameters["RouteTableId"]])["RouteTables"]
    if table["Associations"]:
        raise _depended_on(f"routeTable '{table['RouteTableId']}'")


def _delete_security_group(cloud: "AwsCloud", parameters: Parameters) -> None:
    group = parameters["GroupId"]
    others = cloud.ask("ec2:DescribeSecurityGroups")["SecurityGroups"]
    named = [
        other["GroupId"]
        for other in others
        if other["GroupId"] != group
        for permission in other["IpPermissions"] + other["IpPermissionsEgress"]
        for pair in permission["UserIdGroupPairs"]
        if pair["GroupId"] == group
    ]
    if named or interfaces(cloud, group_id=group):
        message = f"resource {group} has a dependent object"
        raise CloudError("DependencyViolation", message)


def _create_role(cloud: "AwsCloud", parameters: Parameters) -> None:
    try:
        json.loads(parameters["AssumeRolePolicyDocument"])
    except ValueError:
        raise CloudError("MalformedPolicyDocument", "This policy contains invalid Json") from None


def _create_log_group(cloud: "AwsCloud", parameters: Parameters) -> None:
    if arn := parameters.get("kmsKeyId"):
        require_key(cloud, arn, "InvalidParameterException")
        policy = cloud.ask("kms:GetKeyPolicy", KeyId=arn, PolicyName="default")["Policy"]
        if "logs." not in policy:
            message = f"The specified KMS key does not exist or is not allowed to be used with Arn '{arn}'"
            raise CloudError("InvalidParameterException", message)


def _create_flow_logs(cloud: "AwsCloud", parameters: Parameters) -> None:
    if role := parameters.get("DeliverLogsPermissionArn"):
        require_role(cloud, role, "vpc-flow-logs.amazonaws.com")


def require_key(cloud: "AwsCloud", arn: str, code: str) -> None:
    try:
        usable = cloud.ask("kms:DescribeKey", KeyId=arn)["KeyMetadata"]["KeyState"] == "Enabled"
    except CloudError:
        usable = False
    if not usable:
        raise CloudError(code, f"The KMS key {arn} does not exist or can't be used")


def require_role(cloud: "AwsCloud", arn: str, service: str, code: str = "InvalidParameterException") -> None:
    """Raise CloudError unless there is such a role, and the service may assume it."""
    roles = {role["Arn"]: role for role in cloud.ask("iam:ListRoles")["Roles"]}
    trusted = arn in roles and service in json.dumps(roles[arn]["AssumeRolePolicyDocument"])
    if not trusted:
        raise CloudError(
            code,
            f"Role with arn: {arn}, could not be assumed because it does not exist or trusts not {service}",
        )


def attached_policies(cloud: "AwsCloud", role_arn: str) -> set[str]:
    """The names of managed policies, none if the role is gone."""
    try:
        listed = cloud.ask("iam:ListAttachedRolePolicies", RoleName=role_arn.rpartition("/")[2])
    except CloudError:
        return set()
    return {policy["PolicyName"] for policy in listed["AttachedPolicies"]}


RULES: Mapping[str, Rule] = {
    "ec2:DeleteVpc": _delete_vpc,
    "ec2:DeleteSubnet": _delete_subnet,
    "ec2:DetachInternetGateway": _detach_internet_gateway,
    "ec2:ReleaseAddress": _release_address,
    "ec2:CreateNatGateway": _create_nat_gateway,
    "ec2:DeleteNatGateway": _delete_nat_gateway,
    "ec2:CreateRoute": _create_route,
    "ec2:ReplaceRoute": _create_route,
    "ec2:AssociateRouteTable": _associate_route_table,
    "ec2:DeleteRouteTable": _delete_route_table,
    "ec2:DeleteSecurityGroup": _delete_security_group,
    "ec2:CreateFlowLogs": _create_flow_logs,
    "iam:CreateRole": _create_role,
    "logs:CreateLogGroup": _create_log_group,
}
