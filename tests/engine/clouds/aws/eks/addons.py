"""Add-ons: those that run as ordinary pods are not ACTIVE before there are nodes."""

import uuid
from typing import Any

from tests.engine.clouds.aws.eks.clusters import Clusters
from tests.engine.clouds.aws.eks.nodegroups import Nodegroups
from tests.engine.clouds.cloud import CloudError

Values = dict[str, Any]
ON_NODES = {"coredns", "aws-ebs-csi-driver", "metrics-server"}
KNOWN = {*ON_NODES, "vpc-cni", "kube-proxy", "eks-pod-identity-agent"}
DEFAULT_VERSION = "v1.0.0-eksbuild.1"
CHANGEABLE = ("addonVersion", "serviceAccountRoleArn", "configurationValues")


class Addons:
    def __init__(self, clusters: Clusters, nodegroups: Nodegroups) -> None:
        self.clusters = clusters
        self.cloud = clusters.cloud
        self.nodegroups = nodegroups
        self.kept: dict[tuple[str, str], Values] = nodegroups.addons
        clusters.tagged.append(self.kept)
        clusters.on_end.append(self._forget)

    def create_addon(self, asked: Values) -> Values:
        key = asked["clusterName"], asked["addonName"]
        self.clusters.find(key[0], active=True)
        if key in self.kept:
            raise CloudError("ResourceInUseException", "Addon already exists.")
        if key[1] not in KNOWN:
            raise CloudError("InvalidParameterException", f"Addon {key[1]} specified is not supported")
        moment = self.cloud.now()
        rest = {k: asked[k] for k in (*CHANGEABLE, "tags") if k in asked}
        self.kept[key] = addon = {
            "addonVersion": DEFAULT_VERSION,
            "tags": {},
            **rest,
            "clusterName": key[0],
            "addonName": key[1],
            "addonArn": self.cloud.arn("eks", f"addon/{key[0]}/{key[1]}/{uuid.uuid4()}"),
            "status": "CREATING",
            "createdAt": moment,
            "modifiedAt": moment,
            "health": {"issues": []},
        }
        self.cloud.later(lambda: addon.update(status="ACTIVE"))
        return {"addon": self._seen(addon)}

    def describe_addon(self, asked: Values) -> Values:
        return {"addon": self._seen(self._addon(asked))}

    def update_addon(self, asked: Values) -> Values:
        addon = self._addon(asked)
        changes = {k: asked[k] for k in CHANGEABLE if k in asked}
        return self.clusters.update(addon, "AddonUpdate", lambda: addon.update(changes))

    def delete_addon(self, asked: Values) -> Values:
        addon = self._addon(asked)
        addon["status"] = "DELETING"
        key = asked["clusterName"], asked["addonName"]
        self.cloud.later(lambda: self.kept.pop(key, None))
        return {"addon": dict(addon)}

    def _addon(self, asked: Values) -> Values:
        self.clusters.find(asked["clusterName"])
        key = asked["clusterName"], asked["addonName"]
        if key not in self.kept:
            raise CloudError("ResourceNotFoundException", f"No addon: {key[1]} found in cluster: {key[0]}")
        return self.kept[key]

    def _seen(self, addon: Values) -> Values:
        nodes = [group for group in self.nodegroups.of(addon["clusterName"]) if group["status"] == "ACTIVE"]
        waits = addon["status"] == "ACTIVE" and addon["addonName"] in ON_NODES and not nodes
        return {**addon, "status": "DEGRADED" if waits else addon["status"]}

    def _forget(self, cluster: str) -> None:
        for key in [key for key in self.kept if key[0] == cluster]:
            del self.kept[key]
