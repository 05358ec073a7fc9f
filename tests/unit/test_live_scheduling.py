"""Why pods find no node: the scheduler of Kubernetes 1.34 was seen to say it so."""

from datetime import datetime

import pytest

from live.events import Event
from live.fleet import Cause, Expected
from live.quantities import amount, free, requested, written
from live.scheduling import not_scheduled
from live.view import Finding, View
from tests.unit.live_cluster import make_event, make_node, make_pod

MEMORY = "1 Insufficient memory, 1 node(s) had untolerated taint(s)."
CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}


def judge(
    message: str, *events: dict, now: str = "03:48:50", requests: dict | None = None, **more
) -> Finding | None:
    """What is found of a pod that the scheduler speaks of since 03:48:44."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": more.pop("reason", "Unschedulable"),
        "message": f"0/2 nodes are available: {message} no new claims to deallocate, preemption: 0/2 nodes",
        "lastTransitionTime": "2026-12-01T03:48:44Z",
    }
    spec = {key: more.pop(key) for key in ("nodeSelector", "tolerations", "volumes") if key in more}
    pod = make_pod(status={"phase": "Pending", "conditions": [condition]}, **spec)
    pod["spec"]["containers"][0]["resources"]["requests"].update(requests or {})
    at = datetime.fromisoformat(f"2026-12-01T{now}Z")
    return not_scheduled(View(Expected("echo-a"), pod, at, [Event.of(event) for event in events], **more))


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (MEMORY, Cause.NO_ROOM),
        ("1 Insufficient cpu, 1 Insufficient nvidia.com/gpu.", Cause.NO_DEVICE),
        ("1 Too many pods, 1 node(s) had untolerated taint(s).", Cause.TOO_MANY_PODS),
        (
            "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s).",
            Cause.NO_MATCHING_NODE,
        ),
        ("2 node(s) had untolerated taint(s).", Cause.NODES_TAINTED),
        ('persistentvolumeclaim "nope" not found. not found', Cause.VOLUME_NOT_BOUND),
        ("pod has unbound immediate PersistentVolumeClaims. not found", Cause.VOLUME_NOT_BOUND),
        ("2 node(s) were unschedulable.", Cause.NOT_SCHEDULED),
    ],
)
def test_the_scheduler_is_believed_after_five_seconds(message: str, cause: Cause) -> None:
    assert judge(message, now="03:48:48") == Finding(cause, judge(message).message, is_definite=False)
    assert (judge(message, now="03:48:49").cause, judge(message, now="03:48:49").is_definite) == (cause, True)


def test_a_gate_that_holds_a_pod_is_waited_for() -> None:
    found = judge("Scheduling is blocked.", now="03:59:00", reason="SchedulingGated")
    assert (found.cause, found.is_definite) == (Cause.NOT_SCHEDULED, False)


def test_a_pod_that_has_a_node_is_scheduled() -> None:
    view = View(Expected("echo-a"), make_pod(), datetime.fromisoformat("2026-12-01T03:48:50Z"))
    assert not_scheduled(view) is None


@pytest.mark.parametrize(
    ("reason", "is_definite"),
    [("TriggeredScaleUp", False), ("Nominated", False), ("NotTriggerScaleUp", True)],
)
def test_an_autoscaler_that_adds_a_node_is_waited_for(reason: str, is_definite: bool) -> None:
    event = make_event(reason, "pod triggered scale-up", "03:48:46")
    assert judge(MEMORY, event, now="03:59:00").is_definite == is_definite


def test_a_new_node_may_take_a_minute_until_it_takes_pods() -> None:
    taint = "1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }."  # Kubernetes before 1.34
    assert not judge(taint, now="03:49:43").is_definite
    assert judge(taint, now="03:49:44").is_definite


def test_how_much_is_missing_is_counted_on_the_nodes_that_would_do() -> None:
    other = make_pod("other")
    other["spec"]["containers"][0]["resources"]["requests"] = {"memory": "10800Mi"}
    elsewhere = make_pod("elsewhere", nodeName="big")
    found = judge(
        MEMORY,
        requests={"memory": "64Gi"},
        nodes={"worker": make_node(), "big": make_node("big", taints=(CONTROL_PLANE,))},
        running=[other, elsewhere],
    )
    assert found.message == (
        "needs 64Gi of memory; the node with most left, worker, has 13.5Gi free: 50.5Gi are missing"
    )


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"nodes": {"worker": make_node()}, "running": []}, "no node that may run it has any"),
        ({"nodes": None}, "no node has that free (0/2 nodes are available: 1 Insufficient nvidia.com/gpu.)"),
    ],
    ids=["no such node", "nodes not known"],
)
def test_a_device_that_no_node_has(more: dict, words: str) -> None:
    found = judge("1 Insufficient nvidia.com/gpu.", requests={"nvidia.com/gpu": "1"}, **more)
    assert found.message == f"needs 1 of nvidia.com/gpu; {words}"


def test_taints_and_labels_that_keep_a_pod_away_are_named() -> None:
    nodes = {
        "worker": make_node(taints=({"key": "gpu", "value": "yes", "effect": "NoSchedule"}, CONTROL_PLANE))
    }
    tolerations = [{"key": CONTROL_PLANE["key"], "operator": "Exists"}]
    tainted = judge("1 node(s) had untolerated taint(s).", nodes=nodes, tolerations=tolerations)
    assert tainted.message.startswith("tolerates no node's taints: gpu=yes:NoSchedule (")
    unlabelled = judge("1 node(s) didn't match Pod's node affinity/selector.", nodeSelector={"disk": "ssd"})
    assert unlabelled.message.startswith("finds no node with disk=ssd that its rules admit (")


def test_what_is_reported_of_its_claim_says_why_a_volume_is_missing() -> None:
    event = Event.of(make_event("ProvisioningFailed", 'storageclass "fast" not found', "03:48:44"))
    found = judge(
        "pod has unbound immediate PersistentVolumeClaims. not found",
        volumes=[{"persistentVolumeClaim": {"claimName": "data"}}, {"emptyDir": {}}],
        claim_events={"data": [event]},
    )
    assert found.message == 'waits for a volume (claim data: storageclass "fast" not found)'


@pytest.mark.parametrize(
    ("quantity", "number"),
    [
        ("500m", 0.5),
        ("2", 2),
        ("1.5Gi", 1.5 * 2**30),
        ("128974848", 128974848),
        ("1e3", 1000),
        ("1E", 1e18),
        ("12k", 12e3),
    ],
)
def test_quantities_are_read_as_kubernetes_writes_them(quantity: str, number: float) -> None:
    assert amount(quantity) == number


@pytest.mark.parametrize(
    ("resource", "number", "text"),
    [
        ("memory", 13.2 * 2**30, "13.2Gi"),
        ("memory", 500, "500"),
        ("cpu", 0.25, "0.25"),
        ("nvidia.com/gpu", 8, "8"),
    ],
)
def test_amounts_are_written_for_people(resource: str, number: float, text: str) -> None:
    assert written(resource, number) == text


def test_init_containers_count_as_far_as_they_need_more_than_the_rest() -> None:
    pod = make_pod(
        initContainers=[{"resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}], overhead={"cpu": "250m"}
    )
    assert requested(pod) == {"cpu": 1.25, "memory": 192 * 2**20, "pods": 1}
    assert free(make_node(), [pod])["cpu"] == 0.75
