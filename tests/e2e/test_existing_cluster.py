"""A fleet on a cluster that was there before, beside another: it comes, works, and goes without a trace."""

import re
from collections.abc import Iterator
from pathlib import Path

import kr8s
import pytest
import yaml
from kr8s.objects import Deployment, Pod

from tests.e2e.clone import Clone, Result

STACK = "guest"


@pytest.fixture(scope="module")
def kubeconfig(clone: Clone, up: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Leads to the cluster of the first stack."""
    up.succeeded()
    file = tmp_path_factory.mktemp("existing") / "config"
    file.write_text(clone.pulumi("stack", "output", "kubeconfig", "--stack=dev", "--show-secrets"))
    return file


@pytest.fixture(scope="module")
def cluster(kubeconfig: Path) -> kr8s.Api:
    return kr8s.api(kubeconfig=kubeconfig)


@pytest.fixture(scope="module")
def guest(clone: Clone, kubeconfig: Path, cluster: kr8s.Api) -> Iterator[Result]:
    """A second fleet on that cluster, configured as the sample says, with the images that the nodes have."""
    settings = yaml.safe_load((clone.folder / "Pulumi.existing.yaml").read_text())
    config = settings["config"]
    (context,) = (each["name"] for each in yaml.safe_load(kubeconfig.read_text())["contexts"])
    # On nodes of our own image, what enforces network policies is no DaemonSet.
    own = {"kubeconfig": str(kubeconfig), "context": context, "enforces_network_policies": True}
    config["envfleet:cluster"] |= own
    config["envfleet:namespace"] = STACK
    server = Deployment.get("server", namespace="envfleet", api=cluster).raw["spec"]["template"]["spec"]
    config["envfleet:server"]["image"] = server["containers"][0]["image"]
    echo = Pod.get("echo-a", namespace="envfleet", api=cluster).raw["spec"]
    config["envfleet:environments"][0]["image"] = echo["containers"][0]["image"]
    file = clone.folder / f"Pulumi.{STACK}.yaml"
    file.write_text(yaml.safe_dump(settings))
    yield clone.run(f"make up STACK={STACK}")
    clone.run(f"make down STACK={STACK}").succeeded()
    file.unlink()


def pods(cluster: kr8s.Api, namespace: str) -> dict[str, str]:
    return {pod.name: pod.metadata.uid for pod in cluster.get("pods", namespace=namespace)}


def test_the_fleet_comes_up(guest: Result, cluster: kr8s.Api) -> None:
    assert re.search(r"│ echo +│ Ready +│", guest.succeeded())
    assert "echo" in pods(cluster, STACK)


def test_what_was_there_is_not_touched_also_when_the_fleet_goes(
    clone: Clone, guest: Result, cluster: kr8s.Api
) -> None:
    guest.succeeded()
    before = pods(cluster, "envfleet")
    clone.run(f"make down STACK={STACK}").succeeded()
    namespaces = {each.name for each in cluster.get("namespaces")}
    assert STACK not in namespaces
    assert "envfleet" in namespaces
    assert pods(cluster, "envfleet") == before


def test_a_namespace_that_is_anothers_is_refused(clone: Clone, guest: Result, cluster: kr8s.Api) -> None:
    guest.succeeded()
    file = clone.folder / f"Pulumi.{STACK}.yaml"
    written = file.read_text()
    settings = yaml.safe_load(written)
    settings["config"]["envfleet:namespace"] = "envfleet"
    before = pods(cluster, "envfleet")
    file.write_text(yaml.safe_dump(settings))
    refused = clone.run(f"make up STACK={STACK}")
    file.write_text(written)
    assert refused.code != 0
    assert "namespace 'envfleet' exists and belongs to the stack 'dev'" in refused.output
    assert pods(cluster, "envfleet") == before
