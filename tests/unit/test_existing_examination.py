"""What is read out of a cluster's answers."""

import pytest

from providers.existing.examination import NEWEST, OLDEST, is_enforcer, unsupported


def version(major: int, minor: int, mark: str = "") -> dict:
    text = f"v{major}.{minor}.1"
    return {"major": str(major), "minor": f"{minor}{mark}", "gitVersion": text}


@pytest.mark.parametrize("found", [version(*OLDEST), version(*NEWEST), version(*NEWEST, "+")])
def test_supported_versions_are_accepted_with_the_clouds_marks(found):
    assert unsupported(found) == ()


@pytest.mark.parametrize("found", [version(1, 29), version(1, NEWEST[1] + 1), version(2, 30)])
def test_other_versions_are_named_beside_the_supported_ones(found):
    (text,) = unsupported(found)
    assert text.endswith(f"; it has {found['gitVersion']}")


def daemon_set(name: str, container: str = "main", *args: str) -> dict:
    containers = [{"name": container, "args": list(args)}] if args else [{"name": container}]
    return {"metadata": {"name": name}, "spec": {"template": {"spec": {"containers": containers}}}}


@pytest.mark.parametrize(
    ("found", "enforces"),
    [
        (daemon_set("cilium"), True),
        (daemon_set("calico-node"), True),
        (daemon_set("kube-proxy"), False),
        (daemon_set("aws-node", "aws-eks-nodeagent", "--enable-network-policy=true"), True),
        (daemon_set("aws-node", "aws-eks-nodeagent", "--enable-network-policy=false"), False),
        (daemon_set("aws-node", "aws-node"), False),
    ],
)
def test_what_enforces_network_policies_is_known(found, enforces):
    assert is_enforcer(found) is enforces
