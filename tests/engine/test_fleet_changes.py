"""What `pulumi preview` says of each kind of change: exactly what it means for the user's pods."""

import pytest

from tests.engine.pulumi_stack import Step

POD = "kubernetes:core/v1:Pod"
SERVICE = "kubernetes:core/v1:Service"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
# What has a new pod is waited for.
AWAITED = Step("update", "pulumi-python:dynamic/fleet:Readiness", "fleet-readiness")


def replaced(pod):
    """Return the steps of one Pod's replacement."""
    return {Step(op, POD, pod) for op in ("replace", "create-replacement", "delete-replaced")} | {AWAITED}


def add_an_environment(raw):
    raw["environments"].append({"name": "third", "image": "test/echo:1"})


def insert_an_environment(raw):
    raw["environments"].insert(0, {"name": "third", "image": "test/echo:1"})


def add_two_of_a_kind(raw):
    raw["environments"].append({"name": "many", "image": "test/echo:1", "count": 2})


def remove_an_environment(raw):
    del raw["environments"][0]


def reorder_environments(raw):
    raw["environments"].reverse()


def change_an_image(raw):
    raw["environments"][0]["image"] = "test/echo:2"


def change_a_variable(raw):
    raw["environments"][1]["env"]["GUESS_HIGHEST"] = "20"


def change_a_command(raw):
    raw["environments"][0]["command"] = ["serve"]


def change_a_memory_limit(raw):
    raw["environments"][0]["resources"] = {"limits": {"memory": "1Gi"}}


def change_a_port(raw):
    raw["environments"][0]["port"] = 9000


def change_a_label(raw):
    raw["environments"][0]["labels"]["example.com/team"] = "b"


def change_the_servers_image(raw):
    raw["server"]["image"] = "test/server:2"


def change_the_servers_log_level(raw):
    raw["server"]["log_level"] = "debug"


def change_the_servers_memory(raw):
    raw["server"]["resources"] = {"limits": {"memory": "1Gi"}}


def change_how_the_server_is_reached(raw):
    raw["server"]["service_type"] = "NodePort"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            add_an_environment,
            {
                Step("create", POD, "fleet-third-pod"),
                Step("create", SERVICE, "fleet-third-service"),
                AWAITED,
            },
        ),
        (
            insert_an_environment,
            {
                Step("create", POD, "fleet-third-pod"),
                Step("create", SERVICE, "fleet-third-service"),
                AWAITED,
            },
        ),
        (
            add_two_of_a_kind,
            {
                Step("create", POD, "fleet-many-0-pod"),
                Step("create", SERVICE, "fleet-many-0-service"),
                Step("create", POD, "fleet-many-1-pod"),
                Step("create", SERVICE, "fleet-many-1-service"),
                AWAITED,
            },
        ),
        (
            remove_an_environment,
            {
                Step("delete", POD, "fleet-echo-pod"),
                Step("delete", SERVICE, "fleet-echo-service"),
                AWAITED,
            },
        ),
        (reorder_environments, set()),
        (change_an_image, replaced("fleet-echo-pod")),
        (change_a_variable, replaced("fleet-guess-pod")),
        (change_a_command, replaced("fleet-echo-pod")),
        (change_a_memory_limit, replaced("fleet-echo-pod")),
        (change_a_port, replaced("fleet-echo-pod") | {Step("update", SERVICE, "fleet-echo-service")}),
        (
            change_a_label,
            {Step("update", POD, "fleet-echo-pod"), Step("update", SERVICE, "fleet-echo-service")},
        ),
        (change_the_servers_image, {Step("update", DEPLOYMENT, "fleet-server-deployment"), AWAITED}),
        (change_the_servers_log_level, {Step("update", DEPLOYMENT, "fleet-server-deployment"), AWAITED}),
        (change_the_servers_memory, {Step("update", DEPLOYMENT, "fleet-server-deployment"), AWAITED}),
        (
            change_how_the_server_is_reached,
            {
                Step("update", SERVICE, "fleet-server-service"),
                Step("update", POLICY, "fleet-server-policy"),
                AWAITED,
            },
        ),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_preview_shows_exactly(change, expected, deployed_fleet, fleet_program):
    raw = deployed_fleet.changed()
    change(raw)

    assert deployed_fleet.stack.preview(fleet_program(raw)) == expected
