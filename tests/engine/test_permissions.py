"""What the service accounts of a fleet may do, asked of the API server's own authorizer."""

from tests.engine.inventory import resource_types

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


def allowed(control_plane, account, home, namespace):
    """Return the (verb, resource) pairs that an account of namespace `home` may use in `namespace`."""
    granted = set()
    for path, resource in resource_types(control_plane.client):
        name, _, subresource = resource["name"].partition("/")
        for verb in VERBS:
            review = {
                "spec": {
                    "user": f"system:serviceaccount:{home}:{account}",
                    "groups": [
                        "system:serviceaccounts",
                        f"system:serviceaccounts:{home}",
                        "system:authenticated",
                    ],
                    "resourceAttributes": {
                        "namespace": namespace,
                        "group": "" if path == "/api/v1" else path.split("/")[2],
                        "resource": name,
                        "subresource": subresource,
                        "verb": verb,
                    },
                }
            }
            answer = control_plane.client.post(
                "/apis/authorization.k8s.io/v1/subjectaccessreviews", json=review
            ).raise_for_status()
            if answer.json()["status"]["allowed"]:
                granted.add((verb, resource["name"]))
    return granted


def test_the_server_lists_pods_and_services_of_its_namespace_and_nothing_else(control_plane, deployed_fleet):
    home = deployed_fleet.namespace
    anyone = allowed(control_plane, "default", home, home)

    assert allowed(control_plane, "server", home, home) - anyone == {("list", "pods"), ("list", "services")}
    assert allowed(control_plane, "server", home, "default") == anyone
    assert allowed(control_plane, "environment", home, home) == anyone
