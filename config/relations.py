"""Checks that compare several keys.

They read the configuration as it was written, to report together with the checks of single keys, and leave to
those whatever is not well-formed.
"""

from collections.abc import Iterator
from decimal import Decimal

from config.cloud_relations import cloud_problems
from config.environment import expand
from config.environment_relations import environment_problems
from config.errors import Key, Problem, show
from config.fields import LARGEST_COUNT, NAME_LENGTH, SET_SECRET
from config.quantities import quantity
from config.raw import Raw, items, mapping, mappings
from config.resources import Limits, Requests


def problems(raw: Raw) -> Iterator[Problem]:
    """Every contradiction between keys."""
    cluster, server = mapping(raw.get("cluster")), mapping(raw.get("server"))
    environments = [mapping(environment) for environment in items(raw.get("environments"))]
    yield from _repeated_images(items(cluster.get("images")))
    yield from _repeated_host_ports(items(cluster.get("port_mappings")))
    yield from cloud_problems(cluster, sum(len(_names(each)) for each in environments))
    yield from _kubeconfig(cluster, mapping(raw.get("secrets")))
    yield from _service(server, cluster)
    yield from _resources(("server",), server)
    yield from _environment_names(environments)
    yield from _claim_names(environments)
    for index, environment in enumerate(environments):
        yield from _resources(("environments", index), environment)
        yield from environment_problems(("environments", index), environment, mapping(raw.get("secrets")))


def _repeated_images(images: list[object]) -> Iterator[Problem]:
    for index, image in enumerate(images):
        if isinstance(image, str) and image in images[:index]:
            yield Problem(("cluster", "images", index), "is listed twice; remove one", show(image))


def _repeated_host_ports(mappings: list[object]) -> Iterator[Problem]:
    seen: dict[tuple[int, str], int] = {}
    for index, each in enumerate(map(mapping, mappings)):
        port = each.get("host_port")
        if type(port) is not int:
            continue
        first = seen.setdefault((port, str(each.get("protocol", "TCP"))), index)
        if first != index:
            path = ("cluster", "port_mappings", index, "host_port")
            yield Problem(path, f"is taken by port_mappings[{first}]; choose a free port", show(port))


def _service(server: Raw, cluster: Raw) -> Iterator[Problem]:
    port, service_type = server.get("node_port"), server.get("service_type")
    if port is not None and service_type != "NodePort":
        remedy = "works only with service_type: NodePort; add that, or remove node_port"
        yield Problem(("server", "node_port"), remedy, show(port))
    if service_type == "LoadBalancer" and cluster.get("provider") == "kind":
        remedy = "kind has no load balancers; write NodePort and add its node_port to cluster.port_mappings"
        yield Problem(("server", "service_type"), remedy, show(service_type))


def _kubeconfig(cluster: Raw, secrets: Raw) -> Iterator[Problem]:
    if cluster.get("provider") != "existing":
        return
    file, secret = cluster.get("kubeconfig"), cluster.get("kubeconfig_secret")
    if file is None and secret is None:
        remedy = "is required: write the path of the file, or kubeconfig_secret"
        yield Problem(("cluster", "kubeconfig"), remedy)
    elif file is not None and secret is not None:
        remedy = "contradicts kubeconfig; remove one of them"
        yield Problem(("cluster", "kubeconfig_secret"), remedy, show(secret))
    elif isinstance(secret, str) and secret not in secrets:
        remedy = f"write the name of one of the stack's secrets; set a new one: {SET_SECRET}"
        yield Problem(("cluster", "kubeconfig_secret"), remedy, show(secret))


def _resources(owner: tuple[Key, ...], settings: Raw) -> Iterator[Problem]:
    resources = mapping(settings.get("resources"))
    requests = {**Requests().model_dump(), **mapping(resources.get("requests"))}
    limits = {**Limits().model_dump(), **mapping(resources.get("limits"))}
    for what in Requests.model_fields:
        request, limit = _quantity(requests[what]), _quantity(limits[what])
        if request is not None and limit is not None and request > limit:
            yield Problem(
                (*owner, "resources", "limits", what),
                f"is below requests.{what}, {show(requests[what])}; raise this or lower that",
                show(limits[what]),
            )


def _environment_names(environments: list[Raw]) -> Iterator[Problem]:
    owners: dict[str, int] = {}
    for index, environment in enumerate(environments):
        path = ("environments", index, "name")
        name, names = environment.get("name"), _names(environment)
        if not isinstance(name, str) or not names:
            continue
        excess = len(names[-1]) - NAME_LENGTH
        if len(name) <= NAME_LENGTH and excess > 0:
            yield Problem(
                path, f'is too long with its number, as in "{names[-1]}"; shorten it by {excess}', show(name)
            )
        taken = next((each for each in names if each in owners), None)
        if taken is not None:
            yield Problem(
                path, f'"{taken}" is an environment of environments[{owners[taken]}]; rename one', show(name)
            )
        owners = dict.fromkeys(names, index) | owners


def _names(environment: Raw) -> list[str]:
    """The names that an entry stands for; none if that is not well-formed."""
    name, count = environment.get("name"), environment.get("count")
    if isinstance(name, str) and (count is None or (type(count) is int and 1 <= count <= LARGEST_COUNT)):
        return expand(name, count)
    return []


def _claim_names(environments: list[Raw]) -> Iterator[Problem]:
    """A pod's own disk is called after pod and volume: "a-b" and "c" give the same name as "a" and "b-c"."""
    owners: dict[str, int] = {}
    for index, environment in enumerate(environments):
        for place, volume in mappings(environment.get("volumes")):
            if volume.get("ephemeral_claim") is None:
                continue
            claims = [f"{name}-{volume.get('name')}" for name in _names(environment)]
            taken = next((claim for claim in claims if owners.get(claim, index) != index), None)
            if taken is not None:
                path = ("environments", index, "volumes", place, "name")
                remedy = (
                    f'its disk "{taken}" would be that of environments[{owners[taken]}]; rename the volume'
                )
                yield Problem(path, remedy, show(volume.get("name")))
            owners = dict.fromkeys(claims, index) | owners


def _quantity(value: object) -> Decimal | None:
    try:
        return quantity(value) if isinstance(value, str) else None
    except ValueError:
        return None
