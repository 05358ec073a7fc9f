"""One environment, or several of a kind."""

from typing import Literal

from config.base import Model
from config.capabilities import Capability
from config.fields import (
    Annotations,
    Cidr,
    Count,
    EnvironmentName,
    Failures,
    GroupId,
    HealthPath,
    Image,
    Labels,
    Lifetime,
    NodeLabels,
    ObjectName,
    ObjectNames,
    Port,
    Seconds,
    Text,
    UserId,
    VariableName,
    Variables,
)
from config.resources import Resources
from config.scheduling import Affinity, Toleration
from config.storage import Volume

# Names of an environment's ports.
PORT, HEALTH_PORT = "http", "health"
SecurityLevel = Literal["restricted", "baseline", "privileged"]


class Health(Model):
    """How Kubernetes finds out whether an environment works: a GET that must be answered with 2xx or 3xx."""

    path: HealthPath = "/health"
    """Path to ask for."""
    port: Port | None = None
    """Port to ask; by default the environment's."""
    scheme: Literal["HTTP", "HTTPS"] = "HTTP"
    """Protocol; certificates are not verified."""
    timeout_seconds: Seconds = 5
    """How long an answer may take."""
    period_seconds: Seconds = 5
    """Time between two questions. While the environment starts, it is asked every second."""
    failures: Failures = 3
    """After so many failures in a row clients are kept away, until it answers again."""
    restart_seconds: Lifetime | None = 120
    """Restarted when it has not answered for so long: longer than its longest step. `null`: never."""


class Security(Model):
    """What the environment's process may do. The default is what Pod Security `restricted` allows.

    The fleet's namespace admits the least strict level among its environments.
    """

    level: SecurityLevel = "restricted"
    """Pod Security level to stay within; anything but restricted is a label of the pod too."""
    run_as_user: UserId | None = None
    """User to run as, a number; by default the image's, which must be a number other than 0."""
    run_as_group: GroupId | None = None
    """Group to run as, a number; by default the image's."""
    fs_group: GroupId | None = None
    """Group that volumes belong to."""
    read_only_root_filesystem: bool = False
    """Whether the process may write only to volumes."""
    capabilities: list[Capability] = []
    """Linux capabilities, without CAP_; restricted allows NET_BIND_SERVICE only."""
    privileged: bool = False
    """Whether the container has all rights on its node; for level privileged only."""


class EgressRule(Model):
    """Addresses outside the fleet that an environment may connect to."""

    cidr: Cidr
    """Addresses, such as "10.20.0.0/16", or "0.0.0.0/0" for all; never a cloud's metadata service."""
    ports: list[Port] = []
    """Ports; by default all."""
    protocol: Literal["TCP", "UDP"] = "TCP"
    """Transport protocol of the ports."""


class EnvironmentConfig(Model):
    """An environment: a pod with a Service in front, or `count` of them."""

    name: EnvironmentName
    """Name, also in its URL; with `count`, followed by -0, -1, and so on."""
    count: Count | None = None
    """How many of this environment to run; without it, one that has no number in its name."""
    image: Image
    """Image that serves the environment, as `repository:tag`."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """When the node pulls the image."""
    image_pull_secrets: ObjectNames = []
    """Existing Secrets of the fleet's namespace with the password of a registry."""
    command: list[Text] = []
    """Command to run instead of the image's entrypoint."""
    args: list[Text] = []
    """Arguments to pass instead of the image's own."""
    port: Port = 8000
    """Port that the image listens on, and that of the Service."""
    env: Variables = {}
    """Environment variables, none of them secret."""
    secret_env: dict[VariableName, str] = {}
    """Environment variables that hold a secret: the name of each one among the stack's `secrets`."""
    resources: Resources = Resources()
    """Processors, memory, disk and devices of each pod."""
    health: Health = Health()
    """How Kubernetes finds out whether it works."""
    startup_seconds: Seconds = 120
    """How long it may take from its start until it first answers its health path."""
    ttl_seconds: Lifetime | None = None
    """How long it lives; then it is ended, and stays so until `envfleet repair`. By default for ever."""
    volumes: list[Volume] = []
    """Folders that come from elsewhere."""
    egress: list[EgressRule] = []
    """What it may connect to outside the fleet; by default nothing but the cluster's DNS."""
    security: Security = Security()
    """What its process may do."""
    service_account: ObjectName | None = None
    """Existing service account of the fleet's namespace; by default the fleet's own, which may do nothing."""
    runtime_class: ObjectName | None = None
    """RuntimeClass of the cluster, such as gvisor or kata, for stronger isolation."""
    priority_class: ObjectName | None = None
    """PriorityClass of the cluster."""
    node_selector: NodeLabels = {}
    """Labels that its node must have."""
    affinity: Affinity = Affinity()
    """What draws it to nodes, and what keeps it away."""
    tolerations: list[Toleration] = []
    """Taints of nodes that it puts up with."""
    labels: Labels = {}
    """More labels for its objects."""
    annotations: Annotations = {}
    """Annotations for the pod."""

    @property
    def names(self) -> list[str]:
        """The name of each environment that this entry stands for."""
        return expand(self.name, self.count)

    @property
    def ports(self) -> dict[str, int]:
        """Its ports by name: `http` for clients, and `health` if its health is asked for elsewhere."""
        other = self.health.port not in {None, self.port}
        return {PORT: self.port} | ({HEALTH_PORT: self.health.port} if other and self.health.port else {})


def expand(name: str, count: int | None) -> list[str]:
    """`echo` alone, or `echo-0`, `echo-1`, … when there is a count."""
    return [name] if count is None else [f"{name}-{number}" for number in range(count)]
