"""The VPC: in each zone a private subnet for nodes and pods, and a public one for NAT and load balancers."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_aws import ec2

_EVERYWHERE = "0.0.0.0/0"


@dataclass(frozen=True)
class NetworkArgs:
    """The VPC of a cluster.

    cluster: its name.
    cidr: addresses of the VPC.
    zones: availability zones, at least two.
    nat_in_each_zone: whether each zone has a NAT gateway, rather than the first one for all.
    """

    cluster: str
    cidr: str
    zones: Sequence[str]
    nat_in_each_zone: bool


@dataclass(frozen=True)
class Subnets:
    """The addresses of one zone."""

    zone: str
    private: str
    public: str


def subnets(args: NetworkArgs) -> list[Subnets]:
    """Half of the VPC's addresses for private subnets, an eighth for public ones, and some left for later."""
    vpc = ipaddress.IPv4Network(args.cidr)
    bits = (len(args.zones) - 1).bit_length()  # of a zone's number
    lower, upper = vpc.subnets(1)
    private = lower.subnets(bits)
    public = next(upper.subnets(2)).subnets(bits)
    return [Subnets(*each) for each in zip(args.zones, map(str, private), map(str, public), strict=False)]


def vpc(args: NetworkArgs) -> ec2.VpcArgs:
    """The VPC; EKS needs its DNS."""
    return ec2.VpcArgs(
        cidr_block=args.cidr,
        enable_dns_hostnames=True,
        enable_dns_support=True,
        tags=named(args.cluster),
    )


def subnet(
    args: NetworkArgs, vpc_id: pulumi.Input[str], zone: str, cidr: str, *, public: bool
) -> ec2.SubnetArgs:
    """A subnet. By its role tag, load balancers find it."""
    kind, role = (
        ("public", "kubernetes.io/role/elb") if public else ("private", "kubernetes.io/role/internal-elb")
    )
    return ec2.SubnetArgs(
        vpc_id=vpc_id,
        availability_zone=zone,
        cidr_block=cidr,
        map_public_ip_on_launch=False,
        tags={**named(f"{args.cluster}-{kind}-{zone}"), role: "1"},
    )


def named(name: str) -> dict[str, str]:
    """The tag that consoles show as the name."""
    return {"Name": name}


class Network(pulumi.ComponentResource):
    """The VPC, its subnets, and the ways out of them."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions) -> None:
        super().__init__("envfleet:providers:AwsNetwork", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        made = ec2.Vpc(f"{name}-vpc", vpc(args), child)
        # Whatever is put into the VPC without a security group of its own can reach nothing.
        ec2.DefaultSecurityGroup(
            f"{name}-default-security-group",
            ec2.DefaultSecurityGroupArgs(vpc_id=made.id, tags=named(f"{args.cluster}-default")),
            child,
        )
        internet = ec2.InternetGateway(
            f"{name}-internet-gateway",
            ec2.InternetGatewayArgs(vpc_id=made.id, tags=named(args.cluster)),
            child,
        )
        ways = self._table(name, args, made, "public", child)
        out = ec2.Route(
            f"{name}-public-route",
            ec2.RouteArgs(route_table_id=ways.id, destination_cidr_block=_EVERYWHERE, gateway_id=internet.id),
            child,
        )
        private: list[ec2.Subnet] = []
        routes: list[pulumi.Resource] = []
        gateway: ec2.NatGateway | None = None
        for each in subnets(args):
            public = self._subnet(name, args, made, each, ways, public=True)
            if gateway is None or args.nat_in_each_zone:
                gateway = self._nat(name, args, each.zone, public, out)
                table = self._table(name, args, made, f"private-{each.zone}", child)
                route = ec2.RouteArgs(
                    route_table_id=table.id, destination_cidr_block=_EVERYWHERE, nat_gateway_id=gateway.id
                )
                routes.append(ec2.Route(f"{name}-private-{each.zone}-route", route, child))
            private.append(self._subnet(name, args, made, each, table, public=False))
        self.vpc_id = made.id
        self.private_subnet_ids = [each.id for each in private]
        self.routes = routes
        """Without which nodes reach nothing, and don't become ready."""
        self.register_outputs({"vpc_id": self.vpc_id, "private_subnet_ids": self.private_subnet_ids})

    @staticmethod
    def _table(
        name: str, args: NetworkArgs, made: ec2.Vpc, kind: str, child: pulumi.ResourceOptions
    ) -> ec2.RouteTable:
        table = ec2.RouteTableArgs(vpc_id=made.id, tags=named(f"{args.cluster}-{kind}"))
        return ec2.RouteTable(f"{name}-{kind}-route-table", table, child)

    def _subnet(
        self,
        name: str,
        args: NetworkArgs,
        made: ec2.Vpc,
        place: Subnets,
        table: ec2.RouteTable,
        *,
        public: bool,
    ) -> ec2.Subnet:
        """A subnet whose way out is that of the route table."""
        kind, cidr = ("public", place.public) if public else ("private", place.private)
        child = pulumi.ResourceOptions(parent=self)
        inside = ec2.Subnet(
            f"{name}-{kind}-{place.zone}-subnet",
            subnet(args, made.id, place.zone, cidr, public=public),
            child,
        )
        link = ec2.RouteTableAssociationArgs(subnet_id=inside.id, route_table_id=table.id)
        ec2.RouteTableAssociation(f"{name}-{kind}-{place.zone}-route-table-association", link, child)
        return inside

    def _nat(
        self, name: str, args: NetworkArgs, zone: str, public: ec2.Subnet, way_out: ec2.Route
    ) -> ec2.NatGateway:
        child = pulumi.ResourceOptions(parent=self, depends_on=[way_out])
        tags = named(f"{args.cluster}-nat-{zone}")
        address = ec2.Eip(f"{name}-nat-{zone}-eip", ec2.EipArgs(domain="vpc", tags=tags), child)
        gateway = ec2.NatGatewayArgs(allocation_id=address.id, subnet_id=public.id, tags=tags)
        return ec2.NatGateway(f"{name}-nat-{zone}-gateway", gateway, child)
