"""The objects of a fleet as the API server has them: which, how labelled, and what is admitted."""

import json

from tests.engine.inventory import all_objects
from tests.engine.pulumi_stack import STACK

# What Kubernetes puts into every namespace.
FROM_KUBERNETES = {"ConfigMap {0}/kube-root-ca.crt", "ServiceAccount {0}/default"}


def test_a_namespace_holds_the_fleet_and_every_object_of_it_is_labelled_as_ours(
    control_plane, deployed_fleet
):
    namespace = deployed_fleet.namespace
    objects = {
        name: item
        for name, item in all_objects(control_plane.client, namespace).items()
        if name not in {each.format(namespace) for each in FROM_KUBERNETES}
    }
    declared = {name for name, item in objects.items() if item["metadata"].get("ownerReferences") is None}
    environments = ("echo", "guess")

    assert declared - {name for name in objects if name.startswith("Endpoints ")} == {
        *(f"Pod {namespace}/{name}" for name in environments),
        *(f"Service {namespace}/{name}" for name in (*environments, "server")),
        *(f"ServiceAccount {namespace}/{name}" for name in ("environment", "server")),
        f"Deployment {namespace}/server",
        f"Role {namespace}/server",
        f"RoleBinding {namespace}/server",
    }
    objects["Namespace"] = (
        control_plane.client.get(f"/api/v1/namespaces/{namespace}").raise_for_status().json()
    )
    for name, item in objects.items():
        labels = item["metadata"].get("labels", {})
        label = {key.removeprefix("app.kubernetes.io/"): value for key, value in labels.items()}
        assert label["part-of"] == "envfleet", name
        assert label["managed-by"] == "pulumi", name
        assert label["instance"] == STACK, name
        assert label["component"] in {"namespace", "server", "environment"}, name
        if name in declared:
            assert label["name"] == item["metadata"]["name"], name


def test_the_namespace_admits_our_pods_and_no_privileged_one(control_plane, deployed_fleet):
    url = f"/api/v1/namespaces/{deployed_fleet.namespace}/pods"
    ours = control_plane.client.get(url).raise_for_status().json()["items"]
    privileged = {
        "metadata": {"name": "privileged"},
        "spec": {"containers": [{"name": "main", "image": "x:1", "securityContext": {"privileged": True}}]},
    }
    # Our own pod without one of its precautions: what admits it admits too much.
    (echo,) = (pod for pod in ours if pod["metadata"]["name"] == "echo")
    careless = json.loads(json.dumps({"metadata": {"name": "careless"}, "spec": echo["spec"]}))
    del careless["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"]

    assert [
        condition["status"]
        for pod in ours
        for condition in pod["status"]["conditions"]
        if condition["type"] == "Ready"
    ] == ["True"] * 3
    for pod in (privileged, careless):
        answer = control_plane.client.post(url, params={"dryRun": "All"}, json=pod)
        assert answer.status_code == 403
        assert 'violates PodSecurity "restricted' in answer.json()["message"]
