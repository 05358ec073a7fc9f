"""The namespace that holds a fleet."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.core import v1 as core

from components.identity import Identity


@dataclass(frozen=True)
class NamespaceArgs:
    """The name of the namespace, and the fleet (`Identity.instance`) it is for."""

    name: str
    instance: str


def namespace(args: NamespaceArgs) -> core.NamespaceInitArgs:
    """A namespace that admits only pods which meet Pod Security `restricted`."""
    identity = Identity(args.instance, "namespace", args.name, namespace=None)
    modes = ("enforce", "audit", "warn")
    return core.NamespaceInitArgs(
        metadata=identity.metadata({f"pod-security.kubernetes.io/{mode}": "restricted" for mode in modes})
    )


class Namespace(pulumi.ComponentResource):
    """The namespace. When `resource`, the Kubernetes object, is deleted, everything in it goes with it."""

    def __init__(self, name: str, args: NamespaceArgs, opts: pulumi.ResourceOptions) -> None:
        super().__init__("envfleet:components:Namespace", name, None, opts)
        self.resource = core.Namespace(
            f"{name}-namespace",
            namespace(args),
            pulumi.ResourceOptions(
                parent=self, custom_timeouts=pulumi.CustomTimeouts(create="1m", delete="5m")
            ),
        )
        self.register_outputs({"name": self.resource.metadata.name})
