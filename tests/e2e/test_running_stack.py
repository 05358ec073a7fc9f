"""What `make up` brought up works, and does not change without a reason."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kr8s
import pytest
import yaml
from kr8s.objects import Pod

from tests.e2e import session
from tests.e2e.clone import Clone, Result
from tests.e2e.kind_support import wait_until
from tests.e2e.lab import PYTHON
from tests.e2e.machine import KIND_LABEL
from tests.e2e.readme import STEPS, Walk
from toolchain import engine
from toolchain.layout import ROOT

ACTIONS = {"echo": {"message": "hello"}, "guess": {"number": 5}}
OPENENV_SESSION = Path(__file__).with_name("openenv_session.py")
# What has a new pod is waited for.
AWAITED = ("update", "fleet-readiness")
# Of Kubernetes' own, with no Pod Security level: any client's.
OTHER_NAMESPACE = "default"


@pytest.fixture(scope="module")
def outputs(clone: Clone, up: Result) -> dict[str, Any]:
    up.succeeded()
    return json.loads(clone.pulumi("stack", "output", "--stack=dev", "--json"))


@pytest.fixture(scope="module")
def kubeconfig(clone: Clone, up: Result) -> str:
    return clone.pulumi("stack", "output", "kubeconfig", "--stack=dev", "--show-secrets")


@pytest.fixture
def cluster(kubeconfig: str, tmp_path: Path) -> kr8s.Api:
    file = tmp_path / "kubeconfig"
    file.write_text(kubeconfig)
    return kr8s.api(kubeconfig=file)


def action(environment: dict[str, str]) -> dict[str, Any]:
    """A step that an environment understands, by its image."""
    return next(action for name, action in ACTIONS.items() if f"/{name}:" in environment["image"])


def check(answers: dict[str, Any], action: dict[str, Any]) -> None:
    """Check what a session with an environment answered."""
    assert answers["health"] == {"status": "healthy"}
    first, second = (answers[kind]["data"]["observation"] for kind in ("reset", "step"))
    if "message" in action:
        assert second["echoed_message"] == action["message"]
    else:
        assert first["hint"] == "start"
        assert second["hint"] in {"higher", "lower", "correct"}
        assert second["attempts_left"] == first["attempts_left"] - 1


def test_up_ends_with_a_table_in_which_every_environment_is_ready(up: Result) -> None:
    configured = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    names = [environment["name"] for environment in configured["config"]["envfleet:environments"]]
    assert dict(re.findall(r"^│ (\S+) +│ (.+?) +│", up.succeeded(), re.MULTILINE)) == dict.fromkeys(
        names, "Ready"
    )


def run_in_pod(cluster: kr8s.Api, image: str, program: Path, *arguments: str) -> Any:
    """Run a Python program in a pod that the fleet's network lets in; what it prints, as JSON."""
    client = {
        "name": "client",
        "image": image,
        "command": [PYTHON, "-c", program.read_text(), *arguments],
    }
    name = f"envfleet-test-{program.stem.replace('_', '-')}"
    metadata = {"name": name, "namespace": OTHER_NAMESPACE, "labels": {"envfleet.dev/client": "true"}}
    pod = Pod({"metadata": metadata, "spec": {"containers": [client], "restartPolicy": "Never"}}, api=cluster)
    pod.create()
    try:
        pod.wait(
            ["jsonpath='{.status.phase}'=Succeeded", "jsonpath='{.status.phase}'=Failed"],
            mode="any",
            timeout=90,
        )
        return json.loads("\n".join(pod.logs()))
    finally:
        pod.delete()


def test_environments_and_server_answer_inside_the_cluster(
    outputs: dict[str, Any], cluster: kr8s.Api
) -> None:
    environments = outputs["environments"]
    actions = {environment["url"]: action(environment) for environment in environments.values()}
    answer = run_in_pod(
        cluster,
        environments["echo-a"]["image"],
        Path(session.__file__),
        f"{outputs['server']}/v1/environments",
        json.dumps(actions),
    )
    for url, taken in actions.items():
        check(answer["played"][url], taken)
    listed = {environment["name"]: environment["ready"] for environment in answer["got"]}
    assert listed == dict.fromkeys(environments, True)


def check_openenv(answers: dict[str, Any]) -> None:
    """Check what a session of the OpenEnv client with the guessing game gave."""
    assert answers["reset"]["hint"] == "start"
    assert [step["attempts_left"] for step in answers["steps"]] == [9, 8]
    assert answers["state"]["step_count"] == 2


GUESSES = ('{"number": 1}', '{"number": 2}')


def test_the_published_client_plays_a_session_from_a_pod(outputs: dict[str, Any], cluster: kr8s.Api) -> None:
    guess = outputs["environments"]["guess"]
    check_openenv(run_in_pod(cluster, guess["image"], OPENENV_SESSION, guess["url"], *GUESSES))


def test_the_published_client_plays_a_session_from_this_machine(clone: Clone, up: Result) -> None:
    up.succeeded()
    with clone.running("make connect ENV=guess PORT=8123"):
        clone.run("curl --silent --retry 30 --retry-connrefused --retry-delay 1 http://127.0.0.1:8123/health")
        played = engine.docker(
            *("run", "--rm", "--network=host", f"--entrypoint={PYTHON}", "envfleet/guess:0.1.0"),
            *("-c", OPENENV_SESSION.read_text(), "http://127.0.0.1:8123", *GUESSES),
        )
    check_openenv(json.loads(played))


def restarts(pod: Pod) -> int:
    pod.refresh()
    return int(pod.raw["status"]["containerStatuses"][0]["restartCount"])


def test_command_that_up_prints_reaches_an_environment_and_reconnects(
    clone: Clone, up: Result, outputs: dict[str, Any], cluster: kr8s.Api
) -> None:
    printed = re.search(r"From this machine: (make connect ENV=(\S+))", up.succeeded())
    assert printed
    taken = action(outputs["environments"][printed[2]])
    ask = "curl --silent --retry 30 --retry-connrefused --retry-delay 1 http://127.0.0.1:8000/health"
    with clone.running(printed[1]):
        clone.run(ask)
        check(session.play("http://127.0.0.1:8000", taken), taken)
        # Its process ends, and with it every connection; the container starts anew.
        pod = Pod.get(printed[2], namespace=outputs["namespace"], api=cluster)
        before = restarts(pod)
        pod.exec([PYTHON, "-c", "import os, signal; os.kill(1, signal.SIGTERM)"])
        # Until then it is the process that ends which may answer.
        wait_until(lambda: restarts(pod) > before, 60, "the restart")
        wait_until(lambda: "healthy" in clone.run(ask).output, 60, "an answer after the restart")
        check(session.play("http://127.0.0.1:8000", taken), taken)


def test_logs_are_those_of_the_environment(clone: Clone, up: Result) -> None:
    up.succeeded()
    assert '"GET /health HTTP/1.1" 200' in clone.run("make logs ENV=guess").succeeded()
    assert "Started server process" in clone.run("make logs ENV=server").succeeded()


def test_second_up_changes_nothing(clone: Clone, up: Result) -> None:
    second = clone.run("make up")
    summary = re.search(r"^Resources:\n((?: +.*\n)+)", second.succeeded(), re.MULTILINE)
    assert summary
    assert re.fullmatch(r" +\d+ unchanged\n", summary[1]), summary[1]


def preview(clone: Clone, change: Callable[[dict[str, Any]], None]) -> list[dict[str, Any]]:
    """The steps, other than "same", that a changed configuration would make `pulumi up` take."""
    settings = yaml.safe_load((clone.folder / "Pulumi.dev.yaml").read_text())
    change(settings["config"])
    file = clone.root / "Pulumi.changed.yaml"
    file.write_text(yaml.safe_dump(settings))
    planned = json.loads(clone.pulumi("preview", "--stack=dev", f"--config-file={file}", "--json"))
    return [step for step in planned["steps"] if step["op"] != "same"]


def name(step: dict[str, Any]) -> str:
    return step["urn"].rpartition("::")[2]


def add_an_environment(config: dict[str, Any]) -> None:
    config["envfleet:environments"].append({"name": "third", "image": "envfleet/echo:0.1.0"})


def change_an_image(config: dict[str, Any]) -> None:
    config["envfleet:environments"][0]["image"] = "envfleet/guess:0.1.0"


def remove_an_environment(config: dict[str, Any]) -> None:
    del config["envfleet:environments"][1]


def change_a_server_setting(config: dict[str, Any]) -> None:
    config["envfleet:server"]["log_level"] = "debug"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (add_an_environment, {("create", "fleet-third-pod"), ("create", "fleet-third-service"), AWAITED}),
        (change_an_image, {("replace", "fleet-echo-a-pod"), AWAITED}),
        (
            remove_an_environment,
            {("delete", "fleet-echo-b-pod"), ("delete", "fleet-echo-b-service"), AWAITED},
        ),
        (change_a_server_setting, {("update", "fleet-server-deployment"), AWAITED}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_preview_shows_exactly(
    change: Callable[[dict[str, Any]], None], expected: set[tuple[str, str]], clone: Clone, up: Result
) -> None:
    assert {(step["op"], name(step)) for step in preview(clone, change)} == expected


def test_preview_says_that_a_changed_node_image_replaces_the_cluster(clone: Clone, up: Result) -> None:
    def change_the_node_image(config: dict[str, Any]) -> None:
        config["envfleet:cluster"]["node_image"] = "kindest/node:v1.33.0"

    steps = {name(step): step for step in preview(clone, change_the_node_image)}
    assert steps["cluster-kind"]["replaceReasons"] == ["node_image"]
    updated = {step for step in steps if steps[step]["op"] != "replace"}
    assert all(step.startswith("cluster-image-") for step in updated - {"fleet-readiness"}), updated
    assert {"fleet-namespace", "fleet-echo-a-pod", "fleet-server-deployment"} < steps.keys() - updated


def test_state_holds_no_secret_in_plain_text(clone: Clone, kubeconfig: str) -> None:
    parsed = yaml.safe_load(kubeconfig)
    user, cluster = parsed["users"][0]["user"], parsed["clusters"][0]["cluster"]
    secrets = {key: user[key] for key in ("client-key-data", "client-certificate-data")}
    secrets |= {key: cluster[key] for key in ("certificate-authority-data",)}
    secrets |= {"passphrase": (clone.folder / ".envfleet" / "passphrase").read_text()}
    secrets |= {"PEM": "BEGIN ", "PEM in base64": "LS0tLS1CRUdJTi"}
    state = clone.folder / ".envfleet" / "state"
    texts = {"stack export": clone.pulumi("stack", "export", "--stack=dev")}
    texts |= {str(file): file.read_text() for file in state.rglob("*") if file.is_file()}
    assert len(texts) > 1
    leaks = {
        (where, what) for where, text in texts.items() for what, secret in secrets.items() if secret in text
    }
    assert not leaks


def test_secret_of_an_environment_is_nowhere_but_there(
    clone: Clone, walk: Walk, outputs: dict[str, Any], cluster: kr8s.Api
) -> None:
    step = next(step for step in STEPS if "--secret" in step.block)
    printed = walk.take(step).succeeded()
    given = re.search(r"echo (\S+) \| pulumi config set .*--secret", step.block)
    assert given
    secret = given[1]
    namespace = outputs["namespace"]
    pod = Pod.get("echo-a", namespace=namespace, api=cluster)
    assert pod.exec(["printenv", "API_TOKEN"]).stdout.decode().strip() == secret

    texts = {
        "up": printed,
        "up again": clone.run("make up").succeeded(),
        "ps": clone.run("make ps").succeeded(),
        "logs": clone.run("make logs ENV=echo-a").succeeded(),
        "preview --diff": clone.pulumi("preview", "--stack=dev", "--diff"),
        "stack export": clone.pulumi("stack", "export", "--stack=dev"),
        "stack output": clone.pulumi("stack", "output", "--stack=dev", "--json"),
    }
    for kind in ("pods", "services", "deployments", "events"):
        texts[kind] = json.dumps([item.raw for item in cluster.get(kind, namespace=namespace)], default=dict)
    files = [clone.folder / "Pulumi.dev.yaml", *(clone.folder / ".envfleet" / "logs").rglob("*")]
    files += (clone.folder / ".envfleet" / "state").rglob("*")
    texts |= {str(file): file.read_text() for file in files if file.is_file()}
    forms = (secret, base64.b64encode(secret.encode()).decode())
    assert not [where for where, text in texts.items() if any(form in text for form in forms)]


def test_mistake_in_the_configuration_is_said_before_anything_is_created(clone: Clone, up: Result) -> None:
    settings = yaml.safe_load((clone.folder / "Pulumi.dev.yaml").read_text())
    settings["config"]["envfleet:environments"][1]["port"] = 0
    file = clone.folder / "Pulumi.broken.yaml"
    file.write_text(yaml.safe_dump(settings))
    result = clone.run("make up STACK=broken")
    file.unlink()
    assert result.code != 0
    assert "envfleet:environments[1].port = 0: write a whole number from 1 to 65535" in result.output
    assert "Traceback" not in result.output
    assert "broken" not in clone.pulumi("stack", "ls")
    assert not engine.docker("ps", "--all", "--quiet", f"--filter=label={KIND_LABEL}={clone.prefix}-broken")
