"""EKS.

Of a create whose answer was lost: all but policy associations have a token, so an SDK's second attempt gets
the answer of the first. Once the command has ended, the next `up` sends another token and is refused: the
name is in use.

A wait that failed is not taken up again: after a node group ended as CREATE_FAILED, the next `up` succeeds.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tests.engine.clouds.aws.table.base import AwsResource
from tests.engine.clouds.resource import Inputs, Values

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")


class EksResource(AwsResource):
    service = "eks"
    arn: ClassVar[str] = "arn"
    """The output by which it is tagged."""

    def update(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        if changed & {"tags", "tagsAll"}:
            if gone := sorted(old["tagsAll"].keys() - new["tagsAll"].keys()):
                self.call("UntagResource", resourceArn=old[self.arn], tagKeys=gone)
            self.call("TagResource", resourceArn=old[self.arn], tags=new["tagsAll"])
        if rest := changed - {"tags", "tagsAll"}:
            self.change(id_, old, new, rest)

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        """Change what is not a tag."""
        raise NotImplementedError(f"{self.type}: can't change {', '.join(sorted(changed))}")

    def updated(self, operation: str, **parameters: Any) -> None:
        """Start an update, and wait for its end."""
        update = self.call(operation, **parameters)["update"]
        where = {"name": parameters.get("name") or parameters["clusterName"], "updateId": update["id"]}
        for part in ("nodegroupName", "addonName"):
            where |= {part: parameters[part]} if part in parameters else {}

        def read() -> Any:
            return self.call("DescribeUpdate", **where)["update"]

        self.await_status(read, {"InProgress"}, {"Successful"})


class Cluster(EksResource):
    type = "aws:eks/cluster:Cluster"
    named = "name"
    replaced_by = frozenset(
        {"name", "roleArn", "bootstrapSelfManagedAddons", "encryptionConfig", "outpostConfig"}
    )
    computed = frozenset({"vpcConfig.clusterSecurityGroupId", "vpcConfig.vpcId"})
    local = frozenset({"forceUpdateVersion"})
    without = frozenset({"clusterId"})
    parameter_of: ClassVar = {"vpcConfig": "resourcesVpcConfig"}

    def create(self, given: Inputs) -> Iterator[str]:
        encryption = [given["encryptionConfig"]] if "encryptionConfig" in given else None
        types = given.get("enabledClusterLogTypes")
        self.request(
            "CreateCluster",
            given,
            encryptionConfig=encryption,
            logging=_logging(types) if types else None,
            tags=given["tagsAll"] or None,
        )
        yield given["name"]
        self.await_status(lambda: self._cluster(given["name"]), {"CREATING"}, {"ACTIVE"})

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        if not (cluster := self._cluster(id_)):
            return None
        issuer = {"oidcs": [{"issuer": cluster["identity"]["oidc"]["issuer"]}]}
        setups = cluster.get("logging", {}).get("clusterLogging", [])
        types = [name for setup in setups if setup["enabled"] for name in setup["types"]]
        encryption = cluster.get("encryptionConfig")
        return self.state(
            cluster,
            identities=[issuer],
            tagsAll=dict(cluster["tags"]),
            **({"enabledClusterLogTypes": types} if types else {}),
            **({"encryptionConfig": encryption[0]} if encryption else {}),
        )

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        if "version" in changed:
            self.updated("UpdateClusterVersion", name=id_, version=new["version"])
        if "enabledClusterLogTypes" in changed:
            self.updated(
                "UpdateClusterConfig", name=id_, logging=_logging(new.get("enabledClusterLogTypes", []))
            )
        if "vpcConfig" in changed:
            endpoint = ("endpointPublicAccess", "endpointPrivateAccess", "publicAccessCidrs")
            network = {key: new["vpcConfig"][key] for key in endpoint if key in new["vpcConfig"]}
            self.updated("UpdateClusterConfig", name=id_, resourcesVpcConfig=network)
        for name in ("upgradePolicy", "zonalShiftConfig", "deletionProtection"):
            if name in changed:
                self.updated("UpdateClusterConfig", name=id_, **{name: new[name]})
        if "accessConfig" in changed:
            mode = {"authenticationMode": new["accessConfig"]["authenticationMode"]}
            self.updated("UpdateClusterConfig", name=id_, accessConfig=mode)

    def delete(self, id_: str, known: Values) -> None:
        self.insist("DeleteCluster", "ResourceInUseException", name=id_)
        self.await_status(lambda: self._cluster(id_), {"DELETING", "ACTIVE", "FAILED"}, {"gone"})

    def _cluster(self, name: str) -> Any:
        answer = self.found("DescribeCluster", name=name)
        return answer and answer["cluster"]


class NodeGroup(EksResource):
    type = "aws:eks/nodeGroup:NodeGroup"
    named = "nodeGroupName"
    replaced_by = frozenset(
        {"amiType", "capacityType", "clusterName", "diskSize", "instanceTypes", "nodeGroupName"}
        | {"nodeGroupNamePrefix", "nodeRoleArn", "remoteAccess", "subnetIds"}
    )
    computed = frozenset({"launchTemplate.id", "launchTemplate.name"})
    local = frozenset({"forceUpdateVersion"})
    parameter_of: ClassVar = {"nodeRoleArn": "nodeRole", "subnetIds": "subnets", "arn": "nodegroupArn"}

    def create(self, given: Inputs) -> Iterator[str]:
        group = {"clusterName": given["clusterName"], "nodegroupName": given["nodeGroupName"]}
        self.request("CreateNodegroup", given, tags=given["tagsAll"] or None)
        yield ":".join(group.values())
        self.await_status(lambda: self._group(group), {"CREATING"}, {"ACTIVE"})

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        if not (group := self._group(_named(id_, "nodegroupName"))):
            return None
        scaling = {"autoscalingGroups": group["resources"]["autoScalingGroups"]}
        return self.state(group, resources=[scaling], tagsAll=dict(group["tags"]))

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        group = _named(id_, "nodegroupName")
        if changed & {"version", "releaseVersion", "launchTemplate"}:
            asked = {key: new[key] for key in ("version", "releaseVersion") if key in changed and key in new}
            if "launchTemplate" in changed:
                # Its name and its id both would be refused.
                template = new["launchTemplate"]
                by = "id" if "id" in template else "name"
                asked["launchTemplate"] = {by: template[by], "version": template["version"]}
            self.updated("UpdateNodegroupVersion", **group, **asked)
        if changed & {"labels", "taints", "scalingConfig", "updateConfig", "nodeRepairConfig"}:
            kept = ("scalingConfig", "updateConfig", "nodeRepairConfig")
            asked = {key: new[key] for key in kept if key in changed and key in new}
            labels, before = new.get("labels", {}), old.get("labels", {})
            if "labels" in changed:
                removed = sorted(before.keys() - labels.keys())
                asked["labels"] = {"addOrUpdateLabels": labels, "removeLabels": removed}
            if "taints" in changed:
                removed = [taint for taint in old.get("taints", []) if taint not in new.get("taints", [])]
                asked["taints"] = {"addOrUpdateTaints": new.get("taints", []), "removeTaints": removed}
            self.updated("UpdateNodegroupConfig", **group, **asked)

    def delete(self, id_: str, known: Values) -> None:
        group = _named(id_, "nodegroupName")
        if self.found("DeleteNodegroup", **group):
            self.await_status(lambda: self._group(group), {"DELETING"}, {"gone"})

    def _group(self, named: Mapping[str, str]) -> Any:
        answer = self.found("DescribeNodegroup", **named)
        return answer and answer["nodegroup"]


class Addon(EksResource):
    type = "aws:eks/addon:Addon"
    replaced_by = frozenset({"addonName", "clusterName"})
    local = frozenset({"preserve", "resolveConflictsOnUpdate"})
    parameter_of: ClassVar = {"arn": "addonArn", "resolveConflictsOnCreate": "resolveConflicts"}

    def create(self, given: Inputs) -> Iterator[str]:
        addon = {key: given[key] for key in ("clusterName", "addonName")}
        self.request("CreateAddon", given, tags=given["tagsAll"] or None)
        yield ":".join(addon.values())
        self.await_status(lambda: self._addon(addon), {"CREATING", "DEGRADED"}, {"ACTIVE"})

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        addon = self._addon(_named(id_, "addonName"))
        return self.state(addon, tagsAll=dict(addon["tags"])) if addon else None

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        given = {key: new.get(key) for key in changed}
        self.updated("UpdateAddon", **_named(id_, "addonName"), **given)

    def delete(self, id_: str, known: Values) -> None:
        addon = _named(id_, "addonName")
        if self.found("DeleteAddon", **addon, preserve=known.get("preserve")):
            self.await_status(lambda: self._addon(addon), {"DELETING"}, {"gone"})

    def _addon(self, named: Mapping[str, str]) -> Any:
        answer = self.found("DescribeAddon", **named)
        return answer and answer["addon"]


class AccessEntry(EksResource):
    type = "aws:eks/accessEntry:AccessEntry"
    arn = "accessEntryArn"
    replaced_by = frozenset({"clusterName", "principalArn", "type"})

    def create(self, given: Inputs) -> Iterator[str]:
        self.request("CreateAccessEntry", given, tags=given["tagsAll"] or None)
        yield f"{given['clusterName']}:{given['principalArn']}"

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        answer = self.found("DescribeAccessEntry", **_named(id_, "principalArn"))
        return answer and self.state(answer["accessEntry"], tagsAll=dict(answer["accessEntry"]["tags"]))

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        self.request("UpdateAccessEntry", new)

    def delete(self, id_: str, known: Values) -> None:
        self.found("DeleteAccessEntry", **_named(id_, "principalArn"))


class AccessPolicyAssociation(EksResource):
    type = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
    replaced_by = frozenset({"accessScope", "clusterName", "policyArn", "principalArn"})
    deleted_first = True  # as an attachment of a policy to a role

    def create(self, given: Inputs) -> Iterator[str]:
        self.request("AssociateAccessPolicy", given)
        yield "#".join(given[key] for key in ("clusterName", "principalArn", "policyArn"))

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        cluster, principal, policy = id_.split("#")
        answer = self.found("ListAssociatedAccessPolicies", clusterName=cluster, principalArn=principal)
        found = answer["associatedAccessPolicies"] if answer else []
        association = next((each for each in found if each["policyArn"] == policy), None)
        return association and self.state(association, clusterName=cluster, principalArn=principal)

    def delete(self, id_: str, known: Values) -> None:
        cluster, principal, policy = id_.split("#")
        which = {"clusterName": cluster, "principalArn": principal, "policyArn": policy}
        self.found("DisassociateAccessPolicy", **which)


class PodIdentityAssociation(EksResource):
    type = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
    arn = "associationArn"
    replaced_by = frozenset({"clusterName", "namespace", "serviceAccount"})

    def create(self, given: Inputs) -> Iterator[str]:
        created = self.request("CreatePodIdentityAssociation", given, tags=given["tagsAll"] or None)
        yield created["association"]["associationId"]

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        which = {"clusterName": known["clusterName"], "associationId": id_}
        answer = self.found("DescribePodIdentityAssociation", **which)
        return answer and self.state(answer["association"], tagsAll=dict(answer["association"]["tags"]))

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        self.request("UpdatePodIdentityAssociation", new, associationId=id_)

    def delete(self, id_: str, known: Values) -> None:
        which = {"clusterName": known["clusterName"], "associationId": id_}
        self.found("DeletePodIdentityAssociation", **which)


def _logging(types: list[str]) -> dict[str, Any]:
    off = [name for name in LOG_TYPES if name not in types]
    setups = [{"types": list(types), "enabled": True}, {"types": off, "enabled": False}]
    return {"clusterLogging": [setup for setup in setups if setup["types"]]}


def _named(id_: str, part: str) -> dict[str, str]:
    """The parameters for an id "cluster:part"."""
    cluster, _, name = id_.partition(":")
    return {"clusterName": cluster, part: name}
