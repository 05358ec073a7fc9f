"""Commands that fail, and what the user is told."""

import time

import pytest

from providers.kind import cli, engine
from providers.kind.engine import CommandError, Container, KindError, run

NODE = Container("1", "lab-control-plane", "control-plane", running=True)

# As kind 0.33 and docker print them, shortened.
PORT_TAKEN = """\
WARNING: Here be dragons! This is not supported currently.
Creating cluster "lab" ...
 ✗ Preparing nodes
ERROR: failed to create cluster: command "docker run --name lab" failed with error: exit status 125
Command Output: 689eae07f1da
docker: Error response from daemon: listen tcp4 127.0.0.1:31999: bind: address already in use
Run 'docker run --help' for more information
"""
NO_IMAGE = """\
ERROR: failed to create cluster: failed to pull image "kindest/node:v1.0.0": exit status 1
Command Output: Error response from daemon: no such host
"""
DISK_FULL = "ERROR: failed to create cluster: write /var/lib/x: no space left on device"


@pytest.mark.parametrize(
    ("message", "output", "remedy", "reason"),
    [
        ("exit 1", PORT_TAKEN, "choose another host_port", "127.0.0.1:31999"),
        ("exit 1", NO_IMAGE, "make images", "kindest/node:v1.0.0"),
        ("exit 1", DISK_FULL, "docker system df", "/var/lib/x"),
        ("`kind create cluster` took longer than 30 s", "", "ready_timeout_seconds", ""),
        (
            "error: timed out waiting for the condition",
            "w: not ready",
            "ready_timeout_seconds",
            "w: not ready",
        ),
        ("something new", "line 1\nline 2", "something new", "line 2"),
    ],
)
def test_failure_is_explained_with_remedy_first_and_reason_after(message, output, remedy, reason):
    first, _, rest = cli.explain(CommandError(message, output)).partition("\n")
    assert remedy in first
    assert reason in rest


def test_noise_and_progress_are_left_out_of_the_explanation():
    explained = cli.explain(CommandError("exit 1", PORT_TAKEN))
    for noise in ("dragons", "Preparing nodes", "docker run --help"):
        assert noise not in explained


def test_command_that_is_not_installed_is_named():
    with pytest.raises(KindError, match=r"`no-such-tool` is not installed\. Run `make up`"):
        run("no-such-tool")


def test_failed_command_keeps_all_its_output():
    with pytest.raises(CommandError, match="the reason") as caught:
        run("sh", "-c", "echo first; echo the reason >&2; exit 3")
    assert caught.value.output == "first\nthe reason"


def test_command_that_hangs_is_ended_and_keeps_its_output():
    started = time.monotonic()
    with pytest.raises(CommandError, match="took longer than 1 s") as caught:
        run("sh", "-c", "echo so far; exec sleep 60", timeout=1)
    assert time.monotonic() - started < 20
    assert caught.value.output == "so far"


def test_unreachable_engine_is_told_apart_from_a_missing_object(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setattr(engine, "BIN", "/nowhere")
    with pytest.raises(KindError, match=r"no container engine answers|`docker` is not installed"):
        engine.owned("abc")


def test_pinned_node_image_is_taken_where_the_engine_has_it(monkeypatch):
    monkeypatch.setattr(engine, "image_id", lambda _reference: "sha256:1")
    assert cli.default_node_image().startswith("kindest/node:v")


def test_node_image_built_here_is_taken_otherwise(monkeypatch):
    monkeypatch.setattr(engine, "image_id", lambda ref: "sha256:1" if ref.startswith("envfleet/") else None)
    assert cli.default_node_image().startswith("envfleet/node:v")


def test_without_any_node_image_the_remedy_is_named(monkeypatch):
    monkeypatch.setattr(engine, "image_id", lambda _reference: None)
    with pytest.raises(KindError, match="Run `make images`"):
        cli.default_node_image()


@pytest.mark.parametrize(
    ("reference", "full"),
    [
        ("busybox:1", "docker.io/library/busybox:1"),
        ("envfleet/echo:0.1.0", "docker.io/envfleet/echo:0.1.0"),
        ("localhost/echo:1", "localhost/echo:1"),
        ("registry:5000/echo:1", "registry:5000/echo:1"),
        ("ghcr.io/a/b:1", "ghcr.io/a/b:1"),
    ],
)
def test_image_names_get_their_registry(reference, full):
    assert cli.qualified(reference) == full


def test_waiting_goes_on_while_the_api_server_does_not_answer_yet(monkeypatch):
    answers = iter([CommandError("refused", ""), CommandError("refused", ""), None])

    def fake(*_command, **_options):
        if (answer := next(answers)) is not None:
            raise answer
        return ""

    monkeypatch.setattr(engine, "owned", lambda _owner: [NODE])
    monkeypatch.setattr(cli, "run", fake)
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    cli.wait_ready("abc", time.monotonic() + 60)
    assert next(answers, "used up") == "used up"


def test_nodes_that_are_not_ready_in_time_are_named(monkeypatch):
    def fake(*command, **_options):
        if "wait" in command:
            raise CommandError("timed out waiting for the condition", "")
        return "lab-worker: container runtime is down"

    monkeypatch.setattr(engine, "owned", lambda _owner: [NODE])
    monkeypatch.setattr(cli, "run", fake)
    with pytest.raises(CommandError) as caught:
        cli.wait_ready("abc", time.monotonic())
    assert caught.value.output == "lab-worker: container runtime is down"


def test_removal_goes_on_while_another_one_is_under_way(monkeypatch):
    left = [[NODE], [NODE], []]
    commands = []

    def fake(*command, **_options):
        commands.append(command[1])
        if command[1] == "rm" and len(left) == 2:
            raise CommandError("removal of container lab-control-plane is already in progress", "")
        return ""

    monkeypatch.setattr(engine, "owned", lambda _owner: left.pop(0))
    monkeypatch.setattr(engine, "run", fake)
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    engine.remove("abc")
    assert commands == ["rm", "rm", "network"]


@pytest.mark.parametrize(
    "said",
    [
        "network envfleet-abc not found",
        "Error: No such network: envfleet-abc",  # Docker 20.10
        "network has active endpoints",
    ],
)
def test_network_that_is_gone_or_used_by_others_is_no_failure(monkeypatch, said):
    def fake(*_command, **_options):
        raise CommandError(said, said)

    monkeypatch.setattr(engine, "owned", lambda _owner: [])
    monkeypatch.setattr(engine, "run", fake)
    engine.remove("abc")
