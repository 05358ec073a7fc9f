"""What a fleet may do on a cluster, so that all of it works: from the first `up` to the last `down`.

docs/existing-cluster-role.yaml is written from this table by `make docs`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

_READ = ("get", "list", "watch")
_OWN = (*_READ, "create", "patch", "delete")


@dataclass(frozen=True)
class Permission:
    """To do some things with the objects of a kind.

    resource: in the plural, a subresource after a slash.
    is_cluster_wide: in all namespaces, or of objects that are in none.
    without: what does not work without it; empty if nothing does.
    """

    resource: str
    verbs: tuple[str, ...]
    group: str = ""
    is_cluster_wide: bool = False
    without: str = ""

    @property
    def attributes(self) -> Iterator[dict[str, str]]:
        """As a SelfSubjectAccessReview asks for it, each verb by itself, but for the namespace."""
        resource, _, subresource = self.resource.partition("/")
        for verb in self.verbs:
            yield {"group": self.group, "resource": resource, "subresource": subresource, "verb": verb}


PERMISSIONS = (
    Permission("namespaces", _OWN, is_cluster_wide=True),
    Permission("serviceaccounts", _OWN),
    Permission("roles", _OWN, "rbac.authorization.k8s.io"),
    Permission("rolebindings", _OWN, "rbac.authorization.k8s.io"),
    Permission("networkpolicies", _OWN, "networking.k8s.io"),
    Permission("secrets", _OWN),
    Permission("services", _OWN),
    Permission("deployments", _OWN, "apps"),
    Permission("pods", _OWN),
    Permission("endpointslices", _READ, "discovery.k8s.io"),
    Permission("events", _READ),
    Permission("replicasets", _READ, "apps"),  # Pulumi watches those of the server's Deployment
    Permission("pods/log", ("get",)),
    Permission("pods/portforward", ("get", "create")),
    Permission(
        "nodes",
        _READ,
        is_cluster_wide=True,
        without="why a pod finds no node, and which pods are on a lost one, can't be told",
    ),
    Permission(
        "pods",
        ("list",),
        is_cluster_wide=True,
        without="how much room the nodes have left can't be told",
    ),
    Permission(
        "daemonsets",
        ("list",),
        "apps",
        is_cluster_wide=True,
        without="whether network policies are enforced can't be found out",
    ),
)
