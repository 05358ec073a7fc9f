import asyncio
from email.utils import parsedate_to_datetime

import kr8s
import pytest

from live.api import ClusterError
from live.fleet import Cause, Expected, FleetNotReady, State
from live.objects import Mirror, Query
from live.watch import Pace, look, wait
from tests.unit.live_cluster import (
    INSTANCE,
    NAMESPACE,
    NOW,
    ClusterStub,
    make_event,
    make_namespace,
    make_pod,
    make_slice,
    ready_status,
    unready_status,
)

PACE = Pace(tick=0.01, settle=0, retry=0.01, patience=0.3)
SETTLING = Pace(tick=0.01, settle=0.3)
STARTING = unready_status({"waiting": {"reason": "ContainerCreating"}})
NEVER_PULLED = unready_status({"waiting": {"reason": "ErrImageNeverPull"}})
CRASHED = {"terminated": {"exitCode": 3, "reason": "Error", "startedAt": None, "finishedAt": None}}
CRASHES = unready_status({"waiting": {"reason": "CrashLoopBackOff"}}, CRASHED, restarts=2)


class Wait:
    """A wait that goes on while the cluster changes."""

    def __init__(self, api: kr8s.asyncio.Api, *names: str, seconds: float = 30, pace: Pace = PACE) -> None:
        self.texts: list[str] = []
        expected = [Expected(name) for name in names]
        self._task = asyncio.create_task(
            wait(api, NAMESPACE, INSTANCE, expected, self.texts.append, seconds, pace=pace)
        )

    async def says(self, text: str) -> None:
        """Return when it reports the text."""
        async with asyncio.timeout(10):
            while text not in self.texts and not self._task.done():
                await asyncio.sleep(0.005)
        assert self.texts[-1] == text

    async def ends(self) -> None:
        """Return when the fleet is ready, or raise what it is instead."""
        await asyncio.wait_for(self._task, 10)


async def test_wait_returns_once_every_pod_is_ready_and_in_its_service(
    api: kr8s.asyncio.Api, stub: ClusterStub
) -> None:
    stub.run("a")
    stub.run("b", make_pod("b", STARTING))
    stub.put("endpointslices", make_slice("b", ready=False))
    waits = Wait(api, "a", "b")
    await waits.says("1/2 ready, 1 starting")
    stub.put("pods", make_pod("b", ready_status(since="03:59:59")))
    await asyncio.sleep(0.05)
    stub.put("endpointslices", make_slice("b"))
    await waits.ends()
    assert waits.texts == ["1/2 ready, 1 starting", "2/2 ready"]


async def test_wait_for_no_workload_returns(api: kr8s.asyncio.Api) -> None:
    await Wait(api).ends()


async def test_wait_reads_a_fleet_with_one_list_and_one_watch_for_each_kind(
    api: kr8s.asyncio.Api, stub: ClusterStub
) -> None:
    names = [f"env-{number}" for number in range(40)]
    for name in names:
        stub.run(name)
    await Wait(api, *names).ends()
    assert len(stub.requests) <= 1 + 2 * 7  # and the version, once


async def test_problems_that_show_at_nearly_the_same_time_are_in_one_report(
    api: kr8s.asyncio.Api, stub: ClusterStub
) -> None:
    stub.run("a")
    stub.run("b", make_pod("b", STARTING))
    stub.run("c", make_pod("c", NEVER_PULLED))
    stub.run("d", make_pod("d", STARTING))
    waits = Wait(api, "a", "b", "c", "d", pace=SETTLING)
    await waits.says("1/4 ready, 2 starting, 1 failed")
    stub.put("pods", make_pod("b", NEVER_PULLED))
    with pytest.raises(FleetNotReady) as error:
        await waits.ends()
    assert [(problem.name, problem.cause) for problem in error.value.problems] == [
        ("b", Cause.IMAGE_NEVER_PULLED),
        ("c", Cause.IMAGE_NEVER_PULLED),
    ]
    assert (error.value.ready, error.value.total) == (1, 4)
    assert str(error.value).startswith("3 of 4 workloads are not ready, 2 of them for good\nb: image ")


async def test_a_problem_that_passes_while_it_settles_fails_nothing(
    api: kr8s.asyncio.Api, stub: ClusterStub
) -> None:
    stub.run("a", make_pod("a", NEVER_PULLED))
    waits = Wait(api, "a", pace=SETTLING)
    await waits.says("0/1 ready, 1 failed")
    stub.put("pods", make_pod("a", STARTING))
    await waits.says("0/1 ready, 1 starting")
    await asyncio.sleep(SETTLING.settle)
    stub.put("pods", make_pod("a"))
    await waits.ends()


async def test_at_the_timeout_every_unready_workload_says_what_is_known(
    api: kr8s.asyncio.Api, stub: ClusterStub
) -> None:
    stub.run("a", make_pod("a", STARTING))
    event = make_event("Pulling", 'Pulling image "x"', "03:58:00")
    stub.put("events", event | {"involvedObject": {"kind": "Pod", "uid": "pod-a"}})
    stub.run("b")
    with pytest.raises(FleetNotReady) as error:
        await Wait(api, "a", "b", seconds=0).ends()
    (problem,) = error.value.problems
    assert (problem.name, problem.cause) == ("a", Cause.SLOW)
    assert problem.message.startswith("not ready after 0 s: is pulling its image for 12")


async def test_a_watch_that_expires_is_followed_by_a_new_list(
    api: kr8s.asyncio.Api, stub: ClusterStub
) -> None:
    stub.run("a", make_pod("a", STARTING))
    waits = Wait(api, "a")
    await waits.says("0/1 ready, 1 starting")
    stub.objects["pods"]["pod-a"] = make_pod("a")  # a change that no watch tells
    stub.break_watches()
    await waits.ends()


async def test_what_was_deleted_meanwhile_is_gone(api: kr8s.asyncio.Api, stub: ClusterStub) -> None:
    stub.run("a", make_pod("a", STARTING))
    waits = Wait(api, "a")
    await waits.says("0/1 ready, 1 starting")
    stub.remove("pods", make_pod("a"))
    with pytest.raises(FleetNotReady, match="a: there is no such Pod"):
        await waits.ends()


async def test_a_short_absence_of_the_api_server_is_waited_for_and_nothing_judged(
    api: kr8s.asyncio.Api, stub: ClusterStub
) -> None:
    stub.run("a", make_pod("a", STARTING))
    waits = Wait(api, "a", pace=Pace(tick=0.01, settle=0, retry=0.01))
    await waits.says("0/1 ready, 1 starting")
    stub.away = True
    await waits.says("the Kubernetes API does not answer")
    stub.put("pods", make_pod("a"))
    stub.away = False
    await waits.ends()


async def test_a_long_absence_of_the_api_server_is_an_error(api: kr8s.asyncio.Api, stub: ClusterStub) -> None:
    stub.run("a", make_pod("a", STARTING))
    waits = Wait(api, "a")
    await waits.says("0/1 ready, 1 starting")
    stub.away = True
    with pytest.raises(ClusterError, match="the connection to the Kubernetes API broke"):
        await waits.ends()


@pytest.mark.parametrize("kind", ["pods", "events"])
async def test_what_must_be_read_and_may_not_is_an_error_at_once(
    api: kr8s.asyncio.Api, stub: ClusterStub, kind: str
) -> None:
    stub.refused = {kind}
    with pytest.raises(ClusterError, match=f"{kind}: the Kubernetes API does not allow it"):
        await Wait(api, "a").ends()


async def test_nodes_and_namespaces_that_may_not_be_read_are_done_without(
    api: kr8s.asyncio.Api, stub: ClusterStub
) -> None:
    stub.refused = {"nodes", "namespaces"}
    stub.run("a")
    await Wait(api, "a").ends()


async def test_the_end_of_a_crashed_containers_log_is_in_the_report(
    api: kr8s.asyncio.Api, stub: ClusterStub
) -> None:
    stub.run("a", make_pod("a", CRASHES))
    stub.logs["a"] = "starting\nno such table: users\n"
    with pytest.raises(FleetNotReady) as error:
        await Wait(api, "a").ends()
    assert str(error.value) == "\n".join(
        [
            "1 of 1 workloads is not ready",
            "a: crashed with exit code 3 after 0 s, 2 times so far",
            "    see its log; change `command`, `args`, `env`, `secret_env` or the image",
            "    last lines of its log:",
            "      starting",
            "      no such table: users",
        ]
    )


async def test_a_program_for_another_processor_is_known_by_its_log(
    api: kr8s.asyncio.Api, stub: ClusterStub
) -> None:
    stub.run("a", make_pod("a", CRASHES))
    stub.logs["a"] = "exec /usr/bin/python3: exec format error\n"
    with pytest.raises(FleetNotReady) as error:
        await Wait(api, "a").ends()
    assert error.value.problems[0].cause is Cause.WRONG_ARCHITECTURE


async def test_times_are_by_the_clock_of_the_api_server(api: kr8s.asyncio.Api) -> None:
    mirror = Mirror(Query("pods", NAMESPACE))
    await mirror.read(api)
    assert 0 <= (mirror.moment - parsedate_to_datetime(NOW)).total_seconds() < 60


async def test_look_tells_the_status_of_each_workload_in_the_order_given(
    api: kr8s.asyncio.Api, stub: ClusterStub
) -> None:
    stub.run("a")
    stub.run("b", make_pod("b", CRASHES))
    b, a, c = await look(api, NAMESPACE, INSTANCE, [Expected("b"), Expected("a"), Expected("c")])
    assert (a.state, a.problem, a.detail) == (State.READY, None, "")
    assert (a.image, a.restarts, a.node) == ("envfleet/echo:0.1.0", 0, "worker")
    assert (b.state, b.problem.cause, b.restarts) == (State.FAILED, Cause.CRASHES, 2)
    assert (c.state, c.problem.cause) == (State.GONE, Cause.POD_GONE)


async def test_look_says_how_much_is_missing_on_the_nodes(api: kr8s.asyncio.Api, stub: ClusterStub) -> None:
    message = "0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are available"
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastTransitionTime": "2026-12-01T03:48:44Z",
    }
    pod = make_pod("a", {"phase": "Pending", "conditions": [condition]}, nodeName=None)
    pod["spec"]["containers"][0]["resources"] = {"requests": {"memory": "64Gi"}}
    stub.run("a", pod)
    stub.put("pods", make_pod("other"))
    (status,) = await look(api, NAMESPACE, INSTANCE, [Expected("a")])
    assert status.detail == (
        "needs 64Gi of memory; the node with most left, worker, has 23.8Gi free: 40.2Gi are missing"
    )
    assert status.problem.cause is Cause.NO_ROOM


@pytest.mark.parametrize(
    ("namespace", "cause", "words"),
    [
        (None, Cause.NAMESPACE_GONE, "its namespace does not exist"),
        (
            make_namespace(deletionTimestamp="2026-12-01T03:42:22Z")
            | {
                "status": {
                    "conditions": [
                        {
                            "type": "NamespaceContentRemaining",
                            "status": "True",
                            "message": "pods. has 1 instances",
                        },
                        {"type": "NamespaceDeletionContentFailure", "status": "False", "message": "deleted"},
                    ]
                }
            },
            Cause.NAMESPACE_TERMINATING,
            "its namespace is being deleted (pods. has 1 instances)",
        ),
    ],
    ids=["gone", "terminating"],
)
async def test_what_befell_the_namespace_is_said_of_every_workload(
    api: kr8s.asyncio.Api, stub: ClusterStub, namespace: dict | None, cause: Cause, words: str
) -> None:
    stub.run("a")
    stub.objects["namespaces"] = {"namespace": namespace} if namespace else {}
    (status,) = await look(api, NAMESPACE, INSTANCE, [Expected("a")])
    assert (status.problem.cause, status.detail) == (cause, words)
