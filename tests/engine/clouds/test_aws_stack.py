"""A whole stack in AWS, fleet included: what a user does with one, from the first preview to `destroy`.

ENVFLEET_FAULTS says how many of the cloud's calls are refused, one in each run: from the first to the last.
"""

import copy
import os
from collections import Counter
from typing import Any

import pulumi
import pytest
from pulumi import automation

from cli import stackfile
from components.fleet import Fleet, FleetArgs
from config import parse
from providers import provision
from tests.engine.inventory import all_objects
from tests.engine.pulumi_stack import STACK, Program
from toolchain.layout import ROOT

FAULTS = int(os.environ.get("ENVFLEET_FAULTS", "3"))


@pytest.fixture
def raw() -> dict[str, Any]:
    """The sample stack, of nodes that are simulated."""
    sample = stackfile.read(ROOT / "Pulumi.aws.yaml")
    sample["cluster"]["expires"] = "2099-01-31T18:00Z"
    return {**sample, "readiness": {"through_service": False}}


def program(raw: dict[str, Any], *, fleet: bool = True) -> Program:
    config = parse(copy.deepcopy(raw), STACK)

    def run() -> None:
        cluster = provision(config)
        if not fleet:
            return
        args = FleetArgs(config, STACK, cluster.kubeconfig, cluster.image, cluster.deleted_with)
        Fleet("fleet", args, pulumi.ResourceOptions(providers=[cluster.provider]))
        pulumi.export("kubeconfig", cluster.kubeconfig)

    return run


def test_a_stack_comes_up_stays_changes_and_goes_without_a_trace(aws, aws_stack, raw, cloud_plane):
    before = all_objects(cloud_plane.client).keys()
    assert {step.op for step in aws_stack.preview(program(raw))} == {"create"}
    assert aws.left() == []

    aws_stack.up(program(raw))
    assert aws_stack.up(program(raw)) == set()
    aws_stack.automation.refresh(program=program(raw))
    assert aws_stack.preview(program(raw)) == set()

    raw["cluster"]["node_pools"][0]["nodes"] = 3
    changed = aws_stack.up(program(raw))
    assert {(step.op, step.name) for step in changed} == {("update", "cluster-system-node-group")}

    raw["cluster"]["kubernetes_version"] = "1.35"
    changed = {(step.op, step.name) for step in aws_stack.up(program(raw))}
    assert ("update", "cluster-eks") in changed
    assert {op for op, _ in changed} == {"update"}

    aws_stack.destroy()
    assert aws.left() == []
    assert all_objects(cloud_plane.client).keys() == before


def kinds(cloud) -> Counter[str]:
    return Counter(each.split()[0] for each in cloud.left())


@pytest.mark.parametrize("place", range(FAULTS))
def test_up_after_a_refused_call_ends_as_if_nothing_had_been_and_destroy_leaves_nothing(
    aws, aws_stack, raw, place
):
    cluster = program(raw, fleet=False)
    aws_stack.up(cluster)
    whole, calls = kinds(aws), len(aws.changes())
    aws_stack.destroy()
    assert aws.left() == []

    aws.refuse(1 + place * (calls - 1) // max(FAULTS - 1, 1))
    with pytest.raises(automation.CommandError):
        aws_stack.up(cluster)
    # Some of what fails halfway is taken for done, until a refresh.
    aws_stack.automation.refresh(program=cluster)
    aws_stack.up(cluster)
    assert kinds(aws) == whole
    aws_stack.destroy()
    assert aws.left() == []
