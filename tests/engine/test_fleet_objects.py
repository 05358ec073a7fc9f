"""The objects of a fleet as the API server has them: which, how labelled, and what is admitted."""

import copy

from tests.engine.inventory import all_objects
from tests.engine.pulumi_stack import STACK

# What Kubernetes puts into every namespace.
FROM_KUBERNETES = {"ConfigMap {0}/kube-root-ca.crt", "ServiceAccount {0}/default"}
PREFIX = "app.kubernetes.io/"


def test_a_namespace_holds_the_fleet_and_every_object_of_it_is_labelled_as_ours(
    control_plane, deployed_fleet
):
    namespace = deployed_fleet.namespace
    theirs = {name.format(namespace) for name in FROM_KUBERNETES}
    found = all_objects(control_plane.client, namespace)
    objects = [(name.split()[0], item) for name, item in found.items() if name not in theirs]
    objects.append(("Namespace", control_plane.client.get(f"/api/v1/namespaces/{namespace}").json()))

    declared = set()
    for kind, item in objects:
        labels = item["metadata"]["labels"]
        assert labels[PREFIX + "part-of"] == "envfleet"
        assert labels[PREFIX + "managed-by"] == "pulumi"
        assert labels[PREFIX + "instance"] == STACK
        assert labels[PREFIX + "component"] in {"namespace", "network", "server", "environment"}
        if "ownerReferences" not in item["metadata"] and kind != "Endpoints":  # which mirror Services
            declared.add(f"{kind} {labels[PREFIX + 'name']}")
    assert declared == {
        f"Namespace {namespace}",
        "Pod echo",
        "Service echo",
        "Pod guess",
        "Service guess",
        "ServiceAccount environment",
        "Deployment server",
        "Service server",
        "ServiceAccount server",
        "Role server",
        "RoleBinding server",
        "NetworkPolicy default-deny",
        "NetworkPolicy dns",
        "NetworkPolicy environments",
        "NetworkPolicy server",
    }


def test_the_namespace_admits_our_pods_and_no_privileged_one(control_plane, deployed_fleet):
    url = f"/api/v1/namespaces/{deployed_fleet.namespace}/pods"
    ours = control_plane.client.get(url).raise_for_status().json()["items"]
    privileged = {"containers": [{"name": "main", "image": "x:1", "securityContext": {"privileged": True}}]}
    # A pod of ours without one of its precautions: a policy that admits it admits too much.
    careless = copy.deepcopy(ours[0]["spec"])
    del careless["containers"][0]["securityContext"]["allowPrivilegeEscalation"]

    assert len(ours) == 3
    for pod in ours:
        conditions = {condition["type"]: condition["status"] for condition in pod["status"]["conditions"]}
        assert conditions["Ready"] == "True", pod["metadata"]["name"]
    for spec in (privileged, careless):
        pod = {"metadata": {"name": "intruder"}, "spec": spec}
        answer = control_plane.client.post(url, params={"dryRun": "All"}, json=pod)
        assert answer.status_code == 403
        assert 'violates PodSecurity "restricted' in answer.json()["message"]
