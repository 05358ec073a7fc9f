"""The API server that the clusters of the simulated EKS lead to: its nodes, and who gets in."""

import time
from typing import Any

import yaml

from tests.engine.control_plane import NODE_CAPACITY, ControlPlane

SYSTEM = {"default", "kube-system", "kube-public", "kube-node-lease"}  # namespaces that every cluster has
ACCOUNTS = "/api/v1/namespaces/kube-system/serviceaccounts"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
ADMIN = "eks-admin"
GROUP_LABEL = "eks.amazonaws.com/nodegroup"
EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}


class Kubernetes:
    """A control plane without nodes of its own; it plays one EKS cluster at a time."""

    def __init__(self, plane: ControlPlane) -> None:
        self._client = plane.client
        [cluster] = yaml.safe_load(plane.kubeconfig)["clusters"]
        self.endpoint: str = cluster["cluster"]["server"]
        self.certificate_authority: str = cluster["cluster"]["certificate-authority-data"]
        self._become_admin()

    def token(self) -> dict[str, str]:
        """A short-lived token of an administrator, and when it expires."""
        answer = self._client.post(f"{ACCOUNTS}/{ADMIN}/token", json={"spec": {"expirationSeconds": 900}})
        status: dict[str, str] = answer.raise_for_status().json()["status"]
        return status

    def scale(self, group: str, count: int, labels: dict[str, str], taints: list[dict[str, str]]) -> None:
        """Have a node group's nodes be so many, and so labelled and tainted."""
        wanted = {f"{group}-{number}" for number in range(count)}
        for name in self._nodes({GROUP_LABEL: group}) - wanted:
            self._client.delete(f"/api/v1/nodes/{name}").raise_for_status()
        there = self._nodes({GROUP_LABEL: group})
        spec = [{**taint, "effect": EFFECTS[taint["effect"]]} for taint in taints]
        for name in sorted(wanted):
            node = {
                "metadata": {
                    "name": name,
                    "labels": {**labels, GROUP_LABEL: group, "kubernetes.io/hostname": name},
                },
                "spec": {"taints": spec},
                "status": {"capacity": NODE_CAPACITY, "allocatable": NODE_CAPACITY},
            }
            if name in there:
                patch = {"content-type": "application/merge-patch+json"}
                changed = {"metadata": node["metadata"], "spec": node["spec"]}
                self._client.patch(f"/api/v1/nodes/{name}", json=changed, headers=patch).raise_for_status()
            else:
                self._client.post("/api/v1/nodes", json=node).raise_for_status()

    def wipe(self) -> None:
        """Forget what was in a cluster that is gone."""
        for name in self._nodes({}):
            self._client.delete(f"/api/v1/nodes/{name}").raise_for_status()
        for name in self._namespaces():
            self._client.delete(f"/api/v1/namespaces/{name}").raise_for_status()
        deadline = time.monotonic() + 30
        while self._namespaces() and time.monotonic() < deadline:
            time.sleep(0.05)

    def _become_admin(self) -> None:
        subject = {"kind": "ServiceAccount", "namespace": "kube-system", "name": ADMIN}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        for path, content in {
            ACCOUNTS: {},
            BINDINGS: {"roleRef": role, "subjects": [subject]},
        }.items():
            answer = self._client.post(path, json={"metadata": {"name": ADMIN}, **content})
            if answer.status_code != 409:  # there already
                answer.raise_for_status()

    def _nodes(self, labels: dict[str, str]) -> set[str]:
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        return self._names("/api/v1/nodes", labelSelector=selector)

    def _namespaces(self) -> set[str]:
        return self._names("/api/v1/namespaces") - SYSTEM

    def _names(self, path: str, **query: str) -> set[str]:
        items: list[dict[str, Any]] = self._client.get(path, params=query).raise_for_status().json()["items"]
        return {item["metadata"]["name"] for item in items}
