"""The server's app over a stub of the Kubernetes API, which the real client reads over loopback."""

import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
import yaml
from envfleet_server.app import create_app
from envfleet_server.kubernetes import Kubernetes

NAMESPACE = "fleet"
TOKEN = "the-token"


class KubernetesStub:
    """Serves `pods` and `services` of one namespace; the attributes change what it answers."""

    def __init__(self) -> None:
        self.objects = {"pods": [], "services": []}
        self.forbidden = set()
        self.delay_seconds = 0.0
        self.page_size = 100
        self.requests = []

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, dict]:
        time.sleep(self.delay_seconds)
        if path == "/version/":
            return 200, {"gitVersion": "v1.34.4"}
        prefix, _, resource = path.rpartition("/")
        assert prefix == f"/api/v1/namespaces/{NAMESPACE}"
        if resource in self.forbidden:
            return 403, {
                "message": f'{resource} is forbidden: User "server" cannot list resource "{resource}"'
            }
        start = int(query.get("continue", 0))
        end = start + min(self.page_size, int(query["limit"]))
        more = {"continue": str(end)} if end < len(self.objects[resource]) else {}
        return 200, {"metadata": more, "items": self.objects[resource][start:end]}


@pytest.fixture
def stub() -> KubernetesStub:
    return KubernetesStub()


@pytest.fixture
def kubeconfig(stub: KubernetesStub, tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig file that leads to the stub."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = httpx.URL(self.path)
            stub.requests.append((url.path, dict(url.params), self.headers["Authorization"]))
            status, body = stub.answer(url.path, dict(url.params))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    path = tmp_path / "kubeconfig"
    config = {
        "current-context": "stub",
        "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
        "clusters": [{"name": "stub", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "users": [{"name": "stub", "user": {"token": TOKEN}}],
    }
    path.write_text(yaml.safe_dump(config))
    yield path
    server.shutdown()
    server.server_close()


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the server's real app."""
    app = create_app(Kubernetes(NAMESPACE, kubeconfig))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as client:
        yield client
