"""The commands: what each has ready before it starts, and how a failure is said."""

import subprocess
import sys

import pytest

from cli import main
from cli import stack as stacks
from cli.stack import Stack
from toolchain import engine, images, tools
from toolchain.progress import StepError


@pytest.fixture(autouse=True)
def _nothing_real_happens(tmp_path, monkeypatch):
    """A step that is not recorded below fails, in a folder without any stack of this clone's."""

    def refuse(*command, **_):
        pytest.fail(f"{command} would have run")

    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  envfleet:cluster:\n    provider: kind\n")
    monkeypatch.setattr(stacks, "ROOT", tmp_path)
    monkeypatch.setattr(stacks, "environ", lambda: {"PULUMI_BACKEND_URL": f"file://{tmp_path}"})
    monkeypatch.setattr(stacks, "_run_to_its_end", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)


@pytest.fixture
def steps(monkeypatch):
    """Every step that a command takes, in order; none is taken really."""
    taken = []

    def record(owner, name, result=None):
        def step(*arguments):
            taken.append(" ".join([name, *(word for word in arguments if isinstance(word, str))]))
            return result

        monkeypatch.setattr(owner, name, step)

    record(tools, "ensure")
    for name in ("ensure", "keep", "stop"):
        monkeypatch.setattr(engine, name, lambda name=name: taken.append(f"engine {name}"))
    monkeypatch.setattr(images, "ensure", lambda: taken.append("images"))
    for name in ("validate", "select", "up", "preview", "destroy", "remove"):
        record(Stack, name)
    record(Stack, "exists", True)
    return taken


def run(monkeypatch, *arguments):
    """The exit code of `envfleet ARGUMENTS`."""
    monkeypatch.setattr(sys, "argv", ["envfleet", *arguments])
    monkeypatch.setattr(main.signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        main.main()
    return ended.value.code


@pytest.mark.parametrize(
    "text", ["write [registry/]repository:tag", "[/usr/bin/docker] ended", "a :smile: b\\"]
)
def test_an_error_is_printed_as_it_is(monkeypatch, capsys, text):
    def fail():
        raise StepError(text)

    monkeypatch.setattr(main, "app", fail)
    assert run(monkeypatch) == 1
    assert capsys.readouterr().err == f"error: {text}\n"


def test_down_has_tools_and_engine_before_it_destroys(steps, monkeypatch):
    assert run(monkeypatch, "down") == 0
    assert steps == [
        "exists",
        "ensure pulumi pulumi-resource-kubernetes kubectl",
        "ensure kind",
        "engine ensure",
        "engine keep",
        "select",
        "destroy",
        "remove",
        "engine stop",
    ]


def test_down_of_a_stack_that_is_not_up_fetches_and_starts_nothing(steps, monkeypatch, capsys):
    monkeypatch.setattr(Stack, "exists", lambda self: False)
    assert run(monkeypatch, "down") == 0
    assert steps == ["engine stop"]
    assert capsys.readouterr().err == "Stack dev is not up: there is nothing to destroy.\n"


def test_a_stack_in_a_cloud_has_its_sdk_and_plugin_but_no_engine(steps, monkeypatch):
    monkeypatch.setattr(Stack, "provider", "aws")
    monkeypatch.setattr(main, "run", lambda *command: steps.append(f"run {command[-1]}"))
    assert run(monkeypatch, "preview") == 0
    assert steps == [
        "validate",
        "ensure pulumi pulumi-resource-kubernetes kubectl",
        "run requirements-aws.txt",
        "ensure pulumi-resource-aws",
        "select",
        "preview",
    ]


@pytest.fixture
def fleet(steps, monkeypatch):
    """A fleet of which one pod was evicted, and one is of an environment that is no more."""

    class Fleet:
        def __init__(self, stack):
            pass

        def show(self):
            steps.append("table")

        def remove_broken(self):
            steps.append("remove broken")
            return ["echo"]

        def remove_orphans(self):
            steps.append("remove orphans")
            return ["Pod gone"]

    monkeypatch.setattr(main, "Fleet", Fleet)


def test_up_removes_what_no_environment_has_any_more_and_ends_with_the_table(
    steps, fleet, monkeypatch, capsys
):
    assert run(monkeypatch, "up") == 0
    assert steps[-4:] == ["select", "up", "remove orphans", "table"]
    assert capsys.readouterr().err == "Removed, since no environment has it any more: Pod gone\n"


def test_preview_makes_nothing(steps, monkeypatch):
    assert run(monkeypatch, "preview") == 0
    assert steps[-2:] == ["select", "preview"]


def test_repair_removes_what_is_broken_and_makes_anew_what_is_gone(steps, fleet, monkeypatch, capsys):
    assert run(monkeypatch, "repair") == 0
    assert steps[-5:] == ["select", "remove broken", "up --refresh", "remove orphans", "table"]
    assert capsys.readouterr().err.startswith("To be replaced: echo\n")


def test_env_has_the_tools_there_and_prints_only_variables(steps, monkeypatch, capsys):
    monkeypatch.setattr(main, "settings", lambda: {"A": "b c"})
    assert run(monkeypatch, "env") == 0
    assert steps == ["ensure pulumi pulumi-resource-kubernetes kubectl"]
    assert capsys.readouterr().out == "export A='b c'\n"


@pytest.mark.parametrize("port", ["0", "70000"])
def test_a_port_that_no_machine_has_is_refused(steps, monkeypatch, capsys, port):
    assert run(monkeypatch, "connect", "echo", "--port", port) == 2
    assert "'--port'" in capsys.readouterr().err
