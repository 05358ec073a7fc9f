"""The program itself, `__main__.py`, with the configuration as Pulumi hands it over."""

import json
import os
import runpy
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pulumi
import pytest
import yaml
from pulumi.automation import ConfigValue

import providers
from tests.engine.fleets import SIMULATED, small_fleet
from toolchain import layout


class ControlPlaneCluster(providers.Cluster):
    """The control plane in the place of a cluster that a provider made."""

    def __init__(self, kubeconfig, provider):
        super().__init__("test:ControlPlaneCluster", "cluster")
        self.name = "control-plane"
        self.identifier = pulumi.Output.from_input("control-plane")
        self.kubeconfig = pulumi.Output.secret(kubeconfig)
        self.provider = provider
        self._local_images = {}


@dataclass(frozen=True)
class Project:
    """The project as a user has it: run by the `pulumi` command and its language host."""

    directory: Path
    environment: Mapping[str, str]

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `pulumi` and return its exit code and what it printed."""
        return subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def project(toolchain, decoy, tmp_path):
    directory, state = tmp_path / "project", tmp_path / "state"
    for folder in (directory, state):
        folder.mkdir()
    for name in ("Pulumi.yaml", "__main__.py", "components", "config", "providers", "toolchain", ".venv"):
        (directory / name).symlink_to(layout.ROOT / name)
    return Project(
        directory,
        {
            "PATH": os.pathsep.join([str(toolchain / "bin"), str(layout.VENV / "bin"), os.defpath]),
            "HOME": str(decoy.home),
            "PULUMI_HOME": str(tmp_path / "home"),
            "PULUMI_BACKEND_URL": state.as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        },
    )


def test_the_outputs_say_how_to_reach_everything_and_the_state_holds_no_plaintext_key(
    stack, kubeconfig, kubernetes_provider, namespace, monkeypatch
):
    monkeypatch.setattr(
        providers, "provision", lambda config: ControlPlaneCluster(kubeconfig, kubernetes_provider())
    )
    raw = {**SIMULATED, **small_fleet(namespace)}
    for key, value in raw.items():
        stack.automation.set_config(key, ConfigValue(value if isinstance(value, str) else json.dumps(value)))

    stack.up(lambda: runpy.run_path(str(layout.ROOT / "__main__.py")))

    outputs = stack.automation.outputs()
    assert outputs["kubeconfig"].secret
    assert {key: output.value for key, output in outputs.items()} == {
        "kubeconfig": kubeconfig,
        "cluster": "control-plane",
        "instance": "test",
        "namespace": namespace,
        "server": f"http://server.{namespace}:8080",
        "environments": {
            name: {"url": f"http://{name}.{namespace}:8000", "image": f"test/{name}:1"}
            for name in ("echo", "guess")
        },
    }
    state = stack.exported_state()
    assert yaml.safe_load(kubeconfig)["users"][0]["user"]["client-key-data"] not in state
    assert "client-key-data" not in state


@pytest.mark.parametrize(
    ("environments", "message"),
    [
        (
            [{"name": "echo", "image": "test/echo:1", "prot": 80}],
            'envfleet:environments[0].prot: unknown key; did you mean "port"?',
        ),
        (
            [
                {"name": "echo", "image": "test/echo:1", "count": 2},
                {"name": "echo-1", "image": "test/echo:1"},
            ],
            'envfleet:environments[1].name = "echo-1": "echo-1" is an environment of environments[0]',
        ),
    ],
    ids=["unknown key", "duplicate name"],
)
def test_a_wrong_configuration_is_one_message_and_makes_nothing(environments, message, project):
    config = {
        "envfleet:cluster": {"provider": "kind"},
        "envfleet:server": {"image": "test/server:1"},
        "envfleet:environments": environments,
    }
    (project.directory / "Pulumi.test.yaml").write_text(yaml.safe_dump({"config": config}))
    assert project.pulumi("stack", "init", "test").returncode == 0

    result = project.pulumi("up", "--yes", "--skip-preview")

    assert result.returncode != 0
    assert "1 problem in Pulumi.test.yaml:" in result.stdout
    assert message in result.stdout
    assert "Traceback" not in result.stdout + result.stderr
    deployment = json.loads(project.pulumi("stack", "export").stdout)["deployment"]
    assert [resource["type"] for resource in deployment["resources"]] == ["pulumi:pulumi:Stack"]
