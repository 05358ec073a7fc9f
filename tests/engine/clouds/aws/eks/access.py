"""Who may do what in a cluster (access entries, their policies), and what its pods may do in the account."""

import uuid
from typing import Any

from tests.engine.clouds.aws import rules
from tests.engine.clouds.aws.eks.clusters import MODES, Clusters
from tests.engine.clouds.cloud import CloudError

Values = dict[str, Any]
ADMIN_POLICY = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


class Access:
    def __init__(self, clusters: Clusters) -> None:
        self.clusters = clusters
        self.cloud = clusters.cloud
        self.entries: dict[tuple[str, str], Values] = {}
        self.policies: dict[tuple[str, str], dict[str, Values]] = {}
        self.pods: dict[tuple[str, str], Values] = {}
        clusters.tagged += [self.entries, self.pods]
        clusters.on_start.append(self._let_creator_in)
        clusters.on_end.append(self._forget)

    def is_admin(self, cluster: str, principal: str) -> bool:
        return ADMIN_POLICY in self.policies.get((cluster, principal), {})

    def add(self, cluster: str, principal: str, kind: str = "STANDARD", **more: Any) -> Values:
        """Amazon adds entries itself, too: for the cluster's creator, and for nodes."""
        moment = self.cloud.now()
        self.entries[cluster, principal] = entry = {
            "kubernetesGroups": [],
            "username": principal,
            "tags": {},
            **more,
            "clusterName": cluster,
            "principalArn": principal,
            "accessEntryArn": self.cloud.arn("eks", f"access-entry/{cluster}/{uuid.uuid4()}"),
            "type": kind,
            "createdAt": moment,
            "modifiedAt": moment,
        }
        self.policies[cluster, principal] = {}
        return entry

    def create_access_entry(self, asked: Values) -> Values:
        cluster = self.clusters.find(asked["clusterName"], active=True)
        key = asked["clusterName"], asked["principalArn"]
        if cluster["accessConfig"]["authenticationMode"] == MODES[0]:
            message = "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP]"
            raise CloudError("InvalidRequestException", message)
        if key in self.entries:
            message = "The specified access entry resource is already in use on this cluster."
            raise CloudError("ResourceInUseException", message)
        rest = {k: asked[k] for k in ("kubernetesGroups", "username", "tags") if k in asked}
        return {"accessEntry": dict(self.add(*key, asked.get("type", "STANDARD"), **rest))}

    def describe_access_entry(self, asked: Values) -> Values:
        return {"accessEntry": dict(self._entry(asked))}

    def update_access_entry(self, asked: Values) -> Values:
        entry = self._entry(asked)
        entry.update({k: asked[k] for k in ("kubernetesGroups", "username") if k in asked})
        return {"accessEntry": dict(entry)}

    def delete_access_entry(self, asked: Values) -> Values:
        self._entry(asked)
        key = asked["clusterName"], asked["principalArn"]
        del self.entries[key], self.policies[key]
        return {}

    def associate_access_policy(self, asked: Values) -> Values:
        self._entry(asked)
        moment = self.cloud.now()
        association = {
            "policyArn": asked["policyArn"],
            "accessScope": asked["accessScope"],
            "associatedAt": moment,
            "modifiedAt": moment,
        }
        self.policies[asked["clusterName"], asked["principalArn"]][asked["policyArn"]] = association
        where = {key: asked[key] for key in ("clusterName", "principalArn")}
        return {**where, "associatedAccessPolicy": association}

    def list_associated_access_policies(self, asked: Values) -> Values:
        self._entry(asked)
        found = self.policies[asked["clusterName"], asked["principalArn"]].values()
        return {"associatedAccessPolicies": list(found)}

    def disassociate_access_policy(self, asked: Values) -> Values:
        self._entry(asked)
        if not self.policies[asked["clusterName"], asked["principalArn"]].pop(asked["policyArn"], None):
            raise CloudError("ResourceNotFoundException", "No such policy is associated")
        return {}

    def create_pod_identity_association(self, asked: Values) -> Values:
        cluster = asked["clusterName"]
        self.clusters.find(cluster)
        account = asked["namespace"], asked["serviceAccount"]
        taken = [(pod["namespace"], pod["serviceAccount"]) for pod in self._pods_of(cluster)]
        if account in taken:
            message = f"Association already exists for {'/'.join(account)}"
            raise CloudError("ResourceInUseException", message)
        rules.require_role(self.cloud, asked["roleArn"], "pods.eks.amazonaws.com")
        id_ = f"a-{uuid.uuid4().hex[:17]}"
        moment = self.cloud.now()
        asked.pop("clientRequestToken", None)
        self.pods[cluster, id_] = association = {
            "tags": {},
            **asked,
            "associationId": id_,
            "associationArn": self.cloud.arn("eks", f"podidentityassociation/{cluster}/{id_}"),
            "createdAt": moment,
            "modifiedAt": moment,
            "externalId": str(uuid.uuid4()),
        }
        return {"association": dict(association)}

    def describe_pod_identity_association(self, asked: Values) -> Values:
        return {"association": dict(self._pod(asked))}

    def update_pod_identity_association(self, asked: Values) -> Values:
        association = self._pod(asked)
        rules.require_role(self.cloud, asked["roleArn"], "pods.eks.amazonaws.com")
        association["roleArn"] = asked["roleArn"]
        return {"association": dict(association)}

    def delete_pod_identity_association(self, asked: Values) -> Values:
        association = self._pod(asked)
        del self.pods[asked["clusterName"], asked["associationId"]]
        return {"association": association}

    def _entry(self, asked: Values) -> Values:
        key = asked["clusterName"], asked["principalArn"]
        self.clusters.find(key[0])
        if key not in self.entries:
            message = "The specified principalArn could not be found. You can view your access entries"
            raise CloudError("ResourceNotFoundException", message)
        return self.entries[key]

    def _pod(self, asked: Values) -> Values:
        self.clusters.find(asked["clusterName"])
        key = asked["clusterName"], asked["associationId"]
        if key not in self.pods:
            raise CloudError("ResourceNotFoundException", f"No association found for {key[1]}")
        return self.pods[key]

    def _pods_of(self, cluster: str) -> list[Values]:
        return [pod for (name, _), pod in self.pods.items() if name == cluster]

    def _let_creator_in(self, cluster: Values) -> None:
        if cluster["accessConfig"]["bootstrapClusterCreatorAdminPermissions"]:
            name, caller = cluster["name"], self.cloud.caller
            self.add(name, caller)
            scope = {"type": "cluster"}
            whose = {"clusterName": name, "principalArn": caller}
            self.associate_access_policy({**whose, "policyArn": ADMIN_POLICY, "accessScope": scope})

    def _forget(self, cluster: str) -> None:
        for kept in (self.entries, self.policies, self.pods):
            for key in [key for key in kept if key[0] == cluster]:
                del kept[key]
