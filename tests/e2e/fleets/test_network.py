"""Who reaches whom, tried out from real pods: each path, and that it works where no policy is in the way.

A container on the cluster's docker network stands in for the internet, and one that holds the address of the
cloud metadata services on a network that the worker node is in. Nothing else is ever contacted.
"""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.e2e.lab import ECHO, PYTHON, Lab, LabFleet, container
from toolchain import engine

pytestmark = pytest.mark.timeout(600)

METADATA, METADATA_NETWORK = "169.254.169.254", "169.254.169.0/24"
FLEET, CLIENTS = "network", "network-clients"
PORT = 8000
SERVE = ("-m", "http.server", str(PORT))
# Connect, and for HTTP ports read the answer's first line; what is dropped takes the whole time.
PROBE = """
import socket, sys
host, port = sys.argv[1], int(sys.argv[2])
try:
    address = socket.gethostbyname(host)
    connection = socket.create_connection((address, port), timeout=3)
except OSError as error:
    sys.exit(f"no way to {host}:{port}: {error!r}")
"""


@dataclass(frozen=True)
class World:
    """Where to go from, as namespace and pod, and where to, as host and port."""

    lab: Lab
    sources: dict[str, tuple[str, str]]
    targets: dict[str, tuple[str, int]]

    def reaches(self, source: str, target: str) -> bool:
        namespace, pod = self.sources[source]
        host, port = self.targets[target]
        answer = self.lab.kubectl(
            *("exec", f"--namespace={namespace}", pod, "--", "sh", "-c"),
            f"{PYTHON} -c '{PROBE}' {host} {port} 2>&1 || echo failed",
        )
        return "failed" not in answer


@pytest.fixture(scope="module")
def internet(lab: Lab) -> Iterator[str]:
    """The address of something outside the cluster."""
    fields = "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}"
    network = engine.docker("inspect", f"--format={fields}", lab.worker).strip()
    with container(network, *SERVE) as made:
        address = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        yield engine.docker("inspect", f"--format={address}", made).strip()


@pytest.fixture(scope="module")
def metadata(lab: Lab) -> Iterator[str]:
    """The address of a metadata service, in reach of the worker node."""
    network = f"envfleet-test-{uuid.uuid4().hex[:8]}"
    engine.docker("network", "create", f"--subnet={METADATA_NETWORK}", "--gateway=169.254.169.1", network)
    engine.docker("network", "connect", network, lab.worker)
    with container(network, *SERVE, flags=[f"--ip={METADATA}"]):
        yield METADATA
    engine.docker("network", "disconnect", "--force", network, lab.worker)
    engine.docker("network", "rm", network)


def pod(lab: Lab, namespace: str, name: str, labels: dict[str, str]) -> dict[str, object]:
    """A pod that meets `restricted` and answers on PORT."""
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "labels": labels},
        "spec": {
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {
                    "name": "main",
                    "image": lab.images[ECHO],
                    "command": [PYTHON, *SERVE],
                    "securityContext": security,
                }
            ],
        },
    }


@pytest.fixture(scope="module")
def world(lab: Lab, new_fleet, internet: str, metadata: str) -> Iterator[World]:
    fleet: LabFleet = new_fleet(
        FLEET,
        network={"clients": [{"namespace": CLIENTS, "labels": {"role": "trainer"}}]},
        environments=[
            {"name": "closed", "image": ECHO},
            {"name": "other", "image": ECHO},
            {"name": "open", "image": ECHO, "egress": [{"cidr": "0.0.0.0/0", "ports": [PORT]}]},
            {"name": "narrow", "image": ECHO, "egress": [{"cidr": f"{internet}/32", "ports": [9]}]},
        ],
    )
    fleet.up()
    lab.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CLIENTS}})
    lab.apply(
        pod(lab, CLIENTS, "trainer", {"role": "trainer"}),
        pod(lab, CLIENTS, "stranger", {"role": "stranger"}),
        # In the fleet's namespace, with the label of a client, but no client: that needs the namespace too.
        pod(lab, FLEET, "squatter", {"role": "trainer"}),
    )
    for namespace in (CLIENTS, FLEET):
        lab.kubectl(
            "wait", f"--namespace={namespace}", "--for=condition=Ready", "pod", "--all", "--timeout=60s"
        )
    environments = {name: (FLEET, name) for name in ("closed", "open", "narrow")}
    yield World(
        lab,
        sources={
            "server": (FLEET, "deployment/server"),
            "trainer": (CLIENTS, "trainer"),
            "stranger": (CLIENTS, "stranger"),
            "squatter": (FLEET, "squatter"),
            **environments,
        },
        targets={
            "environment": (f"other.{FLEET}", PORT),
            "control server": (f"server.{FLEET}", 8080),
            "API server": ("kubernetes.default", 443),
            "internet": (internet, PORT),
            "metadata": (metadata, PORT),
            "somebody's pod": (address(lab, CLIENTS, "stranger"), PORT),
        },
    )
    lab.kubectl("delete", "namespace", CLIENTS)


def address(lab: Lab, namespace: str, name: str) -> str:
    return json.loads(lab.kubectl("get", "pod", f"--namespace={namespace}", name, "--output=json"))["status"][
        "podIP"
    ]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        # A pod that no policy is about reaches all that the fleet's must not.
        ("stranger", "API server"),
        ("stranger", "internet"),
        ("stranger", "metadata"),
        ("stranger", "somebody's pod"),
        # The openings.
        ("trainer", "environment"),
        ("trainer", "control server"),
        ("server", "environment"),
        ("server", "API server"),
        ("open", "internet"),
        ("open", "somebody's pod"),
    ],
)
def test_allowed(world: World, source: str, target: str) -> None:
    assert world.reaches(source, target)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("stranger", "environment"),
        ("stranger", "control server"),
        ("squatter", "environment"),
        ("squatter", "internet"),
        ("closed", "environment"),
        ("closed", "control server"),
        ("closed", "API server"),
        ("closed", "internet"),
        ("closed", "metadata"),
        ("closed", "somebody's pod"),
        ("open", "metadata"),
        ("open", "API server"),
        ("narrow", "internet"),
        ("server", "internet"),
        ("server", "metadata"),
    ],
)
def test_denied(world: World, source: str, target: str) -> None:
    assert not world.reaches(source, target)


def test_environments_resolve_names(world: World) -> None:
    namespace, name = world.sources["closed"]
    found = world.lab.kubectl(
        *("exec", f"--namespace={namespace}", name, "--", PYTHON, "-c"),
        f"import socket; print(socket.gethostbyname('other.{FLEET}'))",
    )
    service = world.lab.kubectl(
        "get", "service", f"--namespace={FLEET}", "other", "--output=jsonpath={.spec.clusterIP}"
    )
    assert found.strip() == service
