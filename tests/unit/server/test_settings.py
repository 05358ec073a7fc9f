import os
import subprocess
import sys

import pytest
from envfleet_server.settings import SettingsError, load


def test_defaults_need_only_the_namespace() -> None:
    settings = load({"ENVFLEET_NAMESPACE": "fleet", "HOME": "/"})
    assert (settings.namespace, settings.port, settings.log_level) == ("fleet", 8080, "info")
    assert settings.kubeconfig is None


def test_log_level_may_be_upper_case() -> None:
    assert load({"ENVFLEET_NAMESPACE": "fleet", "LOG_LEVEL": "DEBUG"}).log_level == "debug"


@pytest.mark.parametrize(
    ("variable", "value", "remedy"),
    [
        ("ENVFLEET_NAMESPACE", "Fleet_1", "metadata.namespace"),
        ("ENVFLEET_NAMESPACE", "", "metadata.namespace"),
        ("ENVFLEET_KUBECONFIG", "/no/such/file", "the path of a kubeconfig file"),
        ("PORT", "0", "a port from 1 to 65535"),
        ("PORT", "http", "a port from 1 to 65535"),
        ("LOG_LEVEL", "loud", "debug, info, warning or error"),
    ],
)
def test_a_wrong_variable_is_named_with_its_value_and_remedy(variable: str, value: str, remedy: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({"ENVFLEET_NAMESPACE": "fleet", variable: value})
    message = str(caught.value)
    assert message.startswith(f"{variable} is {value!r}: set it to ")
    assert remedy in message


def test_all_wrong_variables_are_reported_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        load({"PORT": "0"})
    assert [line.split()[0] for line in str(caught.value).splitlines()] == ["ENVFLEET_NAMESPACE", "PORT"]


def test_the_process_ends_with_the_message_and_no_traceback() -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ENVFLEET_")}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    result = subprocess.run(
        [sys.executable, "-m", "envfleet_server"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert result.stderr.startswith("ENVFLEET_NAMESPACE is not set")
    assert "Traceback" not in result.stderr
