"""A pod evicted, one deleted, and a node lost: what the user sees, and one command that mends it all."""

import re
from collections.abc import Iterator

import kr8s
import pytest
from kr8s.objects import Node, Pod

from tests.e2e.clone import Clone, Result
from tests.e2e.kind_support import wait_until
from tests.e2e.lab import PYTHON
from toolchain import engine

pytestmark = pytest.mark.timeout(600)

NAMESPACE = "envfleet"
EVICTED, DELETED, BYSTANDER = "guess", "echo-b", "echo-a"
# More than `resources.limits.ephemeral_storage` is by default, in pieces that fit into memory.
FILL = "f = open('/tmp/filling', 'wb'); [f.write(bytes(2**24)) for _ in range(140)]; f.close()"


@pytest.fixture(scope="module")
def cluster(clone: Clone, up: Result, tmp_path_factory: pytest.TempPathFactory) -> kr8s.Api:
    up.succeeded()
    kubeconfig = tmp_path_factory.mktemp("repair") / "kubeconfig"
    kubeconfig.write_text(clone.pulumi("stack", "output", "kubeconfig", "--stack=dev", "--show-secrets"))
    return kr8s.api(kubeconfig=kubeconfig)


@pytest.fixture
def worker(clone: Clone) -> Iterator[str]:
    name = f"{clone.prefix}-dev-worker"
    yield name
    engine.docker("exec", name, "systemctl", "start", "kubelet")


def environments(cluster: kr8s.Api) -> dict[str, Pod]:
    selector = "app.kubernetes.io/component=environment"
    return {pod.name: pod for pod in cluster.get("pods", namespace=NAMESPACE, label_selector=selector)}


def status(table: str, environment: str) -> str:
    """What the table says of an environment."""
    row = re.search(rf"^│ {environment} +│ (.+?) +│", table, re.MULTILINE)
    assert row, table
    return row[1]


def test_one_command_mends_what_was_evicted_and_deleted(clone: Clone, cluster: kr8s.Api) -> None:
    before = environments(cluster)
    before[EVICTED].exec([PYTHON, "-c", FILL])
    before[DELETED].delete(propagation_policy="Background", force=True)
    wait_until(
        lambda: environments(cluster)[EVICTED].status.phase in {"Failed", "Succeeded"},
        120,
        f"{EVICTED} is evicted",
    )

    seen = clone.run("make ps").succeeded()
    assert status(seen, EVICTED) == "not ready: evicted"
    assert status(seen, DELETED) == "not ready: no pod"
    assert status(seen, BYSTANDER) == "Ready"
    assert "run `envfleet repair`" in seen
    failed = clone.run("make up")
    assert failed.code != 0, "what broke is noticed although nothing changed"
    assert re.search(rf"{EVICTED}: .*ephemeral", failed.output)

    repaired = clone.run("make repair").succeeded()
    assert "Exception" not in repaired

    after = environments(cluster)
    assert after[BYSTANDER].metadata.uid == before[BYSTANDER].metadata.uid
    assert after[EVICTED].metadata.uid != before[EVICTED].metadata.uid
    again = clone.run("make up").succeeded()
    assert re.search(r"^Resources:\n +\d+ unchanged\n", again, re.MULTILINE), again


def test_one_command_brings_back_what_was_on_a_node_that_was_lost(
    clone: Clone, cluster: kr8s.Api, worker: str
) -> None:
    def is_ready() -> bool:
        conditions = Node.get(worker, api=cluster).status.conditions
        return any(each.type == "Ready" and each.status == "True" for each in conditions)

    engine.docker("exec", worker, "systemctl", "stop", "kubelet")
    wait_until(lambda: not is_ready(), 120, "the node is lost")
    seen = clone.run("make ps").succeeded()
    assert {status(seen, name) for name in environments(cluster)} == {"not ready: node lost"}
    assert worker in seen
    # Kubernetes gives them up, and ends them when the node is back: nobody but us makes them again.
    wait_until(
        lambda: all("deletionTimestamp" in pod.metadata for pod in environments(cluster).values()),
        120,
        "the pods are given up",
    )
    engine.docker("exec", worker, "systemctl", "start", "kubelet")
    wait_until(is_ready, 120, "the node is back")
    wait_until(lambda: not environments(cluster), 120, "the pods are gone")

    clone.run("make repair").succeeded()

    seen = clone.run("make ps").succeeded()
    assert {status(seen, name) for name in environments(cluster)} == {"Ready"}
