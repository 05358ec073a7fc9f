"""What is asked of a running fleet, how long it is waited for, and on which stream it is shown."""

import json
import os
import socket
from types import SimpleNamespace

import pytest

from cli import fleet as fleets
from cli.fleet import Fleet
from toolchain import scratch, tools
from toolchain.progress import StepError

OUTPUTS = {
    "cluster": "envfleet-dev",
    "kubeconfig": "canary",
    "namespace": "rl",
    "server": "http://server.rl:8080",
    "environments": {"echo": {"url": "http://echo.rl:8000"}},
}


class Cluster:
    """A `kubectl` that gives its answers one after the other, the last for ever; None is a refusal."""

    def __init__(self, folder, *answers):
        self.folder = folder
        kubectl = folder / "kubectl"
        kubectl.write_text(
            f'#!/bin/sh\ncd {folder}\necho "$@" >> asked\ncat "${{1#--kubeconfig=}}" >> kubeconfigs\n'
            'n=$(wc -l < asked)\nwhile [ ! -e "$n" ]; do n=$((n - 1)); done\n'
            'if [ ! -s "$n" ]; then echo "warning" >&2; echo "refused" >&2; exit 1; fi\ncat "$n"\n'
        )
        kubectl.chmod(0o755)
        for number, answer in enumerate(answers, 1):
            (folder / str(number)).write_text("" if answer is None else json.dumps(answer))

    @property
    def asked(self):
        return (self.folder / "asked").read_text().splitlines()


def row(name, ready=True):
    url, image = f"http://{name}.rl:8000", "envfleet/echo:0.1.0"
    reason = None if ready else "OOMKilled"
    return {
        "name": name,
        "ready": ready,
        "reason": reason,
        "phase": "Running",
        "url": url,
        "image": image,
        "restarts": 0,
    }


@pytest.fixture
def stack(tmp_path, monkeypatch):
    """A stack that counts how often its outputs are read."""
    monkeypatch.setattr(scratch, "FOLDER", tmp_path / "scratch")
    monkeypatch.setattr(fleets, "environ", lambda: {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    monkeypatch.setattr(fleets, "POLL_SECONDS", 0)
    monkeypatch.setattr(tools, "ensure", lambda *names: None)
    stack = SimpleNamespace(name="dev", reads=0)

    def outputs():
        stack.reads += 1
        return OUTPUTS

    stack.outputs = outputs
    return stack


def test_the_table_is_on_stdout_and_hints_are_not(stack, tmp_path, capsys):
    Cluster(tmp_path, [row("echo"), row("other", ready=False)])
    assert not Fleet(stack).show()
    said = capsys.readouterr()
    lines = [line for line in said.out.splitlines() if "│ echo " in line]
    assert len(lines) == 1
    assert "│ Ready " in lines[0]
    assert "not ready: OOMKilled" in said.out
    assert "Control server: http://server.rl:8080" in said.out
    assert said.err == "From this machine: make connect ENV=echo\n"


def test_the_outputs_are_read_once_and_the_server_is_asked_once(stack, tmp_path):
    cluster = Cluster(tmp_path, [row("echo")])
    assert Fleet(stack).show()
    assert stack.reads == 1
    (asked,) = cluster.asked
    assert "get --raw /api/v1/namespaces/rl/services/server:http/proxy/v1/environments" in asked
    assert (tmp_path / "kubeconfigs").read_text() == "canary"
    assert list(scratch.FOLDER.iterdir()) == []


def test_a_server_that_does_not_answer_is_one_line_that_says_what_to_run(stack, tmp_path):
    Cluster(tmp_path, None)
    with pytest.raises(StepError) as caught:
        Fleet(stack).show()
    assert str(caught.value) == (
        "the control server of stack dev does not answer: refused "
        "(`make up STACK=dev` starts what is stopped)"
    )


def test_server_and_environments_are_waited_for(stack, tmp_path):
    cluster = Cluster(tmp_path, None, [row("echo", ready=False)], [row("echo", ready=False)], [row("echo")])
    Fleet(stack).wait()
    assert len(cluster.asked) == 4
    assert stack.reads == 1


@pytest.mark.parametrize(
    ("answer", "missing"), [(None, "the control server"), ([row("a"), row("b", ready=False)], "b")]
)
def test_what_is_not_ready_in_time_is_named(stack, tmp_path, monkeypatch, answer, missing):
    Cluster(tmp_path, answer)
    monkeypatch.setattr(fleets, "READY_SECONDS", 0)
    with pytest.raises(StepError, match=f"^not ready in time: {missing}$"):
        Fleet(stack).wait()


def test_an_unknown_environment_is_an_error_that_lists_the_known_ones(stack):
    with pytest.raises(StepError, match=r"no environment 'ecko'\. It has: echo"):
        Fleet(stack).connect("ecko", 8000)


def test_a_port_that_is_taken_is_an_error(stack):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(StepError, match=f"port {port} of this machine is taken"):
            Fleet(stack).connect("echo", port)
