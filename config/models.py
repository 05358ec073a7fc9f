"""The typed configuration of a stack. The text under each key is its documentation."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from config.fields import (
    Address,
    ClusterName,
    ControlPlaneNodes,
    Count,
    Cpu,
    EnvironmentName,
    FeatureGates,
    HealthPath,
    Image,
    Labels,
    Memory,
    NamespaceName,
    NodePort,
    Port,
    ServerVariables,
    Timeout,
    Variables,
    WorkerNodes,
)


class Model(BaseModel):
    """Strict (no `"8000"` for 8000), frozen, and without unknown keys."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", use_attribute_docstrings=True)


class PortMapping(Model):
    """A port of the cluster's first node that this machine listens on, for a Service of type NodePort."""

    container_port: Port
    """Port on the node: the Service's node port."""
    host_port: Port
    """Port on this machine."""
    listen_address: Address = "127.0.0.1"
    """Address of this machine to listen on."""
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    """Transport protocol."""


class KindConfig(Model):
    """A cluster of containers on this machine."""

    provider: Literal["kind"]
    """Where the cluster runs."""
    name: ClusterName
    """Name of the cluster; by default `envfleet-` and the stack's name."""
    node_image: Image | None = None
    """Image of the nodes, which decides the Kubernetes version; by default the toolchain's pinned one."""
    control_plane_nodes: ControlPlaneNodes = 1
    """Control plane nodes, an odd number: etcd needs a majority."""
    worker_nodes: WorkerNodes = 0
    """Worker nodes; with none, the control plane nodes run the pods."""
    port_mappings: list[PortMapping] = []
    """Ports of the first node to publish on this machine."""
    images: list[Image] = []
    """Images of this machine's container engine to load into the nodes, instead of pulling them."""
    feature_gates: FeatureGates = {}
    """Kubernetes feature gates to switch on or off."""
    ready_timeout_seconds: Timeout = 300
    """How long the nodes may take to become Ready, in seconds."""


# One member a provider; pydantic picks it by the `provider` key.
ClusterConfig = Annotated[KindConfig, Field(discriminator="provider")]


class Requests(Model):
    """What the scheduler sets aside for a pod."""

    cpu: Cpu = "100m"
    """Processors, such as "500m" or "2"."""
    memory: Memory = "192Mi"
    """Memory, such as "512Mi" or "2Gi"."""


class Limits(Model):
    """What a pod may use at most."""

    cpu: Cpu = "1"
    """Processors; above it the pod is slowed down."""
    memory: Memory = "512Mi"
    """Memory; above it the pod is killed and restarted."""


class Resources(Model):
    """Processors and memory of a pod."""

    requests: Requests = Requests()
    """What the scheduler sets aside."""
    limits: Limits = Limits()
    """What the pod may use at most."""


class ServerConfig(Model):
    """The control server. It always runs as one replica."""

    image: Image
    """Image of the server, as `repository:tag`."""
    port: Port = 8080
    """Port that the server listens on."""
    service_type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = "ClusterIP"
    """How it is reached: from inside the cluster, through a port of the nodes, or by a load balancer."""
    node_port: NodePort | None = None
    """Port on the nodes for service_type NodePort; by default one is assigned."""
    resources: Resources = Resources()
    """Processors and memory."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """How much it logs."""
    env: ServerVariables = {}
    """Environment variables, none of them secret."""


class EnvironmentConfig(Model):
    """An environment: a pod with a Service in front, or `count` of them."""

    name: EnvironmentName
    """Name, also in its URL; with `count`, followed by -0, -1, and so on."""
    image: Image
    """Image that serves the environment, as `repository:tag`."""
    port: Port = 8000
    """Port that the image listens on, and that of the Service."""
    env: Variables = {}
    """Environment variables, none of them secret."""
    command: list[str] = []
    """Command to run instead of the image's entrypoint."""
    args: list[str] = []
    """Arguments to pass instead of the image's own."""
    resources: Resources = Resources()
    """Processors and memory of each pod."""
    health_path: HealthPath = "/health"
    """Path that answers 2xx once the environment works."""
    count: Count | None = None
    """How many of this environment to run; without it, one that has no number in its name."""
    labels: Labels = {}
    """More labels for the pod and the Service."""

    @property
    def names(self) -> list[str]:
        """The name of each environment that this entry stands for."""
        return expand(self.name, self.count)


class StackConfig(Model):
    """Everything that a stack declares."""

    cluster: ClusterConfig
    """Where the fleet runs."""
    namespace: NamespaceName = "envfleet"
    """Kubernetes namespace of the fleet, made by it and deleted with it."""
    server: ServerConfig
    """The control server."""
    environments: list[EnvironmentConfig]
    """The environments to run; may be empty."""


def expand(name: str, count: int | None) -> list[str]:
    """`echo` alone, or `echo-0`, `echo-1`, … when there is a count."""
    return [name] if count is None else [f"{name}-{number}" for number in range(count)]
