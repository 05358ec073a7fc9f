"""A fleet as plain Kubernetes objects, rendered from our own builders, for tools that know no Pulumi."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from pulumi.runtime import rpc

from components import environment, namespace, network, rbac, server
from components.fleet import FleetArgs, environment_args, server_args

_GROUPS = {"Deployment": "apps/v1", "NetworkPolicy": "networking.k8s.io/v1"} | dict.fromkeys(
    ("Role", "RoleBinding"), "rbac.authorization.k8s.io/v1"
)


def rendered(args: FleetArgs) -> list[dict[str, Any]]:
    """All objects that a Fleet of these arguments declares, the namespace first."""

    async def all_objects() -> list[dict[str, Any]]:
        return [await _plain(made) for made in _built(args)]

    return asyncio.run(all_objects())


def _built(args: FleetArgs) -> Iterator[object]:
    config, place = args.config, (args.config.namespace, args.instance)
    environments = environment_args(args)
    yield namespace.namespace(namespace.NamespaceArgs(*place))
    roles = rbac.RbacArgs(*place)
    yield from (rbac.service_account(roles, role) for role in (rbac.SERVER, rbac.ENVIRONMENT))
    yield from (rbac.server_role(roles), rbac.server_role_binding(roles))
    yield from network.policies(network.NetworkArgs(*place, config.network, environments)).values()
    yield from (server.deployment(server_args(args)), server.service(server_args(args)))
    for each in environments:
        yield from (environment.pod(each), environment.service(each))


async def _plain(made: object) -> dict[str, Any]:
    kind = type(made).__name__.removesuffix("InitArgs")
    properties: Mapping[str, Any] = await rpc.serialize_property(made, [], None, typ=type(made))
    metadata = {key: value for key, value in properties["metadata"].items() if key != "annotations"}
    return {"apiVersion": _GROUPS.get(kind, "v1"), "kind": kind, **properties, "metadata": metadata}
