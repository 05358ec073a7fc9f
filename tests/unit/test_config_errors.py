"""Each kind of mistake in a configuration gives one line: its path, its value, and what to write instead."""

import contextlib
import copy
import runpy
from pathlib import Path

import pulumi
import pytest
from hypothesis import given
from hypothesis import strategies as st

import config

VALID = {
    "cluster": {
        "provider": "kind",
        "port_mappings": [
            {"container_port": 30080, "host_port": 8080},
            {"container_port": 30081, "host_port": 8081},
        ],
        "images": ["envfleet/echo:0.1.0", "envfleet/server:0.1.0"],
    },
    "namespace": "envfleet",
    "server": {"image": "envfleet/server:0.1.0", "resources": {"requests": {}, "limits": {}}},
    "environments": [
        {"name": "echo", "image": "envfleet/echo:0.1.0", "count": 2},
        {"name": "other", "image": "envfleet/echo:0.1.0", "resources": {"requests": {}, "limits": {}}},
    ],
}
MISSING = object()

STRING = "write a string; a number or true/false needs quotes around it"
INTEGER = "write a whole number, without quotes"
BOOLEAN = "write true or false, without quotes"
LIST = 'write a list, each item on its own line after "- "'
MAPPING = "write a mapping, each line a key: value"
NAME = "use 1 to 63 lower-case letters, digits and '-', starting with a letter and not ending with '-'"
PORT = "write a whole number from 1 to 65535"
COUNT = "write a whole number from 1 to 3000"
IMAGE = "write [registry/]repository:tag, without spaces, the repository in lower case"
PINNED = 'pin it: add a tag other than "latest", or a digest (@sha256:…)'
QUANTITY = 'write a number with an optional unit, such as "500m", "2" or "512Mi"'
VARIABLE = "use letters, digits and '_' for a variable's name, not starting with a digit"
OWN_VARIABLE = "variables named ENVFLEET_… are the fleet's own; choose another name"
LABEL_KEY = "write a label's key as name or prefix/name: letters, digits, '-', '_', '.', at most 63"
OWN_LABEL = "labels with this prefix are Kubernetes' and the fleet's own; use another prefix"
LABEL_VALUE = "use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
HEALTH_PATH = 'write the path of a URL, beginning with "/" and without spaces, such as "/health"'
NAMESPACE = 'belongs to Kubernetes; choose another, such as "envfleet"'
SERVER_KEYS = "image, port, service_type, node_port, resources, log_level, env"

# What to change in VALID, the line's part before the colon, and the part after it.
MISTAKES = [
    # Unknown keys, at every level.
    ("enviroments", 1, "enviroments", 'unknown key; did you mean "environments"?'),
    ("cluster.nodeImage", "x", "cluster.nodeImage", 'unknown key; did you mean "node_image"?'),
    (
        "cluster.port_mappings.0.hostport",
        1,
        "cluster.port_mappings[0].hostport",
        'unknown key; did you mean "host_port"?',
    ),
    ("server.replicas", 2, "server.replicas", f"unknown key; known are {SERVER_KEYS}"),
    ("server.resources.limit", {}, "server.resources.limit", 'unknown key; did you mean "limits"?'),
    (
        "environments.1.resources.limits.mem",
        "1Gi",
        "environments[1].resources.limits.mem",
        'unknown key; did you mean "memory"?',
    ),
    (
        "environments.0.heath_path",
        "/",
        "environments[0].heath_path",
        'unknown key; did you mean "health_path"?',
    ),
    # Missing keys.
    ("cluster", MISSING, "cluster", "is required: Where the fleet runs."),
    (
        "cluster",
        {},
        "cluster.provider",
        "is required; write the provider that runs the cluster, such as kind",
    ),
    ("server", MISSING, "server", "is required: The control server."),
    ("server.image", MISSING, "server.image", "is required: Image of the server, as `repository:tag`."),
    ("environments", MISSING, "environments", "is required: The environments to run; may be empty."),
    (
        "environments.1.image",
        MISSING,
        "environments[1].image",
        "is required: Image that serves the environment, as `repository:tag`.",
    ),
    (
        "environments.0.name",
        MISSING,
        "environments[0].name",
        "is required: Name, also in its URL; with `count`, followed by -0, -1, and so on.",
    ),
    # Wrong types.
    ("cluster", "kind", 'cluster = "kind"', MAPPING),
    ("server", [], "server = […]", MAPPING),
    ("environments", {}, "environments = {…}", LIST),
    ("environments.0", "echo", 'environments[0] = "echo"', MAPPING),
    ("environments.0.command", "ls", 'environments[0].command = "ls"', LIST),
    ("environments.0.args", [1], "environments[0].args[0] = 1", STRING),
    ("environments.0.image", None, "environments[0].image = null", STRING),
    ("environments.0.env", {"DEBUG": True}, "environments[0].env.DEBUG", STRING),
    ("environments.0.env", ["DEBUG"], "environments[0].env", MAPPING),
    ("cluster.feature_gates", {"Some": "true"}, 'cluster.feature_gates.Some = "true"', BOOLEAN),
    ("cluster.worker_nodes", "2", 'cluster.worker_nodes = "2"', INTEGER),
    ("server.port", True, "server.port = true", INTEGER),
    ("server.port", 80.5, "server.port = 80.5", INTEGER),
    # Choices.
    ("cluster.provider", "kid", 'cluster.provider = "kid"', "is not known; write 'kind'"),
    (
        "server.service_type",
        "Nodeport",
        'server.service_type = "Nodeport"',
        "write 'ClusterIP', 'NodePort' or 'LoadBalancer'",
    ),
    ("server.log_level", "INFO", 'server.log_level = "INFO"', "write 'debug', 'info', 'warning' or 'error'"),
    (
        "cluster.port_mappings.0.protocol",
        "tcp",
        'cluster.port_mappings[0].protocol = "tcp"',
        "write 'TCP', 'UDP' or 'SCTP'",
    ),
    # Numbers.
    ("server.port", 0, "server.port = 0", PORT),
    ("environments.1.port", 70000, "environments[1].port = 70000", PORT),
    ("environments.0.count", 0, "environments[0].count = 0", COUNT),
    ("environments.0.count", -1, "environments[0].count = -1", COUNT),
    ("environments.0.count", 10**9, "environments[0].count = 1000000000", COUNT),
    ("environments.0.count", True, "environments[0].count = true", INTEGER),
    ("cluster.worker_nodes", -1, "cluster.worker_nodes = -1", "write a whole number from 0 to 50"),
    ("cluster.control_plane_nodes", 0, "cluster.control_plane_nodes = 0", "write a whole number from 1 to 9"),
    (
        "cluster.control_plane_nodes",
        2,
        "cluster.control_plane_nodes = 2",
        "etcd keeps a majority only among an odd number of control plane nodes; write 1, 3 or 5",
    ),
    (
        "cluster.ready_timeout_seconds",
        1,
        "cluster.ready_timeout_seconds = 1",
        "write a whole number from 30 to 3600",
    ),
    # Names.
    ("environments.1.name", "Echo_B", 'environments[1].name = "Echo_B"', NAME),
    ("environments.1.name", "1st", 'environments[1].name = "1st"', NAME),
    ("environments.1.name", "", 'environments[1].name = ""', NAME),
    ("environments.1.name", "a" * 64, f'environments[1].name = "{"a" * 64}"', NAME),
    (
        "environments.0.name",
        "a" * 62,
        f'environments[0].name = "{"a" * 62}"',
        f'is too long with its number, as in "{"a" * 62}-1"; shorten it by 1',
    ),
    (
        "environments.1.name",
        "server",
        'environments[1].name = "server"',
        "is the name of a part of the fleet itself; choose another",
    ),
    (
        "environments.1.name",
        "echo-1",
        'environments[1].name = "echo-1"',
        '"echo-1" is an environment of environments[0]; rename one',
    ),
    ("namespace", "kube-system", 'namespace = "kube-system"', NAMESPACE),
    ("namespace", "default", 'namespace = "default"', NAMESPACE),
    ("namespace", "My Fleet", 'namespace = "My Fleet"', NAME),
    ("cluster.name", "a" * 41, f'cluster.name = "{"a" * 41}"', NAME.replace("63", "40")),
    # Images.
    ("server.image", "envfleet/ server:1", 'server.image = "envfleet/ server:1"', IMAGE),
    ("server.image", "Envfleet/Server:1", 'server.image = "Envfleet/Server:1"', IMAGE),
    ("server.image", "", 'server.image = ""', IMAGE),
    ("cluster.node_image", "kindest node", 'cluster.node_image = "kindest node"', IMAGE),
    ("environments.0.image", "echo", 'environments[0].image = "echo"', PINNED),
    ("environments.0.image", "echo:latest", 'environments[0].image = "echo:latest"', PINNED),
    (
        "cluster.images",
        ["echo:1", "echo:1"],
        'cluster.images[1] = "echo:1"',
        "is listed twice; remove one",
    ),
    # Resources.
    ("server.resources.limits.cpu", "two", 'server.resources.limits.cpu = "two"', QUANTITY),
    ("server.resources.limits.memory", "\u0665Gi", 'server.resources.limits.memory = "\u0665Gi"', QUANTITY),
    ("server.resources.limits.memory", "1GB", 'server.resources.limits.memory = "1GB"', QUANTITY),
    ("server.resources.requests.cpu", "-1", 'server.resources.requests.cpu = "-1"', QUANTITY),
    ("server.resources.requests.cpu", "0", 'server.resources.requests.cpu = "0"', "must be above zero"),
    ("server.resources.limits.cpu", 2, "server.resources.limits.cpu = 2", STRING),
    (
        "server.resources.requests.memory",
        "256m",
        'server.resources.requests.memory = "256m"',
        'is less than a mebibyte; write a unit, such as "256Mi"',
    ),
    (
        "server.resources.requests.cpu",
        "0.1m",
        'server.resources.requests.cpu = "0.1m"',
        'the smallest share of a processor is "1m"',
    ),
    (
        "environments.1.resources",
        {"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}},
        'environments[1].resources.limits.cpu = "1500m"',
        'is below requests.cpu, "2"; raise this or lower that',
    ),
    (
        "server.resources.limits.memory",
        "64Mi",
        'server.resources.limits.memory = "64Mi"',
        'is below requests.memory, "192Mi"; raise this or lower that',
    ),
    # Variables: their values are never shown.
    ("environments.0.env", {"MY-VAR": "x"}, "environments[0].env.MY-VAR", VARIABLE),
    ("environments.0.env", {"ENVFLEET_A": "x"}, "environments[0].env.ENVFLEET_A", OWN_VARIABLE),
    ("server.env", {"PORT": "80"}, "server.env.PORT", "write it as server.port instead"),
    # Labels.
    ("environments.0.labels", {"a b": "x"}, 'environments[0].labels["a b"] = "a b"', LABEL_KEY),
    (
        "environments.0.labels",
        {"app.kubernetes.io/name": "x"},
        'environments[0].labels["app.kubernetes.io/name"] = "app.kubernetes.io/name"',
        OWN_LABEL,
    ),
    ("environments.0.labels", {"x..y/z": "x"}, 'environments[0].labels["x..y/z"] = "x..y/z"', LABEL_KEY),
    ("environments.0.labels", {"team": "ü"}, 'environments[0].labels.team = "ü"', LABEL_VALUE),
    ("environments.0.labels", {"team": "a b"}, 'environments[0].labels.team = "a b"', LABEL_VALUE),
    # Networking.
    ("environments.0.health_path", "health", 'environments[0].health_path = "health"', HEALTH_PATH),
    ("environments.0.health_path", "/a b", 'environments[0].health_path = "/a b"', HEALTH_PATH),
    (
        "cluster.port_mappings.1.host_port",
        8080,
        "cluster.port_mappings[1].host_port = 8080",
        "is taken by port_mappings[0]; choose a free port",
    ),
    (
        "cluster.port_mappings.0.listen_address",
        "localhost",
        'cluster.port_mappings[0].listen_address = "localhost"',
        'write an IP address: "127.0.0.1" for this machine only, "0.0.0.0" for all its networks',
    ),
    (
        "server.node_port",
        30080,
        "server.node_port = 30080",
        "works only with service_type: NodePort; add that, or remove node_port",
    ),
    (
        "server.service_type",
        "LoadBalancer",
        'server.service_type = "LoadBalancer"',
        "kind has no load balancers; write NodePort and add its node_port to cluster.port_mappings",
    ),
    (
        "cluster.feature_gates",
        {"some-gate": True},
        'cluster.feature_gates.some-gate = "some-gate"',
        "write a Kubernetes feature gate as it is documented, such as InPlacePodVerticalScaling",
    ),
]


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
            target[last] = value
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


def test_a_key_that_pulumi_encrypts_is_refused_without_a_look_at_its_value():
    raw = changed(("environments.0.image", "hunter2 "), ("server.port", 0))
    secret, port = problems(raw, secret={"environments"})
    assert secret.startswith("envfleet:environments: holds a secret, which is not supported yet; remove it")
    assert port == "envfleet:server.port = 0: write a whole number from 1 to 65535"


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


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=8), inner, max_size=2),
)


@given(st.sampled_from([path for path, *_ in MISTAKES]), anything)
def test_whatever_is_written_anywhere_is_accepted_or_a_config_error(path, value):
    with contextlib.suppress(config.ConfigError):
        config.parse(changed((path, value)), "dev")


@given(anything)
def test_a_configuration_of_another_shape_is_explained(value):
    raw = value if isinstance(value, dict) else {"environments": value}
    assert problems(raw)
