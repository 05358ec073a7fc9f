"""When a fleet is waited for, and what is asked before anything is written."""

from contextlib import asynccontextmanager

import pytest
from pulumi.output import Unknown

from components import ownership, readiness
from live.api import ClusterError
from live.fleet import Cause, FleetNotReady, Problem, State, Status

INPUTS = {
    "kubeconfig": "canary",
    "namespace": "rl",
    "instance": "dev",
    "environments": {"echo": 60.0},
    "incarnations": {"server": "1", "echo": "2"},
    "through_service": True,
    "timeout_seconds": 900.0,
    "urn": "urn:pulumi:dev::envfleet::readiness",
}
provider = readiness.ReadinessProvider()


@asynccontextmanager
async def connect(kubeconfig):
    assert kubeconfig == "canary"
    yield "api"


@pytest.fixture
def cluster(monkeypatch):
    """Arrange what a look shows, and what is found through the Services; returns the waits."""
    waits = []
    monkeypatch.setattr(readiness, "connect", connect)

    def arrange(*answer, unreachable=()):
        async def look(api, namespace, instance, expected):
            if isinstance(answer[0], Exception):
                raise answer[0]
            return list(answer)

        async def wait(api, namespace, instance, expected, report, timeout_seconds):
            waits.append(
                (namespace, instance, [(e.name, e.startup_seconds) for e in expected], timeout_seconds)
            )

        async def ask(api, namespace, instance):
            return list(unreachable)

        monkeypatch.setattr(readiness.watch, "look", look)
        monkeypatch.setattr(readiness.watch, "wait", wait)
        monkeypatch.setattr(readiness, "unreachable", ask)
        return waits

    return arrange


def test_a_fleet_that_is_ready_needs_nothing(cluster):
    cluster(Status("server", State.READY), Status("echo", State.READY))
    assert provider.diff("id", INPUTS, INPUTS).changes is False


def test_a_fleet_that_broke_since_is_waited_for_although_nothing_changed(cluster, capfd):
    cluster(Status("echo", State.FAILED, "was evicted"))
    assert provider.diff("id", INPUTS, INPUTS).changes is True
    assert capfd.readouterr().err == "echo is not ready: was evicted\n"


def test_a_cluster_that_does_not_answer_leaves_it_open(cluster, capfd):
    cluster(ClusterError("it is not reachable"))
    assert provider.diff("id", INPUTS, INPUTS).changes is True
    assert "not known: it is not reachable" in capfd.readouterr().err


@pytest.mark.parametrize(
    "change",
    [{"incarnations": {"server": "1", "echo": "3"}}, {"environments": {}}, {"kubeconfig": Unknown()}],
)
def test_what_changed_is_waited_for_without_a_look(cluster, change):
    cluster(AssertionError("nobody should look"))
    assert provider.diff("id", INPUTS, {**INPUTS, **change}).changes is True


def test_server_and_environments_are_waited_for_with_their_budgets(cluster):
    waits = cluster()
    provider.create(INPUTS)
    assert waits == [("rl", "dev", [("server", 120), ("echo", 60)], 900.0)]


def test_what_is_ready_but_not_reached_through_its_service_fails(cluster):
    problem = Problem("echo", Cause.NOT_IN_SERVICE, "does not answer", "mend it")
    cluster(unreachable=[problem])
    with pytest.raises(FleetNotReady, match="echo: does not answer"):
        provider.update("id", INPUTS, INPUTS)
    provider.update("id", INPUTS, {**INPUTS, "through_service": False})


OWNED = {
    "kubeconfig": "canary",
    "namespace": "rl",
    "instance": "dev",
    "declared": {"Pod": ["echo"]},
    "preview": True,
}


@pytest.fixture
def strangers(monkeypatch):
    """Arrange what is in the fleet's way."""
    monkeypatch.setattr(ownership, "connect", connect)

    def arrange(answer):
        async def look(api, namespace, instance, declared):
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(ownership.ownership, "strangers", look)

    return arrange


def check(**change):
    return ownership.OwnershipProvider().check({}, {**OWNED, **change})


def test_each_stranger_is_a_failure_and_neither_kubeconfig_nor_names_get_into_the_state(strangers):
    strangers(["Pod rl/echo exists"])
    result = check()
    assert [(failure.property, failure.reason) for failure in result.failures] == [
        ("namespace", "Pod rl/echo exists")
    ]
    assert result.inputs == {"namespace": "rl", "instance": "dev"}


def test_a_cluster_that_is_yet_to_be_made_has_no_strangers(strangers):
    strangers(AssertionError("nobody should look"))
    assert check(kubeconfig=Unknown()).failures == []


def test_a_cluster_that_does_not_answer_stops_an_up_but_no_preview(strangers, capfd):
    strangers(ClusterError("it is not reachable"))
    assert check().failures == []
    assert "could not be checked: it is not reachable" in capfd.readouterr().err
    with pytest.raises(ClusterError):
        check(preview=False)
