"""A cluster in AWS: EKS."""

import re
from enum import StrEnum
from typing import Literal

from config.base import Model
from config.cloud_fields import AwsPrincipal, AwsRegion, InstanceType, LogDays, PrivateCidr, Zone
from config.clouds import CloudConfig, NodePool


class Architecture(StrEnum):
    """What an instance type needs of its image, by EKS's name of that."""

    X86 = "AL2023_x86_64_STANDARD"
    ARM = "AL2023_ARM_64_STANDARD"
    NVIDIA = "AL2023_x86_64_NVIDIA"
    ARM_NVIDIA = "AL2023_ARM_64_NVIDIA"


def architecture(instance_type: str) -> Architecture:
    """By the type's name: families p and g have GPUs of NVIDIA, and a "g" after the generation means ARM."""
    family = instance_type.partition(".")[0]
    is_arm = re.match(r"[a-z]+\d+g", family) is not None
    if re.match(r"(p|g|gr)\d", family) and not family.startswith("g4ad"):
        return Architecture.ARM_NVIDIA if is_arm else Architecture.NVIDIA
    return Architecture.ARM if is_arm else Architecture.X86


class AwsNodePool(NodePool):
    """A managed node group, spread over the zones."""

    instance_types: list[InstanceType] = ["t3.medium"]
    """EC2 instance types of one architecture; with `spot`, several make it likelier that one can be had."""


class AwsNetwork(Model):
    """The VPC: in each zone a private subnet for nodes and pods, a public one for NAT and load balancers."""

    cidr: PrivateCidr = "10.0.0.0/16"
    """Addresses of the VPC. Each pod has one of them."""
    service_cidr: PrivateCidr = "172.20.0.0/16"
    """Addresses of Services, which exist only within the cluster."""
    zones: list[Zone] = []
    """Availability zones, at least two; by default the region's first two."""
    nat_gateways: Literal["one", "per-zone"] = "one"
    """Ways out: one for all zones is cheaper, one in each lets the others go on when a zone fails."""


class AwsConfig(CloudConfig):
    """An EKS cluster with a VPC of its own."""

    provider: Literal["aws"]
    """Where the cluster runs."""
    region: AwsRegion
    """Region, such as "eu-central-1"."""
    network: AwsNetwork = AwsNetwork()
    """The VPC."""
    administrators: list[AwsPrincipal] = []
    """ARNs of IAM roles and users who administer the cluster besides whoever makes it."""
    log_days: LogDays = 30
    """How long the control plane's logs are kept, in days."""
    node_pools: list[AwsNodePool]
    """The nodes."""
