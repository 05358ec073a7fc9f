"""A cluster for fleets of the tests' own, gone before the next module: the last ones look at what is left.

`new_fleet(namespace, environments=[…])` makes one.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.lab import SERVER, Lab, LabFleet, machine, run_lab
from tests.engine.pulumi_stack import run_stack
from toolchain import images, tools
from toolchain.layout import HOME

NewFleet = Callable[..., LabFleet]


@pytest.fixture(scope="package")
def lab(machine_before: set[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A cluster of two nodes."""
    tools.ensure("pulumi", "pulumi-resource-kubernetes", "kind", "kubectl")
    images.ensure()
    with run_lab(tmp_path_factory.mktemp("lab"), f"lab{os.getpid()}", worker_nodes=1) as lab:
        yield lab


@pytest.fixture(scope="module")
def new_fleet(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewFleet]:
    """Make fleets on the lab, by their namespaces; destroyed after the module."""
    with ExitStack() as made:

        def create(namespace: str, **configuration: object) -> LabFleet:
            stack = made.enter_context(run_stack(tmp_path_factory.mktemp("fleet"), HOME, machine()))
            server = {"image": SERVER}
            return LabFleet(lab, stack, {"namespace": namespace, "server": server, **configuration})

        yield create
