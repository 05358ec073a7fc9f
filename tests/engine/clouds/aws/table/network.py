"""VPCs and what is in them.

Of a create whose answer was lost: a VPC, an internet gateway and an address leak, since Amazon can't know
that it is asked again; a subnet is refused the second time (its range is taken) and in every later `up`; a
NAT gateway and a route table have a token, and the second answer is the first; a route and an association
exist already.
"""

from collections.abc import Iterator
from typing import Any, ClassVar
from zlib import crc32

from tests.engine.clouds.aws.table.base import Ec2Resource, mapped
from tests.engine.clouds.resource import Inputs, Values

ATTRIBUTES = ("enableDnsSupport", "enableDnsHostnames", "enableNetworkAddressUsageMetrics")
TARGETS = ("gatewayId", "natGatewayId", "networkInterfaceId", "egressOnlyGatewayId", "vpcEndpointId")
IN_USE = "DependencyViolation"


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


class Vpc(Ec2Resource):
    type = "aws:ec2/vpc:Vpc"
    tagged_as = "vpc"
    replaced_by = frozenset({"cidrBlock"})
    without = frozenset({"ipv6AssociationId"})

    def create(self, given: Inputs) -> Iterator[str]:
        created = self.request("CreateVpc", given, TagSpecifications=self.tags(given))
        id_ = created["Vpc"]["VpcId"]
        chosen = {name: given[name] for name in ATTRIBUTES if name in given}
        yield id_
        for name, value in chosen.items():
            if value != (name == "enableDnsSupport"):  # else it is so already
                self.call("ModifyVpcAttribute", VpcId=id_, **{_capital(name): {"Value": value}})

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        if not (answer := self.found("DescribeVpcs", VpcIds=[id_])):
            return None
        [vpc] = answer["Vpcs"]
        attributes = {
            name: self.call("DescribeVpcAttribute", VpcId=id_, Attribute=name)[_capital(name)]["Value"]
            for name in ATTRIBUTES
        }
        own = [{"Name": "vpc-id", "Values": [id_]}]
        tables = self.call("DescribeRouteTables", Filters=own)["RouteTables"]
        main = next(t["RouteTableId"] for t in tables if any(each["Main"] for each in t["Associations"]))
        groups = self.call("DescribeSecurityGroups", Filters=own)["SecurityGroups"]
        acls = self.call("DescribeNetworkAcls", Filters=own)["NetworkAcls"]
        return self.state(
            vpc,
            **attributes,
            arn=self.arn(id_),
            mainRouteTableId=main,
            defaultRouteTableId=main,
            defaultSecurityGroupId=next(g["GroupId"] for g in groups if g["GroupName"] == "default"),
            defaultNetworkAclId=next(acl["NetworkAclId"] for acl in acls if acl["IsDefault"]),
            tagsAll=mapped(vpc["Tags"]),
        )

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        for name in changed:
            self.call("ModifyVpcAttribute", VpcId=id_, **{_capital(name): {"Value": new[name]}})

    def delete(self, id_: str, known: Values) -> None:
        self.insist("DeleteVpc", IN_USE, VpcId=id_)


class Subnet(Ec2Resource):
    type = "aws:ec2/subnet:Subnet"
    tagged_as = "subnet"
    replaced_by = frozenset({"vpcId", "cidrBlock", "availabilityZone", "availabilityZoneId"})
    without = frozenset({"ipv6CidrBlockAssociationId"})
    parameter_of: ClassVar = {"arn": "subnetArn"}

    def create(self, given: Inputs) -> Iterator[str]:
        created = self.request("CreateSubnet", given, TagSpecifications=self.tags(given))
        id_ = created["Subnet"]["SubnetId"]
        public = given.get("mapPublicIpOnLaunch")
        yield id_
        if public:
            self.call("ModifySubnetAttribute", SubnetId=id_, MapPublicIpOnLaunch={"Value": True})

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        if not (answer := self.found("DescribeSubnets", SubnetIds=[id_])):
            return None
        [subnet] = answer["Subnets"]
        return self.state(subnet, tagsAll=mapped(subnet["Tags"]))

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        for name in changed:
            value = {"Value": new.get(name, False)}
            self.call("ModifySubnetAttribute", SubnetId=id_, **{_capital(name): value})

    def delete(self, id_: str, known: Values) -> None:
        self.insist("DeleteSubnet", IN_USE, SubnetId=id_)


class InternetGateway(Ec2Resource):
    type = "aws:ec2/internetGateway:InternetGateway"
    tagged_as = "internet-gateway"

    def create(self, given: Inputs) -> Iterator[str]:
        created = self.call("CreateInternetGateway", TagSpecifications=self.tags(given))
        id_ = created["InternetGateway"]["InternetGatewayId"]
        vpc = given.get("vpcId")
        yield id_
        if vpc:
            self.call("AttachInternetGateway", InternetGatewayId=id_, VpcId=vpc)

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        if not (answer := self.found("DescribeInternetGateways", InternetGatewayIds=[id_])):
            return None
        [gateway] = answer["InternetGateways"]
        vpc = {"vpcId": gateway["Attachments"][0]["VpcId"]} if gateway["Attachments"] else {}
        return self.state(gateway, arn=self.arn(id_), tagsAll=mapped(gateway["Tags"]), **vpc)

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        self._detach(id_, old)
        self.call("AttachInternetGateway", InternetGatewayId=id_, VpcId=new["vpcId"])

    def delete(self, id_: str, known: Values) -> None:
        self._detach(id_, known)
        self.insist("DeleteInternetGateway", IN_USE, InternetGatewayId=id_)

    def _detach(self, id_: str, known: Values) -> None:
        if vpc := known.get("vpcId"):
            answer = self.found("DescribeInternetGateways", InternetGatewayIds=[id_])
            if answer and answer["InternetGateways"][0]["Attachments"]:
                self.insist("DetachInternetGateway", IN_USE, InternetGatewayId=id_, VpcId=vpc)


class Eip(Ec2Resource):
    type = "aws:ec2/eip:Eip"
    tagged_as = "elastic-ip"
    replaced_by = frozenset({"domain", "networkBorderGroup", "publicIpv4Pool"})
    without = frozenset({"associationId", "carrierIp", "customerOwnedIp", "privateIp", "ptrRecord"})

    def create(self, given: Inputs) -> Iterator[str]:
        yield self.request("AllocateAddress", given, TagSpecifications=self.tags(given))["AllocationId"]

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        if not (answer := self.found("DescribeAddresses", AllocationIds=[id_])):
            return None
        [address] = answer["Addresses"]
        name = address["PublicIp"].replace(".", "-")
        region = self.provider.cloud.region
        return {
            "allocationId": id_,
            "arn": self.provider.cloud.arn("ec2", f"elastic-ip/{id_}"),
            "domain": address["Domain"],
            "publicIp": address["PublicIp"],
            "publicDns": f"ec2-{name}.{region}.compute.amazonaws.com",
            "privateDns": f"ip-{name}.{region}.compute.internal",
            "tagsAll": mapped(address.get("Tags")),
        }

    def delete(self, id_: str, known: Values) -> None:
        self.insist("ReleaseAddress", "InvalidIPAddress.InUse", AllocationId=id_)


class NatGateway(Ec2Resource):
    type = "aws:ec2/natGateway:NatGateway"
    tagged_as = "natgateway"
    replaced_by = frozenset({"allocationId", "connectivityType", "privateIp", "subnetId"})
    without = frozenset(
        {"autoProvisionZones", "autoScalingIps", "regionalNatGatewayAddresses"}
        | {"regionalNatGatewayAutoMode", "routeTableId"}
    )

    def create(self, given: Inputs) -> Iterator[str]:
        created = self.request("CreateNatGateway", given, TagSpecifications=self.tags(given))
        id_ = created["NatGateway"]["NatGatewayId"]
        yield id_
        self.await_status(lambda: self._gateway(id_), {"pending"}, {"available"}, "State")

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        gateway = self._gateway(id_)
        if not gateway or gateway["State"] in {"deleting", "deleted"}:
            return None
        [address] = gateway["NatGatewayAddresses"]
        return self.state({**gateway, **address}, tagsAll=mapped(gateway["Tags"]))

    def delete(self, id_: str, known: Values) -> None:
        if self.found("DeleteNatGateway", NatGatewayId=id_):
            done = {"deleted", "gone"}
            self.await_status(lambda: self._gateway(id_), {"deleting", "available", "failed"}, done, "State")

    def _gateway(self, id_: str) -> dict[str, Any] | None:
        found = self.call("DescribeNatGateways", NatGatewayIds=[id_])["NatGateways"]
        return found[0] if found else None


class RouteTable(Ec2Resource):
    type = "aws:ec2/routeTable:RouteTable"
    tagged_as = "route-table"
    replaced_by = frozenset({"vpcId"})

    def create(self, given: Inputs) -> Iterator[str]:
        created = self.request("CreateRouteTable", given, TagSpecifications=self.tags(given))
        id_ = created["RouteTable"]["RouteTableId"]
        routes = given.get("routes", [])
        yield id_
        for route in routes:
            self._add(id_, route)

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        if not (answer := self.found("DescribeRouteTables", RouteTableIds=[id_])):
            return None
        [table] = answer["RouteTables"]
        routes = {"routes": [_route(each) for each in table["Routes"] if each["Origin"] == "CreateRoute"]}
        tags = mapped(table["Tags"])
        return self.state(table, arn=self.arn(id_), tagsAll=tags, **(routes if "routes" in known else {}))

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        before, after = old.get("routes", []), new.get("routes", [])
        for route in before:
            if route not in after:
                self.call("DeleteRoute", RouteTableId=id_, DestinationCidrBlock=route["cidrBlock"])
        for route in after:
            if route not in before:
                self._add(id_, route)

    def delete(self, id_: str, known: Values) -> None:
        if answer := self.found("DescribeRouteTables", RouteTableIds=[id_]):
            for association in answer["RouteTables"][0]["Associations"]:
                self.found("DisassociateRouteTable", AssociationId=association["RouteTableAssociationId"])
            self.insist("DeleteRouteTable", IN_USE, RouteTableId=id_)

    def _add(self, id_: str, route: Values) -> None:
        target = {_capital(name): route[name] for name in TARGETS if name in route}
        self.call("CreateRoute", RouteTableId=id_, DestinationCidrBlock=route["cidrBlock"], **target)


def _route(answer: Values) -> dict[str, Any]:
    target = {name: answer[_capital(name)] for name in TARGETS if answer.get(_capital(name))}
    return {"cidrBlock": answer["DestinationCidrBlock"], **target}


class Route(Ec2Resource):
    type = "aws:ec2/route:Route"
    replaced_by = frozenset({"routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock"})
    without = frozenset({"instanceId", "instanceOwnerId"})

    def create(self, given: Inputs) -> Iterator[str]:
        self.request("CreateRoute", given)
        yield f"r-{given['routeTableId']}{crc32(given['destinationCidrBlock'].encode())}"

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        table = known["routeTableId"]
        answer = self.found("DescribeRouteTables", RouteTableIds=[table])
        routes = answer["RouteTables"][0]["Routes"] if answer else []
        wanted = known["destinationCidrBlock"]
        route = next((each for each in routes if each.get("DestinationCidrBlock") == wanted), None)
        return self.state(route, routeTableId=table) if route else None

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        self.request("ReplaceRoute", new)

    def delete(self, id_: str, known: Values) -> None:
        where = {"RouteTableId": known["routeTableId"], "DestinationCidrBlock": known["destinationCidrBlock"]}
        self.found("DeleteRoute", **where)


class RouteTableAssociation(Ec2Resource):
    type = "aws:ec2/routeTableAssociation:RouteTableAssociation"
    replaced_by = frozenset({"subnetId", "routeTableId"})  # the latter gives it another id in any case
    deleted_first = True

    def create(self, given: Inputs) -> Iterator[str]:
        yield self.request("AssociateRouteTable", given)["AssociationId"]

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        answer = self.found("DescribeRouteTables", RouteTableIds=[known["routeTableId"]])
        found = answer["RouteTables"][0]["Associations"] if answer else []
        association = next((each for each in found if each["RouteTableAssociationId"] == id_), None)
        return self.state(association) if association else None

    def delete(self, id_: str, known: Values) -> None:
        self.found("DisassociateRouteTable", AssociationId=id_)
