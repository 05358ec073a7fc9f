"""The types of pulumi_aws that the simulated account knows."""

from tests.engine.clouds.aws.table import eks, iam, network, observed, security
from tests.engine.clouds.resource import Resource

TYPES: tuple[type[Resource], ...] = (
    network.Vpc,
    network.Subnet,
    network.InternetGateway,
    network.Eip,
    network.NatGateway,
    network.RouteTable,
    network.Route,
    network.RouteTableAssociation,
    security.SecurityGroup,
    security.DefaultSecurityGroup,
    observed.Key,
    observed.Alias,
    observed.LogGroup,
    observed.FlowLog,
    observed.LaunchTemplate,
    iam.Role,
    iam.RolePolicyAttachment,
    iam.OpenIdConnectProvider,
    eks.Cluster,
    eks.NodeGroup,
    eks.Addon,
    eks.AccessEntry,
    eks.AccessPolicyAssociation,
    eks.PodIdentityAssociation,
)
TABLE = {each.type: each for each in TYPES}
