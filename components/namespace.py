"""The namespace that holds a fleet."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.core import v1 as core

from components.identity import Identity
from config.environment import SecurityLevel


@dataclass(frozen=True)
class NamespaceArgs:
    """The name of the namespace, the fleet (`Identity.instance`) it is for, and the Pod Security level."""

    name: str
    instance: str
    level: SecurityLevel = "restricted"


def namespace(args: NamespaceArgs) -> core.NamespaceInitArgs:
    """A namespace that admits only pods of its Pod Security level; others than restricted are noted."""
    identity = Identity(args.instance, "namespace", args.name, namespace=None)
    levels = {"enforce": args.level, "audit": "restricted", "warn": "restricted"}
    return core.NamespaceInitArgs(
        metadata=identity.metadata(
            {f"pod-security.kubernetes.io/{mode}": level for mode, level in levels.items()}
        )
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
