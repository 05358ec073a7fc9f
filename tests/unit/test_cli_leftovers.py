"""What a killed run left in a cluster: told from what the state knows, and from what is others'."""

import json
from contextlib import asynccontextmanager

import pytest

from cli import leftovers
from cli.leftovers import Known, remove_orphans, remove_unknown
from live.objects import Listing

BEFORE, SAVED, LATER = (f"2026-01-01T00:00:0{second}Z" for second in range(3))
LABELS = {
    f"app.kubernetes.io/{key}": value for key, value in {"part-of": "envfleet", "instance": "dev"}.items()
}


def item(name, *, uid="", applied=SAVED, **metadata):
    manager = {"manager": "pulumi-envfleet", "operation": "Apply", "time": applied}
    kubelet = {"manager": "kubelet", "operation": "Update", "time": LATER}
    labels = {**LABELS, "app.kubernetes.io/name": name}
    fields = {"name": name, "namespace": "rl", "uid": uid or name, "labels": labels, **metadata}
    return {"metadata": {**fields, "managedFields": [manager, kubelet]}}


def namespace(name):
    made = item(name)
    del made["metadata"]["namespace"]
    return made


def state(*objects):
    """The resources of a state that was exported with its secrets."""
    kubeconfig = {"4dabf18193072939515e22adb298388d": "1b47", "plaintext": json.dumps("canary")}
    return [
        {"type": "pulumi:providers:kubernetes", "inputs": {"kubeconfig": kubeconfig}},
        {"type": "envfleet:components:Fleet", "outputs": {}},
        *({"type": "kubernetes:core/v1:Pod", "outputs": each} for each in objects),
    ]


@pytest.fixture
def cluster(monkeypatch):
    """A cluster of objects, by the plural of their kind; notes what is removed, and the labels looked for."""
    objects, removed, selectors = {}, [], set()

    @asynccontextmanager
    async def connect(kubeconfig):
        assert kubeconfig == "canary"
        yield "api"

    async def read(api, query):
        selectors.add(query.labels)
        wanted = query.fields.removeprefix("metadata.name=")
        found = [
            each
            for each in objects.get(query.plural, [])
            if wanted in {"", each["metadata"]["name"]}
            and query.namespace in {None, each["metadata"].get("namespace")}
        ]
        return Listing({each["metadata"]["uid"]: each for each in found}, "1", None)

    async def delete(self, force=False, **_):
        removed.append((self.kind, self.name, force))

    monkeypatch.setattr(leftovers, "connect", connect)
    monkeypatch.setattr(leftovers, "read", read)
    monkeypatch.setattr(leftovers.APIObject, "delete", delete)
    objects["namespaces"] = [namespace("rl")]

    def arrange(**kinds):
        objects.update(kinds)
        return removed

    arrange.selectors = selectors
    return arrange


def unknown(known, *, keep=False, wanted="rl", namespaces=("rl",)):
    return remove_unknown(Known.of(state(*known)), "dev", namespaces, keep=keep, wanted=wanted)


def test_a_state_without_a_cluster_knows_nothing():
    assert Known.of([{"type": "pulumi:pulumi:Stack"}]) is None


async def test_what_the_state_has_stays_and_what_it_lacks_goes(cluster):
    removed = cluster(pods=[item("kept"), item("made")], services=[item("made", uid="another")])
    assert sorted(await unknown([item("kept")])) == ["Pod made", "Service made"]
    assert ("Pod", "made", True) in removed
    assert ("Service", "made", False) in removed


async def test_what_was_replaced_or_written_to_since_the_state_was_saved_goes(cluster):
    cluster(pods=[item("replaced", uid="new"), item("updated", applied=LATER), item("as it was")])
    known = [item("replaced", uid="old"), item("updated"), item("as it was")]
    assert sorted(await unknown(known)) == ["Pod replaced", "Pod updated"]


async def test_what_is_as_wanted_is_kept_but_for_what_ends_anyway(cluster):
    cluster(pods=[item("made"), item("ending", deletionTimestamp=LATER)])
    assert await unknown([], keep=True) == ["Pod ending"]


async def test_what_a_controller_made_is_its_owners(cluster):
    cluster(pods=[item("server-abc", ownerReferences=[{"kind": "ReplicaSet"}])])
    assert await unknown([]) == []


async def test_a_namespace_that_is_wanted_no_more_goes_as_a_whole(cluster):
    cluster(namespaces=[namespace("old")], pods=[item("made", namespace="old")])
    assert await unknown([], namespaces=["old", "rl"]) == ["Namespace old"]


async def test_a_namespace_of_the_state_is_never_removed(cluster):
    cluster(namespaces=[namespace("old")])
    assert await unknown([namespace("old")], namespaces=["old"], wanted=None) == []


async def test_nothing_is_looked_at_in_a_namespace_of_others(cluster):
    cluster(namespaces=[], pods=[item("theirs")])
    assert await unknown([]) == []


async def test_only_what_carries_all_labels_of_the_fleet_is_listed(cluster):
    cluster(pods=[])
    await unknown([])
    assert cluster.selectors == {
        "app.kubernetes.io/part-of=envfleet,app.kubernetes.io/instance=dev,app.kubernetes.io/managed-by=pulumi"
    }


async def test_orphans_are_objects_of_environments_that_are_no_more(cluster):
    cluster(pods=[item("here"), item("gone")], secrets=[item("gone")], deployments=[item("gone")])
    assert sorted(await remove_orphans("api", "rl", "dev", ["here"])) == ["Pod gone", "Secret gone"]
    assert all(selector.endswith("app.kubernetes.io/component=environment") for selector in cluster.selectors)
