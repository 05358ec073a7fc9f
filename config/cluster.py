"""Where the fleet runs: a model a provider."""

from typing import Annotated, Literal

from pydantic import Field

from config.aws import AwsConfig
from config.base import Model
from config.fields import (
    Address,
    ClusterName,
    Context,
    ControlPlaneNodes,
    FeatureGates,
    FilePath,
    Image,
    Port,
    SecretName,
    Timeout,
    WorkerNodes,
)


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


class ExistingConfig(Model):
    """A cluster that is there already, whoever made it. Only the fleet is made on it, and deleted from it."""

    provider: Literal["existing"]
    """Where the cluster runs."""
    name: ClusterName
    """What outputs call the cluster; by default `envfleet-` and the stack's name."""
    context: Context
    """Context of the kubeconfig. It is never chosen for you, be it the current one or the only one."""
    kubeconfig: FilePath | None = None
    """Path of the kubeconfig; `~` is your home. Its files and the context's credentials go into the state,
    encrypted; those that a credential plugin gets do not."""
    kubeconfig_secret: SecretName | None = None
    """Entry of `secrets` that holds the kubeconfig, where there is no file."""
    enforces_network_policies: bool | None = None
    """Whether the cluster enforces network policies; by default that is found out, and demanded."""


# One member a provider; pydantic picks it by the `provider` key.
ClusterConfig = Annotated[KindConfig | ExistingConfig | AwsConfig, Field(discriminator="provider")]
