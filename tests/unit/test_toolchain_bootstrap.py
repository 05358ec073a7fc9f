"""The virtual environment holds what the checked-out files ask for, and is made only when they change."""

import os
import shutil
import subprocess
import sys

import pytest

from toolchain import bootstrap

UV = """#!/bin/sh
echo "uv was here"
case "$1 $*" in
venv*) for last; do :; done; mkdir -p "$last/bin"; touch "$last/bin/python" ;;
*"-r "*) for last; do :; done; basename "$last" >> {log}; [ ! -e {fails} ] ;;
esac
"""


class Clone:
    """A clone of files that bootstrap reads, with a uv that installs nothing and keeps a log."""

    def __init__(self, folder):
        self.folder = folder
        self.fails = folder / "fails"
        self.log = folder / "log"
        (folder / "toolchain").mkdir()
        shutil.copy(bootstrap.__file__, folder / "toolchain")
        uv = folder / "path" / "uv"
        uv.parent.mkdir()
        uv.write_text(UV.format(log=self.log, fails=self.fails))
        uv.chmod(0o755)
        self.check_out("1")

    def check_out(self, branch, *names):
        for name in names or ("requirements.txt", "requirements-dev.txt", "requirements-aws.txt"):
            (self.folder / name).write_text(f"{name} {branch}")

    def make(self, *names):
        """Run bootstrap for each; what was installed meanwhile."""
        self.log.write_text("")
        for name in names:
            self.said = subprocess.run(
                [sys.executable, self.folder / "toolchain" / "bootstrap.py", name],
                env={"PATH": f"{self.folder / 'path'}:{os.environ['PATH']}"},
                capture_output=True,
                text=True,
                check=False,
            )
        return self.log.read_text().split()


UP, TEST, AWS = "requirements.txt", "requirements-dev.txt", "requirements-aws.txt"


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


def test_nothing_is_printed_where_make_env_is_evaluated(clone):
    assert clone.make(UP) == [UP]
    assert clone.said.stdout == ""
    assert "Installing requirements.txt" in clone.said.stderr
    assert "uv was here" in clone.said.stderr


def test_nothing_is_installed_twice(clone):
    assert clone.make(UP, UP, TEST, UP, TEST, AWS, TEST, UP, AWS) == [UP, TEST, AWS]


def test_development_requirements_are_enough_for_everything(clone):
    assert clone.make(TEST, UP, UP, TEST) == [TEST]


def test_a_branch_with_other_pins_and_the_way_back_both_install(clone):
    clone.make(UP)
    clone.check_out("2")
    assert clone.make(UP, UP) == [UP]
    clone.check_out("1")
    assert clone.make(UP, UP) == [UP]


def test_pins_that_changed_under_the_development_requirements_bring_those_back_too(clone):
    clone.make(TEST)
    clone.check_out("2")
    assert clone.make(UP) == [UP]
    clone.check_out("1")
    assert clone.make(UP, TEST, UP, TEST) == [UP, TEST]


def test_development_requirements_may_change_alone(clone):
    clone.make(TEST)
    clone.check_out("2", TEST)
    assert clone.make(UP, TEST, UP) == [TEST]
    clone.check_out("1", TEST)
    assert clone.make(UP, TEST, UP) == [TEST]


def test_an_installation_that_did_not_end_is_none(clone):
    clone.make(UP)
    clone.check_out("2")
    clone.fails.touch()
    assert clone.make(UP) == [UP]
    assert clone.said.returncode != 0
    clone.fails.unlink()
    clone.check_out("1")
    assert clone.make(UP) == [UP]
