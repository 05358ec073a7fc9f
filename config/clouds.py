"""What clusters in all clouds have in common."""

from typing import Literal

from config.base import Model
from config.cloud_fields import DiskGib, Expiry, NodeCount, Owner, PoolName
from config.fields import Cidr, ClusterName, Labels, LabelValue, QualifiedName

# What all three clouds offer, and a fleet is tried out with.
KubernetesVersion = Literal["1.33", "1.34", "1.35"]


class Taint(Model):
    """What keeps pods off a node that do not tolerate it."""

    key: QualifiedName
    """Key of the taint."""
    value: LabelValue = ""
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"
    """What becomes of pods that do not tolerate it."""


class NodePool(Model):
    """Nodes that are all alike."""

    name: PoolName
    """Name of the pool; another name is another pool."""
    nodes: NodeCount = 1
    """How many nodes."""
    spot: bool = False
    """Whether to run on spare capacity: far cheaper, but the cloud may take nodes away at any time."""
    disk_gib: DiskGib = 50
    """Disk of each node, in GiB: images, logs, and what containers write."""
    labels: Labels = {}
    """Labels of the nodes."""
    taints: list[Taint] = []
    """Taints of the nodes. At least one pool has none, for Kubernetes' own pods."""


class CloudConfig(Model):
    """A cluster in a cloud."""

    name: ClusterName
    """Name of the cluster; by default `envfleet-` and the stack's name."""
    owner: Owner
    """Who answers for it, and for what it costs: a person or a team. It is a tag of everything."""
    expires: Expiry | None = None
    """Until when it is needed, such as "2027-01-31T18:00Z". A cluster without an expiry is protected: its
    deletion is refused until it has one."""
    kubernetes_version: KubernetesVersion = "1.34"
    """Kubernetes minor version. A later one upgrades the cluster in place, one minor version at a time."""
    api_access: list[Cidr]
    """Networks from which the Kubernetes API can be reached: yours, and that of your CI."""
    public_api: bool = False
    """Whether `api_access` may be the whole internet."""
