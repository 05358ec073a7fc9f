"""The typed configuration of a stack. The text under each key is its documentation."""

from typing import Literal

from config.base import Model
from config.cluster import ClusterConfig
from config.environment import EnvironmentConfig
from config.fields import (
    OWN_PREFIX,
    ExistingNamespace,
    Image,
    NamespaceName,
    NodeLabels,
    NodePort,
    Port,
    Secret,
    SecretName,
    ServerVariables,
    Timeout,
)
from config.resources import Resources

CLIENT_LABEL = f"{OWN_PREFIX}client"


class ServerConfig(Model):
    """The control server. It always runs as one replica."""

    image: Image
    """Image of the server, as `repository:tag`."""
    port: Port = 8080
    """Port that the server listens on."""
    service_type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = "ClusterIP"
    """How it is reached: by the fleet's clients, or by anybody through a node's port or a load balancer."""
    node_port: NodePort | None = None
    """Port on the nodes for service_type NodePort; by default one is assigned."""
    resources: Resources = Resources()
    """Processors, memory and disk."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """How much it logs."""
    env: ServerVariables = {}
    """Environment variables, none of them secret."""


class Client(Model):
    """Pods that may connect to the environments and to the server."""

    namespace: ExistingNamespace | None = None
    """Namespace of the pods; by default any."""
    labels: NodeLabels = {}
    """Labels of the pods; by default all pods of the namespace."""


class NetworkConfig(Model):
    """Who may connect to the fleet. Everything that is not allowed here is refused."""

    clients: list[Client] = [Client(labels={CLIENT_LABEL: "true"})]
    """The fleet's clients; by default the pods labelled `envfleet.dev/client: "true"`, in any namespace."""


class ReadinessConfig(Model):
    """What `up` waits for. It ends early where waiting longer would not help."""

    timeout_seconds: Timeout = 900
    """How long the fleet may take until all of it is ready, pulling images included."""
    through_service: bool = True
    """Whether environments must answer through their Service too, as the control server sees it. That needs
    the permission to forward ports to pods, and nodes that are not simulated."""


class StackConfig(Model):
    """Everything that a stack declares."""

    cluster: ClusterConfig
    """Where the fleet runs."""
    namespace: NamespaceName = "envfleet"
    """Kubernetes namespace of the fleet, made by it and deleted with it."""
    network: NetworkConfig = NetworkConfig()
    """Who may connect to the fleet."""
    readiness: ReadinessConfig = ReadinessConfig()
    """What `up` waits for."""
    secrets: dict[SecretName, Secret] = {}
    """Secrets for environments, encrypted: `pulumi config set --secret --path secrets.NAME`."""
    server: ServerConfig
    """The control server."""
    environments: list[EnvironmentConfig]
    """The environments to run; may be empty."""
