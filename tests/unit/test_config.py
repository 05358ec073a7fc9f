"""What a valid configuration becomes."""

import ipaddress
import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

import config
from config.environment import EgressRule, EnvironmentConfig, expand
from config.fields import METADATA, metadata_within
from config.models import StackConfig
from config.quantities import quantity

ROOT = Path(__file__).parents[2]
SMALLEST = {"cluster": {"provider": "kind"}, "server": {"image": "server:1"}, "environments": []}

images = st.from_regex(r"([a-z]{1,5}/)?[a-z]{1,8}:[0-9]\.[0-9]", fullmatch=True)
ports = st.integers(1, 65535)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
variables = st.dictionaries(st.from_regex(r"[A-D][A-Z_]{0,5}", fullmatch=True), texts, max_size=3)
networks = st.builds(
    lambda address, free: ipaddress.ip_network((address, max(0, address.max_prefixlen - free)), strict=False),
    st.ip_addresses(),
    st.integers(0, 128),
)
sources = st.sampled_from(
    [
        {"empty_dir": {}},
        {"empty_dir": {"size_limit": "64Mi", "memory": True}},
        {"ephemeral_claim": {"size": "10Gi", "storage_class": "fast"}},
        {"persistent_volume_claim": "data", "sub_path": "a/b", "read_only": True},
        {"config_map": "levels.v1"},
        {"secret": "certificates"},
    ]
)
volumes = st.lists(sources, max_size=3).map(
    lambda each: [{"name": f"v{i}", "mount_path": f"/mnt/v{i}", **source} for i, source in enumerate(each)]
)
environments = st.lists(
    st.fixed_dictionaries(
        {"name": st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z])?", fullmatch=True), "image": images},
        optional={
            "port": ports,
            "env": variables,
            "args": st.lists(texts, max_size=3),
            "count": st.none() | st.integers(1, 20),
            "health": st.fixed_dictionaries(
                {},
                optional={
                    "path": st.just("/") | st.just("/status?full=1"),
                    "port": ports,
                    "timeout_seconds": st.integers(1, 60),
                    "restart_seconds": st.none() | st.integers(60, 7200),
                },
            ),
            "resources": st.just({"limits": {"cpu": "1.5", "memory": "1Gi"}})
            | st.just({"extended": {"nvidia.com/gpu": 2}}),
            "startup_seconds": st.integers(1, 3600),
            "ttl_seconds": st.none() | st.integers(1, 31_536_000),
            "volumes": volumes,
            "egress": st.lists(
                st.sampled_from(["0.0.0.0/0", "::/0", "10.20.0.0/16"]).map(
                    lambda cidr: {"cidr": cidr, "ports": [443]}
                ),
                max_size=2,
            ),
            "security": st.just({"level": "baseline", "run_as_user": 0, "capabilities": ["CHOWN"]}),
            "tolerations": st.just([{"operator": "Exists"}]),
            "annotations": st.dictionaries(st.just("example.com/note"), st.text("aü\n ")),
            "labels": st.dictionaries(
                st.from_regex(r"(example\.com/)?[a-z]{1,9}", fullmatch=True), st.just("x")
            ),
        },
    ),
    max_size=4,
    unique_by=lambda environment: environment["name"],
).filter(lambda entries: not any(entry["name"].startswith("server") for entry in entries))
stacks = st.fixed_dictionaries(
    {
        "cluster": st.fixed_dictionaries(
            {"provider": st.just("kind")},
            optional={"worker_nodes": st.integers(0, 50), "control_plane_nodes": st.sampled_from([1, 3, 5])},
        ),
        "server": st.fixed_dictionaries(
            {"image": images}, optional={"port": ports, "log_level": st.just("debug"), "env": variables}
        ),
        "environments": environments,
    },
    optional={
        "namespace": st.from_regex(r"rl-[a-z]{1,20}", fullmatch=True),
        "network": st.just({"clients": []}) | st.just({"clients": [{"namespace": "default"}]}),
    },
)


def test_everything_but_provider_images_and_names_has_a_default() -> None:
    stack = config.parse(SMALLEST, "dev")
    assert stack.namespace == "envfleet"
    assert stack.cluster.worker_nodes == 0
    assert stack.server.port == 8080
    assert stack.server.service_type == "ClusterIP"


def test_the_cluster_is_named_after_the_stack_unless_it_has_a_name() -> None:
    assert config.parse(SMALLEST, "dev").cluster.name == "envfleet-dev"
    named = {**SMALLEST, "cluster": {"provider": "kind", "name": "mine"}}
    assert config.parse(named, "dev").cluster.name == "mine"


def test_count_numbers_the_environments() -> None:
    def names(**count: int | None) -> list[str]:
        entry = {"name": "echo", "image": "echo:1", **count}
        return config.parse({**SMALLEST, "environments": [entry]}, "dev").environments[0].names

    assert names() == names(count=None) == ["echo"]
    assert names(count=1) == ["echo-0"]
    assert names(count=3) == ["echo-0", "echo-1", "echo-2"]


def test_a_part_of_the_resources_leaves_the_other_defaults() -> None:
    server = {"image": "server:1", "resources": {"limits": {"memory": "1Gi"}}}
    resources = config.parse({**SMALLEST, "server": server}, "dev").server.resources
    assert resources.limits.memory == "1Gi"
    assert resources.limits.cpu == config.Resources().limits.cpu
    assert resources.requests == config.Resources().requests


def test_an_environment_that_says_nothing_may_do_nothing() -> None:
    environment = EnvironmentConfig(name="echo", image="echo:1")
    assert environment.security.level == "restricted"
    assert environment.egress == environment.volumes == environment.tolerations == []
    assert (environment.service_account, environment.ttl_seconds) == (None, None)


def test_only_labelled_pods_are_clients_unless_it_says_otherwise() -> None:
    assert [each.labels for each in config.parse(SMALLEST, "dev").network.clients] == [
        {"envfleet.dev/client": "true"}
    ]
    assert config.parse({**SMALLEST, "network": {"clients": []}}, "dev").network.clients == []


@pytest.mark.parametrize(
    ("port", "ports"),
    [
        (None, {"http": 8000}),
        (8000, {"http": 8000}),
        (9000, {"http": 8000, "health": 9000}),
    ],
)
def test_health_has_a_port_of_its_own_only_where_it_is_another(port, ports) -> None:
    assert EnvironmentConfig(name="echo", image="echo:1", health={"port": port}).ports == ports


@given(networks)
@example(ipaddress.ip_network("::/0"))
@example(ipaddress.ip_network("169.254.128.0/17"))
@example(ipaddress.ip_network("::ffff:a9fe:a9fe/128"))
def test_no_egress_reaches_a_metadata_service(network) -> None:
    try:
        cidr = EgressRule(cidr=str(network)).cidr
    except ValidationError:
        within = any(each.version == network.version and network.subnet_of(each) for each in METADATA)
        assert within or (network.version == 6 and network.network_address.ipv4_mapped)
        return
    excepted = [ipaddress.ip_network(each) for each in metadata_within(cidr)]
    for each in METADATA:
        assert not network.overlaps(each) or each in excepted
    assert all(each != network and each.subnet_of(network) for each in excepted), "as Kubernetes demands"


def test_a_configuration_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        config.parse(SMALLEST, "dev").server.port = 1


@settings(max_examples=30)
@given(stacks)
def test_what_is_written_is_what_is_read(raw: dict) -> None:
    stack = config.parse(raw, "dev")
    written = stack.model_dump(exclude_unset=True)
    del written["cluster"]["name"]  # filled in
    assert written == raw
    assert config.parse(json.loads(stack.model_dump_json()), "other") == stack


def text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@settings(max_examples=30)
@given(raw=stacks)
def test_pulumi_hands_it_over_as_text(set_config, raw: dict) -> None:
    set_config({f"envfleet:{key}": text(value) for key, value in raw.items()})
    assert config.load() == config.parse(raw, "dev")


def test_secrets_come_decrypted_and_are_never_shown(set_config) -> None:
    texts = {f"envfleet:{key}": text(value) for key, value in SMALLEST.items()}
    set_config({**texts, "envfleet:secrets": '{"api-key": "hunter2"}'}, ["envfleet:secrets"])
    stack = config.load()
    assert stack.secrets["api-key"].get_secret_value() == "hunter2"
    assert "hunter2" not in repr(stack) + stack.model_dump_json()


def test_the_command_line_need_not_know_what_is_encrypted() -> None:
    secrets = {"api-key": SecretStr("")}
    entry = {"name": "echo", "image": "echo:1", "secret_env": {"API_KEY": "api-key"}}
    stack = config.parse({**SMALLEST, "secrets": secrets, "environments": [entry]}, "dev")
    assert stack.environments[0].secret_env == {"API_KEY": "api-key"}


def test_other_projects_keys_are_left_alone(set_config) -> None:
    ours = {f"envfleet:{key}": text(value) for key, value in SMALLEST.items()}
    set_config({**ours, "aws:region": "eu-west-1"})
    assert config.load() == config.parse(SMALLEST, "dev")


@given(
    st.decimals(min_value="0.1", max_value=9999, places=1), st.sampled_from(["", "k", "M", "Ki", "Gi", "m"])
)
def test_quantities_have_the_size_kubernetes_gives_them(number, unit) -> None:
    thousandths = {"": 10**3, "k": 10**6, "M": 10**9, "Ki": 1024 * 10**3, "Gi": 1024**3 * 10**3, "m": 1}
    assert quantity(f"{number}{unit}") * 1000 == number * thousandths[unit]


@given(st.text("abzAZ09-_. ", max_size=70), st.none() | st.integers(1, 120))
def test_only_names_that_a_service_can_have_are_accepted(name, count):
    valid = all(
        re.fullmatch("[a-z0-9-]{1,63}", each) and each[0].isalpha() and each[-1] != "-"
        for each in [name, *expand(name, count)]
    )
    entry = {"name": name, "image": "echo:1", "count": count}
    with nullcontext() if valid else pytest.raises(config.ConfigError):
        config.parse({**SMALLEST, "environments": [entry]}, "dev")


def test_pulumi_yaml_describes_every_key() -> None:
    project = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())
    declared = {key: value for key, value in project["config"].items() if ":" not in key}
    assert declared.keys() == StackConfig.model_fields.keys()
    assert all(key["description"] and key["type"] for key in declared.values())
    assert declared["namespace"]["default"] == StackConfig.model_fields["namespace"].default


def test_every_key_is_documented() -> None:
    schema = StackConfig.model_json_schema()
    for model in [schema, *schema["$defs"].values()]:
        for key, field in model["properties"].items():
            assert field.get("description"), f"{model['title']}.{key}"


def test_the_sample_stack_is_valid() -> None:
    settings = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())["config"]
    stack = config.parse({key.removeprefix("envfleet:"): value for key, value in settings.items()}, "dev")
    local = {stack.server.image, *(environment.image for environment in stack.environments)}
    assert set(stack.cluster.images) == local, "images that are built here must be loaded into the nodes"
