"""What is mounted into an environment."""

from config.base import Model
from config.fields import MountPath, ObjectName, SubPath, VolumeName
from config.quantities import Memory


class EmptyDir(Model):
    """An empty folder that goes with the pod."""

    size_limit: Memory = "1Gi"
    """Space; above it the pod is evicted."""
    memory: bool = False
    """Whether it is in memory, where it counts towards the memory limit, instead of on the node's disk."""


class EphemeralClaim(Model):
    """A disk that is made with the pod and deleted with it."""

    size: Memory
    """Space, such as "10Gi"."""
    storage_class: ObjectName | None = None
    """Kind of disk; by default the cluster's default class."""


class Volume(Model):
    """A folder of the environment that comes from elsewhere: from exactly one of the last five keys."""

    name: VolumeName
    """Name, which no other volume of the environment has."""
    mount_path: MountPath
    """Where it is in the container."""
    sub_path: SubPath | None = None
    """A folder or file within the volume to mount, instead of all of it."""
    read_only: bool = False
    """Whether the environment may only read it; ConfigMaps and Secrets always are read-only."""
    empty_dir: EmptyDir | None = None
    """An empty folder."""
    ephemeral_claim: EphemeralClaim | None = None
    """A disk of its own."""
    persistent_volume_claim: ObjectName | None = None
    """An existing PersistentVolumeClaim of the fleet's namespace."""
    config_map: ObjectName | None = None
    """An existing ConfigMap of the fleet's namespace."""
    secret: ObjectName | None = None
    """An existing Secret of the fleet's namespace."""


SOURCES = ("empty_dir", "ephemeral_claim", "persistent_volume_claim", "config_map", "secret")
