"""What the dynamic providers decide, without an engine."""

import base64
import os
import signal
import subprocess
import sys

import psutil
import pytest
from pulumi.dynamic.dynamic import serialize_provider
from pulumi.output import Unknown

from providers.kind import cli, dynamic, engine
from providers.kind.engine import Container, KindError
from toolchain.layout import ROOT

INPUTS = {
    "name": "lab",
    "owner": "abc",
    "control_plane_nodes": 1.0,
    "worker_nodes": 1.0,
    "port_mappings": [],
    "feature_gates": {},
    "ready_timeout_seconds": 300.0,
    "identifier": "lab-1",
}
OUTPUTS = {**INPUTS, "kubeconfig": "secret"}
provider = dynamic.ClusterProvider()


def containers(*, running=True, count=2):
    return [Container(str(n), f"lab-{n}", "control-plane", running) for n in range(count)]


@pytest.fixture
def machine(monkeypatch):
    """Say which containers exist, and record what is done to them."""
    done = []

    def arrange(ours=(), named=None):
        monkeypatch.setattr(engine, "owned", lambda owner: list(ours) if owner == "abc" else [])
        monkeypatch.setattr(engine, "named", lambda _name: list(ours if named is None else named))
        monkeypatch.setattr(engine, "remove", lambda owner: done.append(("remove", owner)))
        monkeypatch.setattr(cli, "default_node_image", lambda: "node:default")
        monkeypatch.setattr(cli, "create", lambda *made: done.append(("create", *made)) or "kubeconfig")
        return done

    return arrange


@pytest.mark.parametrize("kind", [dynamic.OwnerProvider, dynamic.ClusterProvider, dynamic.ImageProvider])
def test_state_holds_only_the_name_of_a_provider(kind):
    pickled = base64.b64decode(serialize_provider(kind()))
    assert len(pickled) < 80
    assert b"providers.kind.dynamic" in pickled
    assert kind.__name__.encode() in pickled


def test_unchanged_cluster_needs_nothing(machine):
    machine(containers())
    assert provider.diff("lab-1", OUTPUTS, {**INPUTS, "ready_timeout_seconds": 60.0}).changes is False


@pytest.mark.parametrize("field", dynamic._REPLACING)
def test_changed_input_replaces_the_cluster_and_is_named(machine, field):
    machine(containers())
    diff = provider.diff("lab-1", OUTPUTS, {**INPUTS, field: "changed"})
    assert (diff.changes, diff.replaces, diff.delete_before_replace) == (True, [field], True)


@pytest.mark.parametrize("left", [0, 1])
def test_lost_nodes_replace_the_cluster(machine, left, capsys):
    machine(containers(count=left))
    diff = provider.diff("lab-1", OUTPUTS, INPUTS)
    assert diff.replaces == ["identifier"]
    assert "kind cluster 'lab'" in capsys.readouterr().err


def test_stopped_nodes_are_an_update(machine):
    machine(containers(running=False))
    diff = provider.diff("lab-1", OUTPUTS, INPUTS)
    assert (diff.changes, diff.replaces) == (True, [])


def test_identifier_is_kept_while_the_cluster_lives_and_new_for_each_incarnation(machine):
    machine(containers())
    news = {key: value for key, value in INPUTS.items() if key != "identifier"}
    assert provider.check(INPUTS, news).inputs["identifier"] == "lab-1"
    fresh = {provider.check({}, news).inputs["identifier"] for _ in range(2)}
    assert len(fresh) == 2
    assert "lab-1" not in fresh


@pytest.mark.parametrize("owner", ["abc", Unknown()])
def test_name_of_a_cluster_of_somebody_else_is_refused_before_anything_is_made(machine, owner):
    machine(ours=[], named=containers())
    (failure,) = provider.check({}, {**INPUTS, "owner": owner}).failures
    assert failure.property == "name"
    assert "exists and is not this stack's" in failure.reason
    assert "kind delete cluster --name lab" in failure.reason


def test_half_made_cluster_of_ours_is_no_failure(machine):
    machine(ours=containers(count=1))
    assert provider.check({}, INPUTS).failures == []


def test_create_removes_what_is_left_of_ours_first(machine):
    done = machine(ours=containers(count=1))
    outs = provider.create(dict(INPUTS)).outs
    assert [step[:2] for step in done] == [("remove", "abc"), ("create", done[1][1])]
    assert done[1][3] == "node:default"
    assert outs == {**INPUTS, "kubeconfig": "kubeconfig"}


def test_create_touches_nothing_when_somebody_else_was_faster(machine):
    done = machine(ours=[], named=containers())
    with pytest.raises(KindError, match="is not this stack's"):
        provider.create(dict(INPUTS))
    assert done == []


def test_read_reports_a_gone_cluster_as_absent(machine):
    machine(containers())
    assert provider.read("lab-1", OUTPUTS).id == "lab-1"
    machine([])
    assert not provider.read("lab-1", OUTPUTS).id


def test_deleting_the_owner_removes_what_no_state_knows(machine):
    done = machine(containers())
    dynamic.OwnerProvider().delete("abc", {})
    assert done == [("remove", "abc")]


def test_image_is_loaded_again_only_for_new_content_or_a_new_cluster():
    image = {
        "source": "a:1",
        "image_id": "sha256:1",
        "reference": "a:1-1",
        "cluster": "lab",
        "owner": "abc",
        "incarnation": "lab-1",
    }
    images = dynamic.ImageProvider()
    assert not images.diff("a:1", image, {**image, "__provider": "other"}).changes
    for key in ("image_id", "incarnation"):
        diff = images.diff("a:1", image, {**image, key: "changed"})
        assert (diff.changes, diff.replaces) == (True, None)


def test_reference_on_the_nodes_holds_the_content():
    reference = dynamic.content_reference("envfleet/echo:0.1.0", "sha256:0123456789abcdef")
    assert reference == "envfleet/echo:0.1.0-0123456789ab"


def test_plugin_and_its_children_end_when_nobody_reads_its_output_any_more():
    program = (
        "import subprocess, sys, time; import plugin; plugin._prepare_plugin();"
        "print(subprocess.Popen(['sleep', '300']).pid, flush=True); time.sleep(300)"
    )
    plugin = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    child = psutil.Process(int(plugin.stdout.readline()))
    plugin.stdout.close()
    assert plugin.wait(timeout=10) == -signal.SIGKILL
    psutil.wait_procs([child], timeout=10)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
