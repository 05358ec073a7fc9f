"""What an EKS cluster is made of, as far as it can be told without an engine."""

import ipaddress
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from config.aws import Architecture, AwsNodePool, architecture
from config.clouds import Taint
from providers.aws import control_plane, kubeconfig, nodes, roles
from providers.aws.network import NetworkArgs, subnets

NODES = nodes.NodesArgs(
    cluster="lab",
    name="lab",
    version="1.34",
    role_arn="arn:node",
    disks_role_arn="arn:disks",
    subnet_ids=["subnet-1", "subnet-2"],
    pools=[],
    tags={"envfleet:owner": "team-rl"},
)
CONTROL_PLANE = control_plane.ControlPlaneArgs(
    name="lab",
    version="1.34",
    account="111122223333",
    partition="aws",
    region="eu-central-1",
    subnet_ids=["subnet-1"],
    role_arn="arn:cluster",
    service_cidr="172.20.0.0/16",
    api_access=["203.0.113.0/24"],
    administrators=[],
    log_days=30,
    protected=True,
)


@given(length=st.integers(16, 21), zones=st.integers(2, 6))
def test_subnets_lie_in_the_vpc_apart_from_each_other_and_are_of_a_size_that_aws_has(length, zones):
    args = NetworkArgs("lab", f"10.0.0.0/{length}", [f"zone-{number}" for number in range(zones)], False)
    planned = subnets(args)
    assert [each.zone for each in planned] == list(args.zones)
    networks = [ipaddress.ip_network(cidr) for each in planned for cidr in (each.private, each.public)]
    vpc = ipaddress.ip_network(args.cidr)
    for index, network in enumerate(networks):
        assert network.subnet_of(vpc)
        assert 16 <= network.prefixlen <= 28
        assert not any(network.overlaps(other) for other in networks[:index])


@given(zones=st.integers(2, 5))
def test_one_more_zone_moves_no_subnet_unless_their_number_doubles(zones):
    names = [f"zone-{number}" for number in range(zones + 1)]
    before, after = (
        subnets(NetworkArgs("lab", "10.0.0.0/16", names[:number], False)) for number in (zones, zones + 1)
    )
    assert after[:zones] == before or zones in {2, 4}


@pytest.mark.parametrize(
    ("instance_type", "expected"),
    [
        ("t3.medium", Architecture.X86),
        ("m7i-flex.large", Architecture.X86),
        ("t4g.small", Architecture.ARM),
        ("m7gd.xlarge", Architecture.ARM),
        ("c7gn.large", Architecture.ARM),
        ("g5.xlarge", Architecture.NVIDIA),
        ("gr6.4xlarge", Architecture.NVIDIA),
        ("p4d.24xlarge", Architecture.NVIDIA),
        ("g5g.xlarge", Architecture.ARM_NVIDIA),
        ("g4ad.xlarge", Architecture.X86),
        ("inf2.xlarge", Architecture.X86),
    ],
)
def test_an_instance_type_tells_its_image(instance_type, expected):
    assert architecture(instance_type) is expected


def test_a_pool_of_spot_nodes_has_as_many_as_configured():
    taint = Taint(key="nvidia.com/gpu", value="present")
    pool = AwsNodePool(name="gpu", nodes=3, spot=True, instance_types=["g5.xlarge"], taints=[taint])
    group = nodes.node_group(NODES, pool, "the template")
    assert (group.capacity_type, group.ami_type) == ("SPOT", "AL2023_x86_64_NVIDIA")
    assert (group.scaling_config.desired_size, group.scaling_config.min_size) == (3, 3)
    assert [each.effect for each in group.taints] == ["NO_SCHEDULE"]


def test_an_empty_pool_is_one_that_eks_accepts():
    group = nodes.node_group(NODES, AwsNodePool(name="none", nodes=0), "the template")
    assert group.scaling_config.desired_size == 0
    assert group.scaling_config.max_size == 1


def test_pods_get_no_credentials_of_their_node_and_disks_are_encrypted():
    template = nodes.launch_template(NODES, AwsNodePool(name="system", disk_gib=80))
    assert template.metadata_options.http_tokens == "required"
    assert template.metadata_options.http_put_response_hop_limit == 1
    (disk,) = template.block_device_mappings
    assert (disk.ebs.encrypted, disk.ebs.volume_size) == ("true", 80)
    assert all(each.tags["envfleet:owner"] == "team-rl" for each in template.tag_specifications)


def test_network_policies_are_enforced():
    assert json.loads(nodes.addon(NODES, "vpc-cni").configuration_values) == {"enableNetworkPolicy": "true"}


def test_the_control_plane_is_closed_but_to_the_networks_that_may_reach_it():
    cluster = control_plane.cluster(CONTROL_PLANE, "arn:key")
    assert cluster.vpc_config.public_access_cidrs == ["203.0.113.0/24"]
    assert cluster.vpc_config.endpoint_private_access is True
    assert cluster.access_config.authentication_mode == "API"
    assert cluster.encryption_config.resources == ["secrets"]
    assert set(cluster.enabled_cluster_log_types) >= {"audit", "api"}
    assert cluster.deletion_protection is True


def test_each_role_is_taken_on_by_its_service_alone():
    for args in roles.cluster_roles("lab", "aws").values():
        (statement,) = json.loads(roles.role(args).assume_role_policy)["Statement"]
        assert statement["Principal"] == {"Service": args.service}


def test_the_kubeconfig_holds_no_credentials():
    cluster = {
        "name": "lab",
        "region": "eu-central-1",
        "endpoint": "https://x",
        "certificate_authority": "Y2E=",
    }
    made = yaml.safe_load(kubeconfig(cluster))
    assert made["users"][0]["user"].keys() == {"exec"}
    assert made["users"][0]["user"]["exec"]["command"] == "aws"
    assert made["current-context"] == "lab"
