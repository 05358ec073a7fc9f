"""What befell a pod as a whole: its end, its node, its volumes, its sandbox."""

import re

from live.events import latest
from live.fleet import Cause
from live.view import Finding, View, shown

_NODE_SECONDS = 5  # a node that says itself that it isn't ready may just be restarting something
_MOUNT_SECONDS = 5  # for what certainly isn't there,
_ATTACH_SECONDS = 60  # and for what takes its time, such as detaching a disk elsewhere
_SANDBOX_FAILURES = 3
_SANDBOX_SECONDS = 10

_ENDS = {
    "Evicted": (Cause.EVICTED, "was evicted"),
    "Preempting": (Cause.PREEMPTED, "was ended by its node for a critical pod"),
    "DeadlineExceeded": (Cause.LIFETIME_OVER, "reached the end of its lifetime"),
    "NodeLost": (Cause.NODE_LOST, "was on a node that is lost"),
    "NodeShutdown": (Cause.NODE_LOST, "was ended, since its node shut down"),
    "Terminated": (Cause.NODE_LOST, "was ended, since its node shut down"),
    "UnexpectedAdmissionError": (Cause.NODE_REFUSED, "was refused by its node"),
}
_DISRUPTIONS = {
    "PreemptionByScheduler": (Cause.PREEMPTED, "makes room for a pod of higher priority"),
    "DeletionByTaintManager": (Cause.NODE_LOST, "is removed from its node"),
    "EvictionByEvictionAPI": (Cause.EVICTED, "is evicted, as when a node is drained"),
    "TerminationByKubelet": (Cause.EVICTED, "is ended by its node"),
    "DeletionByPodGC": (Cause.NODE_LOST, "is removed, since its node is gone"),
}


def node_lost(view: View) -> Finding | None:
    """The pod's node is gone, or does not say that it is ready."""
    name = view.pod["spec"].get("nodeName")
    if name is None or view.nodes is None:
        return None
    if name not in view.nodes:
        return Finding(Cause.NODE_LOST, f"its node {name} is gone")
    conditions = view.nodes[name]["status"].get("conditions") or []
    ready = next((condition for condition in conditions if condition["type"] == "Ready"), {"status": "?"})
    if ready["status"] == "True":
        return None
    said = ready.get("message") or ready.get("reason")
    words = f"its node {name} is not ready" + (f" ({shown(said)})" if said else "")
    is_silent = ready["status"] == "Unknown"
    since = ready.get("lastTransitionTime")
    return Finding(Cause.NODE_LOST, words, is_silent or view.has_lasted(since, _NODE_SECONDS))


def ended(view: View) -> Finding | None:
    """The pod has failed for good, and won't be restarted."""
    phase, reason = view.status.get("phase"), view.status.get("reason") or ""
    if phase not in ("Failed", "Succeeded") and reason != "NodeLost":
        return None
    said = view.status.get("message") or ""
    # A process that ends itself when its pod is evicted leaves a pod that "Succeeded", with no reason given.
    if not reason and (event := latest(view.events, "Evicted")):
        reason, said = "Evicted", event.message
    words = f" ({shown(said)})" if said else ""
    if reason.startswith(("OutOf", "Node", "Topology")) and reason not in _ENDS:
        return Finding(Cause.NODE_REFUSED, f"was refused by its node: {reason}{words}")
    cause, message = _ENDS.get(reason, (Cause.POD_FAILED, f"ended: {reason or phase}"))
    return Finding(cause, message + words)


def deleted(view: View) -> Finding | None:
    """The pod is being deleted; a Pod of an environment has nobody that would make a new one."""
    since = view.pod["metadata"].get("deletionTimestamp")
    if since is None:
        return None
    disruption = view.condition.get("DisruptionTarget", {})
    cause, message = _DISRUPTIONS.get(
        disruption.get("reason", ""), (Cause.DELETED, "is being deleted, by someone or something else")
    )
    words = f" ({shown(disruption['message'])})" if disruption.get("message") else ""
    holders = view.pod["metadata"].get("finalizers")
    held = f"; finalizers hold it: {', '.join(holders)}" if holders and view.has_lasted(since, 0) else ""
    return Finding(cause, message + words + held)


def not_mounted(view: View) -> Finding | None:
    """A volume that the node can't mount, while containers wait for it."""
    event = latest(view.events, "FailedMount", "FailedAttachVolume", "FailedMapVolume")
    if event is None or not _is_creating(view):
        return None
    # The one volume that comes by itself, some seconds after its namespace.
    is_missing = re.search(r"not found|non-existent", event.message) and "kube-root-ca" not in event.message
    patience = _MOUNT_SECONDS if is_missing else _ATTACH_SECONDS
    message = f"waits for a volume ({shown(event.message.removeprefix('MountVolume.SetUp failed for '))})"
    return Finding(Cause.VOLUME_NOT_MOUNTED, message, view.has_lasted(event.first, patience))


def no_sandbox(view: View) -> Finding | None:
    """The node can't make the pod's sandbox: its network, or the runtime that was asked for."""
    event = latest(view.events, "FailedCreatePodSandBox")
    if event is None or not _is_creating(view):
        return None
    words = shown(event.message.rsplit("desc = ", 1)[-1])
    if re.search(r"no runtime for|runtime handler .* not|unknown runtime", event.message):
        wanted = view.pod["spec"].get("runtimeClassName")
        return Finding(
            Cause.RUNTIME_CLASS_MISSING, f"its node does not have runtime class {wanted} ({words})"
        )
    has_lasted = event.count >= _SANDBOX_FAILURES or view.has_lasted(event.first, _SANDBOX_SECONDS)
    return Finding(Cause.NO_SANDBOX, f"its sandbox can't be created ({words})", has_lasted)


def _is_creating(view: View) -> bool:
    reasons = {(container["state"].get("waiting") or {}).get("reason") for container in view.containers}
    return not reasons.isdisjoint({"ContainerCreating", "PodInitializing"})
