"""The settings of a clone: its own, unless the user has chosen otherwise."""

import os
from types import SimpleNamespace

import pytest

from toolchain import environ
from toolchain.progress import StepError


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A clone without a container engine, in a shell without Pulumi's settings."""

    def none() -> None:
        raise StepError("none")

    for name in [name for name in os.environ if name.startswith(("PULUMI_", "ENVFLEET_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(environ, "HOME", tmp_path)
    monkeypatch.setattr(environ, "STATE", tmp_path / "state")
    monkeypatch.setattr(environ, "TEMPORARY", tmp_path / "tmp")
    monkeypatch.setattr(environ, "PASSPHRASE", tmp_path / "passphrase")
    monkeypatch.setattr(environ, "engine", SimpleNamespace(docker_host=none))
    return tmp_path


def test_state_and_passphrase_are_in_the_clone(home):
    settings = environ.settings()
    assert settings["PULUMI_BACKEND_URL"] == f"file://{home}/state"
    assert settings["PULUMI_CONFIG_PASSPHRASE_FILE"] == f"{home}/passphrase"
    assert [file.name for file in home.iterdir() if file.is_file()] == ["passphrase"]
    assert (home / "passphrase").stat().st_mode & 0o777 == 0o600


def test_the_passphrase_stays(home):
    environ.settings()
    passphrase = (home / "passphrase").read_text()
    assert len(passphrase) > 30
    environ.settings()
    assert (home / "passphrase").read_text() == passphrase


@pytest.mark.parametrize("name", ["PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"])
def test_a_backend_and_a_passphrase_of_the_user_are_kept(home, monkeypatch, name):
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://theirs")
    monkeypatch.setenv(name, "theirs")
    assert not environ.settings().keys() & {"PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE_FILE"}
    assert not (home / "passphrase").exists()


def test_plugins_are_found_whatever_pulumi_home_the_user_has(home, monkeypatch):
    monkeypatch.setenv("PULUMI_HOME", "/theirs")
    assert environ.settings()["PULUMI_HOME"] == str(environ.PULUMI_HOME)


def test_settings_of_another_clone_in_the_same_shell_do_not_count(home, monkeypatch):
    for name, value in environ.settings().items():
        monkeypatch.setenv(name, value.replace(str(home), "/elsewhere/.envfleet"))
    settings = environ.settings()
    assert settings["PULUMI_BACKEND_URL"] == f"file://{home}/state"
    assert settings["PULUMI_CONFIG_PASSPHRASE_FILE"] == f"{home}/passphrase"
