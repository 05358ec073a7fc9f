from pathlib import Path

import httpx
import pytest
from envfleet_server import kubernetes
from envfleet_server.app import create_app

from .conftest import NAMESPACE, KubernetesStub

SELECTOR = "app.kubernetes.io/component=environment,app.kubernetes.io/part-of=envfleet"


def make_pod(name: str, ready: str = "True") -> dict:
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-01-02T03:04:05Z"},
        "spec": {"containers": [{"image": "envfleet/echo:0.1.0"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]},
    }


def make_service(name: str) -> dict:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 8000}]}}


async def test_environments_are_pods_and_services_joined_by_name(
    client: httpx.AsyncClient, stub: KubernetesStub
) -> None:
    stub.objects = {
        "pods": [make_pod("b"), make_pod("a", ready="False")],
        "services": [make_service("b"), make_service("a"), make_service("c")],
    }
    answer = await client.get("/v1/environments")
    assert answer.status_code == 200
    assert [(e["name"], e["ready"], e["url"]) for e in answer.json()] == [
        ("a", False, "http://a.fleet:8000"),
        ("b", True, "http://b.fleet:8000"),
        ("c", False, "http://c.fleet:8000"),
    ]


async def test_only_environments_of_the_fleet_are_asked_for_and_only_listed(
    client: httpx.AsyncClient, stub: KubernetesStub
) -> None:
    """The Role grants `list` on pods and services; whatever else the server asked for would be refused."""
    await client.get("/readyz")
    await client.get("/v1/environments")
    paths = {path for path, _, _ in stub.requests}
    resources = {f"/api/v1/namespaces/{NAMESPACE}/{resource}" for resource in ("pods", "services")}
    assert paths == {"/version/"} | resources
    selectors = [query["labelSelector"] for _, query, _ in stub.requests if "labelSelector" in query]
    assert selectors == [SELECTOR, SELECTOR]


async def test_all_pages_are_read(client: httpx.AsyncClient, stub: KubernetesStub) -> None:
    stub.objects["services"] = [make_service(f"echo-{i}") for i in range(7)]
    stub.page_size = 3
    assert len((await client.get("/v1/environments")).json()) == 7


async def test_ready_when_pods_and_services_can_be_listed(client: httpx.AsyncClient) -> None:
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize("path", ["/readyz", "/v1/environments"])
@pytest.mark.parametrize("resource", ["pods", "services"])
async def test_a_missing_permission_is_named(
    client: httpx.AsyncClient, stub: KubernetesStub, path: str, resource: str
) -> None:
    stub.forbidden = {resource}
    answer = await client.get(path)
    assert answer.status_code == 503
    assert f"cannot list {resource} in namespace {NAMESPACE}" in answer.json()["detail"]
    assert f'cannot list resource "{resource}"' in answer.json()["detail"]


async def test_ready_again_once_the_permission_is_granted(
    client: httpx.AsyncClient, stub: KubernetesStub
) -> None:
    stub.forbidden = {"pods"}
    assert (await client.get("/readyz")).status_code == 503
    stub.forbidden = set()
    assert (await client.get("/readyz")).status_code == 200


async def test_a_silent_api_makes_the_server_unready_but_leaves_it_alive(
    client: httpx.AsyncClient, stub: KubernetesStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes, "CHECK_TIMEOUT", 0.1)
    stub.delay_seconds = 0.5
    answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert "did not answer within 0.1 s" in answer.json()["detail"]
    assert (await client.get("/healthz")).status_code == 200


async def test_an_unreachable_api_makes_the_server_unready_but_leaves_it_alive(
    client: httpx.AsyncClient, kubeconfig: Path
) -> None:
    kubeconfig.write_text(kubeconfig.read_text().replace("127.0.0.1:", "127.0.0.1:1 #"))
    answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert "no connection to the Kubernetes API" in answer.json()["detail"]
    assert (await client.get("/healthz")).status_code == 200


async def test_the_ambient_kubeconfig_is_never_used(
    kubeconfig: Path, stub: KubernetesStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    app = create_app(kubernetes.Kubernetes(NAMESPACE))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as client:
        answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert "no service account token is mounted" in answer.json()["detail"]
    assert stub.requests == []


async def test_the_openapi_document_types_the_environments(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    answers = document["paths"]["/v1/environments"]["get"]["responses"]
    assert set(answers) == {"200", "503"}
    items = answers["200"]["content"]["application/json"]["schema"]["items"]
    assert items == {"$ref": "#/components/schemas/Environment"}
