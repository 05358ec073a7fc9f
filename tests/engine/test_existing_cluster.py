"""A fleet on a cluster that was there before, by a user who may do only what docs/cluster-role.yaml says."""

import asyncio
import copy

import pulumi
import pytest
import yaml
from pulumi import automation

from components.fleet import Fleet, FleetArgs
from config import parse
from providers import provision
from providers.existing.examination import examine
from tests.engine.control_plane import run_control_plane
from tests.engine.fleets import small_fleet
from tests.engine.inventory import all_objects
from tests.engine.pulumi_stack import STACK
from toolchain.layout import ROOT

CONTEXT = "as-a-user"
RULES = yaml.safe_load((ROOT / "docs" / "cluster-role.yaml").read_text())["rules"]
RBAC, ACCOUNTS = "/apis/rbac.authorization.k8s.io/v1", "/api/v1/namespaces/default/serviceaccounts"


@pytest.fixture
def user(control_plane, namespace, tmp_path):
    """Make a user who may do what the rules say; the file of a kubeconfig with a context for it."""
    made = []

    def make(rules):
        metadata = {"metadata": {"name": namespace}}
        subject = {"kind": "ServiceAccount", "namespace": "default", "name": namespace}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": namespace}
        for path, content in {
            f"{RBAC}/clusterroles": {"rules": rules},
            f"{RBAC}/clusterrolebindings": {"roleRef": role, "subjects": [subject]},
            ACCOUNTS: {},
        }.items():
            control_plane.client.post(path, json={**metadata, **content}).raise_for_status()
            made.append(f"{path}/{namespace}")
        answer = control_plane.client.post(f"{ACCOUNTS}/{namespace}/token", json={"spec": {}})
        config = yaml.safe_load(control_plane.kubeconfig)
        config["users"].append({"name": "user", "user": {"token": answer.json()["status"]["token"]}})
        config["contexts"].append({"name": CONTEXT, "context": {"cluster": "control-plane", "user": "user"}})
        file = tmp_path / "kubeconfig"
        file.write_text(yaml.safe_dump(config))
        return file

    yield make
    for path in made:
        control_plane.client.delete(path).raise_for_status()


def program(kubeconfig, raw, **cluster):
    given = {"provider": "existing", "context": CONTEXT, "kubeconfig": str(kubeconfig), **cluster}
    config = parse({"readiness": {"through_service": False}, **raw, "cluster": given}, STACK)

    def run():
        cluster = provision(config)
        args = FleetArgs(config, STACK, cluster.kubeconfig, cluster.image, cluster.deleted_with)
        Fleet("fleet", args, pulumi.ResourceOptions(providers=[cluster.provider]))
        pulumi.export("identifier", cluster.identifier)

    return run


def refusal(stack, *args, **cluster):
    """What a preview says that is refused."""
    with pytest.raises(automation.CommandError) as error:
        stack.preview(program(*args, **cluster))
    assert "Traceback" not in str(error.value)
    return str(error.value)


def test_a_user_with_that_role_brings_a_fleet_up_changes_it_and_takes_it_down(
    stack, control_plane, namespace, user
):
    kubeconfig = user(RULES)
    others = all_objects(control_plane.client).keys()
    raw = small_fleet(namespace)
    settings = {"enforces_network_policies": True}
    assert {step.op for step in stack.preview(program(kubeconfig, raw, **settings))} == {"create"}
    assert all_objects(control_plane.client).keys() == others

    stack.up(program(kubeconfig, raw, **settings))
    system = control_plane.client.get("/api/v1/namespaces/kube-system").json()["metadata"]["uid"]
    assert stack.automation.outputs()["identifier"].value == system
    assert stack.up(program(kubeconfig, raw, **settings)) == set()

    raw["environments"][0]["image"] = "test/echo:2"
    del raw["environments"][1]
    assert {step.op for step in stack.up(program(kubeconfig, raw, **settings))} >= {"replace", "delete"}
    token = yaml.safe_load(kubeconfig.read_text())["users"][-1]["user"]["token"]
    assert token not in stack.exported_state()

    stack.destroy()
    assert all_objects(control_plane.client).keys() == others


def test_everything_that_is_missing_is_said_at_once(stack, namespace, user):
    rules = [rule for rule in copy.deepcopy(RULES) if rule["resources"] not in (["secrets"], ["roles"])]
    for rule in rules:
        if rule["resources"] == ["services"]:
            rule["verbs"] = ["get", "list", "watch"]
    said = refusal(stack, user(rules), small_fleet(namespace))
    for part in (
        f'envfleet:cluster.context = "{CONTEXT}": the cluster lacks what a fleet needs:',
        f"permission, in namespace '{namespace}', to",
        "get/list/watch/create/patch/delete roles",
        "get/list/watch/create/patch/delete secrets",
        "create/patch/delete services",
        "something known to enforce network policies",
    ):
        assert part in said
    assert "PodSecurity" not in said
    assert "supported" not in said


def test_without_the_rules_that_only_help_a_preview_works_and_warns(stack, namespace, user):
    rules = [rule for rule in RULES if rule["resources"][0] not in {"nodes", "daemonsets"}]
    warnings = []

    def note(event):
        if event.diagnostic_event and event.diagnostic_event.severity == "warning":
            warnings.append(event.diagnostic_event.message)

    run = program(user(rules), small_fleet(namespace), enforces_network_policies=False)
    stack.automation.preview(program=run, on_event=note)
    said = "".join(warnings)
    assert "no permission to get/list/watch nodes: why a pod finds no node" in said
    assert "no permission to list daemonsets" in said
    assert "any pod can reach the environments" in said


def test_a_cluster_without_pod_security_lacks_it(toolchain, tmp_path):
    with run_control_plane(tmp_path, toolchain / "bin", "--disable-admission-plugins=PodSecurity") as plane:
        report = asyncio.run(examine(plane.kubeconfig, "envfleet", enforces=True))
    assert [each for each in report.missing if "PodSecurity" in each] == list(report.missing)
    assert report.missing


def test_a_cluster_that_is_not_there_is_said_to_be_so(stack, namespace, tmp_path):
    config = {
        "contexts": [{"name": CONTEXT, "context": {"cluster": "gone", "user": "me"}}],
        "clusters": [{"name": "gone", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "me", "user": {"token": "secret-token"}}],
    }
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    said = refusal(stack, file, small_fleet(namespace))
    assert f'envfleet:cluster.context = "{CONTEXT}": the cluster can\'t be used: no connection' in said
    assert "secret-token" not in said


def test_a_context_that_is_not_in_the_file_is_refused_with_those_that_are(stack, namespace, user):
    said = refusal(stack, user(RULES), small_fleet(namespace), context="production")
    assert f'has no context "production"; it has: {CONTEXT}, test' in said
