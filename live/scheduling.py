"""Why the scheduler finds no node for a pod, and how much of what is missing."""

import re
from collections.abc import Mapping, Sequence

from live.events import Object, latest
from live.fleet import Cause
from live.quantities import free, requested, written
from live.view import Finding, View, shown

_PATIENCE_SECONDS = 5
# Taints of a node that has just been made go away by themselves, if it works.
_NEW_NODE_SECONDS = 60
_NEW_NODE_TAINTS = r"node\.kubernetes\.io/(not-ready|network-unavailable)|node\.cloudprovider\.kubernetes\.io"
_AUTOSCALERS = ("TriggeredScaleUp", "Nominated")  # of the cluster autoscaler and of Karpenter


def not_scheduled(view: View) -> Finding | None:
    """A pod without a node; definite after some seconds, unless an autoscaler is adding one."""
    condition = view.condition.get("PodScheduled", {})
    if condition.get("status") != "False":
        return None
    text = condition.get("message") or ""
    since = condition.get("lastTransitionTime")
    scale_up = latest(view.events, *_AUTOSCALERS, "NotTriggerScaleUp")
    if scale_up and scale_up.reason in _AUTOSCALERS:
        return Finding(Cause.NOT_SCHEDULED, f"waits for a new node ({shown(scale_up.message)})", False)
    if condition.get("reason") == "SchedulingGated":  # such as by a queue
        return Finding(Cause.NOT_SCHEDULED, f"is held by a scheduling gate ({shown(text)})", False)
    patience = _NEW_NODE_SECONDS if re.search(_NEW_NODE_TAINTS, text) else _PATIENCE_SECONDS
    cause, message = _why(view, text)
    return Finding(cause, message, view.has_lasted(since, patience))


def _why(view: View, text: str) -> tuple[Cause, str]:
    """The first that is found, from what concerns the pod as a whole to what single nodes lack.

    Nearly always some node, such as a control plane's, is also tainted: so taints come last.
    """
    words = shown(text.partition(" preemption:")[0].removesuffix(" no new claims to deallocate,"))
    if re.search(r"persistentvolume|PersistentVolume|volume node affinity|storageclass", text):
        return Cause.VOLUME_NOT_BOUND, _unbound(view, words)
    if lacking := re.findall(r"Insufficient (\S+?)[,.]?(?:\s|$)", text):
        resource = next((resource for resource in lacking if "/" in resource), lacking[0])
        return _lacking(view, resource, words)
    if "Too many pods" in text:
        return Cause.TOO_MANY_PODS, f"finds no node that may run one more pod ({words})"
    if re.search(r"node affinity|node selector|topology spread|pod (anti-)?affinity", text):
        selector = view.pod["spec"].get("nodeSelector")
        wanted = " with " + ", ".join(f"{key}={value}" for key, value in selector.items()) if selector else ""
        return Cause.NO_MATCHING_NODE, f"finds no node{wanted} that its rules admit ({words})"
    if "taint" in text:
        taints = sorted(_all_taints(view))
        names = f": {', '.join(taints)}" if taints else ""
        return Cause.NODES_TAINTED, f"tolerates no node's taints{names} ({words})"
    return Cause.NOT_SCHEDULED, f"is not scheduled ({words})"


def _unbound(view: View, words: str) -> str:
    """With what is reported about the pod's own claims."""
    volumes = view.pod["spec"].get("volumes") or []
    claims = [volume["persistentVolumeClaim"]["claimName"] for volume in volumes if _is_claim(volume)]
    reported = [
        f"claim {claim}: {shown(view.claim_events[claim][-1].message)}"
        for claim in claims
        if view.claim_events.get(claim)
    ]
    return f"waits for a volume ({'; '.join(reported) or words})"


def _is_claim(volume: Object) -> bool:
    return "persistentVolumeClaim" in volume


def _lacking(view: View, resource: str, words: str) -> tuple[Cause, str]:
    cause = Cause.NO_DEVICE if "/" in resource else Cause.NO_ROOM
    needed = requested(view.pod).get(resource, 0)
    message = f"needs {written(resource, needed)} of {resource}; "
    if view.nodes is None:
        return cause, f"{message}no node has that free ({words})"
    having = [node for node in _candidates(view) if resource in node["status"]["allocatable"]]
    if not having:
        return cause, f"{message}no node that may run it has any"
    if view.running is None:
        return cause, f"{message}no node has that free ({words})"
    left = {node["metadata"]["name"]: free(node, view.running)[resource] for node in having}
    best = max(left, key=lambda name: left[name])
    return cause, (
        f"{message}the node with most left, {best}, has {written(resource, left[best])} free: "
        f"{written(resource, needed - left[best])} are missing"
    )


def _candidates(view: View) -> list[Object]:
    """The nodes that would run the pod if they had room, as far as labels and taints say."""
    selector: Mapping[str, str] = view.pod["spec"].get("nodeSelector") or {}
    return [
        node
        for node in (view.nodes or {}).values()
        if not _untolerated(node, view.pod["spec"].get("tolerations") or [])
        and selector.items() <= (node["metadata"].get("labels") or {}).items()
    ]


def _all_taints(view: View) -> set[str]:
    tolerations = view.pod["spec"].get("tolerations") or []
    return {taint for node in (view.nodes or {}).values() for taint in _untolerated(node, tolerations)}


def _untolerated(node: Object, tolerations: Sequence[Object]) -> list[str]:
    """The taints, as key=value:effect, that keep a pod with such tolerations from the node."""
    return [
        f"{taint['key']}={taint.get('value', '')}:{taint['effect']}".replace("=:", ":")
        for taint in node["spec"].get("taints") or []
        if taint["effect"] != "PreferNoSchedule"
        and not any(_tolerates(toleration, taint) for toleration in tolerations)
    ]


def _tolerates(toleration: Object, taint: Object) -> bool:
    return (
        toleration.get("effect") in (None, "", taint["effect"])
        and toleration.get("key") in (None, "", taint["key"])
        and (toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", ""))
    )
