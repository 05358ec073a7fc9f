"""The workloads of a fleet, their state, and the problems that keep them from being ready."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class Expected:
    """A workload that is declared.

    name: of the Pod and its Service; for component "server", of the Deployment and its Service.
    startup_seconds: how long a container may take from its start until it is ready.
    """

    name: str
    component: str = "environment"
    startup_seconds: int = 120


# The control server, under the name that every fleet gives it.
SERVER = Expected("server", component="server")


class State(StrEnum):
    """How far a workload is, in a word for a table."""

    READY = "Ready"
    PENDING = "Pending"  # no node yet
    PULLING = "Pulling"
    STARTING = "Starting"
    TERMINATING = "Terminating"
    FAILED = "Failed"
    GONE = "Gone"


class Cause(StrEnum):
    """Why a workload is not ready, in a few words for a table. `remedies` says what to do about each."""

    IMAGE_NOT_FOUND = "image not found"
    IMAGE_FORBIDDEN = "no permission to pull the image"
    IMAGE_NAME_INVALID = "invalid image name"
    IMAGE_NEVER_PULLED = "image not on the node"
    IMAGE_NOT_PULLED = "image can't be pulled"
    WRONG_ARCHITECTURE = "image for another architecture"
    REGISTRY_UNREACHABLE = "registry not reachable"

    CRASHES = "crashes"
    EXITS = "exits"
    OUT_OF_MEMORY = "out of memory"
    KILLED = "killed"
    COMMAND_NOT_RUNNABLE = "command can't be run"
    RUNS_AS_ROOT = "image runs as root"
    NAMED_USER = "image's user has no number"
    REFERENCE_MISSING = "Secret or ConfigMap missing"
    CONTAINER_REFUSED = "container can't be created"

    NOTHING_LISTENS = "nothing listens on the port"
    HEALTH_PATH_WRONG = "health path not found"
    HEALTH_PATH_REFUSED = "health path refused"
    HEALTH_SCHEME_WRONG = "HTTP or HTTPS mixed up"
    HEALTH_ERROR = "health check fails"
    HEALTH_TIMEOUT = "health check times out"

    NO_ROOM = "no room on the nodes"
    NO_DEVICE = "no node has the device"
    NO_MATCHING_NODE = "no node matches"
    NODES_TAINTED = "nodes are tainted"
    TOO_MANY_PODS = "too many pods on the nodes"
    NOT_SCHEDULED = "not scheduled"
    VOLUME_NOT_BOUND = "volume not bound"
    VOLUME_NOT_MOUNTED = "volume not mounted"
    RUNTIME_CLASS_MISSING = "runtime class not on the node"
    NO_SANDBOX = "pod's sandbox can't be created"

    NODE_LOST = "node lost"
    NODE_REFUSED = "node refused the pod"
    EVICTED = "evicted"
    PREEMPTED = "preempted"
    LIFETIME_OVER = "lifetime over"
    POD_FAILED = "pod failed"
    DELETED = "pod deleted"
    POD_GONE = "no pod"
    SERVICE_GONE = "no Service"
    NOT_IN_SERVICE = "not in its Service"
    NOT_CREATED = "pod not created"
    NAMESPACE_GONE = "no namespace"
    NAMESPACE_TERMINATING = "namespace is being deleted"

    SLOW = "not ready in time"

    @property
    def needs_new_pod(self) -> bool:
        """Whether the pod, if there is one, can't come back by itself: `envfleet repair` replaces it."""
        return self in _NEED_NEW_POD


_NEED_NEW_POD = {
    *(Cause.NODE_LOST, Cause.NODE_REFUSED, Cause.EVICTED, Cause.PREEMPTED),
    *(Cause.LIFETIME_OVER, Cause.POD_FAILED, Cause.DELETED, Cause.POD_GONE),
}


@dataclass(frozen=True)
class Problem:
    """What keeps one workload from being ready.

    message: what is wrong, with its numbers; remedy: what to change, naming keys of the configuration.
    log: the last lines that its container wrote, without secrets; empty where they would say nothing.
    """

    name: str
    cause: Cause
    message: str
    remedy: str
    log: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.message}", f"    {self.remedy}"]
        if self.log:
            lines += ["    last lines of its log:", *(f"      {line}" for line in self.log)]
        return "\n".join(lines)


@dataclass(frozen=True)
class Status:
    """One workload at one moment.

    detail: what it waits for or suffers from, in a sentence; empty when it is ready.
    problem: what certainly keeps it from being ready: waiting longer would not help.
    suspicion: what may keep it from being ready, but may also pass, such as a slow start.
    pod: name of its Pod, if there is one; for the server that is not its own name.
    """

    name: str
    state: State
    detail: str = ""
    problem: Problem | None = None
    suspicion: Problem | None = None
    image: str | None = None
    restarts: int = 0
    pod: str | None = None
    node: str | None = None


class FleetNotReady(Exception):  # noqa: N818 - a result, with `problems` to read, more than an error
    """Some workloads are not ready; the message lists every problem that was found, by name."""

    def __init__(self, problems: Sequence[Problem], ready: int, total: int) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.name))
        self.ready = ready
        self.total = total
        verb = "is" if total - ready == 1 else "are"
        first = f"{total - ready} of {total} workloads {verb} not ready"
        if len(self.problems) < total - ready:
            first += f", {len(self.problems)} of them for good"
        super().__init__("\n".join([first, *map(str, self.problems)]))
