"""The fleet that most tests of this directory look at."""

import copy
from dataclasses import dataclass
from typing import Any

from tests.engine.pulumi_stack import PulumiStack, Step

# The rest of a configuration, for nodes whose pods nobody listens in.
SIMULATED = {"cluster": {"provider": "kind"}, "readiness": {"through_service": False}}


def small_fleet(namespace: str) -> dict[str, Any]:
    """Return the configuration of a server and two environments, without the cluster."""
    return {
        "namespace": namespace,
        "server": {"image": "test/server:1"},
        "environments": [
            {"name": "echo", "image": "test/echo:1", "labels": {"example.com/team": "a"}},
            {"name": "guess", "image": "test/guess:1", "env": {"GUESS_HIGHEST": "10"}},
        ],
    }


@dataclass(frozen=True)
class DeployedFleet:
    """A fleet, as `pulumi up` of a fresh stack made it."""

    stack: PulumiStack
    steps: set[Step]  # of that update
    raw: dict[str, Any]

    @property
    def namespace(self) -> str:
        return str(self.raw["namespace"])

    def changed(self) -> dict[str, Any]:
        """Return a copy of the configuration, to be changed."""
        return copy.deepcopy(self.raw)
