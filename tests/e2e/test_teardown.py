"""After `make down` the machine is as it was. The last module: it takes README's last step."""

import subprocess
from pathlib import Path

import pytest

from tests.e2e.clone import SALT, Clone, Result
from tests.e2e.machine import engine_runs, left_behind
from tests.e2e.readme import STEPS, Walk
from tests.engine.decoy import Decoy
from toolchain.layout import ROOT


def git(clone: Clone, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=clone.folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture(scope="module", autouse=True)
def down(clone: Clone, walk: Walk, up: Result) -> Result:
    """The last step, after the user's own changes of the configuration were undone."""
    file = clone.folder / "Pulumi.dev.yaml"
    salt = SALT.search(file.read_text())
    assert salt, "Pulumi keeps its salt in the stack's file"
    file.write_text(git(clone, "show", "HEAD:Pulumi.dev.yaml") + salt[0])
    return walk.take(STEPS[-1])


def test_down_succeeds(down: Result) -> None:
    down.succeeded()


def test_nothing_is_left_on_the_machine(clone: Clone, machine_before: set[str]) -> None:
    left = left_behind(machine_before, clone.root, clone.prefix)
    assert not left, "\n".join(sorted(left))


def test_container_engine_runs_if_it_ran_before(machine_before: set[str]) -> None:
    assert engine_runs() == ("container engine" in machine_before)


def test_nothing_is_left_in_the_users_home(decoy: Decoy, kubeconfigs: dict[Path, bytes]) -> None:
    assert {file for file in decoy.home.rglob("*") if file.is_file()} == kubeconfigs.keys()


def test_nothing_is_left_in_the_temporary_folder(clone: Clone) -> None:
    assert list(Path(clone.environ["TMPDIR"]).iterdir()) == []


def test_tracked_files_are_as_they_were(clone: Clone) -> None:
    assert git(clone, "status", "--porcelain") == ""


def test_kubeconfigs_of_the_user_are_neither_changed_nor_used(
    decoy: Decoy, kubeconfigs: dict[Path, bytes]
) -> None:
    assert {file: file.read_bytes() for file in kubeconfigs} == kubeconfigs
    assert decoy.requests == []


def test_no_stack_file_is_committed_with_its_salt() -> None:
    listed = subprocess.run(
        ["git", "grep", "--files-with-matches", "^encryptionsalt:", "HEAD", "--", "Pulumi.*.yaml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert listed.stdout == ""
