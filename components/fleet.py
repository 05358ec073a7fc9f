"""A fleet: a namespace on a cluster, and in it the server and the environments."""

from collections.abc import Callable
from dataclasses import dataclass

import pulumi

from components.environment import EnvironmentArgs, Environments
from components.namespace import Namespace, NamespaceArgs
from components.rbac import Rbac, RbacArgs
from components.server import Server, ServerArgs
from config import StackConfig


@dataclass(frozen=True)
class FleetArgs:
    """A fleet.

    config: what it is made of.
    instance: which fleet it is (`Identity.instance`), told apart from others on the same cluster.
    image: from an image of the configuration to the name by which the nodes know it.
    deleted_with: what takes the whole fleet along when it is deleted, such as a cluster.
    """

    config: StackConfig
    instance: str
    image: Callable[[str], pulumi.Input[str]]
    deleted_with: pulumi.Resource | None = None


def server_args(args: FleetArgs) -> ServerArgs:
    """The server of the fleet."""
    server = args.config.server
    return ServerArgs(args.config.namespace, args.instance, args.image(server.image), server)


def environment_args(args: FleetArgs) -> list[EnvironmentArgs]:
    """The environments of the fleet, each entry of the configuration as many times as it says."""
    return [
        EnvironmentArgs(name, args.config.namespace, args.instance, args.image(entry.image), entry)
        for entry in args.config.environments
        for name in entry.names
    ]


class Fleet(pulumi.ComponentResource):
    """The fleet, on the cluster of the Kubernetes provider in `opts`."""

    def __init__(self, name: str, args: FleetArgs, opts: pulumi.ResourceOptions) -> None:
        super().__init__("envfleet:components:Fleet", name, None, opts)
        config, place = args.config, (args.config.namespace, args.instance)
        namespace = Namespace(
            name, NamespaceArgs(*place), pulumi.ResourceOptions(parent=self, deleted_with=args.deleted_with)
        )
        # What is in the namespace goes with it, in one call instead of one for each object. But a load
        # balancer is outside the cluster, and would outlive a Service that nobody deleted.
        balanced = config.server.service_type == "LoadBalancer"
        inside = namespace.resource
        rbac = Rbac(
            name,
            RbacArgs(*place),
            pulumi.ResourceOptions(parent=self, depends_on=[namespace], deleted_with=inside),
        )
        server = Server(
            name,
            server_args(args),
            pulumi.ResourceOptions(parent=self, depends_on=[rbac], deleted_with=None if balanced else inside),
        )
        environments = Environments(
            name,
            environment_args(args),
            pulumi.ResourceOptions(parent=self, depends_on=[rbac], deleted_with=inside),
        )
        self.namespace = inside.metadata.name
        self.server_url = server.url
        self.environments = environments.outputs
        self.register_outputs(
            {"namespace": self.namespace, "server": self.server_url, "environments": self.environments}
        )
