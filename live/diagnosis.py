"""What a snapshot of a cluster says about each workload of a fleet. Pure functions, without I/O."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from live import containers, images, pods, probes, scheduling
from live.events import Object, moment
from live.fleet import Cause, Expected, Problem, State, Status
from live.remedies import REMEDIES
from live.snapshot import Snapshot
from live.view import Finding, View, shown

_SERVICE_SECONDS = 30  # a pod is in its Service within a second or two of being ready
_SERVER = "server"

# The first that finds something decides: what befell the pod as a whole explains what its containers suffer.
_OF_EVERY_POD = (pods.ended, pods.node_lost, pods.deleted)
_OF_UNREADY_PODS: tuple[Callable[[View], Finding | None], ...] = (
    *_OF_EVERY_POD,
    scheduling.not_scheduled,
    images.image_not_pulled,
    containers.container_refused,
    containers.out_of_memory,
    probes.killed_by_probe,
    containers.crashed,
    pods.not_mounted,
    pods.no_sandbox,
    probes.not_answering,
)


def diagnose(snapshot: Snapshot, expected: Iterable[Expected]) -> list[Status]:
    """The status of each workload, in the order given."""
    of_all = _of_namespace(snapshot.namespace)
    return [_without_cluster(one, of_all) if of_all else _diagnose(snapshot, one) for one in expected]


def pod_of(snapshot: Snapshot, expected: Expected) -> Object | None:
    """The workload's pod; for the server, that of its Deployment's present template."""
    if expected.component != _SERVER:
        return snapshot.pods.get(expected.name)
    deployment = snapshot.deployments.get(expected.name)
    if deployment is None or not _is_rolled_out(deployment):
        return None
    mine = [
        pod
        for pod in snapshot.pods.values()
        if pod["metadata"]["labels"].get("app.kubernetes.io/component") == _SERVER
        and pod["metadata"]["labels"].get("app.kubernetes.io/name") == expected.name
        and "deletionTimestamp" not in pod["metadata"]  # another one takes its place,
        and pod["status"].get("phase") != "Failed"  # and here too
    ]
    return max(mine, key=lambda pod: moment(pod["metadata"]["creationTimestamp"]), default=None)


def _problem_of(name: str, finding: Finding) -> Problem:
    """The finding, with what to do about it."""
    return Problem(name, finding.cause, finding.message, REMEDIES[finding.cause])


def _of_namespace(namespace: Object | None) -> Finding | None:
    if namespace is None:
        return Finding(Cause.NAMESPACE_GONE, "its namespace does not exist")
    if "deletionTimestamp" not in namespace.get("metadata", {}):
        return None
    holders = [
        condition["message"]
        for condition in namespace["status"].get("conditions") or []
        if condition["status"] == "True"
    ]
    words = f" ({shown('; '.join(holders))})" if holders else ""
    return Finding(Cause.NAMESPACE_TERMINATING, f"its namespace is being deleted{words}")


def _without_cluster(expected: Expected, finding: Finding) -> Status:
    state = State.GONE if finding.cause is Cause.NAMESPACE_GONE else State.TERMINATING
    return Status(expected.name, state, finding.message, _problem_of(expected.name, finding))


def _diagnose(snapshot: Snapshot, expected: Expected) -> Status:
    pod = pod_of(snapshot, expected)
    if pod is None:
        absence = _uncreated(snapshot, expected)
        return _status(expected, State.GONE if absence.is_definite else State.PENDING, absence, None)
    view = View(
        expected,
        pod,
        snapshot.now,
        snapshot.events_by_uid.get(pod["metadata"]["uid"], []),
        snapshot.nodes,
        snapshot.running,
        snapshot.claim_events,
    )
    finding = _first(view, _OF_EVERY_POD if view.is_ready else _OF_UNREADY_PODS)
    if finding is None or not finding.is_definite:
        finding = _of_service(snapshot, view) or finding
    pulling = images.pulling_for(view)
    state = _state(view, finding, is_pulling=pulling is not None)
    status = _status(expected, state, finding, view)
    if finding is None and pulling is not None:
        return replace(status, detail=f"is pulling its image for {pulling:.0f} s")
    return status


def _first(view: View, finders: Iterable[Callable[[View], Finding | None]]) -> Finding | None:
    """The first that is definite, else the first."""
    findings = [finding for finder in finders if (finding := finder(view))]
    return next((finding for finding in findings if finding.is_definite), findings[0] if findings else None)


def _of_service(snapshot: Snapshot, view: View) -> Finding | None:
    """What keeps clients from a pod that works."""
    name = view.expected.name
    if name not in snapshot.services:
        return Finding(Cause.SERVICE_GONE, "there is a Pod, but no Service that leads to it")
    if not view.is_ready or view.status.get("podIP") in snapshot.addresses.get(name, frozenset()):
        return None
    since = view.condition["Ready"].get("lastTransitionTime")
    is_late = view.has_lasted(since, _SERVICE_SECONDS)
    return Finding(Cause.NOT_IN_SERVICE, "is ready, but its Service does not lead to it yet", is_late)


def _state(view: View, finding: Finding | None, *, is_pulling: bool) -> State:
    if "deletionTimestamp" in view.pod["metadata"]:
        return State.TERMINATING
    if finding and finding.is_definite:
        return State.FAILED
    if view.is_ready and finding is None:
        return State.READY
    if not view.pod["spec"].get("nodeName"):
        return State.PENDING
    return State.PULLING if is_pulling else State.STARTING


def _status(expected: Expected, state: State, finding: Finding | None, view: View | None) -> Status:
    problem = _problem_of(expected.name, finding) if finding else None
    is_definite = finding is not None and finding.is_definite
    return Status(
        expected.name,
        state,
        detail=finding.message if finding else "",
        problem=problem if is_definite else None,
        suspicion=None if is_definite else problem,
        image=view.pod["spec"]["containers"][0]["image"] if view else None,
        restarts=sum(container["restartCount"] for container in view.containers) if view else 0,
        pod=view.pod["metadata"]["name"] if view else None,
        node=view.pod["spec"].get("nodeName") if view else None,
    )


def _is_rolled_out(deployment: Object) -> bool:
    """Whether the pod of the present template has been created."""
    status = deployment.get("status") or {}
    is_seen = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    return bool(is_seen and status.get("updatedReplicas", 0) > 0)


def _uncreated(snapshot: Snapshot, expected: Expected) -> Finding:
    """Why a workload has no pod."""
    if expected.component != _SERVER:
        return Finding(Cause.POD_GONE, "there is no such Pod")
    deployment = snapshot.deployments.get(expected.name)
    if deployment is None:
        return Finding(Cause.POD_GONE, "there is no such Deployment")
    for condition in (deployment.get("status") or {}).get("conditions") or []:
        if condition["type"] == "ReplicaFailure" and condition["status"] == "True":
            return Finding(
                Cause.NOT_CREATED, f"its pod can't be created ({shown(condition.get('message', ''))})"
            )
    return Finding(Cause.NOT_CREATED, "its pod is not created yet", is_definite=False)
