"""What pods ask of their nodes."""

from config.base import Model
from config.quantities import Cpu, ExtendedResources, Memory


class Requests(Model):
    """What the scheduler sets aside for a pod."""

    cpu: Cpu = "100m"
    """Processors, such as "500m" or "2"."""
    memory: Memory = "192Mi"
    """Memory, such as "512Mi" or "2Gi"."""
    ephemeral_storage: Memory = "64Mi"
    """Space on the node's disk, for logs and what the container writes."""


class Limits(Model):
    """What a pod may use at most."""

    cpu: Cpu = "1"
    """Processors; above it the pod is slowed down."""
    memory: Memory = "512Mi"
    """Memory; above it the pod is killed and restarted."""
    ephemeral_storage: Memory = "2Gi"
    """Space on the node's disk; above it the pod is evicted."""


class Resources(Model):
    """Processors, memory, disk and devices of a pod."""

    requests: Requests = Requests()
    """What the scheduler sets aside."""
    limits: Limits = Limits()
    """What the pod may use at most."""
    extended: ExtendedResources = {}
    """Devices that a node offers by name, such as `nvidia.com/gpu`, and how many; none is shared."""
