"""Who may do what: a service account for each role, and what the server may read."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.rbac import v1 as rbac

from components.children import child_options
from components.identity import Identity

# Service accounts, each named after the role of its pods.
SERVER = "server"
ENVIRONMENT = "environment"


@dataclass(frozen=True)
class RbacArgs:
    """The namespace, and the fleet (`Identity.instance`) it holds."""

    namespace: str
    instance: str

    def identity(self, role: str) -> Identity:
        """Name and labels of what belongs to a role."""
        return Identity(self.instance, role, role, self.namespace)


def service_account(args: RbacArgs, role: str) -> core.ServiceAccountInitArgs:
    """The account of a role's pods. They get no token of it unless they ask."""
    return core.ServiceAccountInitArgs(
        metadata=args.identity(role).metadata(), automount_service_account_token=False
    )


def server_role(args: RbacArgs) -> rbac.RoleInitArgs:
    """Exactly what the server does: read the pods and services of its namespace."""
    return rbac.RoleInitArgs(
        metadata=args.identity(SERVER).metadata(),
        rules=[rbac.PolicyRuleArgs(api_groups=[""], resources=["pods", "services"], verbs=["list"])],
    )


def server_role_binding(args: RbacArgs) -> rbac.RoleBindingInitArgs:
    """Gives the server's account the server's role."""
    return rbac.RoleBindingInitArgs(
        metadata=args.identity(SERVER).metadata(),
        role_ref=rbac.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind="Role", name=SERVER),
        subjects=[rbac.SubjectArgs(kind="ServiceAccount", name=SERVER, namespace=args.namespace)],
    )


class Rbac(pulumi.ComponentResource):
    """The service accounts `server` and `environment`, and the server's role."""

    def __init__(self, name: str, args: RbacArgs, opts: pulumi.ResourceOptions) -> None:
        super().__init__("envfleet:components:Rbac", name, None, opts)
        child = child_options(name, self, ready="1m", deleted="1m")
        accounts = [
            core.ServiceAccount(f"{name}-{role}-account", service_account(args, role), child)
            for role in (SERVER, ENVIRONMENT)
        ]
        rbac.Role(f"{name}-server-role", server_role(args), child)
        rbac.RoleBinding(f"{name}-server-role-binding", server_role_binding(args), child)
        self.register_outputs({"accounts": [account.metadata.name for account in accounts]})
