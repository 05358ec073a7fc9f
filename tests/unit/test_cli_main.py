"""The commands: what each has ready before it starts, and how a failure is said."""

import sys

import pytest

from cli import main
from cli.stack import Stack
from toolchain import engine, images, tools
from toolchain.progress import StepError


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
    for name in ("validate", "select", "pulumi", "remove"):
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
        "pulumi destroy --stack dev --yes --skip-preview",
        "remove",
        "engine stop",
    ]


def test_down_of_a_stack_that_is_not_up_fetches_and_starts_nothing(steps, monkeypatch, capsys):
    monkeypatch.setattr(Stack, "exists", lambda self: False)
    assert run(monkeypatch, "down") == 0
    assert steps == ["engine stop"]
    assert capsys.readouterr().err == "Stack dev is not up: there is nothing to destroy.\n"


@pytest.fixture
def fleet(steps, monkeypatch):
    """A fleet of which one pod was evicted."""

    class Fleet:
        def __init__(self, stack):
            pass

        def show(self):
            steps.append("table")

        def remove_broken(self):
            steps.append("remove broken")
            return ["echo"]

    monkeypatch.setattr(main, "Fleet", Fleet)


UP = "pulumi up --stack dev --yes --skip-preview --continue-on-error"


def test_up_ends_with_the_table(steps, fleet, monkeypatch):
    assert run(monkeypatch, "up") == 0
    assert steps[-3:] == ["select", UP, "table"]


def test_repair_removes_what_is_broken_and_makes_anew_what_is_gone(steps, fleet, monkeypatch, capsys):
    assert run(monkeypatch, "repair") == 0
    assert steps[-4:] == ["select", "remove broken", f"{UP} --refresh", "table"]
    assert capsys.readouterr().err == "To be replaced: echo\n"


def test_env_has_the_tools_there_and_prints_only_variables(steps, monkeypatch, capsys):
    monkeypatch.setattr(main, "settings", lambda: {"A": "b c"})
    assert run(monkeypatch, "env") == 0
    assert steps == ["ensure pulumi pulumi-resource-kubernetes kubectl"]
    assert capsys.readouterr().out == "export A='b c'\n"


@pytest.mark.parametrize("port", ["0", "70000"])
def test_a_port_that_no_machine_has_is_refused(steps, monkeypatch, capsys, port):
    assert run(monkeypatch, "connect", "echo", "--port", port) == 2
    assert "'--port'" in capsys.readouterr().err
