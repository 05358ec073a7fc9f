"""Why an environment is not ready: each cause is provoked, told apart, in time, and with the rest unharmed.

One fleet has an environment that must never notice. Broken ones come and go beside it, as many at once as
can be told in one message; `up` without them mends the fleet.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.fleets import registry
from tests.e2e.lab import ECHO, PYTHON, Failure, Lab, LabFleet
from toolchain import engine

pytestmark = pytest.mark.timeout(600)

STEADY = {"name": "steady", "image": ECHO}
NAMESPACE = "causes"
CANARY = "sw0rdfish/+canary"
# With this budget, whoever waits for it is found out.
PATIENT = {"image": ECHO, "startup_seconds": 600}
HASTY = {"image": ECHO, "startup_seconds": 5}
SECONDS = 75  # for an `up` that fails early; most of them is Pulumi's start and the machine's load
REGISTRY = f"localhost:{registry.PORT}"


def python(program: str) -> dict[str, Any]:
    """Run a program instead of the environment."""
    return {"command": [PYTHON, "-c", program], "args": []}


def answering(body: str) -> dict[str, Any]:
    """Run an HTTP server that does this for every GET."""
    return python(
        "import http.server as h, time\n"
        f"class H(h.BaseHTTPRequestHandler):\n    def do_GET(self):\n        {body}\n"
        'h.HTTPServer(("", 8000), H).serve_forever()'
    )


# The environments that are broken together, by what they have in common.
BROKEN: dict[str, dict[str, dict[str, Any]]] = {
    "images": {
        "missing": {**PATIENT, "image": f"{REGISTRY}/missing:1"},
        "forbidden": {**PATIENT, "image": f"{REGISTRY}/forbidden:1"},
        "foreign": {**PATIENT, "image": f"{REGISTRY}/foreign:1"},
        "nowhere": {**PATIENT, "image": "localhost:9/nowhere:1"},
        "local": {**PATIENT, "image": "nobody/has:1", "image_pull_policy": "Never"},
    },
    "containers": {
        "crashing": {
            **PATIENT,
            "secret_env": {"PASSWORD": "canary"},
            **python("import os; raise SystemExit('wrong password: ' + os.environ['PASSWORD'])"),
        },
        "ending": {**PATIENT, **python("print('all done')")},
        "greedy": {**PATIENT, **python("x = b'x' * 10**9")},
        "unknown": {**PATIENT, "command": ["/no/such/program"]},
    },
    "health": {
        "deaf": {**HASTY, "port": 8001},
        "lost": {**PATIENT, "health": {"path": "/no/such/path"}},
        "failing": {**HASTY, **answering("self.send_error(500)")},
        "slow": {**HASTY, "health": {"timeout_seconds": 1}, **answering("time.sleep(60)")},
    },
    "nodes": {
        "huge": {**PATIENT, "resources": {"requests": {"memory": "900Gi"}, "limits": {"memory": "900Gi"}}},
        "gpu": {**PATIENT, "resources": {"extended": {"nvidia.com/gpu": 8}}},
        "picky": {**PATIENT, "node_selector": {"example.com/disk": "fast"}},
        "diskless": {
            **PATIENT,
            "volumes": [
                {
                    "name": "data",
                    "mount_path": "/data",
                    "ephemeral_claim": {"size": "1Gi", "storage_class": "no-such-class"},
                }
            ],
        },
        "unmountable": {
            **PATIENT,
            "volumes": [{"name": "c", "mount_path": "/c", "config_map": "no-such-map"}],
        },
    },
}
# What is said of each: the problem, and the remedy, which names the key.
SAID = {
    "missing": (r"missing:1 is not in its registry", "`image`"),
    "forbidden": (r"forbidden:1 may not be pulled", "image_pull_secrets"),
    "foreign": (r"has no variant for the architecture of its node", "`image`"),
    "nowhere": (r"the node does not reach its registry", "`image`"),
    "local": (r"nobody/has:1", "image_pull_policy"),
    "crashing": (r"exit code 1", "log"),
    "ending": (r"exit(s|ed)? .*0", "command"),
    "greedy": (r"memory.*512Mi", r"resources\.limits\.memory"),
    "unknown": (r"/no/such/program", "command"),
    "deaf": (r"8001", "port"),
    "lost": (r"/no/such/path.*404|404.*/no/such/path", r"health\.path"),
    "failing": (r"500", "health|log"),
    "slow": (r"within 1 s|1 s", r"health\.timeout_seconds"),
    "huge": (r"900Gi.*missing", r"resources\.requests"),
    "gpu": (r"nvidia\.com/gpu", "extended"),
    "picky": (r"example\.com/disk", "node_selector"),
    "diskless": (r"no-such-class|bound", "volumes|storage"),
    "unmountable": (r"no-such-map", "volumes|ConfigMap"),
}


@pytest.fixture(scope="module")
def fleet(lab: Lab, new_fleet: Any) -> Iterator[LabFleet]:
    """A fleet that is up, with one environment; whatever happens, that one stays as it is."""
    fleet: LabFleet = new_fleet(NAMESPACE, environments=[STEADY], secrets={"canary": CANARY})
    fleet.up()
    with registry.run(lab.worker):
        yield fleet


def identity(fleet: LabFleet) -> tuple[Any, ...]:
    """The steady environment: which pod it is, how often it was restarted, and whether it is ready."""
    pod = fleet.pods()["steady"]
    ready = next(item["status"] for item in pod["status"]["conditions"] if item["type"] == "Ready")
    return pod["metadata"]["uid"], pod["status"]["containerStatuses"][0]["restartCount"], ready


@pytest.fixture(params=list(BROKEN))
def failure(fleet: LabFleet, request: pytest.FixtureRequest) -> Iterator[tuple[str, Failure]]:
    """An `up` with a group of broken environments; without them the next one succeeds."""
    before = identity(fleet)
    group = BROKEN[request.param]
    fleet.configuration["environments"] = [STEADY, *({"name": name, **group[name]} for name in group)]
    failed = fleet.fails()
    if not all(f" {name}: " in failed.text for name in group):
        # On a slow machine not all have started when the first is certain: the next `up` tells the rest.
        failed = Failure(failed.text + fleet.fails().text, failed.seconds)
    assert identity(fleet) == before
    yield request.param, failed
    fleet.configuration["environments"] = [STEADY]
    fleet.up()
    assert identity(fleet) == before
    assert fleet.pods().keys() - {"steady"} == {name for name in fleet.pods() if name.startswith("server-")}


def test_each_cause_is_told_with_its_remedy_and_in_time(failure: tuple[str, Failure]) -> None:
    group, failed = failure
    for name in BROKEN[group]:
        said, (problem, remedy) = failed.about(name), SAID[name]
        assert re.search(problem, said), said
        assert re.search(remedy, said), said
    assert failed.seconds < SECONDS
    assert "steady:" not in failed.text
    assert CANARY not in failed.text
    if group == "containers":
        assert "wrong password: ***" in failed.about("crashing")
        assert "all done" in failed.about("ending")


def test_a_quota_is_named_with_what_is_asked_for_and_left(fleet: LabFleet) -> None:
    before = identity(fleet)
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": NAMESPACE},
        "spec": {"hard": {"pods": "3"}},
    }
    fleet.lab.apply(quota)
    fleet.lab.kubectl(
        "wait",
        f"--namespace={NAMESPACE}",
        "resourcequota/small",
        "--for=jsonpath={.status.used.pods}",
        "--timeout=30s",
    )
    fleet.configuration["environments"] = [STEADY, *({"name": f"more-{n}", "image": ECHO} for n in range(2))]

    failed = fleet.fails()

    assert re.search(
        r"fleet-more-\d-pod: quota small .*asked for: pods=1; in use: pods=3; limit: pods=3", failed.text
    ), failed.text
    assert failed.seconds < SECONDS
    assert identity(fleet) == before
    ready = [name for name, pod in fleet.pods().items() if name.startswith("more-")]
    assert len(ready) == 1, "what fits comes up"
    fleet.lab.kubectl("delete", "resourcequota", "small", f"--namespace={NAMESPACE}")
    fleet.up()
    assert identity(fleet) == before


def test_a_refusal_by_pod_security_names_the_level(fleet: LabFleet) -> None:
    before = identity(fleet)
    rootful = {"name": "rootful", "image": ECHO, "security": {"level": "baseline"}}
    fleet.configuration["environments"] = [STEADY, rootful]
    fleet.up()
    assert fleet.pods()["rootful"]["metadata"]["labels"]["envfleet.dev/pod-security"] == "baseline"
    level = "pod-security.kubernetes.io/enforce=restricted"
    fleet.lab.kubectl("label", "namespace", NAMESPACE, level, "--overwrite")
    fleet.configuration["environments"].append({**rootful, "name": "another"})

    failed = fleet.fails()

    assert re.search(
        r"fleet-another-pod: Pod Security restricted:\S+ .*does not allow it: .*security", failed.text
    )
    assert identity(fleet) == before
    fleet.configuration["environments"] = [STEADY]
    fleet.up()


def test_a_refusal_by_a_policy_names_it(fleet: LabFleet) -> None:
    before = identity(fleet)
    name = f"no-{NAMESPACE}-today"
    group = "admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    here = {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}}
    fleet.lab.apply(
        {
            "apiVersion": group,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [rule]},
                "validations": [
                    {"expression": "object.metadata.name != 'unwanted'", "message": "not this one"}
                ],
            },
        },
        {
            "apiVersion": group,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {
                "policyName": name,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": here},
            },
        },
    )
    unwanted = {"name": "unwanted", "image": ECHO}
    fleet.configuration["environments"] = [STEADY, unwanted]
    try:
        failed = fleet.fails()
    finally:
        for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
            fleet.lab.kubectl("delete", kind, name)

    assert f"fleet-unwanted-pod: the cluster's policy {name} does not allow it: not this one" in failed.text
    assert identity(fleet) == before
    fleet.configuration["environments"] = [STEADY]
    fleet.up()


def test_a_node_that_is_lost_is_named_and_what_was_on_it(fleet: LabFleet) -> None:
    worker = fleet.lab.worker
    engine.docker("exec", worker, "systemctl", "stop", "kubelet")
    try:
        fleet.lab.kubectl("wait", f"node/{worker}", "--for=condition=Ready=Unknown", "--timeout=120s")
        failed = fleet.fails()
    finally:
        engine.docker("exec", worker, "systemctl", "start", "kubelet")

    said = failed.about("steady")
    assert re.search(rf"node {worker}", said), said
    assert "envfleet repair" in said
    assert failed.seconds < SECONDS
    fleet.lab.kubectl("wait", f"node/{worker}", "--for=condition=Ready", "--timeout=120s")


def test_a_namespace_that_is_being_deleted_says_what_keeps_it(lab: Lab, new_fleet: Any) -> None:
    fleet: LabFleet = new_fleet("going", environments=[])
    fleet.up()
    kept = {"name": "kept", "namespace": "going", "finalizers": ["example.com/keep"]}
    lab.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": kept})
    lab.kubectl("delete", "namespace", "going", "--wait=false")
    lab.kubectl("wait", "namespace/going", "--for=condition=NamespaceFinalizersRemaining", "--timeout=60s")
    fleet.configuration["environments"] = [STEADY]
    try:
        failed = fleet.fails()
    finally:
        free = '{"metadata":{"finalizers":null}}'
        lab.kubectl("patch", "configmap", "kept", "--namespace=going", "--type=merge", f"--patch={free}")

    assert re.search(r"namespace 'going' is being deleted: .*example\.com/keep", failed.text), failed.text
    assert failed.seconds < SECONDS
