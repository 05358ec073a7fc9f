"""The kind provider on real clusters: what it refuses, replaces, repairs and leaves alone.

The tests share two clusters and run in this order.
"""

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.e2e import kind_support
from tests.e2e.kind_support import KindStack, config_maps, docker, local_image, nodes, on_node, wait_until
from toolchain import engine, images, tools
from toolchain.environ import environ as project_environ
from toolchain.layout import PULUMI_HOME

pytestmark = pytest.mark.timeout(400)

BOTH = {"alone", "with-cluster"}
IMAGE = "envfleet-test/small:1"


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A machine whose ~/.kube/config and $KUBECONFIG lead to somebody else's cluster."""
    tools.ensure("pulumi", "pulumi-resource-kubernetes", "kind")
    engine.ensure()
    images.node()
    folder = tmp_path_factory.mktemp("pulumi")
    for name in ("home", "state", "user"):
        (folder / name).mkdir()
    (folder / "home" / "plugins").symlink_to(PULUMI_HOME / "plugins")
    with socket.create_server(("127.0.0.1", 0)) as their_cluster:
        kubeconfig = kind_support.kubeconfig_of_others(their_cluster.getsockname()[1])
        theirs = (folder / "user" / ".kube" / "config", folder / "user" / "kubeconfig")
        for file in theirs:
            file.parent.mkdir(exist_ok=True)
            file.write_text(kubeconfig)
        yield project_environ() | {
            "HOME": str(folder / "user"),
            "KUBECONFIG": str(theirs[1]),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": (folder / "state").as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": "test",
        }
        assert [file.read_text() for file in theirs] == [kubeconfig] * 2, (
            "a kubeconfig of the user was changed"
        )
        assert set((folder / "user").rglob("*config*")) == set(theirs), "a kubeconfig was added"
        their_cluster.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody has ever connected
            their_cluster.accept()


@pytest.fixture(scope="module")
def new_stack(
    environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], KindStack]]:
    made: list[KindStack] = []

    def create(name: str) -> KindStack:
        # Unlike any cluster that a user, or another run of these tests, may have.
        unique = f"kp{os.getpid()}-{name}"
        made.append(KindStack.create(unique, tmp_path_factory.mktemp("stacks") / unique, environ))
        return made[-1]

    yield create
    for stack in made:
        network = kind_support.network(environ, stack.name)
        if stack.pulumi("destroy", "--yes", "--skip-preview").code != 0:
            stack.recover()
            stack.destroy()
        assert nodes(environ, stack.name) == {}, "destroy left containers"
        assert network not in docker(environ, "network", "ls", "--format={{.Name}}").splitlines()


@pytest.fixture(scope="module")
def pair(new_stack: Callable[[str], KindStack]) -> tuple[KindStack, KindStack]:
    """Two stacks, brought up at the same time."""
    stacks = new_stack("one"), new_stack("two")
    ups = [stack.start_up() for stack in stacks]
    outputs = [up.communicate()[0] for up in ups]
    assert [up.returncode for up in ups] == [0, 0], "\n".join(outputs)
    return stacks


@pytest.fixture
def one(pair: tuple[KindStack, KindStack]) -> KindStack:
    return pair[0]


@pytest.fixture
def two(pair: tuple[KindStack, KindStack]) -> KindStack:
    return pair[1]


@pytest.fixture(scope="module")
def third(new_stack: Callable[[str], KindStack]) -> KindStack:
    return new_stack("three")


def test_two_stacks_live_side_by_side(one: KindStack, two: KindStack, environ: dict[str, str]) -> None:
    for stack in (one, two):
        assert list(nodes(environ, stack.name).values()) == ["running"]
        assert config_maps(environ, stack.name) == BOTH
    assert one.kubeconfig() != two.kubeconfig()


def test_state_holds_no_key_in_plain_text(one: KindStack) -> None:
    assert "client-key-data" in one.kubeconfig()
    state = str(one.export())
    assert "-key-data" not in state
    assert "BEGIN" not in state


def test_neither_a_second_up_nor_a_longer_timeout_changes_anything(one: KindStack) -> None:
    one.configure(ready_timeout_seconds=299)
    assert one.preview() == {}


def test_changed_node_image_says_in_preview_that_the_cluster_is_replaced(one: KindStack) -> None:
    one.configure(node_image="kindest/node:v1.33.0")
    steps = one.preview()
    assert {name: step["op"] for name, step in steps.items()} == dict.fromkeys(
        ("cluster-kind", "cluster-kubernetes", *BOTH), "replace"
    )
    assert steps["cluster-kind"]["replaceReasons"] == ["node_image"]
    one.configure()


def test_cluster_of_somebody_else_is_refused_and_untouched(
    one: KindStack, new_stack: Callable[[str], KindStack], environ: dict[str, str]
) -> None:
    stranger = new_stack("stranger")
    stranger.configure(name=one.name)
    before = nodes(environ, one.name)
    result = stranger.pulumi("up", "--yes", "--skip-preview")
    assert result.code != 0
    assert f"a kind cluster '{one.name}' exists and is not this stack's" in result.output
    assert "Traceback" not in result.output
    stranger.destroy()
    assert nodes(environ, one.name) == before
    assert config_maps(environ, one.name) == BOTH


def test_only_images_with_changed_content_are_loaded(
    one: KindStack, environ: dict[str, str], tmp_path: Path
) -> None:
    other = IMAGE.replace("small", "other")
    for image in (IMAGE, other):
        local_image(environ, image, image.encode(), tmp_path)
    try:
        one.configure(images=[IMAGE, other])
        one.up()
        local_image(environ, IMAGE, b"changed", tmp_path)
        assert one.preview().keys() == {f"cluster-image-{IMAGE}", *BOTH}
        one.up()
        loaded = on_node(environ, one.name, "ctr", "--namespace=k8s.io", "images", "list", "--quiet")
        digest = docker(environ, "image", "inspect", "--format", "{{.Id}}", IMAGE).removeprefix("sha256:")
        assert f"docker.io/{IMAGE}-{digest[:12]}" in loaded.splitlines()
        # A pod that has not moved yet must still find the old one.
        assert sum(line.startswith(f"docker.io/{IMAGE}-") for line in loaded.splitlines()) == 2
    finally:
        docker(environ, "image", "rm", IMAGE, other)


def test_missing_local_image_is_named_with_its_remedy(one: KindStack) -> None:
    one.configure(images=["envfleet-test/nowhere:1"])
    result = one.pulumi("preview")
    assert result.code != 0
    assert "envfleet:cluster.images: the container engine has no envfleet-test/nowhere:1" in result.output
    assert "make images" in result.output
    one.configure()


def test_stopped_nodes_are_started_though_docker_gives_them_other_addresses(
    one: KindStack, environ: dict[str, str]
) -> None:
    before = list(nodes(environ, one.name))
    address = kind_support.address(environ, one.name)
    docker(environ, "stop", "--time=1", *before)
    network = kind_support.network(environ, one.name)
    taker = docker(
        environ, "run", "--detach", f"--network={network}", "--entrypoint=sleep", images.node(), "infinity"
    )
    try:
        assert one.preview()["cluster-kind"]["op"] == "update"
        assert f"kind cluster '{one.name}' is stopped" in one.up()
        assert kind_support.address(environ, one.name) != address
    finally:
        docker(environ, "rm", "--force", taker)
    assert nodes(environ, one.name) == dict.fromkeys(before, "running")
    assert config_maps(environ, one.name) == BOTH


def test_cluster_deleted_behind_our_back_is_recreated_with_everything(
    one: KindStack, environ: dict[str, str]
) -> None:
    before = nodes(environ, one.name)
    docker(environ, "rm", "--force", "--volumes", *before)
    assert one.preview()["cluster-kind"]["op"] == "replace"
    assert f"kind cluster '{one.name}' no longer exists" in one.up()
    assert nodes(environ, one.name).keys().isdisjoint(before)
    assert config_maps(environ, one.name) == BOTH
    assert one.preview() == {}


def test_destroy_works_when_the_cluster_is_gone_and_twice(two: KindStack, environ: dict[str, str]) -> None:
    docker(environ, "rm", "--force", "--volumes", *nodes(environ, two.name))
    two.destroy()
    assert two.export()["deployment"].get("resources", []) == []
    two.destroy()


def test_failed_create_says_why_and_leaves_nothing(third: KindStack, environ: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = listener.getsockname()[1]
        third.configure(port_mappings=[{"container_port": 30000, "host_port": taken}])
        result = third.pulumi("up", "--yes", "--skip-preview")
    third.configure()
    assert result.code != 0
    assert "KindError: can't create kind cluster" in result.output
    assert "choose another host_port in envfleet:cluster.port_mappings" in result.output
    assert f"127.0.0.1:{taken}" in result.output
    assert nodes(environ, third.name) == {}


def _halfway(
    stack: KindStack, environ: dict[str, str]
) -> tuple[subprocess.Popen[str], dict[str, psutil.Process]]:
    """Begin `up`, and wait until its node runs, long before the cluster is done.

    Returns it and those of its processes that live as long as it does, by what they are.
    """
    up = stack.start_up()
    wait_until(lambda: "running" in nodes(environ, stack.name).values(), 60, "a node container runs")
    found = {}
    for process in psutil.Process(up.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            words = process.cmdline()
            found |= {what: process for what in ("kind", "pulumi.dynamic") if what in words}
    return up, found


def test_nothing_goes_on_when_pulumi_is_killed_and_destroy_removes_the_half_made_cluster(
    third: KindStack, environ: dict[str, str]
) -> None:
    up, creating = _halfway(third, environ)
    assert creating.keys() == {"kind", "pulumi.dynamic"}
    up.kill()
    up.communicate()
    assert psutil.wait_procs(creating.values(), timeout=5)[1] == []
    assert nodes(environ, third.name) != {}
    third.recover()
    third.destroy()
    assert nodes(environ, third.name) == {}


def test_up_recovers_by_itself_after_everything_was_killed_halfway(
    third: KindStack, environ: dict[str, str]
) -> None:
    up, creating = _halfway(third, environ)
    for process in (up, *creating.values()):
        process.kill()
    up.communicate()
    half_made = nodes(environ, third.name)
    assert half_made != {}
    third.recover()
    assert "pending operations" not in third.up()
    assert nodes(environ, third.name).keys().isdisjoint(half_made)
    assert config_maps(environ, third.name) == BOTH
