from typing import Any

import pytest
from envfleet_server.environments import describe

SERVICE = {"metadata": {"name": "echo"}, "spec": {"ports": [{"port": 8000}]}}


def make_pod(status: dict[str, Any], **metadata: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "echo", "creationTimestamp": "2026-01-02T03:04:05Z", **metadata},
        "spec": {"containers": [{"image": "envfleet/echo:0.1.0"}]},
        "status": status,
    }


def container(restarts: int = 0, last: dict[str, Any] | None = None, **state: Any) -> dict[str, Any]:
    return {"restartCount": restarts, "state": state, "lastState": last or {}}


def condition(kind: str, status: str, reason: str = "", message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


RUNNING = container(running={})
READY = {"phase": "Running", "conditions": [condition("Ready", "True")], "containerStatuses": [RUNNING]}
UNREADY = condition("Ready", "False", "ContainersNotReady", "containers with unready status: [environment]")


def test_a_ready_pod_with_a_service_is_ready() -> None:
    environment = describe("echo", "fleet", make_pod(READY), SERVICE)
    assert environment.model_dump(mode="json") == {
        "name": "echo",
        "url": "http://echo.fleet:8000",
        "ready": True,
        "phase": "Running",
        "reason": None,
        "message": None,
        "image": "envfleet/echo:0.1.0",
        "restarts": 0,
        "created_at": "2026-01-02T03:04:05Z",
    }


@pytest.mark.parametrize(
    ("status", "phase", "reason", "message"),
    [
        pytest.param({"phase": "Pending"}, "Pending", "NotReady", None, id="just created"),
        pytest.param(
            {
                "phase": "Pending",
                "conditions": [condition("PodScheduled", "False", "Unschedulable", "0/1 nodes: no memory")],
            },
            "Pending",
            "Unschedulable",
            "0/1 nodes: no memory",
            id="no room",
        ),
        pytest.param(
            {
                "phase": "Pending",
                "conditions": [UNREADY],
                "containerStatuses": [
                    container(
                        waiting={"reason": "ImagePullBackOff", "message": "no such image"},
                        last={"terminated": {"reason": "Error", "exitCode": 1}},
                    )
                ],
            },
            "Pending",
            "ImagePullBackOff",
            "no such image",
            id="wrong image",
        ),
        pytest.param(
            {
                "phase": "Running",
                "conditions": [UNREADY],
                "containerStatuses": [
                    container(
                        restarts=4,
                        waiting={"reason": "CrashLoopBackOff", "message": "back-off 40s"},
                        last={"terminated": {"reason": "OOMKilled", "exitCode": 137}},
                    )
                ],
            },
            "Running",
            "CrashLoopBackOff",
            "OOMKilled, exit code 137",
            id="crash loop tells the last exit",
        ),
        pytest.param(
            {
                "phase": "Running",
                "conditions": [UNREADY],
                "containerStatuses": [container(terminated={"reason": "Error", "exitCode": 3})],
            },
            "Running",
            "Error",
            "Error, exit code 3",
            id="just crashed",
        ),
        pytest.param(
            {
                "phase": "Pending",
                "conditions": [UNREADY],
                "initContainerStatuses": [container(terminated={"reason": "Completed", "exitCode": 0})],
                "containerStatuses": [container(waiting={"reason": "CreateContainerConfigError"})],
            },
            "Pending",
            "CreateContainerConfigError",
            None,
            id="a completed init container is no problem",
        ),
        pytest.param(
            {"phase": "Running", "conditions": [UNREADY], "containerStatuses": [RUNNING]},
            "Running",
            "ContainersNotReady",
            "containers with unready status: [environment]",
            id="readiness probe fails",
        ),
        pytest.param(
            {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."},
            "Failed",
            "Evicted",
            "The node was low on resource: memory.",
            id="evicted",
        ),
    ],
)
def test_what_keeps_a_pod_from_being_ready(
    status: dict[str, Any], phase: str, reason: str, message: str | None
) -> None:
    environment = describe("echo", "fleet", make_pod(status), SERVICE)
    assert not environment.ready
    assert (environment.phase, environment.reason, environment.message) == (phase, reason, message)


def test_restarts_of_all_containers_are_summed() -> None:
    status = {
        **READY,
        "containerStatuses": [container(restarts=2, running={}), container(restarts=3, running={})],
    }
    assert describe("echo", "fleet", make_pod(status), SERVICE).restarts == 5


def test_a_pod_that_is_going_away_is_not_ready() -> None:
    pod = make_pod(READY, deletionTimestamp="2026-01-02T03:05:00Z")
    environment = describe("echo", "fleet", pod, SERVICE)
    assert (environment.ready, environment.reason) == (False, "Terminating")


def test_a_service_whose_pod_is_gone_is_missing() -> None:
    environment = describe("echo", "fleet", None, SERVICE)
    assert (environment.ready, environment.phase, environment.reason) == (False, "Missing", "PodMissing")
    assert environment.url == "http://echo.fleet:8000"


@pytest.mark.parametrize(
    "service", [None, {"metadata": {"name": "echo"}, "spec": {}}], ids=["none", "no port"]
)
def test_a_ready_pod_that_no_service_leads_to_is_not_ready(service: dict[str, Any] | None) -> None:
    environment = describe("echo", "fleet", make_pod(READY), service)
    assert (environment.ready, environment.reason, environment.url) == (False, "ServiceMissing", None)
