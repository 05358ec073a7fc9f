"""Whether a cluster has what a fleet needs: all that is missing at once, before anything is written."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import kr8s.asyncio

from live.api import connect, explained
from live.objects import Query, read
from providers.existing.permissions import PERMISSIONS, Permission

# Kubernetes minor versions: from the oldest that is tried out to the newest.
OLDEST, NEWEST = (1, 30), (1, 35)
# DaemonSets of what enforces network policies, by the beginning of their names.
_ENFORCERS = (
    *("calico-node", "canal", "cilium", "anetd", "antrea-agent", "kube-router", "weave-net"),
    *("azure-npm", "ovnkube-node", "kube-ovn", "kube-network-policies", "kindnet"),
)
_SAY_SO = (
    ". If something else does, write envfleet:cluster.enforces_network_policies: true; to do without, false"
)
_AWS_ENFORCER = "aws-eks-nodeagent"  # a container of the DaemonSet aws-node, told to by a flag
_AT_ONCE = 10  # requests
_POD_SECURITY = "pod-security.kubernetes.io/enforce"


@dataclass(frozen=True)
class Report:
    """What was found.

    identifier: of this incarnation of the cluster.
    missing: what a fleet can't do without, in words; warnings: what it can.
    """

    identifier: str
    missing: tuple[str, ...]
    warnings: tuple[str, ...]


async def examine(kubeconfig: str, namespace: str, *, enforces: bool | None) -> Report:
    """Ask a cluster what it has. Nothing is written: a namespace is created only as a dry run.

    enforces: whether it enforces network policies, if the user says so.

    Raises:
        ClusterError: It can't be reached, or refuses to be asked.
    """
    async with connect(kubeconfig) as api:
        version, system, denied, pod_security, policies = await asyncio.gather(
            _call(api, "asking for its version", base="/version", version=""),
            _call(api, "reading namespace kube-system", url="namespaces/kube-system"),
            _denied(api, namespace),
            _pod_security(api),
            _enforcement(api, enforces),
        )
    lacking = denied.pop("", [])
    return Report(
        # This namespace is there from a cluster's beginning to its end.
        str(system["metadata"]["uid"]),
        (*unsupported(version), *_permission_to(lacking, namespace), *pod_security, *policies),
        tuple(f"no permission to {', '.join(actions)}: {why}" for why, actions in denied.items()),
    )


def _permission_to(actions: Sequence[str], namespace: str) -> Iterable[str]:
    if actions:
        yield f"permission, in namespace {namespace!r}, to {', '.join(actions)}"


async def _call(api: kr8s.asyncio.Api, what: str, **call: Any) -> dict[str, Any]:  # noqa: ANN401 (kr8s's own)
    with explained(what):
        async with api.call_api(**call) as response:
            return dict(response.json())


def unsupported(version: Mapping[str, str]) -> tuple[str, ...]:
    """What is wrong with a version, as the API server tells it."""
    if OLDEST <= (int(version["major"]), int(version["minor"].rstrip("+"))) <= NEWEST:
        return ()
    oldest, newest = (".".join(map(str, each)) for each in (OLDEST, NEWEST))
    return (f"a supported Kubernetes version: {oldest} to {newest}; it has {version['gitVersion']}",)


async def _denied(api: kr8s.asyncio.Api, namespace: str) -> dict[str, list[str]]:
    """What the user may not do, by what does not work without it: nothing at all, if that is empty."""

    turns = asyncio.Semaphore(_AT_ONCE)

    async def may(permission: Permission, attributes: dict[str, str]) -> bool:
        place = {} if permission.is_cluster_wide else {"namespace": namespace}
        review = {"spec": {"resourceAttributes": {**attributes, **place}}}
        address = {"version": "authorization.k8s.io/v1", "url": "selfsubjectaccessreviews"}
        async with turns:
            answer = await _call(
                api, "asking for permissions", method="POST", **address, content=json.dumps(review)
            )
        return bool(answer["status"]["allowed"])

    asked = [(permission, each) for permission in PERMISSIONS for each in permission.attributes]
    answers = await asyncio.gather(*(may(*each) for each in asked))
    refused: dict[Permission, list[str]] = {}
    for (permission, attributes), is_allowed in zip(asked, answers, strict=True):
        if not is_allowed:
            refused.setdefault(permission, []).append(attributes["verb"])
    denied: dict[str, list[str]] = {}
    for permission, verbs in refused.items():
        denied.setdefault(permission.without, []).append(f"{'/'.join(verbs)} {permission.resource}")
    return denied


async def _pod_security(api: kr8s.asyncio.Api) -> tuple[str, ...]:
    """Whether Pod Security is enforced: if so, a namespace with a level that does not exist is refused."""
    labels = {_POD_SECURITY: "no-such-level"}
    namespace = {"metadata": {"generateName": "envfleet-dry-run-", "labels": labels}}
    with explained("trying out Pod Security"):
        async with api.call_api(
            "POST",
            url="namespaces",
            params={"dryRun": "All"},
            content=json.dumps(namespace),
            raise_for_status=False,
        ) as response:
            if response.status_code == HTTPStatus.FORBIDDEN:  # a permission that is reported as missing
                return ()
            if response.is_client_error and _POD_SECURITY in response.text:
                return ()
    return ("the admission plugin PodSecurity, which keeps the pods to the level of their namespace",)


async def _enforcement(api: kr8s.asyncio.Api, enforces: bool | None) -> tuple[str, ...]:
    if enforces is not None:
        return ()
    found = await read(api, Query("daemonsets", version="apps/v1", may_be_refused=True))
    if any(map(is_enforcer, (found.items or {}).values())):
        return ()
    return (f"something known to enforce network policies, such as Calico or Cilium{_SAY_SO}",)


def is_enforcer(daemon_set: Mapping[str, Any]) -> bool:
    """Whether a DaemonSet is one that enforces network policies."""
    containers = daemon_set["spec"]["template"]["spec"]["containers"]
    return daemon_set["metadata"]["name"].startswith(_ENFORCERS) or any(
        each["name"] == _AWS_ENFORCER and "--enable-network-policy=true" in each.get("args", ())
        for each in containers
    )
