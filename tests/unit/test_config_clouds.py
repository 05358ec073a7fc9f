"""Mistakes in the configuration of a cluster in a cloud: one clear line each."""

import pytest

import config
from cli import stackfile
from toolchain.layout import ROOT

LIST = 'write a list, each item on its own line after "- "'
CIDR = 'write a network as address/length, with zeros after the length, such as "10.20.0.0/16"'
PRIVATE = 'write a private IPv4 network from /16 to /24, zeros after its length, such as "10.0.0.0/16"'
SYSTEM = "needs a pool with nodes: 1 or more that is not spot and has no taints, for Kubernetes' own pods"
MOMENT = 'write a moment with its time zone, such as "2027-01-31T18:00Z"'
POOL = "use 1 to 12 lower-case letters and digits, starting with a letter"
DAYS = (
    "write one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922"
)


def problems(provider: str, *changes: tuple[str, object]) -> list[str]:
    """What is wrong with the sample stack, changed at the dotted paths within `cluster`."""
    raw = stackfile.read(ROOT / f"Pulumi.{provider}.yaml")
    raw["cluster"]["expires"] = "2099-01-31T18:00Z"
    for path, value in changes:
        *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
        target = raw["cluster"]
        for part in parents:
            target = target[part]
        if value is None:
            del target[last]
        else:
            target[last] = value
    try:
        config.parse(raw, provider)
    except config.ConfigError as error:
        return [str(problem).removeprefix("envfleet:cluster.") for problem in error.problems]
    return []


@pytest.mark.parametrize("provider", ["aws"])
def test_the_sample_stack_is_valid(provider):
    assert problems(provider) == []


COMMON = [
    (
        "owner",
        None,
        (
            "owner: is required: Who answers for it, and for what it costs: a person or a team. "
            "It is a tag of everything."
        ),
    ),
    (
        "owner",
        "Team RL",
        "owner = \"Team RL\": use at most 63 lower-case letters, digits, '-' and '_', such as \"team-rl\"",
    ),
    ("expires", "2027-01-31", f'expires = "2027-01-31": {MOMENT}'),
    ("expires", "next week", f'expires = "next week": {MOMENT}'),
    (
        "expires",
        "2020-01-31T18:00Z",
        'expires = "2020-01-31T18:00Z": is over: write a later moment, or destroy the stack (`make down`)',
    ),
    ("kubernetes_version", "1.24", "kubernetes_version = \"1.24\": write '1.33', '1.34' or '1.35'"),
    ("kubernetes_version", 1.34, "kubernetes_version = 1.34: write '1.33', '1.34' or '1.35'"),
    (
        "api_access",
        [],
        "api_access = []: write at least one network, or nobody could reach the Kubernetes API",
    ),
    (
        "api_access",
        ["0.0.0.0/0"],
        (
            'api_access[0] = "0.0.0.0/0": is the whole internet; '
            "write your own networks, or add public_api: true"
        ),
    ),
    (
        "api_access",
        ["203.0.113.7"],
        'api_access[0] = "203.0.113.7": write its length too: "203.0.113.7/32" for this address alone',
    ),
    ("api_access", ["203.0.113.7/24"], f'api_access[0] = "203.0.113.7/24": {CIDR}'),
    ("node_pools", [], f"node_pools: {SYSTEM}"),
    ("node_pools.0.spot", True, f"node_pools: {SYSTEM}"),
    ("node_pools.0.nodes", 0, f"node_pools: {SYSTEM}"),
    ("node_pools.0.taints", [{"key": "a"}], f"node_pools: {SYSTEM}"),
    ("node_pools.0.name", "System", f'node_pools[0].name = "System": {POOL}'),
    ("node_pools.0.name", "a-long-name", f'node_pools[0].name = "a-long-name": {POOL}'),
    ("node_pools.1.name", "system", 'node_pools[1].name = "system": is the name of another pool; rename one'),
    ("node_pools.0.nodes", -1, "node_pools[0].nodes = -1: write a whole number from 0 to 1000"),
    ("node_pools.0.disk_gib", 5, "node_pools[0].disk_gib = 5: write a whole number from 20 to 16000"),
    ("node_pools.0.node", 3, 'node_pools[0].node: unknown key; did you mean "nodes"?'),
    (
        "node_pools.1.taints",
        [{"key": "a"}, {"key": "a", "value": "b"}],
        "node_pools[1].taints = […]: has NoSchedule of a twice; remove one",
    ),
    (
        "node_pools.1.taints.0.effect",
        "Evict",
        "node_pools[1].taints[0].effect = \"Evict\": write 'NoSchedule', 'PreferNoSchedule' or 'NoExecute'",
    ),
    (
        "node_pools.0.labels",
        {"kubernetes.io/role": "x"},
        (
            'node_pools[0].labels["kubernetes.io/role"] = "kubernetes.io/role": labels with this prefix '
            "are Kubernetes' and the fleet's own; use another prefix"
        ),
    ),
]
AWS = [
    ("region", "Frankfurt", 'region = "Frankfurt": write it as in "eu-central-1"'),
    ("network.zones", ["eu-central-1a"], "network.zones = […]: EKS needs two zones at least; add another"),
    (
        "network.zones",
        ["eu-central-1a", "us-east-1b"],
        'network.zones[1] = "us-east-1b": is not in region eu-central-1; write its zones',
    ),
    (
        "network.zones",
        ["eu-central-1a", "eu-central-1a"],
        'network.zones[1] = "eu-central-1a": is listed twice; remove one',
    ),
    ("network.zones", ["a", "b"], 'network.zones[0] = "a": write it as in "eu-central-1a"'),
    ("network.cidr", "10.0.0.0/8", f'network.cidr = "10.0.0.0/8": {PRIVATE}'),
    ("network.cidr", "8.8.0.0/16", f'network.cidr = "8.8.0.0/16": {PRIVATE}'),
    ("network.cidr", "10.0.0.1/16", f'network.cidr = "10.0.0.1/16": {PRIVATE}'),
    (
        "network.service_cidr",
        "10.0.0.0/20",
        (
            'network.service_cidr = "10.0.0.0/20": overlaps with cidr, 10.0.0.0/16; '
            "choose addresses that the VPC has not"
        ),
    ),
    ("network.nat_gateways", "none", "network.nat_gateways = \"none\": write 'one' or 'per-zone'"),
    (
        "administrators",
        ["platform"],
        'administrators[0] = "platform": write it as in "arn:aws:iam::111122223333:role/platform"',
    ),
    ("log_days", 31, f"log_days = 31: {DAYS}, 3288, 3653"),
    (
        "node_pools.0.instance_types",
        [],
        'node_pools[0].instance_types = []: write at least one, such as "t3.medium"',
    ),
    (
        "node_pools.0.instance_types",
        ["large"],
        'node_pools[0].instance_types[0] = "large": write it as in "m7i.large"',
    ),
    (
        "node_pools.0.instance_types",
        ["m7i.large", "m7g.large"],
        (
            "node_pools[0].instance_types = […]: have different processors or devices; "
            "make it a pool for each kind"
        ),
    ),
]


@pytest.mark.parametrize(("path", "value", "said"), [*COMMON, *AWS])
def test_a_mistake_gives_one_line(path, value, said):
    found = problems("aws", (path, value))
    assert said in found
    assert len(found) == len(set(found)) == 1 or path == "network.zones"


def test_the_whole_internet_may_be_let_in_by_saying_so():
    assert problems("aws", ("api_access", ["0.0.0.0/0"]), ("public_api", True)) == []


def test_a_network_that_is_too_small_for_the_pods_says_by_how_much():
    (said,) = problems("aws", ("network.cidr", "10.0.0.0/24"), ("node_pools.0.nodes", 20))
    assert said == (
        'network.cidr = "10.0.0.0/24": has 118 addresses for nodes and pods, which need 164; '
        "choose a shorter length"
    )


def test_a_network_that_is_too_small_for_the_zones_says_so():
    zones = ["eu-central-1a", "eu-central-1b", "eu-central-1c"]
    (said,) = problems("aws", ("network.cidr", "10.0.0.0/24"), ("network.zones", zones))
    assert said == (
        'network.cidr = "10.0.0.0/24": is too small for subnets in 3 zones; choose a length that is less by 1'
    )
