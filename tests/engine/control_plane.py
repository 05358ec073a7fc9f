"""A real Kubernetes control plane without nodes, as plain processes: no container engine, no root.

    with run_control_plane(scratch_directory, binaries) as cluster:
        cluster.client.get("/api/v1/nodes")  # httpx, as the administrator
        cluster.kubeconfig                   # the same identity for any other client

etcd, kube-apiserver, kube-controller-manager and kube-scheduler are the real ones; kwok plays the
kubelets (`kwok-stages.yaml` says how pods fare). Ready in about 5 seconds.
"""

import os
import socket
import ssl
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import httpx
import yaml

from tests.engine import pki

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
STAGES = Path(__file__).with_name("kwok-stages.yaml")
LOOPBACK = "127.0.0.1"
START_TIMEOUT_SECONDS = 60
FIRST_NODE_ADDRESS = ip_address("10.1.0.1")
NODE_CAPACITY = {"cpu": "32", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "500"}
# A Unix socket in the scratch directory, in the one spelling that etcd and its clients share.
ETCD_URL = "unix://etcd:0"
PEER_URL = "unix://etcd-peer:0"
ETCD_FLAGS = (
    "--data-dir=etcd",
    "--unsafe-no-fsync",  # the data dies with the test
    f"--listen-client-urls={ETCD_URL}",
    f"--advertise-client-urls={ETCD_URL}",
    f"--listen-peer-urls={PEER_URL}",
    f"--initial-advertise-peer-urls={PEER_URL}",
    f"--initial-cluster=default={PEER_URL}",
    "--log-level=warn",
)
API_SERVER_FLAGS = (
    f"--etcd-servers={ETCD_URL}",
    f"--bind-address={LOOPBACK}",
    "--permit-port-sharing=true",  # with `_reserved_port`
    "--client-ca-file=ca.crt",
    "--tls-cert-file=server.crt",
    "--tls-private-key-file=server.key",
    "--allow-privileged=true",  # as every real cluster: what refuses a pod is admission
    "--authorization-mode=Node,RBAC",
    "--anonymous-auth=false",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-account-key-file=service-account.key",
    "--service-account-signing-key-file=service-account.key",
    "--service-cluster-ip-range=10.96.0.0/16",
)
SCHEDULER_FLAGS = (
    "--kubeconfig=kubeconfig",
    "--leader-elect=false",
    "--secure-port=0",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
)
CONTROLLER_MANAGER_FLAGS = (
    *SCHEDULER_FLAGS,
    "--root-ca-file=ca.crt",
    "--service-account-private-key-file=service-account.key",
)
KWOK_FLAGS = (
    "--kubeconfig=kubeconfig",
    "--manage-all-nodes",
    "--node-lease-duration-seconds=40",
    "--cidr=10.0.0.0/16",  # of the pods
)
# Becomes a program that the kernel kills when its parent ends. Not a `preexec_fn`: between fork and exec that
# would run in a copy of this process, where gRPC's threads can crash it.
DIE_WITH_PARENT = """
import ctypes, os, signal, sys
PR_SET_PDEATHSIG = 1
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
os.execv(sys.argv[1], sys.argv[2:])
"""


class ControlPlaneError(RuntimeError):
    """A process of the control plane ended, or did not become ready in time."""


@dataclass(frozen=True)
class ControlPlane:
    """A running control plane: `directory` holds its scratch files and one log per process."""

    directory: Path
    kubeconfig: str  # YAML, self-contained
    client: httpx.Client  # of the API server, as a member of system:masters
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def check(self) -> None:
        """Raise ControlPlaneError, with the end of its log, if any process is no longer running."""
        for name, process in self._processes.items():
            if (code := process.poll()) is not None:
                log = (self.directory / f"{name}.log").read_text(errors="replace")
                raise ControlPlaneError(f"{name} ended with exit code {code}:\n{log[-2000:]}")


@contextmanager
def run_control_plane(
    directory: Path, binaries: Path, *api_server_flags: str, nodes: int = 2
) -> Iterator[ControlPlane]:
    """Run a control plane with `nodes` simulated nodes until the `with` block ends.

    `directory` exists and is empty; `binaries` has the programs named in PROGRAMS. Enter it in the main
    thread: the kernel kills the processes when the thread that started them ends, so that none outlives
    even a SIGKILLed test run.
    """
    with ExitStack() as cleanup:
        port = cleanup.enter_context(_reserved_port())
        url = f"https://{LOOPBACK}:{port}"
        kubeconfig = _write_credentials(directory, url)
        client = cleanup.enter_context(_client(directory, url))
        plane = ControlPlane(directory, kubeconfig, client)
        cleanup.callback(_kill, plane._processes)

        _start(plane, "etcd", binaries, *ETCD_FLAGS)
        flags = (f"--secure-port={port}", *API_SERVER_FLAGS, *api_server_flags)
        _start(plane, "kube-apiserver", binaries, *flags)
        _wait(plane, "the API server to be ready", lambda: client.get("/readyz").is_success)
        _start(plane, "kube-controller-manager", binaries, *CONTROLLER_MANAGER_FLAGS)
        _start(plane, "kube-scheduler", binaries, *SCHEDULER_FLAGS)
        _start(plane, "kwok", binaries, "--config", str(STAGES), *KWOK_FLAGS)
        for number in range(nodes):
            client.post("/api/v1/nodes", json=_node(number)).raise_for_status()
        _wait(plane, f"{nodes} nodes to be ready", lambda: _schedulable_nodes(client) == nodes)
        yield plane


@contextmanager
def _reserved_port() -> Iterator[int]:
    """Yield a free loopback port that stays ours: bound but not listening, shared with the API server."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind((LOOPBACK, 0))
        yield holder.getsockname()[1]


def _write_credentials(directory: Path, url: str) -> str:
    """Write keys, certificates and the kubeconfig into `directory`; return the kubeconfig."""
    ca = pki.authority()
    admin = pki.issue(ca, "admin", group="system:masters")
    for name, pair in {
        "ca": ca,
        "admin": admin,
        "server": pki.issue(ca, "kube-apiserver", address=LOOPBACK),
    }.items():
        (directory / f"{name}.crt").write_bytes(pair.certificate_pem)
        (directory / f"{name}.key").write_bytes(pair.key_pem)
    (directory / "service-account.key").write_bytes(pki.private_pem(pki.new_key()))
    user = {
        "client-certificate-data": b64encode(admin.certificate_pem).decode(),
        "client-key-data": b64encode(admin.key_pem).decode(),
    }
    server = {"server": url, "certificate-authority-data": b64encode(ca.certificate_pem).decode()}
    kubeconfig = yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "control-plane", "cluster": server}],
            "users": [{"name": "admin", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "control-plane", "user": "admin"}}],
            "current-context": "test",
        }
    )
    (directory / "kubeconfig").write_text(kubeconfig)
    return kubeconfig


def _client(directory: Path, url: str) -> httpx.Client:
    context = ssl.create_default_context(cafile=str(directory / "ca.crt"))
    context.load_cert_chain(directory / "admin.crt", directory / "admin.key")
    return httpx.Client(base_url=url, verify=context, trust_env=False, timeout=30)  # no proxy for loopback


def _start(plane: ControlPlane, name: str, binaries: Path, *flags: str) -> None:
    with (plane.directory / f"{name}.log").open("wb") as log:
        plane._processes[name] = subprocess.Popen(
            [sys.executable, "-ISc", DIE_WITH_PARENT, binaries / name, name, *flags],
            cwd=plane.directory,
            # Nothing of the user's: no proxies, no KUBECONFIG.
            env={"PATH": os.defpath, "HOME": str(plane.directory)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            process_group=0,  # Ctrl-C is for the test run, which then stops us
        )


def _wait(plane: ControlPlane, what: str, is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        plane.check()
        try:
            if is_done():
                return
        except httpx.TransportError:
            pass  # not listening yet
        time.sleep(0.05)
    raise ControlPlaneError(f"waited {START_TIMEOUT_SECONDS} s for {what}; the logs are in {plane.directory}")


def _kill(processes: dict[str, subprocess.Popen[bytes]]) -> None:
    """SIGKILL all, clients before servers: there is nothing to save, and nothing that could hang."""
    for process in reversed(processes.values()):
        process.kill()
    for process in processes.values():
        process.wait()


def _node(number: int) -> dict[str, object]:
    name = f"node-{number}"
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "addresses": [{"type": "InternalIP", "address": str(FIRST_NODE_ADDRESS + number)}],
            "capacity": NODE_CAPACITY,
            "allocatable": NODE_CAPACITY,
        },
    }


def _schedulable_nodes(client: httpx.Client) -> int:
    """Count nodes without taints: a new one is `not-ready` until the controller manager sees it report."""
    nodes = client.get("/api/v1/nodes").raise_for_status().json()["items"]
    return sum(not node["spec"].get("taints") for node in nodes)
