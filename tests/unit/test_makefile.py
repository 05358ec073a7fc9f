"""`make clean` takes away nothing that something still running depends on."""

import json
import subprocess

import pytest

from toolchain import daemon
from toolchain.layout import ROOT


class Clone:
    """A folder to clean, and the note that a running engine leaves."""

    def __init__(self, folder):
        self.folder = folder
        self.home = folder / ".envfleet"
        self.stack = self.home / "state" / ".pulumi" / "stacks" / "envfleet" / "trial.json"
        self.engine = folder / "before.json"
        self.stack.parent.mkdir(parents=True)

    def clean(self, *variables):
        """Run `make clean`; what it says if it refuses."""
        done = subprocess.run(
            ["make", "-f", ROOT / "Makefile", "clean", f"ENGINE={self.engine}", *variables],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert self.home.exists() == (done.returncode != 0)
        return done.stderr if done.returncode else None


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


def test_clean_removes_everything_after_down(clone):
    clone.stack.with_suffix(".json.bak").touch()
    assert clone.clean() is None


def test_clean_refuses_while_a_stack_is_up(clone):
    clone.stack.touch()
    assert "error: a stack is up: `make down STACK=trial` first" in clone.clean()
    assert clone.clean("FORCE=1") is None


def test_clean_refuses_while_the_engine_has_its_data_here(clone):
    clone.engine.write_text(json.dumps({"home": str(clone.home), "ip_forward": "0"}))
    assert "error: the container engine has its data here: `make down` first" in clone.clean("FORCE=1")


def test_the_engine_of_another_clone_is_none_of_its_business(clone):
    clone.engine.write_text(json.dumps({"home": f"{clone.folder}/other/.envfleet"}))
    assert clone.clean() is None


def test_the_engines_note_is_where_make_looks_for_it():
    assert f"\nENGINE := {daemon.BEFORE}\n" in (ROOT / "Makefile").read_text()
