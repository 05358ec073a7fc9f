"""Node groups: ACTIVE means that their nodes have joined the cluster, so what keeps them away matters."""

import uuid
from typing import Any

from tests.engine.clouds.aws import rules
from tests.engine.clouds.aws.eks.access import Access
from tests.engine.clouds.aws.eks.clusters import VERSIONS, Clusters
from tests.engine.clouds.cloud import CloudError

Values = dict[str, Any]
Key = tuple[str, str]
WORKER_POLICY = "AmazonEKSWorkerNodePolicy"
IMAGE_POLICIES = {"AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly"}
OLDEST_SKEW = 3  # minor versions that nodes may be behind their control plane


class Nodegroups:
    def __init__(self, clusters: Clusters, access: Access) -> None:
        self.clusters = clusters
        self.cloud = clusters.cloud
        self.access = access
        self.kept: dict[Key, Values] = {}
        self.addons: dict[Key, Values] = {}  # of `Addons`: nodes need a network
        clusters.tagged.append(self.kept)
        clusters.in_use = self.of

    def of(self, cluster: str) -> list[Values]:
        return [group for (name, _), group in self.kept.items() if name == cluster]

    def create_nodegroup(self, asked: Values) -> Values:
        key = asked["clusterName"], asked["nodegroupName"]
        cluster = self.clusters.find(key[0], active=True)
        if key in self.kept:
            raise CloudError("ResourceInUseException", f"NodeGroup already exists with name {key[1]}")
        rules.require_role(self.cloud, asked["nodeRole"], "ec2.amazonaws.com")
        self._require_subnets(cluster, asked["subnets"])
        template = self._template(asked["launchTemplate"]) if "launchTemplate" in asked else None
        if template and "diskSize" in asked:
            raise CloudError(
                "InvalidParameterException", "Disk size must be specified within the launch template."
            )
        version = asked.get("version", cluster["version"])
        self._require_version(cluster, version)
        asked.pop("clientRequestToken", None)
        moment = self.cloud.now()
        id_ = str(uuid.uuid4())
        self.kept[key] = group = {
            "capacityType": "ON_DEMAND",
            "amiType": "AL2023_x86_64_STANDARD",
            "labels": {},
            "taints": [],
            "tags": {},
            "scalingConfig": {"minSize": 1, "maxSize": 2, "desiredSize": 2},
            "updateConfig": {"maxUnavailable": 1},
            **({} if template else {"diskSize": 20, "instanceTypes": ["t3.medium"]}),
            **asked,
            **({"launchTemplate": template} if template else {}),
            "nodegroupArn": self.cloud.arn("eks", f"nodegroup/{key[0]}/{key[1]}/{id_}"),
            "version": version,
            "releaseVersion": asked.get("releaseVersion", f"{version}.0-20260101"),
            "createdAt": moment,
            "modifiedAt": moment,
            "status": "CREATING",
            "resources": {"autoScalingGroups": [{"name": f"eks-{key[1]}-{id_}"}]},
            "health": {"issues": []},
        }
        if (key[0], asked["nodeRole"]) not in self.access.entries:
            self.access.add(key[0], asked["nodeRole"], "EC2_LINUX")
        self.cloud.later(lambda: self._start(cluster, group))
        return {"nodegroup": dict(group)}

    def describe_nodegroup(self, asked: Values) -> Values:
        return {"nodegroup": dict(self._group(asked))}

    def list_nodegroups(self, asked: Values) -> Values:
        return {"nodegroups": [group["nodegroupName"] for group in self.of(asked["clusterName"])]}

    def update_nodegroup_config(self, asked: Values) -> Values:
        group = self._group(asked, active=True)

        def change() -> None:
            for key in ("scalingConfig", "updateConfig", "nodeRepairConfig"):
                if key in asked:
                    group[key] = {**group.get(key, {}), **asked[key]}
            labels, taints = asked.get("labels", {}), asked.get("taints", {})
            removed = labels.get("removeLabels", [])
            kept = {key: value for key, value in group["labels"].items() if key not in removed}
            group["labels"] = {**kept, **labels.get("addOrUpdateLabels", {})}
            moved = [
                _identity(t) for part in ("addOrUpdateTaints", "removeTaints") for t in taints.get(part, [])
            ]
            group["taints"] = [taint for taint in group["taints"] if _identity(taint) not in moved]
            group["taints"] += taints.get("addOrUpdateTaints", [])
            self._show_nodes(group)

        return self.clusters.update(group, "ConfigUpdate", change)

    def update_nodegroup_version(self, asked: Values) -> Values:
        group = self._group(asked, active=True)
        cluster = self.clusters.find(asked["clusterName"])
        changes: Values = {}
        if "launchTemplate" in asked:
            changes["launchTemplate"] = self._template(asked["launchTemplate"])
        version = asked.get("version", cluster["version"])
        self._require_version(cluster, version)
        changes |= {
            "version": version,
            "releaseVersion": asked.get("releaseVersion", f"{version}.0-20260101"),
        }
        return self.clusters.update(group, "VersionUpdate", lambda: group.update(changes))

    def delete_nodegroup(self, asked: Values) -> Values:
        group = self._group(asked)
        group["status"] = "DELETING"

        def end() -> None:
            del self.kept[group["clusterName"], group["nodegroupName"]]
            self._show_nodes({**group, "scalingConfig": {"desiredSize": 0}})

        self.cloud.later(end)
        return {"nodegroup": dict(group)}

    def _group(self, asked: Values, *, active: bool = False) -> Values:
        key = asked["clusterName"], asked["nodegroupName"]
        if key not in self.kept:
            raise CloudError("ResourceNotFoundException", f"No node group found for name: {key[1]}.")
        group = self.kept[key]
        if active and group["status"] != "ACTIVE":
            raise CloudError("ResourceInUseException", f"Nodegroup {key[1]} is {group['status']}, not ACTIVE")
        return group

    def _template(self, asked: Values) -> Values:
        """The launch template as EKS names it in answers, with the version meant."""
        by = {"LaunchTemplateId": asked["id"]} if "id" in asked else {"LaunchTemplateName": asked["name"]}
        version = asked.get("version", "$Default")
        found = self.cloud.ask("ec2:DescribeLaunchTemplateVersions", Versions=[version], **by)
        [template] = found["LaunchTemplateVersions"]
        names = {"id": template["LaunchTemplateId"], "name": template["LaunchTemplateName"]}
        return {**names, "version": str(template["VersionNumber"])}

    def _require_subnets(self, cluster: Values, subnets: list[str]) -> None:
        found = self.cloud.ask("ec2:DescribeSubnets", SubnetIds=subnets)["Subnets"]
        if {subnet["VpcId"] for subnet in found} != {cluster["resourcesVpcConfig"]["vpcId"]}:
            message = "Subnets are not in the VPC of the cluster"
            raise CloudError("InvalidParameterException", message)

    def _require_version(self, cluster: Values, version: str) -> None:
        behind = VERSIONS.index(cluster["version"]) - (VERSIONS.index(version) if version in VERSIONS else 99)
        if not 0 <= behind <= OLDEST_SKEW:
            message = f"Nodegroup version {version} does not fit the cluster's {cluster['version']}"
            raise CloudError("InvalidParameterException", message)

    def _start(self, cluster: Values, group: Values) -> None:
        if issue := self._what_keeps_nodes_away(cluster, group):
            kept_away = {"code": issue[0], "message": issue[1], "resourceIds": []}
            group.update(status="CREATE_FAILED", health={"issues": [kept_away]})
            return
        group["status"] = "ACTIVE"
        self._show_nodes(group)

    def _what_keeps_nodes_away(self, cluster: Values, group: Values) -> tuple[str, str] | None:
        policies = rules.attached_policies(self.cloud, group["nodeRole"])
        if WORKER_POLICY not in policies or not policies & IMAGE_POLICIES:
            return "AccessDenied", "The node role lacks policies, so instances can't join the cluster"
        if closed := [subnet for subnet in group["subnets"] if not self._leads_out(subnet)]:
            return (
                "NodeCreationFailure",
                f"Instances failed to join: no route leads out of {', '.join(closed)}",
            )
        name = cluster["name"]
        if name not in self.clusters.self_managed and (name, "vpc-cni") not in self.addons:
            return "NodeCreationFailure", "Unhealthy nodes in the kubernetes cluster: there is no CNI"
        return None

    def _leads_out(self, subnet: str) -> bool:
        by_subnet = [{"Name": "association.subnet-id", "Values": [subnet]}]
        tables = self.cloud.ask("ec2:DescribeRouteTables", Filters=by_subnet)["RouteTables"]
        return any(
            route.get("DestinationCidrBlock") == "0.0.0.0/0" and route["State"] == "active"
            for table in tables
            for route in table["Routes"]
        )

    def _show_nodes(self, group: Values) -> None:
        """Have the API server list as many nodes as the group has."""
        if self.clusters.kubernetes:
            count = group["scalingConfig"]["desiredSize"]
            self.clusters.kubernetes.scale(group["nodegroupName"], count, group["labels"], group["taints"])


def _identity(taint: Values) -> tuple[str, str]:
    return taint["key"], taint["effect"]
