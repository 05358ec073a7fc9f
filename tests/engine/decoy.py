"""A cluster that must never be contacted: what an ambient kubeconfig would lead to."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml


@dataclass(frozen=True)
class Decoy:
    """`home` holds a `.kube/config` that leads to a server which refuses, and records, all `requests`."""

    home: Path
    requests: list[str] = field(default_factory=list)

    @property
    def kubeconfig(self) -> Path:
        return self.home / ".kube" / "config"


@contextmanager
def run_decoy(home: Path) -> Iterator[Decoy]:
    """Listen on a loopback port until the `with` block ends; write the kubeconfig under `home`."""
    decoy = Decoy(home)

    class Refuse(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            decoy.requests.append(self.rfile.readline().decode(errors="replace").strip())
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            self.close_connection = True

    with ThreadingHTTPServer(("127.0.0.1", 0), Refuse) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        decoy.kubeconfig.parent.mkdir()
        decoy.kubeconfig.write_text(_kubeconfig(f"http://127.0.0.1:{server.server_port}"))
        yield decoy
        server.shutdown()


def _kubeconfig(url: str) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "decoy", "cluster": {"server": url}}],
            "users": [{"name": "decoy", "user": {"token": "decoy"}}],
            "contexts": [{"name": "decoy", "context": {"cluster": "decoy", "user": "decoy"}}],
            "current-context": "decoy",
        }
    )
