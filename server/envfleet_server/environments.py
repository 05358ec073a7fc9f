"""What an environment is to a client, and how it follows from its Pod and its Service."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from kr8s.asyncio.objects import Pod, Service
from pydantic import BaseModel, Field

from envfleet_server.kubernetes import Kubernetes

SELECTOR = "app.kubernetes.io/component=environment,app.kubernetes.io/part-of=envfleet"

Object = Mapping[str, Any]  # a Kubernetes object, or a part of one, as the API returns it


class Environment(BaseModel):
    """One environment: a Pod, and the Service of the same name that leads to it."""

    name: str
    url: str | None = Field(description="Where clients inside the cluster reach it; null without a Service")
    ready: bool = Field(description="The Pod answers its readiness probe and a Service leads to it")
    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown", "Missing"] = Field(
        description="The Pod's phase; Missing if there is a Service but no Pod"
    )
    reason: str | None = Field(description="Why it is not ready, in a word, such as CrashLoopBackOff")
    message: str | None = Field(description="Why it is not ready, in a sentence, where Kubernetes has one")
    image: str | None = None
    restarts: int = 0
    created_at: datetime | None = None


async def list_environments(kubernetes: Kubernetes) -> list[Environment]:
    """All environments of the namespace, by name.

    Raises:
        KubernetesError: pods or services could not be listed.
    """
    pods = {pod["metadata"]["name"]: pod for pod in await kubernetes.list(Pod, SELECTOR)}
    services = {service["metadata"]["name"]: service for service in await kubernetes.list(Service, SELECTOR)}
    return [
        describe(name, kubernetes.namespace, pods.get(name), services.get(name))
        for name in sorted(pods.keys() | services.keys())
    ]


def describe(name: str, namespace: str, pod: Object | None, service: Object | None) -> Environment:
    """The environment made of a Pod and a Service, one of which may be missing."""
    ports = service["spec"].get("ports") if service else None
    url = f"http://{name}.{namespace}:{ports[0]['port']}" if ports else None
    if pod is None:
        return Environment(
            name=name,
            url=url,
            ready=False,
            phase="Missing",
            reason="PodMissing",
            message="there is a Service, but no Pod behind it",
        )
    reason, message = _why_not_ready(pod)
    if reason is None and url is None:
        reason, message = "ServiceMissing", "there is a Pod, but no Service that leads to it"
    status = pod["status"]
    return Environment(
        name=name,
        url=url,
        ready=reason is None,
        phase=status.get("phase", "Unknown"),
        reason=reason,
        message=message,
        image=pod["spec"]["containers"][0]["image"],
        restarts=sum(container["restartCount"] for container in status.get("containerStatuses", [])),
        created_at=pod["metadata"]["creationTimestamp"],
    )


def _why_not_ready(pod: Object) -> tuple[str | None, str | None]:
    """Reason and message of what keeps a Pod from being ready, the most telling first; None if it is."""
    status = pod["status"]
    conditions = {condition["type"]: condition for condition in status.get("conditions", [])}
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating", None
    if conditions.get("Ready", {}).get("status") == "True":
        return None, None
    if "reason" in status:  # about the whole Pod: Evicted, DeadlineExceeded, NodeLost
        return status["reason"], status.get("message")
    for container in status.get("initContainerStatuses", []) + status.get("containerStatuses", []):
        if stopped := _why_stopped(container):
            return stopped
    for condition in (conditions.get("PodScheduled", {}), conditions.get("Ready", {})):
        if condition.get("status") == "False":
            return condition.get("reason", "NotReady"), condition.get("message")
    return "NotReady", None


def _why_stopped(container: Object) -> tuple[str, str | None] | None:
    """Reason and message of a container that waits or has failed; None if it runs or has completed."""
    state = container["state"]
    if waiting := state.get("waiting"):
        reason = waiting.get("reason", "Waiting")
        last_exit = container.get("lastState", {}).get("terminated")
        if reason == "CrashLoopBackOff" and last_exit:  # says more than "back-off restarting"
            return reason, _describe_exit(last_exit)
        return reason, waiting.get("message")
    if (exited := state.get("terminated")) and exited["exitCode"] != 0:
        return exited.get("reason", "Error"), _describe_exit(exited)
    return None


def _describe_exit(terminated: Object) -> str:
    return f"{terminated.get('reason', 'exited')}, exit code {terminated['exitCode']}"
