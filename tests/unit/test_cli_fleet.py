"""What is asked of a running fleet, and on which stream it is shown."""

import os
import socket
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from cli import fleet as fleets
from cli.fleet import Fleet
from live.api import ClusterError
from live.fleet import Cause, Problem, State, Status
from toolchain import scratch, tools
from toolchain.progress import StepError

OUTPUTS = {
    "cluster": "envfleet-dev",
    "instance": "dev",
    "kubeconfig": "canary",
    "namespace": "rl",
    "server": "http://server.rl:8080",
    "environments": {name: {"url": f"http://{name}.rl:8000"} for name in ("echo", "other")},
}
SERVER = Status("server", State.READY)
READY = Status("echo", State.READY, image="envfleet/echo:0.1.0")


def broken(cause, name="other"):
    problem = Problem(name, cause, "[something] is wrong", "mend it", ("its last words",))
    return Status(
        name, State.FAILED, "is broken", problem, pod=None if cause is Cause.POD_GONE else f"{name}-1"
    )


@pytest.fixture
def stack(tmp_path, monkeypatch):
    """A stack that counts how often its outputs are read, and a `kubectl` that notes what it is told."""
    monkeypatch.setattr(scratch, "FOLDER", tmp_path / "scratch")
    monkeypatch.setattr(fleets, "environ", lambda: {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    monkeypatch.setattr(tools, "ensure", lambda *names: None)
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\ncat "${{1#--kubeconfig=}}" >> {tmp_path}/kubeconfigs\n'
    )
    kubectl.chmod(0o755)
    stack = SimpleNamespace(name="dev", reads=0, asked=tmp_path / "asked")

    def outputs():
        stack.reads += 1
        return OUTPUTS

    stack.outputs = outputs
    return stack


@pytest.fixture
def cluster(monkeypatch):
    """Arrange what a look at the cluster shows, or the error that it ends in."""
    looks = []

    @asynccontextmanager
    async def connect(kubeconfig):
        assert kubeconfig == "canary"
        yield "api"

    monkeypatch.setattr(fleets, "connect", connect)

    def arrange(*answer):
        async def look(api, namespace, instance, expected):
            looks.append((api, namespace, instance, [(each.name, each.component) for each in expected]))
            if isinstance(answer[0], Exception):
                raise answer[0]
            return list(answer)

        monkeypatch.setattr(fleets.watch, "look", look)
        return looks

    return arrange


def test_the_table_is_on_stdout_and_hints_are_not(stack, cluster, capsys):
    cluster(SERVER, READY, broken(Cause.OUT_OF_MEMORY))
    Fleet(stack).show()
    said = capsys.readouterr()
    lines = [line for line in said.out.splitlines() if "│ echo " in line]
    assert len(lines) == 1
    assert "│ Ready " in lines[0]
    assert "not ready: out of memory" in said.out
    assert "Control server: http://server.rl:8080\n" in said.out
    assert said.err == "From this machine: make connect ENV=echo\n"


def test_what_is_wrong_is_said_in_full_below_the_table(stack, cluster, capsys):
    cluster(broken(Cause.CRASHES, "server"), READY, broken(Cause.EXITS))
    Fleet(stack).show()
    said = capsys.readouterr().out
    assert "Control server: http://server.rl:8080 not ready: crashes\n" in said
    assert (
        "other: [something] is wrong\n    mend it\n    last lines of its log:\n      its last words\n" in said
    )


def test_outputs_and_cluster_are_asked_once_for_the_whole_fleet(stack, cluster):
    looks = cluster(SERVER, READY, READY)
    Fleet(stack).show()
    expected = [("server", "server"), ("echo", "environment"), ("other", "environment")]
    assert looks == [("api", "rl", "dev", expected)]
    assert stack.reads == 1


def test_a_cluster_that_does_not_answer_is_one_line_that_says_what_to_run(stack, cluster):
    cluster(ClusterError("it is not reachable"))
    with pytest.raises(StepError) as caught:
        Fleet(stack).show()
    assert str(caught.value) == (
        "the cluster of stack dev can't be asked: it is not reachable "
        "(`make up STACK=dev` starts what is stopped)"
    )


def test_only_pods_that_cannot_come_back_are_removed(stack, cluster, tmp_path):
    crashing, gone = broken(Cause.CRASHES, "crashing"), broken(Cause.POD_GONE, "gone")
    cluster(broken(Cause.NODE_LOST, "server"), READY, broken(Cause.EVICTED, "evicted"), crashing, gone)
    assert Fleet(stack).remove_broken() == ["server", "evicted", "gone"]
    (asked,) = stack.asked.read_text().splitlines()
    assert "--namespace=rl delete pod/server-1 pod/evicted-1 --ignore-not-found --force" in asked
    assert "crashing" not in asked
    assert (tmp_path / "kubeconfigs").read_text() == "canary"
    assert list(scratch.FOLDER.iterdir()) == []


def test_nothing_is_removed_where_nothing_is_broken(stack, cluster):
    cluster(SERVER, READY)
    assert Fleet(stack).remove_broken() == []
    assert not stack.asked.exists()


@pytest.mark.parametrize(("name", "object_name"), [("echo", "pod/echo"), ("server", "deployment/server")])
def test_logs_are_those_of_the_pod_or_the_server(stack, name, object_name):
    Fleet(stack).logs(name, lines=7, follow=True, previous=False)
    asked = stack.asked.read_text()
    assert f"--namespace=rl logs {object_name} --tail=7 --follow=true --previous=false" in asked


@pytest.mark.parametrize(
    "ask",
    [
        lambda fleet: fleet.connect("ecko", 8000),
        lambda fleet: fleet.logs("ecko", lines=1, follow=False, previous=False),
    ],
)
def test_an_unknown_environment_is_an_error_that_lists_the_known_ones(stack, ask):
    with pytest.raises(StepError, match=r"no environment 'ecko'\. It has: echo, other"):
        ask(Fleet(stack))


def test_a_port_that_is_taken_is_an_error(stack):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(StepError, match=f"port {port} of this machine is taken"):
            Fleet(stack).connect("echo", port)


def test_orphans_are_looked_for_beside_the_environments_that_are_up(stack, cluster, monkeypatch):
    cluster(SERVER)
    asked = []

    async def remove(*arguments):
        asked.append((*arguments[:3], list(arguments[3])))
        return ["Pod gone"]

    monkeypatch.setattr(fleets, "remove_orphans", remove)
    assert Fleet(stack).remove_orphans() == ["Pod gone"]
    assert asked == [("api", "rl", "dev", ["echo", "other"])]
