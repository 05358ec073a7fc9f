"""What Kubernetes 1.34 and containerd 1.6 were seen to say of a pod, unless a comment says otherwise."""

from datetime import datetime

import pytest

from live.diagnosis import diagnose
from live.fleet import Cause, Expected, FleetNotReady, Problem, State, Status
from live.remedies import REMEDIES
from live.snapshot import Snapshot
from tests.unit.live_cluster import (
    make_event,
    make_namespace,
    make_node,
    make_pod,
    make_service,
    make_slice,
    ready_status,
    unready_status,
)


def judge(
    pod: dict | None, *events: dict, now: str = "03:48:28", expected: Expected | None = None, **more
) -> Status:
    """The status of one workload in a fleet of its own, at a time of day on 2026-12-01."""
    pods = [] if pod is None else [pod]
    facts = {
        "now": datetime.fromisoformat(f"2026-12-01T{now}Z"),
        "namespace": make_namespace(),
        "pods": {pod["metadata"]["name"]: pod for pod in pods},
        "services": {"echo-a": make_service()},
        "deployments": {},
        "slices": {"echo-a-x7k2p": make_slice()},
        "events": events,
        "nodes": {"worker": make_node()},
    }
    (status,) = diagnose(Snapshot(**(facts | more)), [expected or Expected("echo-a")])
    return status


def waiting(reason: str, message: str = "") -> dict:
    return unready_status({"waiting": {"reason": reason, "message": message}})


def ended(
    code: int, reason: str = "Error", started: str = "03:47:36", finished: str = "03:47:37", **more
) -> dict:
    times = {"startedAt": f"2026-12-01T{started}Z", "finishedAt": f"2026-12-01T{finished}Z"}
    return {"terminated": {"exitCode": code, "reason": reason, **times, **more}}


def running(since: str = "03:48:25") -> dict:
    return {"running": {"startedAt": f"2026-12-01T{since}Z"}}


CRASH_LOOP = {
    "waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s restarting failed container"}
}
BACK_OFF = 'Back-off pulling image "localhost:5001/x:1": ErrImagePull: '
PULL = 'failed to pull and unpack image "localhost:5001/x:1": '
RESOLVE = PULL + 'failed to resolve reference "localhost:5001/x:1": '
RUNC = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
    "runc create failed: unable to start container process: "
)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (f"rpc error: code = NotFound desc = {RESOLVE}localhost:5001/x:1: not found", Cause.IMAGE_NOT_FOUND),
        (
            f"rpc error: code = NotFound desc = {PULL}no match for platform in manifest: not found",
            Cause.WRONG_ARCHITECTURE,
        ),
        (
            f"{RESOLVE}pulling from host x failed with status code [manifests 1]: 401 Unauthorized",
            Cause.IMAGE_FORBIDDEN,
        ),
        (
            f"{RESOLVE}pulling from host x failed with status code [manifests 1]: 403 Forbidden",
            Cause.IMAGE_FORBIDDEN,
        ),
        (
            # containerd 2
            f"{RESOLVE}unexpected status from HEAD request to http://host/v2/x/manifests/1: 401 Unauthorized",
            Cause.IMAGE_FORBIDDEN,
        ),
        (
            # Docker Hub
            f"{RESOLVE}pull access denied, repository does not exist or may require authorization: server",
            Cause.IMAGE_FORBIDDEN,
        ),
        ("reading manifest 1 in quay.io/x: manifest unknown", Cause.IMAGE_NOT_FOUND),  # CRI-O
        (
            'failed to parse image reference "UPPER/x:1": invalid reference format: repository name must',
            Cause.IMAGE_NAME_INVALID,
        ),
    ],
)
def test_an_image_that_waiting_will_not_bring_is_definite_at_the_first_attempt(
    message: str, cause: Cause
) -> None:
    for reason, text in (("ErrImagePull", message), ("ImagePullBackOff", BACK_OFF + message)):
        assert judge(make_pod(status=waiting(reason, text))).problem.cause is cause


@pytest.mark.parametrize(
    "message",
    [
        f'{RESOLVE}failed to do request: Head "https://x/v2/": dial tcp: lookup x: no such host',
        f'{RESOLVE}failed to authorize: failed to fetch anonymous token: Get "https://x": i/o timeout',
        f"{RESOLVE}pulling from host x failed with status code [manifests 1]: 503 Service Unavailable",
        f"{RESOLVE}pulling from host x failed with status code [manifests 1]: 429 Too Many Requests",
    ],
    ids=["dns", "token", "503", "429"],
)
def test_a_registry_that_does_not_answer_is_tried_twice(message: str) -> None:
    first = judge(make_pod(status=waiting("ErrImagePull", message)))
    assert (first.problem, first.suspicion.cause) == (None, Cause.REGISTRY_UNREACHABLE)
    again = judge(make_pod(status=waiting("ImagePullBackOff", BACK_OFF + message)))
    assert again.problem.cause is Cause.REGISTRY_UNREACHABLE


def test_the_error_of_a_pull_is_found_in_the_events_of_older_kubelets() -> None:
    event = make_event(
        "Failed", f'Failed to pull image "x": {RESOLVE}localhost:5001/x:1: not found', "03:48:20"
    )
    pod = make_pod(status=waiting("ImagePullBackOff", 'Back-off pulling image "localhost:5001/x:1"'))
    assert judge(pod, event).problem.cause is Cause.IMAGE_NOT_FOUND


CONFIG = "CreateContainerConfigError"


@pytest.mark.parametrize(
    ("status", "cause", "words"),
    [
        (
            waiting("ErrImageNeverPull"),
            Cause.IMAGE_NEVER_PULLED,
            "image envfleet/echo:0.1.0 is not on node worker",
        ),
        (
            waiting("InvalidImageName"),
            Cause.IMAGE_NAME_INVALID,
            "envfleet/echo:0.1.0 is not a valid image name",
        ),
        (
            waiting(CONFIG, 'container has runAsNonRoot and image will run as root (pod: "a", container: b)'),
            Cause.RUNS_AS_ROOT,
            "would run as root",
        ),
        (
            waiting(CONFIG, "container has runAsNonRoot and image has non-numeric user (app), cannot verify"),
            Cause.NAMED_USER,
            "non-numeric user (app)",
        ),
        (waiting(CONFIG, 'secret "nope" not found'), Cause.REFERENCE_MISSING, 'secret "nope" not found'),
        (
            waiting(CONFIG, "couldn't find key zz in Secret fleet/have"),
            Cause.REFERENCE_MISSING,
            "find key zz",
        ),
        (
            unready_status(
                CRASH_LOOP,
                ended(
                    128,
                    "StartError",
                    message=f'{RUNC}exec: "serve-me": executable file not found in $PATH: unknown',
                ),
                restarts=2,
            ),
            Cause.COMMAND_NOT_RUNNABLE,
            'there is no such command (exec: "serve-me": executable file not found in $PATH: unknown)',
        ),
        (
            waiting("RunContainerError", f'{RUNC}exec: "/etc/hostname": permission denied: unknown'),
            Cause.COMMAND_NOT_RUNNABLE,
            "its command is not executable",
        ),
        (
            waiting("RunContainerError", f"{RUNC}exec /x: exec format error"),
            Cause.WRONG_ARCHITECTURE,
            "can't run",
        ),
        (
            unready_status(running(), ended(137, "OOMKilled"), restarts=1),
            Cause.OUT_OF_MEMORY,
            "was killed at its memory limit of 512Mi",
        ),
        (
            unready_status(ended(137, "OOMKilled")),
            Cause.OUT_OF_MEMORY,
            "was killed at its memory limit of 512Mi",
        ),
        (
            unready_status(CRASH_LOOP, ended(3), restarts=2),
            Cause.CRASHES,
            "exit code 3 after 1 s, 2 times so far",
        ),
        (unready_status(ended(3), ended(3), restarts=1), Cause.CRASHES, "exit code 3"),
        (
            unready_status(CRASH_LOOP, ended(0, "Completed"), restarts=1),
            Cause.EXITS,
            "ended with exit code 0",
        ),
        (unready_status(CRASH_LOOP, ended(137), restarts=1), Cause.KILLED, "SIGKILL, perhaps for its memory"),
        (unready_status(CRASH_LOOP, ended(139), restarts=1), Cause.CRASHES, "was ended by signal 11"),
    ],
)
def test_a_container_that_does_not_run_has_a_definite_cause(status: dict, cause: Cause, words: str) -> None:
    found = judge(make_pod(status=status))
    assert (found.state, found.problem.cause) == (State.FAILED, cause)
    assert words in found.problem.message


@pytest.mark.parametrize(
    "status",
    [
        unready_status(ended(3)),
        unready_status(running(), ended(3), restarts=1),
        # A day's work, ended with its node, twice.
        unready_status(running(), ended(255, "Unknown", started="00:00:00"), restarts=2),
    ],
    ids=["first exit", "first restart", "after long work"],
)
def test_a_single_crash_is_only_a_suspicion(status: dict) -> None:
    found = judge(make_pod(status=status))
    assert (found.problem, found.suspicion.cause) == (None, Cause.CRASHES)


def failure(text: str, first: str, last: str, number: int, probe: str = "Startup") -> dict:
    return make_event("Unhealthy", f"{probe} probe failed: {text}", first, last, number)


GET = 'Get "http://10.244.1.5:8000/health": '
REFUSED = f"{GET}dial tcp 10.244.1.5:8000: connect: connection refused"
TIMEOUT = f"{GET}context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
PROBES = [
    (REFUSED, Cause.NOTHING_LISTENS, "nothing listens on port 8000"),
    (
        "HTTP probe failed with statuscode: 503",
        Cause.HEALTH_ERROR,
        "/health on port 8000 is answered with 503",
    ),
    (TIMEOUT, Cause.HEALTH_TIMEOUT, "/health on port 8000 does not answer within 5 s"),
    (f"{GET}EOF", Cause.HEALTH_ERROR, "EOF"),
]
ANSWERS = [
    (
        "HTTP probe failed with statuscode: 404",
        Cause.HEALTH_PATH_WRONG,
        "/health on port 8000 is answered with 404",
    ),
    ("HTTP probe failed with statuscode: 401", Cause.HEALTH_PATH_REFUSED, "answered with 401"),
    (
        f"{GET}http: server gave HTTP response to HTTPS client",
        Cause.HEALTH_SCHEME_WRONG,
        "speaks HTTP, and is asked",
    ),
    (f'{GET}malformed HTTP response "\\x15\\x03\\x03"', Cause.HEALTH_SCHEME_WRONG, "perhaps it speaks HTTPS"),
]


@pytest.mark.parametrize(("text", "cause", "words"), PROBES)
def test_a_failing_probe_may_be_a_slow_start_until_the_time_for_it_is_over(
    text: str, cause: Cause, words: str
) -> None:
    pod = make_pod(status=unready_status(running("03:48:02")))
    expected = Expected("echo-a", startup_seconds=30)
    event = failure(text, "03:48:04", "03:48:28", 20)
    early = judge(pod, event, now="03:48:31", expected=expected)
    assert (early.state, early.problem, early.suspicion.cause) == (State.STARTING, None, cause)
    late = judge(pod, event, now="03:48:32", expected=expected)
    assert (late.state, late.problem.cause) == (State.FAILED, cause)
    assert words in late.problem.message


@pytest.mark.parametrize(("text", "cause", "words"), ANSWERS)
def test_an_answer_that_waiting_will_not_change_is_definite_after_three(
    text: str, cause: Cause, words: str
) -> None:
    pod = make_pod(status=unready_status(running("03:48:02")))
    refused = failure(REFUSED, "03:48:02", "03:48:02", 1)
    two = judge(pod, refused, failure(text, "03:48:03", "03:48:06", 2))
    assert (two.problem, two.suspicion.cause) == (None, cause)
    three = judge(pod, refused, failure(text, "03:48:03", "03:48:06", 3))
    assert three.problem.cause is cause
    assert words in three.problem.message


def test_failures_of_the_container_before_are_not_those_of_this_one() -> None:
    pod = make_pod(
        status=unready_status(running("03:48:25"), ended(255, "Unknown", started="00:00:00"), restarts=1)
    )
    old = failure("HTTP probe failed with statuscode: 404", "03:40:00", "03:40:09", 9)
    assert judge(pod, old).problem is None


def test_a_startup_probe_that_ended_the_container_is_definite() -> None:
    killed = ended(137, started="03:48:01", finished="03:48:24")
    found = judge(
        make_pod(status=unready_status(running("03:48:25"), killed, restarts=1)),
        failure(f"{GET}http: server gave HTTP response to HTTPS client", "03:48:05", "03:48:27", 20),
        failure(REFUSED, "03:48:02", "03:48:28", 4),  # while it comes up, each time
        make_event("Killing", "Container environment failed startup probe, will be restarted", "03:48:22"),
    )
    assert found.problem.cause is Cause.HEALTH_SCHEME_WRONG
    assert found.problem.message.startswith(
        "was restarted, since its startup probe failed: port 8000 speaks HTTP"
    )


@pytest.mark.parametrize(("restarts", "is_definite"), [(1, False), (2, True)])
def test_liveness_probes_that_end_the_container_twice_are_definite(restarts: int, is_definite: bool) -> None:
    killed = ended(137, started="03:49:25", finished="03:49:47")
    found = judge(
        make_pod(status=unready_status(running("03:49:47"), killed, restarts=restarts)),
        failure(TIMEOUT, "03:49:40", "03:49:44", 3, "Liveness"),
        make_event("Killing", "Container environment failed liveness probe, will be restarted", "03:49:45"),
        now="03:49:48",
    )
    assert (found.problem is not None) == is_definite
    assert found.detail.startswith(
        "was restarted, since its liveness probe failed: /health on port 8000 does not"
    )
    assert (found.problem or found.suspicion).cause is Cause.HEALTH_TIMEOUT


@pytest.mark.parametrize(("now", "is_definite"), [("03:42:51", False), ("03:42:52", True)])
def test_a_pod_that_was_ready_may_be_away_for_half_a_minute(now: str, is_definite: bool) -> None:
    pod = make_pod(status=unready_status(running("03:00:00"), started=True))
    found = judge(pod, failure(TIMEOUT, "03:42:20", "03:42:50", 6, "Readiness"), now=now)
    assert (found.problem is not None) == is_definite
    assert (found.problem or found.suspicion).cause is Cause.HEALTH_TIMEOUT


CREATING = waiting("ContainerCreating")
SANDBOX = "Failed to create pod sandbox: rpc error: code = Unknown desc = "


@pytest.mark.parametrize(
    ("reason", "message", "cause", "definite_after"),
    [
        (
            "FailedMount",
            'MountVolume.SetUp failed for volume "v" : configmap "nope" not found',
            Cause.VOLUME_NOT_MOUNTED,
            5,
        ),
        (
            # comes by itself in a new namespace
            "FailedMount",
            'MountVolume.SetUp failed for volume "kube-api-access" : configmap "kube-root-ca.crt" not found',
            Cause.VOLUME_NOT_MOUNTED,
            60,
        ),
        ("FailedAttachVolume", "Multi-Attach error for volume v", Cause.VOLUME_NOT_MOUNTED, 60),
        (
            "FailedCreatePodSandBox",
            f'{SANDBOX}failed to get sandbox runtime: no runtime for "no-such-handler" is configured',
            Cause.RUNTIME_CLASS_MISSING,
            0,
        ),
        (
            "FailedCreatePodSandBox",
            f'{SANDBOX}plugin type="ptp" failed (add)',
            Cause.NO_SANDBOX,
            10,
        ),
    ],
)
def test_what_a_pod_lacks_on_its_node_is_definite_after_a_while(
    reason: str, message: str, cause: Cause, definite_after: int
) -> None:
    event = make_event(reason, message, "03:48:00")
    for seconds in {definite_after, max(definite_after - 1, 0)}:
        now = f"03:{48 + seconds // 60}:{seconds % 60:02}"
        found = judge(make_pod(status=CREATING), event, now=now)
        assert (found.problem is not None) == (seconds == definite_after)
        assert (found.problem or found.suspicion).cause is cause


def test_a_volume_that_was_mounted_in_the_end_is_no_problem() -> None:
    event = make_event("FailedMount", 'configmap "nope" not found', "03:48:00")
    assert judge(make_pod(status=unready_status(running())), event).detail == ""


def test_a_pod_that_works_again_is_ready_whatever_befell_it_before() -> None:
    status = ready_status()
    status["containerStatuses"][0] |= {"lastState": ended(137, "OOMKilled"), "restartCount": 3}
    assert judge(make_pod(status=status)).state is State.READY


def test_what_is_definite_counts_more_than_a_suspicion() -> None:
    pod = make_pod(status=unready_status(running("03:48:02"), ended(1), restarts=1))
    event = failure("HTTP probe failed with statuscode: 404", "03:48:03", "03:48:09", 6)
    assert judge(pod, event).problem.cause is Cause.HEALTH_PATH_WRONG


def pod_ended(reason: str, message: str = "") -> dict:
    return {"phase": "Failed", "reason": reason, "message": message}


def deleted_pod(reason: str | None = None, message: str = "") -> dict:
    pod = make_pod()
    pod["metadata"]["deletionTimestamp"] = "2026-12-01T03:48:20Z"
    if reason:
        condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
        pod["status"]["conditions"].append(condition)
    return pod


STORAGE = "Pod ephemeral local storage usage exceeds the total limit of containers 50Mi. "


@pytest.mark.parametrize(
    ("pod", "state", "cause", "words"),
    [
        (
            make_pod(status=pod_ended("Evicted", STORAGE)),
            State.FAILED,
            Cause.EVICTED,
            f"evicted ({STORAGE.strip()})",
        ),
        (
            make_pod(status=pod_ended("DeadlineExceeded")),
            State.FAILED,
            Cause.LIFETIME_OVER,
            "end of its lifetime",
        ),
        (make_pod(status=pod_ended("Preempting")), State.FAILED, Cause.PREEMPTED, "for a critical pod"),
        (
            make_pod(status=pod_ended("OutOfcpu")),
            State.FAILED,
            Cause.NODE_REFUSED,
            "refused by its node: OutOfcpu",
        ),
        (make_pod(status=pod_ended("NodeAffinity")), State.FAILED, Cause.NODE_REFUSED, "node: NodeAffinity"),
        (make_pod(status=pod_ended("NodeShutdown")), State.FAILED, Cause.NODE_LOST, "its node shut down"),
        (make_pod(status=pod_ended("Other", "so")), State.FAILED, Cause.POD_FAILED, "ended: Other (so)"),
        (deleted_pod(), State.TERMINATING, Cause.DELETED, "is being deleted"),
        (deleted_pod("PreemptionByScheduler"), State.TERMINATING, Cause.PREEMPTED, "of higher priority"),
        (deleted_pod("EvictionByEvictionAPI"), State.TERMINATING, Cause.EVICTED, "when a node is drained"),
        (
            deleted_pod("DeletionByTaintManager", "Taint"),
            State.TERMINATING,
            Cause.NODE_LOST,
            "its node (Taint)",
        ),
        (None, State.GONE, Cause.POD_GONE, "there is no such Pod"),
    ],
)
def test_a_pod_that_has_come_to_its_end_needs_repair(
    pod: dict | None, state: State, cause: Cause, words: str
) -> None:
    found = judge(pod)
    assert (found.state, found.problem.cause) == (state, cause)
    assert words in found.problem.message
    assert "`envfleet repair`" in found.problem.remedy


def test_an_evicted_pod_whose_process_ended_well_is_known_by_its_event() -> None:
    event = make_event("Evicted", STORAGE, "03:48:00")
    problem = judge(make_pod(status={"phase": "Succeeded"}), event).problem
    assert problem.cause is Cause.EVICTED
    assert problem.message == f"was evicted ({STORAGE.strip()})"


def test_finalizers_that_hold_a_deleted_pod_are_named() -> None:
    pod = deleted_pod()
    pod["metadata"]["finalizers"] = ["example.com/hold"]
    assert "finalizers hold it: example.com/hold" in judge(pod).problem.message


@pytest.mark.parametrize(
    ("nodes", "now", "is_definite"),
    [
        ({}, "03:48:00", True),
        ({"worker": make_node(ready="Unknown")}, "03:48:00", True),
        ({"worker": make_node(ready="False")}, "03:48:04", False),
        ({"worker": make_node(ready="False")}, "03:48:05", True),
    ],
    ids=["gone", "silent", "just not ready", "not ready"],
)
def test_a_pod_on_a_lost_node_is_lost_although_its_status_says_that_it_works(
    nodes: dict, now: str, is_definite: bool
) -> None:
    found = judge(make_pod(), nodes=nodes, now=now)
    assert (found.problem is not None) == is_definite
    assert (found.problem or found.suspicion).cause is Cause.NODE_LOST


def test_nodes_that_may_not_be_read_are_not_lost() -> None:
    assert judge(make_pod(), nodes=None).state is State.READY


def test_a_pod_without_a_service_is_not_ready() -> None:
    found = judge(make_pod(), services={})
    assert (found.state, found.problem.cause) == (State.FAILED, Cause.SERVICE_GONE)


@pytest.mark.parametrize(("since", "state"), [("03:48:27", State.STARTING), ("03:47:58", State.FAILED)])
def test_a_ready_pod_counts_once_its_service_leads_to_it(since: str, state: State) -> None:
    pod = make_pod(status=ready_status(since))
    found = judge(pod, slices={"x": make_slice(ready=False)})
    assert (found.state, found.detail) == (state, "is ready, but its Service does not lead to it yet")
    assert judge(pod).state is State.READY


def test_an_image_that_is_pulled_shows_for_how_long() -> None:
    event = make_event("Pulling", 'Pulling image "x"', "03:48:08")
    found = judge(make_pod(status=CREATING), event)
    assert (found.state, found.detail) == (State.PULLING, "is pulling its image for 20 s")


def test_events_of_an_earlier_pod_of_the_same_name_do_not_count() -> None:
    event = make_event("FailedMount", 'configmap "nope" not found', "03:40:00")
    event["involvedObject"]["uid"] = "the pod before"
    assert judge(make_pod(status=CREATING), event).suspicion is None


def make_deployment(updated: int = 1, observed: int = 2, **status) -> dict:
    return {
        "metadata": {"name": "echo-a", "generation": 2},
        "status": {"observedGeneration": observed, "updatedReplicas": updated, **status},
    }


SERVER = Expected("echo-a", component="server")


def judge_server(deployment: dict | None, *pods: dict) -> Status:
    deployments = {"echo-a": deployment} if deployment else {}
    by_name = {f"{pod['metadata']['name']}-{number}": pod for number, pod in enumerate(pods)}
    return judge(None, pods=by_name, deployments=deployments, expected=SERVER)


def test_a_server_is_the_newest_pod_of_its_deployment() -> None:
    old, new = make_pod(component="server", status=CREATING), make_pod(component="server")
    new["metadata"]["creationTimestamp"] = "2026-12-01T03:45:00Z"
    assert judge_server(make_deployment(), new, old).state is State.READY


@pytest.mark.parametrize("deployment", [make_deployment(updated=0), make_deployment(observed=1)])
def test_the_pod_of_a_servers_old_template_does_not_count(deployment: dict) -> None:
    found = judge_server(deployment, make_pod(component="server"))
    assert (found.state, found.problem, found.detail) == (State.PENDING, None, "its pod is not created yet")


def test_a_server_whose_pod_is_refused_says_by_what() -> None:
    message = 'pods "server-1" is forbidden: exceeded quota: small, requested: cpu=1, limited: cpu=0'
    condition = {"type": "ReplicaFailure", "status": "True", "message": message}
    found = judge_server(make_deployment(updated=0, conditions=[condition]))
    assert (found.state, found.problem.cause) == (State.GONE, Cause.NOT_CREATED)
    assert "exceeded quota: small" in found.problem.message


def test_a_server_without_a_deployment_is_gone() -> None:
    assert judge_server(None, make_pod(component="server")).problem.cause is Cause.POD_GONE


def test_every_cause_has_a_remedy() -> None:
    assert set(REMEDIES) == set(Cause)


def test_problems_are_listed_by_name() -> None:
    problems = [Problem(name, Cause.CRASHES, "crashed", "mend it") for name in ("b", "a")]
    assert str(FleetNotReady(problems, ready=3, total=5)) == (
        "2 of 5 workloads are not ready\na: crashed\n    mend it\nb: crashed\n    mend it"
    )
