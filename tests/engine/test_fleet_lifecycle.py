"""A fleet comes up as previewed, stays as it is, changes where it was told to, and goes without a trace."""

from pulumi.automation import Deployment

from tests.engine.fleets import small_fleet
from tests.engine.inventory import all_objects


def uids(control_plane, namespace):
    """Return the identity of each pod of a namespace, by its `app.kubernetes.io/name`."""
    pods = control_plane.client.get(f"/api/v1/namespaces/{namespace}/pods").raise_for_status().json()["items"]
    return {pod["metadata"]["labels"]["app.kubernetes.io/name"]: pod["metadata"]["uid"] for pod in pods}


def test_a_preview_of_a_fresh_stack_shows_what_up_does_and_makes_nothing(
    stack, fleet_program, namespace, control_plane, deployed_fleet
):
    before = all_objects(control_plane.client).keys()

    previewed = stack.preview(fleet_program(small_fleet(namespace)))

    assert previewed == deployed_fleet.steps
    assert {step.op for step in previewed} == {"create"}
    assert all_objects(control_plane.client).keys() == before


def test_nothing_is_left_to_do_after_an_up_nor_after_a_refresh(deployed_fleet, fleet_program):
    program = fleet_program(deployed_fleet.raw)

    assert deployed_fleet.stack.up(program) == set()
    deployed_fleet.stack.automation.refresh(program=program)
    assert deployed_fleet.stack.preview(program) == set()


def test_after_a_lost_state_up_takes_the_running_pods_back(stack, fleet_program, namespace, control_plane):
    program = fleet_program(small_fleet(namespace))
    stack.up(program)
    before = uids(control_plane, namespace)

    stack.automation.import_stack(Deployment(version=3, deployment={}))
    created = stack.up(program)

    assert {step.op for step in created} == {"create"}
    assert uids(control_plane, namespace) == before


def test_a_change_touches_only_its_own_pods_and_destroy_leaves_the_cluster_as_it_was(
    stack, fleet_program, namespace, control_plane
):
    before = all_objects(control_plane.client).keys()
    raw = small_fleet(namespace)
    raw["environments"].append({"name": "gone", "image": "test/echo:1"})
    stack.up(fleet_program(raw))
    old = uids(control_plane, namespace)

    echo, guess, _ = raw["environments"]
    new = {"name": "new", "image": "test/echo:1", "count": 2}
    changed = {**echo, "image": "test/echo:2", "env": {"VERBOSE": "1"}}
    stack.up(fleet_program({**raw, "environments": [changed, guess, new]}))
    now = uids(control_plane, namespace)

    assert now.keys() == {"server", "echo", "guess", "new-0", "new-1"}
    assert {name: uid for name, uid in now.items() if old.get(name) == uid}.keys() == {"server", "guess"}

    stack.destroy()
    assert all_objects(control_plane.client).keys() == before
