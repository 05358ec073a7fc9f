"""Objects of a cluster as the API returns them, and an API server that serves them over loopback HTTP."""

import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

import yaml

NAMESPACE = "fleet"
INSTANCE = "dev"
ADDRESS = "10.244.1.5"
NOW = "Tue, 01 Dec 2026 04:00:00 GMT"  # by the clock of the API server


def make_pod(
    name: str = "echo-a", status: dict | None = None, component: str = "environment", **more
) -> dict:
    """A pod that works, unless `status` says otherwise; `more` goes into its spec."""
    probe = {"httpGet": {"path": "/health", "port": "http", "scheme": "HTTP"}, "timeoutSeconds": 5}
    container = {
        "name": "environment",
        "image": "envfleet/echo:0.1.0",
        "ports": [{"name": "http", "containerPort": 8000}],
        "resources": {"requests": {"cpu": "100m", "memory": "192Mi"}, "limits": {"memory": "512Mi"}},
        "startupProbe": probe,
    }
    return {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"pod-{name}",
            "creationTimestamp": "2026-12-01T03:42:22Z",
            "labels": {"app.kubernetes.io/component": component, "app.kubernetes.io/name": name},
        },
        "spec": {"nodeName": "worker", "containers": [container], **more},
        "status": status or ready_status(),
    }


def ready_status(since: str = "03:42:28") -> dict:
    return {
        "phase": "Running",
        "podIP": ADDRESS,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": f"2026-12-01T{since}Z"}],
        "containerStatuses": [make_container({"running": {"startedAt": "2026-12-01T03:42:24Z"}}, ready=True)],
    }


def unready_status(state: dict, last: dict | None = None, restarts: int = 0, **more) -> dict:
    """The status of a scheduled pod whose container is in a state, and was in another before."""
    return {
        "phase": "Pending",
        "podIP": ADDRESS,
        "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-12-01T03:42:22Z"}],
        "containerStatuses": [make_container(state, last, restarts, **more)],
    }


def make_container(
    state: dict,
    last: dict | None = None,
    restarts: int = 0,
    *,
    ready: bool = False,
    started: bool | None = None,
) -> dict:
    return {
        "name": "environment",
        "image": "envfleet/echo:0.1.0",
        "state": state,
        "lastState": last or {},
        "restartCount": restarts,
        "ready": ready,
        "started": ready if started is None else started,
    }


def make_event(reason: str, message: str, first: str, last: str | None = None, number: int = 1) -> dict:
    """An event about pod echo-a, with times of day on 2026-12-01."""
    return {
        "metadata": {
            "name": f"{reason}.{first}",
            "uid": f"event-{reason}-{first}",
            "creationTimestamp": None,
        },
        "involvedObject": {"kind": "Pod", "name": "echo-a", "uid": "pod-echo-a"},
        "reason": reason,
        "message": message,
        "count": number,
        "firstTimestamp": f"2026-12-01T{first}Z",
        "lastTimestamp": f"2026-12-01T{last or first}Z",
        "eventTime": None,
    }


def make_service(name: str = "echo-a") -> dict:
    return {"metadata": {"name": name, "uid": f"service-{name}"}, "spec": {"ports": [{"port": 8000}]}}


def make_slice(name: str = "echo-a", ready: bool = True) -> dict:
    return {
        "metadata": {
            "name": f"{name}-x7k2p",
            "uid": f"slice-{name}",
            "labels": {"kubernetes.io/service-name": name},
        },
        "endpoints": [{"addresses": [ADDRESS], "conditions": {"ready": ready}}],
    }


def make_node(name: str = "worker", ready: str = "True", taints: tuple = (), **labels: str) -> dict:
    return {
        "metadata": {"name": name, "uid": f"node-{name}", "labels": labels},
        "spec": {"taints": list(taints)},
        "status": {
            "allocatable": {"cpu": "2", "memory": "24Gi", "pods": "110"},
            "conditions": [
                {
                    "type": "Ready",
                    "status": ready,
                    "lastTransitionTime": "2026-12-01T03:48:00Z",
                    "message": "Kubelet stopped posting node status.",
                }
            ],
        },
    }


def make_namespace(**metadata) -> dict:
    return {"metadata": {"name": NAMESPACE, "uid": "namespace", **metadata}, "status": {}}


class ClusterStub:
    """An API server. It answers lists, watches, logs and single Secrets, and whatever is set to go wrong.

    refused: kinds, by plural, that may not be read; away: it drops every connection;
    requests: the path and query of each request so far.
    """

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, dict]] = defaultdict(dict)
        self.logs: dict[str, str] = {}
        self.refused: set[str] = set()
        self.away = False
        self.requests: list[tuple[str, dict[str, str]]] = []
        self._changes: list[tuple[str, str, dict]] = []
        self._changed = threading.Condition()
        self._epoch = 0
        self.put("namespaces", make_namespace())
        self.put("nodes", make_node())

    def put(self, plural: str, item: dict) -> None:
        self._change("MODIFIED", plural, item)
        self.objects[plural][item["metadata"]["uid"]] = item

    def remove(self, plural: str, item: dict) -> None:
        self._change("DELETED", plural, item)
        del self.objects[plural][item["metadata"]["uid"]]

    def run(self, name: str, pod: dict | None = None) -> None:
        """Have an environment, which works unless its pod does not."""
        self.put("pods", pod or make_pod(name))
        self.put("services", make_service(name))
        self.put("endpointslices", make_slice(name))

    def break_watches(self) -> None:
        """End all watches, and answer those that go on from before now with 410 Gone."""
        with self._changed:
            self._epoch += 1
            self._changes.clear()
            self._changed.notify_all()

    def _change(self, kind: str, plural: str, item: dict) -> None:
        with self._changed:
            self._changes.append((kind, plural, item))
            self._changed.notify_all()

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, dict | str]:
        self.requests.append((path, query))
        *_, parent, name = path.split("/")
        if path == "/version/":
            return 200, {"gitVersion": "v1.34.4"}
        if name == "log":
            return 200, self.logs[parent]
        if name in self.refused or parent in self.refused:
            return 403, {"message": f"{name} is forbidden"}
        if parent == "secrets":
            return (
                (200, self.objects[parent][name])
                if name in self.objects[parent]
                else (404, {"message": name})
            )
        with self._changed:
            version = f"{self._epoch}.{len(self._changes)}"
        return 200, {"metadata": {"resourceVersion": version}, "items": list(self.objects[name].values())}

    def watch(self, plural: str, since: str) -> Iterator[dict]:
        epoch, position = map(int, since.split("."))
        while not self.away:
            with self._changed:
                if epoch != self._epoch:
                    yield {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}
                    return
                fresh = self._changes[position:]
                if not fresh:
                    self._changed.wait(0.02)
            for kind, changed, item in fresh:
                position += 1
                if changed == plural:
                    versioned = {
                        **item,
                        "metadata": {**item["metadata"], "resourceVersion": f"{epoch}.{position}"},
                    }
                    yield {"type": kind, "object": versioned}


@contextmanager
def serve(stub: ClusterStub) -> Iterator[str]:
    """Serve the stub; yields a kubeconfig that leads to it."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 50  # all kinds are asked for at once

    class Handler(BaseHTTPRequestHandler):
        def date_time_string(self, timestamp: float | None = None) -> str:
            return NOW

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = dict(parse_qsl(url.query))
            if stub.away:
                return
            status, body = stub.answer(url.path, query)
            self.send_response(status)
            self.end_headers()
            if "watch" not in query or status != 200:
                self.wfile.write((body if isinstance(body, str) else json.dumps(body)).encode())
                return
            for change in stub.watch(url.path.rsplit("/", 1)[1], query["resourceVersion"]):
                self.wfile.write(json.dumps(change).encode() + b"\n")

        def handle(self) -> None:
            with suppress(BrokenPipeError, ConnectionResetError):  # the client has seen enough
                super().handle()

        def log_message(self, *args: object) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield kubeconfig_for(f"http://127.0.0.1:{server.server_port}")
    stub.away = True
    server.shutdown()
    server.server_close()


def kubeconfig_for(url: str, user: dict | None = None, **cluster: object) -> str:
    return yaml.safe_dump(
        {
            "current-context": "stub",
            "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
            "clusters": [
                {"name": "stub", "cluster": {"server": url, "insecure-skip-tls-verify": True, **cluster}}
            ],
            "users": [{"name": "stub", "user": user or {"token": "the-token"}}],
        }
    )
