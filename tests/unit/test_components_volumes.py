"""Volumes, from the configuration to Kubernetes."""

import pytest

from components import environment, volumes
from components.environment import EnvironmentArgs
from config import EnvironmentConfig
from config.storage import SOURCES, Volume

KINDS = ("empty_dir", "ephemeral", "persistent_volume_claim", "config_map", "secret")


def volume(**source):
    return volumes.volume(Volume(name="data", mount_path="/data", **source))


def test_an_empty_folder_is_on_disk_or_in_memory_and_limited():
    disk, memory = volume(empty_dir={}), volume(empty_dir={"size_limit": "64Mi", "memory": True})
    assert (disk.empty_dir.size_limit, disk.empty_dir.medium) == ("1Gi", None)
    assert (memory.empty_dir.size_limit, memory.empty_dir.medium) == ("64Mi", "Memory")


def test_a_disk_of_its_own_is_claimed_with_the_pod():
    claim = volume(ephemeral_claim={"size": "10Gi", "storage_class": "fast"}).ephemeral.volume_claim_template
    assert claim.spec.resources.requests == {"storage": "10Gi"}
    assert (claim.spec.storage_class_name, claim.spec.access_modes) == ("fast", ["ReadWriteOnce"])


def test_the_clusters_default_class_is_asked_for_by_naming_none():
    claim = volume(ephemeral_claim={"size": "10Gi"}).ephemeral.volume_claim_template
    assert claim.spec.storage_class_name is None


@pytest.mark.parametrize("read_only", [True, False])
def test_an_existing_claim_may_be_read_only(read_only):
    claim = volume(persistent_volume_claim="disk", read_only=read_only).persistent_volume_claim
    assert (claim.claim_name, claim.read_only) == ("disk", read_only)


def test_existing_config_maps_and_secrets_are_found_by_name():
    assert volume(config_map="levels").config_map.name == "levels"
    assert volume(secret="certificates").secret.secret_name == "certificates"


@pytest.mark.parametrize(
    ("source", "value", "kind"),
    zip(SOURCES, ({}, {"size": "1Gi"}, "x", "x", "x"), KINDS, strict=True),
)
def test_a_volume_comes_from_one_place(source, value, kind):
    made = volume(**{source: value})
    assert made.name == "data"
    assert [each for each in KINDS if getattr(made, each) is not None] == [kind]


def test_each_volume_is_mounted_where_it_belongs():
    settings = EnvironmentConfig(
        name="echo",
        image="echo:1",
        volumes=[
            Volume(name="data", mount_path="/data", sub_path="a/b", read_only=True, config_map="x"),
            Volume(name="scratch", mount_path="/scratch", empty_dir={}),
        ],
    )
    spec = environment.pod(EnvironmentArgs("echo", "fleet", "dev", "echo:1", settings)).spec
    assert [each.name for each in spec.volumes] == ["data", "scratch"]
    assert [
        (each.name, each.mount_path, each.sub_path, each.read_only)
        for each in spec.containers[0].volume_mounts
    ] == [("data", "/data", "a/b", True), ("scratch", "/scratch", None, None)]
