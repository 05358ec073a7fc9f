"""What a killed run would leave behind for ever is made only by a run that saves its state at each step."""

from types import SimpleNamespace

import pulumi
import pytest

import providers
from config import KindConfig
from providers.kind import KindCluster, cli
from toolchain.checkpoints import REFUSAL, SKIP

ARGS = SimpleNamespace(name="cluster-kind")


def test_a_run_without_checkpoints_refuses_and_says_so_to_whoever_started_it(monkeypatch, tmp_path):
    monkeypatch.setenv(SKIP, "true")
    monkeypatch.setenv(REFUSAL, str(tmp_path / "refused"))
    with pytest.raises(pulumi.RunError, match="cluster-kind is made only by a run that saves its state"):
        providers._refuse_without(ARGS)
    assert (tmp_path / "refused").exists()


def test_plain_pulumi_without_checkpoints_refuses_too(monkeypatch):
    monkeypatch.setenv(SKIP, "true")
    monkeypatch.delenv(REFUSAL, raising=False)
    with pytest.raises(pulumi.RunError):
        providers._refuse_without(ARGS)


@pytest.mark.parametrize("skip", [None, "false"])
def test_with_checkpoints_everything_is_made(monkeypatch, skip):
    monkeypatch.delenv(SKIP, raising=False)
    if skip:
        monkeypatch.setenv(SKIP, skip)
    providers._refuse_without(ARGS)


def test_of_a_kind_cluster_that_is_the_owner_and_the_nodes(monkeypatch, run_program):
    monkeypatch.setattr(cli, "require", lambda: None)
    recorder = run_program(lambda: KindCluster("cluster", KindConfig(provider="kind", name="lab")))
    hooked = {request.name for request in recorder.requests if request.hooks.before_create}
    assert hooked == {"cluster-owner", "cluster-kind"}


def test_of_a_cluster_in_a_cloud_that_is_everything_there(run_program):
    def program():
        lasting = pulumi.ResourceOptions(transformations=[providers.checkpointed_within("aws:")])
        inside = pulumi.ResourceOptions(
            parent=pulumi.ComponentResource("test:Cluster", "cluster", opts=lasting)
        )
        for kind in ("aws:ec2/vpc:Vpc", "kubernetes:core/v1:Pod"):
            pulumi.CustomResource(kind, kind, opts=inside)

    recorder = run_program(program)
    hooked = {request.type for request in recorder.requests if request.hooks.before_create}
    assert hooked == {"aws:ec2/vpc:Vpc"}
