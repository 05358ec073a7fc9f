"""Commands that the toolchain runs, and the temporary folders they work in."""

import os
import signal
import subprocess
import sys
import time

import pytest

from toolchain import images, scratch
from toolchain.layout import ROOT
from toolchain.progress import StepError, run


def test_a_warning_is_not_taken_for_output():
    assert run("sh", "-c", "echo output; echo warning >&2") == "output\n"


def test_a_failure_shows_the_last_lines_of_both_streams():
    with pytest.raises(StepError, match=r"`sh -c .*` ended with 3:\n.*output\nreason"):
        run("sh", "-c", "echo output; echo reason >&2; exit 3")


def test_lines_of_both_streams_are_followed_as_they_come():
    lines = []
    run("sh", "-c", "echo one; echo two >&2", on_line=lines.append)
    assert lines == ["one", "two"]


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(StepError, match="no-such-program is not installed"):
        run("no-such-program", "argument")


def test_a_signal_ends_the_command_too():
    code = (
        "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(143));"
        "from toolchain.progress import run; run('sh', '-c', 'echo $$ >&2; exec sleep 60', on_line=print)"
    )
    with subprocess.Popen(
        [sys.executable, "-uc", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        child = int(parent.stdout.readline())
        started = time.monotonic()
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(timeout=20) == 143
    assert time.monotonic() - started < 20
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_a_temporary_folder_is_the_users_alone_and_goes_away(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "FOLDER", tmp_path / "tmp")
    with scratch.scratch("work") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list((tmp_path / "tmp").iterdir()) == []


def test_temporary_folders_of_killed_processes_are_removed_and_only_those(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "FOLDER", tmp_path / "tmp")
    ended = subprocess.Popen(["true"])
    ended.wait()
    killed = tmp_path / "tmp" / f"{ended.pid}-work-abc"
    killed.mkdir(parents=True)
    (killed / "kubeconfig").touch()
    with scratch.scratch("first") as first, scratch.scratch("second"):
        assert first.exists()
        assert not killed.exists()


@pytest.mark.parametrize(
    ("said", "there"),
    [("", True), ("Error: No such image: kindest/node", False), ("Error response: no such image: a", False)],
)
def test_an_image_is_there_if_the_engine_knows_it(monkeypatch, said, there):
    def docker(*_arguments: str) -> str:
        if said:
            raise StepError(said)
        return "sha256:1\n"

    monkeypatch.setattr(images, "docker", docker)
    assert images.exists("kindest/node:v1@sha256:1") == there


def test_an_engine_that_fails_is_no_missing_image(monkeypatch):
    def docker(*_arguments: str) -> str:
        raise StepError("Cannot connect to the Docker daemon")

    monkeypatch.setattr(images, "docker", docker)
    with pytest.raises(StepError, match="Cannot connect"):
        images.exists("any")
