"""Each kind of mistake in a configuration gives one line: its path, its value, and what to write instead."""

import copy
import runpy
from pathlib import Path

import pulumi
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import SecretStr

import config
from tests.unit.config_mistakes import (
    ENCRYPTED,
    LABEL_KEY,
    MISSING,
    MISTAKES,
    NO_SECRET,
    SET_SECRET,
    STRING,
    VALID,
)


def without_missing(value: object) -> object:
    if isinstance(value, dict):
        return {key: each for key, each in value.items() if each is not MISSING}
    return value


def changed(*changes: tuple[str, object]) -> dict:
    """VALID with other values at the dotted paths."""
    raw = copy.deepcopy(VALID)
    for path, value in changes:
        *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
        target = raw
        for part in parents:
            target = target[part]
        if value is MISSING:
            del target[last]
        else:
            target[last] = without_missing(value)
    return raw


def problems(raw: dict, **options) -> list[str]:
    with pytest.raises(config.ConfigError) as caught:
        config.parse(raw, "dev", **options)
    return [str(problem) for problem in caught.value.problems]


def test_the_base_of_the_mistakes_is_valid():
    config.parse(VALID, "dev")


@pytest.mark.parametrize(
    ("path", "value", "written", "remedy"), MISTAKES, ids=[mistake[2] for mistake in MISTAKES]
)
def test_a_mistake_gives_one_line(path, value, written, remedy):
    assert problems(changed((path, value))) == [f"envfleet:{written}: {remedy}"]


def test_a_node_port_outside_kubernetes_range_is_refused():
    raw = changed(("server.service_type", "NodePort"), ("server.node_port", 8080))
    assert problems(raw) == ["envfleet:server.node_port = 8080: write a whole number from 30000 to 32767"]


def test_a_stack_whose_name_cannot_name_a_cluster_needs_cluster_name():
    with pytest.raises(config.ConfigError, match=r'envfleet:cluster\.name = "envfleet-Dev_1": use 1 to 40'):
        config.parse(VALID, "Dev_1")


def test_all_mistakes_are_reported_at_once():
    raw = changed(
        ("server.port", 0),
        ("environments.1.name", "echo-0"),  # compares with an environment that is wrong itself
        ("environments.0.image", "echo"),
        ("cluster.worker_nodes", "2"),
        ("server.resources.limits.memory", "64Mi"),
        ("server.resources.limits.cpu", "x"),
    )
    with pytest.raises(config.ConfigError) as caught:
        config.parse(raw, "dev")
    title, *lines = str(caught.value).splitlines()
    assert title == "6 problems in Pulumi.dev.yaml:"
    assert [line.split(" = ")[0] for line in lines] == [
        "  envfleet:cluster.worker_nodes",
        "  envfleet:environments[0].image",
        "  envfleet:environments[1].name",
        "  envfleet:server.port",
        "  envfleet:server.resources.limits.cpu",
        "  envfleet:server.resources.limits.memory",
    ]


@pytest.mark.parametrize(
    "change",
    [
        ("environments.0.env", {"TOKEN": "4242424242\0"}),
        ("environments.0.secret_env", {"TOKEN": "4242424242"}),
        ("environments.0.secret_env", {"TOKEN": "x-4242424242"}),
        ("environments.0.secret_env", {"TOKEN": 4242424242}),
        ("environments.0.secret_env", "4242424242"),
        ("secrets", {"TOKEN": "4242424242"}),
        ("secrets", {"TOKEN": 4242424242}),
        ("secrets", {"TOKEN": {"secure": "4242424242"}}),
        ("secrets", {"TO KEN": SecretStr("4242424242")}),
        ("secrets", {"TOKEN": SecretStr("4242424242\0")}),
        ("secrets", "4242424242"),
        ("secrets", ["4242424242"]),
        ("server.env", {"TOKEN": 4242424242}),
        ("server.env", {"MY-TOKEN": "4242424242"}),
        ("server.env", ["4242424242"]),
        ("server", [{"env": "4242424242"}]),
        ("server.secret_env", {"TOKEN": "4242424242"}),
        ("server.token", "4242424242"),
    ],
)
def test_a_message_never_shows_what_may_be_secret(change):
    assert not any("4242424242" in line for line in problems(changed(change)))


def test_keys_that_are_numbers_stand_among_the_other_mistakes():
    raw = changed(("environments.0.env", {1: "a", "b": 2}), ("environments.1.labels", {1: "a", "b!": "c"}))
    assert problems(raw) == [
        f"envfleet:environments[0].env[1]: {STRING}",
        f"envfleet:environments[0].env.b: {STRING}",
        f"envfleet:environments[1].labels[1] = 1: {STRING}",
        f'envfleet:environments[1].labels["b!"] = "b!": {LABEL_KEY}',
    ]


def test_only_secrets_may_be_encrypted_and_no_other_value_is_looked_at():
    raw = changed(("environments.0.image", "hunter2 "), ("server.port", 0))
    secret, port = problems(raw, secret={"environments", "secrets"})
    assert secret == (
        f"envfleet:environments: holds a secret, which belongs under secrets: {SET_SECRET}. "
        "Then name it in secret_env"
    )
    assert port == "envfleet:server.port = 0: write a whole number from 1 to 65535"


def test_a_secret_must_be_encrypted():
    raw = changed(("secrets", {"encrypted": SecretStr("x"), "plain": "hunter2"}))
    assert problems(raw) == [f"envfleet:secrets.plain: is not encrypted; set it anew: {SET_SECRET}"]
    config.parse(raw, "dev", secret={"secrets"})


@pytest.mark.parametrize("value", [1, True, None, ["x"], {"secure": "v1:x"}, {"a": "b"}])
def test_a_secret_is_one_text(value):
    for secret in (set(), {"secrets"}):
        assert problems(changed(("secrets", {"a": value})), secret=secret) == [
            f"envfleet:secrets.a: {ENCRYPTED}"
        ]


def test_a_secret_that_is_not_there_is_missed_under_secret_env():
    raw = changed(("secrets", {}), ("environments.0.secret_env", {"KEY": "api-key"}))
    (problem,) = problems(raw)
    assert (
        problem
        == f"envfleet:environments[0].secret_env.KEY: {NO_SECRET.replace('api-key', 'there are none')}"
    )


def test_a_variable_is_either_plain_or_secret():
    raw = changed(("environments.0.env", {"KEY": "x"}), ("environments.0.secret_env", {"KEY": "api-key"}))
    assert problems(raw) == [
        "envfleet:environments[0].secret_env.KEY: is set under env too; remove one of the two"
    ]


def test_what_each_security_level_allows_is_accepted():
    for security in (
        {"capabilities": ["NET_BIND_SERVICE"], "run_as_user": 1},
        {"level": "baseline", "capabilities": ["CHOWN"], "run_as_user": 0},
        {"level": "privileged", "capabilities": ["SYS_ADMIN"], "privileged": True},
    ):
        config.parse(changed(("environments.0.security", security)), "dev")


def test_pulumi_says_which_keys_are_encrypted(set_config):
    set_config({"envfleet:namespace": "hunter2"}, ["envfleet:namespace"])
    with pytest.raises(config.ConfigError, match="envfleet:namespace: holds a secret") as caught:
        config.load()
    assert "hunter2" not in str(caught.value)


def test_the_program_ends_with_the_message_before_it_creates_anything(set_config):
    set_config({"envfleet:enviroments": "[]"})
    # Pulumi shows a RunError without a traceback.
    with pytest.raises(
        pulumi.RunError, match=r'envfleet:enviroments: unknown key; did you mean "environments"'
    ):
        runpy.run_path(str(Path(__file__).parents[2] / "__main__.py"))


def test_text_that_is_no_json_is_reported_as_it_is_written(set_config):
    set_config({"envfleet:server": "{image: x"})
    with pytest.raises(config.ConfigError, match=r'envfleet:server = "\{image: x": write a mapping'):
        config.load()


def test_long_values_are_cut():
    line = problems(changed(("server.image", "x" * 500 + " ")))[0]
    assert len(line) < 200


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.dates()
    | st.text(max_size=8)
    | st.just("\ud800")
)
keys = st.text(max_size=8) | st.integers() | st.none() | st.booleans() | st.dates()
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2)
)


@given(
    st.sampled_from([path for path, *_ in MISTAKES]),
    anything,
    st.sampled_from([(), ("secrets",), ("server",)]),
)
@example("environments.0.affinity.node_affinity.required.0.0.operator", [], ())
@example("environments.0.volumes.1.mount_path", [], ())
@example("environments.0.secret_env", {None: "x"}, ())
@example("secrets", {1: "x"}, ())
@example("secrets", {"a\nb": "x"}, ())
@example("namespace", "a\u2028\ud800b", ())
def test_whatever_is_written_anywhere_is_accepted_or_explained_in_printable_lines(path, value, secret):
    found = []
    try:
        config.parse(changed((path, value)), "dev", secret)
    except config.ConfigError as error:
        found = [str(problem) for problem in error.problems]
    assert all(line.isprintable() for line in found)


@given(anything)
def test_a_configuration_of_another_shape_is_explained(value):
    raw = value if isinstance(value, dict) else {"environments": value}
    assert problems(raw)
