"""A fleet: a namespace on a cluster, and in it the server and the environments."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pulumi

from components.environment import EnvironmentArgs, Environments
from components.namespace import Namespace, NamespaceArgs
from components.network import Network, NetworkArgs, policies
from components.ownership import Ownership
from components.rbac import ENVIRONMENT, SERVER, Rbac, RbacArgs
from components.readiness import Readiness
from components.server import Server, ServerArgs
from config import StackConfig
from config.environment import SecurityLevel


@dataclass(frozen=True)
class FleetArgs:
    """A fleet.

    config: what it is made of.
    instance: which fleet it is (`Identity.instance`), told apart from others on the same cluster.
    kubeconfig: of the cluster, a secret.
    image: from an image of the configuration to the name by which the nodes know it.
    deleted_with: what takes the whole fleet along when it is deleted, such as a cluster.
    """

    config: StackConfig
    instance: str
    kubeconfig: pulumi.Input[str]
    image: Callable[[str], pulumi.Input[str]]
    deleted_with: pulumi.Resource | None = None


def server_args(args: FleetArgs) -> ServerArgs:
    """The server of the fleet."""
    server = args.config.server
    return ServerArgs(args.config.namespace, args.instance, args.image(server.image), server)


def environment_args(args: FleetArgs) -> list[EnvironmentArgs]:
    """The environments of the fleet, each entry of the configuration as many times as it says."""
    return [
        EnvironmentArgs(
            name,
            args.config.namespace,
            args.instance,
            args.image(entry.image),
            entry,
            {variable: args.config.secrets[secret] for variable, secret in entry.secret_env.items()},
        )
        for entry in args.config.environments
        for name in entry.names
    ]


def security_level(config: StackConfig) -> SecurityLevel:
    """The strictest Pod Security level that admits all environments."""
    levels: tuple[SecurityLevel, ...] = ("privileged", "baseline", "restricted")
    return min((entry.security.level for entry in config.environments), key=levels.index, default=levels[-1])


def declared(environments: Sequence[EnvironmentArgs], policies: Iterable[str]) -> dict[str, list[str]]:
    """The names of all objects of a fleet in its namespace, by kind."""
    names = [each.name for each in environments]
    return {
        "ServiceAccount": [SERVER, ENVIRONMENT],
        "Role": [SERVER],
        "RoleBinding": [SERVER],
        "NetworkPolicy": list(policies),
        "Secret": [each.name for each in environments if each.secrets],
        "Service": [SERVER, *names],
        "Deployment": [SERVER],
        "Pod": names,
    }


class Fleet(pulumi.ComponentResource):
    """The fleet, on the cluster of the Kubernetes provider in `opts`."""

    def __init__(self, name: str, args: FleetArgs, opts: pulumi.ResourceOptions) -> None:
        super().__init__("envfleet:components:Fleet", name, None, opts)
        config, place = args.config, (args.config.namespace, args.instance)
        described = environment_args(args)
        network = NetworkArgs(*place, config.network, described, config.server.service_type != "ClusterIP")
        ownership = Ownership(
            name,
            args.kubeconfig,
            *place,
            declared=declared(described, policies(network)),
            opts=pulumi.ResourceOptions(parent=self),
        )
        namespace = Namespace(
            name,
            NamespaceArgs(*place, security_level(config)),
            pulumi.ResourceOptions(parent=self, depends_on=[ownership], deleted_with=args.deleted_with),
        )
        # What is in the namespace goes with it, in one call instead of one for each object. But a load
        # balancer is outside the cluster, and would outlive a Service that nobody deleted.
        balanced = config.server.service_type == "LoadBalancer"
        inside = namespace.resource
        first = pulumi.ResourceOptions(parent=self, depends_on=[namespace], deleted_with=inside)
        prerequisites = [Rbac(name, RbacArgs(*place), first), Network(name, network, first)]
        server = Server(
            name,
            server_args(args),
            pulumi.ResourceOptions(
                parent=self, depends_on=prerequisites, deleted_with=None if balanced else inside
            ),
        )
        environments = Environments(
            name,
            described,
            pulumi.ResourceOptions(parent=self, depends_on=prerequisites, deleted_with=inside),
        )
        Readiness(
            name,
            args.kubeconfig,
            *place,
            environments={each.name: each.settings.startup_seconds for each in described},
            incarnations={"server": server.incarnation, **environments.incarnations},
            settings=config.readiness,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[server, environments]),
        )
        self.instance = args.instance
        self.namespace = inside.metadata.name
        self.server_url = server.url
        self.environments = environments.outputs
        self.register_outputs(
            {"namespace": self.namespace, "server": self.server_url, "environments": self.environments}
        )
