"""A secret of the configuration is in the one Kubernetes Secret it is meant for, and nowhere else."""

import json
import os
import secrets
import subprocess
import urllib.parse
from base64 import b64decode, b64encode
from pathlib import Path

import pytest
import yaml

from tests.engine.fleets import SIMULATED, small_fleet
from tests.engine.inventory import all_objects
from toolchain import layout

PROGRAM = """
import pathlib
import runpy

import pulumi
import pulumi_kubernetes as kubernetes

import providers
from tests.engine.test_program import ControlPlaneCluster

kubeconfig = pathlib.Path("kubeconfig").read_text()
provider = kubernetes.Provider(
    "cluster", kubeconfig=pulumi.Output.secret(kubeconfig), cluster_identifier="control-plane"
)
providers.provision = lambda config: ControlPlaneCluster(kubeconfig, provider)
runpy.run_path({main!r})
"""


class CommandLine:
    """The project as a user has it, on the tests' control plane; keeps all that any command printed."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self.directory = directory
        self.environment = environment
        self.printed: list[str] = []

    def pulumi(self, *arguments: str, stdin: str = "", fails: bool = False) -> str:
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.directory,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        self.printed.append(f"{arguments}:\n{done.stdout}{done.stderr}")
        assert (done.returncode != 0) == fails, self.printed[-1]
        return done.stdout

    def set(self, **config: object) -> None:
        """Write the configuration, but for what is encrypted in it."""
        path = self.directory / "Pulumi.test.yaml"
        written = yaml.safe_load(path.read_text())
        written.setdefault("config", {}).update({f"envfleet:{key}": value for key, value in config.items()})
        path.write_text(yaml.safe_dump(written))


@pytest.fixture
def project(toolchain, decoy, tmp_path, kubeconfig):
    folders = {name: tmp_path / name for name in ("project", "state", "home", "tmp")}
    for folder in folders.values():
        folder.mkdir()
    (folders["home"] / "plugins").symlink_to(toolchain / "pulumi" / "plugins")
    directory = folders["project"]
    (directory / "Pulumi.yaml").symlink_to(layout.ROOT / "Pulumi.yaml")
    (directory / ".venv").symlink_to(layout.VENV)
    (directory / "kubeconfig").write_text(kubeconfig)
    (directory / "__main__.py").write_text(PROGRAM.format(main=str(layout.ROOT / "__main__.py")))
    environment = {
        "PATH": os.pathsep.join([str(toolchain / "bin"), str(layout.VENV / "bin"), os.defpath]),
        "HOME": str(decoy.home),
        "TMPDIR": str(folders["tmp"]),
        "PYTHONPATH": str(layout.ROOT),
        "PULUMI_HOME": str(folders["home"]),
        "PULUMI_BACKEND_URL": folders["state"].as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": "test",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }
    line = CommandLine(directory, environment)
    line.pulumi("stack", "init", "test")
    yield line
    line.pulumi("destroy", "--yes", "--skip-preview")


class Canary:
    """A secret that no encoding hides."""

    def __init__(self) -> None:
        self.core = f"canary{secrets.token_hex(12)}"
        self.text = f'{self.core}\n/+ %"ü'

    def sightings(self, text: str) -> list[str]:
        """Return the encodings in which a text contains it."""
        core = self.core.encode()
        # A part of the whole, wherever in it base64's groups of three bytes begin.
        encoded = [b64encode(core[start : start + 21]).decode() for start in range(3)]
        forms = [self.core, core.hex(), urllib.parse.quote(b64encode(self.text.encode())), *encoded]
        return [form for form in forms if form in text]


def test_a_canary_is_sighted_in_every_encoding():
    canary = Canary()
    raw = canary.text
    for prefix in ("", "x", "xx"):
        assert canary.sightings(b64encode(f"{prefix}{raw}".encode()).decode())
    for text in (raw, json.dumps(raw), urllib.parse.quote(raw), raw.encode().hex()):
        assert canary.sightings(text)
    assert not canary.sightings(Canary().text)


def objects_besides_the_secret(client, namespace: str) -> str:
    objects = all_objects(client)
    secret = objects.pop(f"Secret {namespace}/echo", {})
    secret.pop("data", None)
    events = client.get("/api/v1/events").raise_for_status().text
    return json.dumps([*objects.values(), secret], ensure_ascii=False) + events


def files_of(*folders: Path) -> dict[Path, str]:
    return {
        path: path.read_text(errors="replace")
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and not path.is_relative_to(folder / "plugins") and ".venv" not in path.parts
    }


def secret_value(client, namespace: str) -> dict[str, str]:
    secret = client.get(f"/api/v1/namespaces/{namespace}/secrets/echo").raise_for_status().json()
    return {key: b64decode(value).decode() for key, value in secret["data"].items()}


def pod_uids(client, namespace: str) -> dict[str, str]:
    pods = client.get(f"/api/v1/namespaces/{namespace}/pods").raise_for_status().json()["items"]
    return {pod["metadata"]["labels"]["app.kubernetes.io/name"]: pod["metadata"]["uid"] for pod in pods}


def test_a_secret_is_in_its_kubernetes_secret_and_in_nothing_that_is_kept_or_printed(
    project, namespace, control_plane, tmp_path
):
    client, first, second = control_plane.client, Canary(), Canary()

    def assert_nowhere() -> None:
        places = {"the cluster": objects_besides_the_secret(client, namespace)}
        places |= {str(path): text for path, text in files_of(*kept).items()}
        places |= {f"output {number}": text for number, text in enumerate(project.printed)}
        for place, text in places.items():
            for canary in (first, second):
                assert not canary.sightings(text), place

    kept = [tmp_path / name for name in ("state", "home", "project", "tmp")]
    raw = {**SIMULATED, **small_fleet(namespace)}
    raw["environments"][0]["secret_env"] = {"API_KEY": "key"}
    raw["environments"][0]["env"] = {"PLAIN": "in-the-clear"}
    project.set(**raw)
    project.pulumi("config", "set", "--secret", "--path", "secrets.key", stdin=first.text)

    assert "in-the-clear" in project.pulumi("preview", "--diff")
    project.pulumi("up", "--yes", "--diff")
    assert secret_value(client, namespace) == {"API_KEY": first.text}
    exported = project.pulumi("stack", "export")
    assert "in-the-clear" in exported, "what is no secret stays legible"
    assert '"ciphertext"' in exported
    assert_nowhere()
    pods = pod_uids(client, namespace)

    project.pulumi("config", "set", "--secret", "--path", "secrets.key", stdin=second.text)
    steps = json.loads(project.pulumi("preview", "--json"))["steps"]
    changed = {step["urn"].rsplit("::", 1)[-1] for step in steps if step["op"] != "same"}
    assert changed == {"fleet-echo-secret", "fleet-echo-pod", "fleet-readiness"}
    project.pulumi("preview")
    assert "[secret]" in project.pulumi("preview", "--diff")

    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"secrets": "0"}}}
    client.post(f"/api/v1/namespaces/{namespace}/resourcequotas", json=quota).raise_for_status()
    project.pulumi("up", "--yes", "--diff", fails=True)
    assert "quota none of the namespace is used up" in project.printed[-1]
    assert_nowhere()
    client.delete(f"/api/v1/namespaces/{namespace}/resourcequotas/none").raise_for_status()

    project.pulumi("up", "--yes", "--diff")
    assert secret_value(client, namespace) == {"API_KEY": second.text}
    now = pod_uids(client, namespace)
    assert {name for name in now if now[name] != pods[name]} == {"echo"}
    project.pulumi("refresh", "--yes", "--diff")
    project.pulumi("stack", "export")
    assert_nowhere()

    project.pulumi("destroy", "--yes", "--diff")
    assert_nowhere()
