"""What a scanner that knows the usual advice says of our objects: nothing that is not decided otherwise."""

import re

import yaml

from components import environment
from components.fleet import FleetArgs, environment_args
from config import parse
from tests.engine import checkov
from tests.engine.fleets import SIMULATED
from tests.engine.inventory import all_objects
from tests.engine.manifests import apply, manifest
from tests.engine.pulumi_stack import STACK
from toolchain import layout

EXCEPTIONS = layout.ROOT / "docs" / "security.md"
COMPONENT = "app.kubernetes.io/component"


def exceptions() -> set[tuple[str, str]]:
    """Return what docs/security.md lists: each check with a component that fails it."""
    rows = re.findall(r"^\| `(CKV\w+)` \| ([\w ,]+) \| (\S.+) \|$", EXCEPTIONS.read_text(), re.MULTILINE)
    return {(check, component) for check, components, _ in rows for component in components.split(", ")}


def objects(client, fleet) -> list[dict]:
    """Return what the fleet declared, as the API server has it, and a pod with a secret variable."""
    namespace = fleet.namespace
    raw = {**SIMULATED, **fleet.changed(), "secrets": {"key": "x"}}
    raw["environments"] = [{"name": "secretive", "image": "x:1", "secret_env": {"KEY": "key"}}]
    config = parse(raw, STACK, {"secrets"})
    (args,) = environment_args(FleetArgs(config, STACK, "", image=lambda reference: reference))
    secretive = apply(client, manifest(environment.pod, args), dry=True).raise_for_status().json()
    declared = [
        item
        for item in all_objects(client).values()
        if namespace in (item["metadata"].get("namespace"), item["metadata"]["name"])
        and COMPONENT in item["metadata"].get("labels", {})
        and "ownerReferences" not in item["metadata"]
        and item["kind"] != "Endpoints"  # which mirror Services
    ]
    for item in (*declared, secretive):
        item.pop("status", None)
        del item["metadata"]["managedFields"]
    return [*declared, secretive]


def test_a_scan_fails_nothing_but_what_is_listed_with_its_reason(
    deployed_fleet, control_plane, decoy, tmp_path
):
    scanned = objects(control_plane.client, deployed_fleet)
    path = tmp_path / "fleet.yaml"
    path.write_text(yaml.safe_dump_all(scanned))
    components = {
        f"{item['kind']}.{item['metadata'].get('namespace', 'default')}.{item['metadata']['name']}": item[
            "metadata"
        ]["labels"][COMPONENT]
        for item in scanned
    }
    proxy = yaml.safe_load(decoy.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]

    failed = {(each["check_id"], components[each["resource"]]) for each in checkov.failures(path, proxy)}

    assert failed == exceptions()
    assert decoy.requests == [], "nothing may be sent anywhere"
