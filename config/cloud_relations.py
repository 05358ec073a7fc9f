"""Checks that compare several keys of a cluster in a cloud; see `config.relations`."""

import ipaddress
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from pydantic import TypeAdapter, ValidationError

from config.aws import AwsNetwork, architecture
from config.cloud_fields import Expiry
from config.errors import Problem, show
from config.raw import Raw, items, mapping, mappings

_EXPELLING = ("NoSchedule", "NoExecute")
_SMALLEST_SUBNET = 28  # of AWS
_RESERVED_ADDRESSES = 5  # of each subnet, by AWS
_ADDRESSES_OF_A_NODE = 8  # its own, and those of Kubernetes' own pods on it


def cloud_problems(cluster: Raw, pods: int) -> Iterator[Problem]:
    """Every contradiction within the cluster, which shall have room for so many pods of the fleet."""
    if "node_pools" not in cluster:  # no cluster in a cloud
        return
    yield from _access(cluster)
    yield from _expiry(cluster)
    yield from _pools(dict(mappings(cluster["node_pools"])))
    if cluster.get("provider") == "aws":
        yield from _aws(cluster, pods)


def _access(cluster: Raw) -> Iterator[Problem]:
    if cluster.get("api_access") == []:
        remedy = "write at least one network, or nobody could reach the Kubernetes API"
        yield Problem(("cluster", "api_access"), remedy, "[]")
    for index, cidr in enumerate(items(cluster.get("api_access"))):
        if isinstance(cidr, str) and cidr.endswith("/0") and cluster.get("public_api") is not True:
            remedy = "is the whole internet; write your own networks, or add public_api: true"
            yield Problem(("cluster", "api_access", index), remedy, show(cidr))


def _expiry(cluster: Raw) -> Iterator[Problem]:
    try:
        expires = TypeAdapter(Expiry).validate_python(cluster.get("expires"), strict=True)
    except ValidationError:
        return
    if datetime.fromisoformat(expires) < datetime.now(UTC):
        remedy = "is over: write a later moment, or destroy the stack (`make down`)"
        yield Problem(("cluster", "expires"), remedy, show(expires))


def _pools(pools: dict[int, Raw]) -> Iterator[Problem]:
    names = [pool.get("name") for pool in pools.values()]
    for index, pool in pools.items():
        path = ("cluster", "node_pools", index)
        name = pool.get("name")
        if isinstance(name, str) and name in names[:index]:
            yield Problem((*path, "name"), "is the name of another pool; rename one", show(name))
        taints = Counter(
            (str(taint.get("key")), str(taint.get("effect", "NoSchedule")))
            for _, taint in mappings(pool.get("taints"))
        )
        for (key, effect), number in taints.items():
            if number > 1:
                remedy = f"has {effect} of {key} twice; remove one"
                yield Problem((*path, "taints"), remedy, "[…]")
    if not any(map(_is_for_the_system, pools.values())):
        remedy = (
            "needs a pool with nodes: 1 or more that is not spot and has no taints, for Kubernetes' own pods"
        )
        yield Problem(("cluster", "node_pools"), remedy)


def _is_for_the_system(pool: Raw) -> bool:
    effects = [taint.get("effect", "NoSchedule") for _, taint in mappings(pool.get("taints"))]
    return pool.get("nodes") != 0 and pool.get("spot") is not True and not {*effects} & {*_EXPELLING}


def _aws(cluster: Raw, pods: int) -> Iterator[Problem]:
    network, region = mapping(cluster.get("network")), cluster.get("region")
    path = ("cluster", "network")
    zones = [zone for zone in items(network.get("zones")) if isinstance(zone, str)]
    for index, zone in enumerate(zones):
        if isinstance(region, str) and not zone.startswith(region):
            yield Problem((*path, "zones", index), f"is not in region {region}; write its zones", show(zone))
        if zone in zones[:index]:
            yield Problem((*path, "zones", index), "is listed twice; remove one", show(zone))
    if len(zones) == 1:
        yield Problem((*path, "zones"), "EKS needs two zones at least; add another", "[…]")
    for index, pool in mappings(cluster.get("node_pools")):
        place = ("cluster", "node_pools", index, "instance_types")
        types = [each for each in items(pool.get("instance_types")) if isinstance(each, str)]
        if pool.get("instance_types") == []:
            yield Problem(place, 'write at least one, such as "t3.medium"', "[]")
        if len({architecture(each) for each in types}) > 1:
            yield Problem(place, "have different processors or devices; make it a pool for each kind", "[…]")
    yield from _addresses(cluster, network, max(len(zones), 2), pods)


def _addresses(cluster: Raw, network: Raw, zones: int, pods: int) -> Iterator[Problem]:
    try:
        defaults = AwsNetwork().model_dump()
        vpc, services = (
            ipaddress.IPv4Network(str(network.get(key, defaults[key]))) for key in ("cidr", "service_cidr")
        )
    except ValueError:
        return
    if vpc.overlaps(services):
        remedy = f"overlaps with cidr, {vpc}; choose addresses that the VPC has not"
        yield Problem(("cluster", "network", "service_cidr"), remedy, show(str(services)))
    # Of the VPC, private subnets have half, and public ones an eighth: see providers/aws/network.py.
    smallest = vpc.prefixlen + 3 + (zones - 1).bit_length()
    if smallest > _SMALLEST_SUBNET:
        remedy = f"is too small for subnets in {zones} zones; choose a length that is less by "
        yield Problem(
            ("cluster", "network", "cidr"), f"{remedy}{smallest - _SMALLEST_SUBNET}", show(str(vpc))
        )
    room = vpc.num_addresses // 2 - zones * _RESERVED_ADDRESSES
    counts = [pool.get("nodes", 1) for _, pool in mappings(cluster.get("node_pools"))]
    nodes = sum(count for count in counts if isinstance(count, int))
    needed = pods + nodes * _ADDRESSES_OF_A_NODE
    if needed > room:
        remedy = f"has {room} addresses for nodes and pods, which need {needed}; choose a shorter length"
        yield Problem(("cluster", "network", "cidr"), remedy, show(str(vpc)))
