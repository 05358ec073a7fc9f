"""`up` after an `up` without checkpoints that was SIGKILLed: nobody has to clean up by hand.

ENVFLEET_KILLS says how many random moments are tried: the first for a new fleet, others for changes of it.
"""

import copy
import os
import random

import pytest

from tests.engine import cli_stack
from tests.engine.fleets import SIMULATED
from tests.engine.killed import KilledFleet

KILLS = int(os.environ.get("ENVFLEET_KILLS", "3"))
SIZE = 20


def fleet():
    """The configuration of a new fleet."""
    environments = [{"name": f"env-{number}", "image": "test/echo:1"} for number in range(SIZE)]
    environments[0]["egress"] = [{"cidr": "192.0.2.0/24"}]
    return {**SIMULATED, "server": {"image": "test/server:1"}, "environments": environments}


def changed_fleet():
    """A change that adds, removes, replaces and updates."""
    raw = copy.deepcopy(fleet())
    kept = raw["environments"]
    kept[0]["image"] = "test/echo:2"
    kept[1] |= {"command": ["serve"], "env": {"VERBOSE": "1"}}
    kept[2]["labels"] = {"example.com/team": "a"}
    kept[3]["port"] = 9000
    kept[4]["egress"] = [{"cidr": "198.51.100.0/24"}]
    raw["server"]["env"] = {"VERBOSE": "1"}
    raw["environments"] = [*kept[:17], *({"name": f"new-{n}", "image": "test/echo:1"} for n in range(3))]
    return raw


CONFIGURATIONS = {"new": fleet(), "changed": changed_fleet()}
UNTOUCHED = [f"env-{number}" for number in range(5, 17)]


@pytest.fixture(scope="module")
def new_fleet(toolchain, decoy, control_plane, tmp_path_factory):
    def make(name):
        folder = tmp_path_factory.mktemp(name)
        stack = cli_stack.make(folder, name, control_plane.kubeconfig, decoy.home, raw=fleet())
        return KilledFleet(stack, control_plane.client)

    return make


@pytest.fixture(scope="module")
def clean(new_fleet):
    """What runs that nobody kills make of each configuration, and how many objects each makes or changes."""
    made = new_fleet("clean")
    made.stack.up()
    new, before = made.inventory(), made.versions()
    made.stack.configure(CONFIGURATIONS["changed"])
    made.stack.up()
    changes = len(before.items() ^ made.versions().items())
    return {"new": new, "changed": made.inventory(), "objects": len(before), "changes": changes}


@pytest.fixture(scope="module")
def running(new_fleet):
    """A stack with a cluster, and whatever fleet the test before left on it."""
    return new_fleet("killed")


@pytest.mark.parametrize("seed", range(KILLS))
def test_up_recovers_from_a_kill_at_any_moment(seed, running, clean):
    chance = random.Random(seed)
    before = running.pods()
    killed_up = "new" if not before or "new-0" in before else "changed"
    running.stack.configure(CONFIGURATIONS[killed_up])
    changes = clean["changes"] if before else clean["objects"]
    running.up_killed(chance.randrange(changes), chance.uniform(0, 0.5))

    # What an interrupted user does: the same again, or back to what was.
    wanted = chance.choice(list(CONFIGURATIONS)) if before else killed_up
    made = running.pods()
    running.stack.configure(CONFIGURATIONS[wanted])
    running.stack.up()

    assert running.inventory() == clean[wanted]
    kept = UNTOUCHED if before else made
    assert {name: made[name] for name in kept}.items() <= running.pods().items()
    running.stack.pulumi("preview", "--refresh", "--expect-no-changes")


LASTING = """
from providers import checkpointed

kubernetes.core.v1.ConfigMap(
    "lasting",
    metadata={"name": "lasting", "namespace": "default"},
    opts=pulumi.ResourceOptions(provider=provider, hooks=checkpointed()),
)
"""


def test_what_no_later_run_would_find_is_made_by_a_run_with_checkpoints(new_fleet, capfd):
    made = new_fleet("lasting")
    (made.stack.folder / "__main__.py").write_text(cli_stack.CLUSTER + LASTING)
    made.stack.up()
    said = capfd.readouterr()
    assert "lasting is made only by a run that saves its state at each step" in said.out
    assert "once more, with the state saved at each step" in said.err
    assert made.client.delete("/api/v1/namespaces/default/configmaps/lasting").is_success
