"""Clusters, and the updates of everything in them."""

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.engine.clouds.aws import rules
from tests.engine.clouds.cloud import CloudError

if TYPE_CHECKING:
    from tests.engine.clouds.aws.cloud import AwsCloud
    from tests.engine.clouds.aws.kubernetes import Kubernetes

Values = dict[str, Any]
VERSIONS = [f"1.{minor}" for minor in range(30, 37)]  # that EKS offers, oldest first
DEFAULT_VERSION = VERSIONS[-2]
POLICY = "AmazonEKSClusterPolicy"
MODES = ["CONFIG_MAP", "API_AND_CONFIG_MAP", "API"]  # an authentication mode only moves on
NETWORK = {
    "endpointPublicAccess": True,
    "endpointPrivateAccess": False,
    "securityGroupIds": [],
    "publicAccessCidrs": ["0.0.0.0/0"],
}
# What Amazon calls an update, by the first parameter that has it.
UPDATE_TYPES = {
    "resourcesVpcConfig": "EndpointAccessUpdate",
    "logging": "LoggingUpdate",
    "accessConfig": "AccessConfigUpdate",
    "upgradePolicy": "UpgradePolicyUpdate",
    "zonalShiftConfig": "ZonalShiftConfigUpdate",
    "deletionProtection": "DeletionProtectionUpdate",
}


class Clusters:
    def __init__(self, cloud: "AwsCloud", kubernetes: "Kubernetes | None") -> None:
        self.cloud = cloud
        self.kubernetes = kubernetes
        self.kept: dict[str, Values] = {}
        self.self_managed: set[str] = set()  # clusters that got Amazon's add-ons as plain objects
        self.on_start: list[Callable[[Values], None]] = []
        self.in_use: Callable[[str], object] = lambda name: False
        self.on_end: list[Callable[[str], None]] = []
        self._interfaces: dict[str, list[str]] = {}
        self._updates: dict[str, Values] = {}
        self.tagged: list[dict[Any, Values]] = [self.kept]  # all that has tags, in clusters too

    def find(self, name: str, *, active: bool = False) -> Values:
        if name not in self.kept:
            raise CloudError("ResourceNotFoundException", f"No cluster found for name: {name}.")
        cluster = self.kept[name]
        if active and cluster["status"] != "ACTIVE":
            raise CloudError("ResourceInUseException", f"Cluster {name} is {cluster['status']}, not ACTIVE")
        return cluster

    def create_cluster(self, asked: Values) -> Values:
        name = asked["name"]
        if name in self.kept:
            raise CloudError("ResourceInUseException", f"Cluster already exists with name: {name}")
        network = {**NETWORK, **asked["resourcesVpcConfig"]}
        vpc = self._vpc(network)
        rules.require_role(self.cloud, asked["roleArn"], "eks.amazonaws.com")
        for encryption in asked.get("encryptionConfig", []):
            rules.require_key(self.cloud, encryption["provider"]["keyArn"], "InvalidParameterException")
        version = asked.get("version", DEFAULT_VERSION)
        if version not in VERSIONS:
            raise CloudError("InvalidParameterException", f"unsupported Kubernetes version {version}")
        if asked.pop("bootstrapSelfManagedAddons", True):
            self.self_managed.add(name)
        access = {"bootstrapClusterCreatorAdminPermissions": True, **asked.get("accessConfig", {})}
        issuer = f"{self.cloud.issuer_host}/id/{uuid.uuid4().hex.upper()}"
        self.kept[name] = cluster = {
            "deletionProtection": False,
            "tags": {},
            **asked,
            "arn": self.cloud.arn("eks", f"cluster/{name}"),
            "createdAt": self.cloud.now(),
            "version": version,
            "platformVersion": "eks.1",
            "status": "CREATING",
            "resourcesVpcConfig": {**network, "vpcId": vpc},
            "accessConfig": {"authenticationMode": MODES[0], **access},
            "kubernetesNetworkConfig": {
                "ipFamily": "ipv4",
                "serviceIpv4Cidr": "172.20.0.0/16",
                "elasticLoadBalancing": {"enabled": False},
                **asked.get("kubernetesNetworkConfig", {}),
            },
            "upgradePolicy": {"supportType": "EXTENDED", **asked.get("upgradePolicy", {})},
            "identity": {"oidc": {"issuer": f"https://{issuer}"}},
        }
        for follow in self.on_start:
            follow(cluster)
        self.cloud.later(lambda: self._start(cluster))
        return {"cluster": dict(cluster)}

    def describe_cluster(self, asked: Values) -> Values:
        return {"cluster": dict(self.find(asked["name"]))}

    def update_cluster_config(self, asked: Values) -> Values:
        cluster = self.find(asked.pop("name"), active=True)
        asked.pop("clientRequestToken", None)
        mode = asked.get("accessConfig", {}).get("authenticationMode")
        if mode and MODES.index(mode) < MODES.index(cluster["accessConfig"]["authenticationMode"]):
            raise CloudError("InvalidParameterException", f"Unsupported authentication mode update to {mode}")

        def change() -> None:
            for key, value in asked.items():
                merged = isinstance(value, dict) and key != "logging"
                cluster[key] = {**cluster.get(key, {}), **value} if merged else value
            self.log(cluster)

        kind = next(kind for parameter, kind in UPDATE_TYPES.items() if parameter in asked)
        return self.update(cluster, kind, change)

    def update_cluster_version(self, asked: Values) -> Values:
        cluster = self.find(asked["name"], active=True)
        position = VERSIONS.index(cluster["version"])
        if asked["version"] not in VERSIONS[position : position + 2]:
            message = (
                f"Unsupported Kubernetes minor version update from {cluster['version']} to {asked['version']}"
            )
            raise CloudError("InvalidParameterException", message)
        return self.update(cluster, "VersionUpdate", lambda: cluster.update(version=asked["version"]))

    def describe_update(self, asked: Values) -> Values:
        return {"update": dict(self._updates[asked["updateId"]])}

    def delete_cluster(self, asked: Values) -> Values:
        cluster = self.find(asked["name"])
        if self.in_use(cluster["name"]):
            raise CloudError("ResourceInUseException", "Cluster has nodegroups attached")
        if cluster["deletionProtection"]:
            raise CloudError("InvalidRequestException", "Cluster has deletionProtection enabled")
        cluster["status"] = "DELETING"
        self.cloud.later(lambda: self._end(cluster))
        return {"cluster": dict(cluster)}

    def tag_resource(self, asked: Values) -> Values:
        self._tagged(asked["resourceArn"])["tags"].update(asked["tags"])
        return {}

    def untag_resource(self, asked: Values) -> Values:
        tags = self._tagged(asked["resourceArn"])["tags"]
        for key in asked["tagKeys"]:
            tags.pop(key, None)
        return {}

    def update(self, changed: Values, kind: str, change: Callable[[], None]) -> Values:
        """Start an update of a cluster or of something in it, which has a status of its own."""
        started = {"id": str(uuid.uuid4()), "status": "InProgress", "type": kind, "params": [], "errors": []}
        self._updates[started["id"]] = started
        changed["status"] = "UPDATING"

        def end() -> None:
            change()
            changed["status"] = "ACTIVE"
            started["status"] = "Successful"

        self.cloud.later(end)
        return {"update": dict(started)}

    def log(self, cluster: Values) -> None:
        """Amazon makes the log group of a cluster that logs, whenever there is none."""
        setups = cluster.get("logging", {}).get("clusterLogging", [])
        name = log_group(cluster["name"])
        groups = self.cloud.ask("logs:DescribeLogGroups", logGroupNamePrefix=name)["logGroups"]
        if any(setup["enabled"] and setup["types"] for setup in setups) and not groups:
            self.cloud.ask("logs:CreateLogGroup", logGroupName=name)

    def _vpc(self, network: Values) -> str:
        subnets = self.cloud.ask("ec2:DescribeSubnets", SubnetIds=network["subnetIds"])["Subnets"]
        if len({subnet["AvailabilityZone"] for subnet in subnets}) < 2:
            message = "Subnets specified must be in at least two different AZs"
            raise CloudError("InvalidParameterException", message)
        groups = network["securityGroupIds"]
        found = (
            self.cloud.ask("ec2:DescribeSecurityGroups", GroupIds=groups)["SecurityGroups"] if groups else []
        )
        vpcs = {each["VpcId"] for each in (*subnets, *found)}
        if len(vpcs) > 1:
            message = "Subnets and security groups must be in the same VPC"
            raise CloudError("InvalidParameterException", message)
        return vpcs.pop()

    def _start(self, cluster: Values) -> None:
        name = cluster["name"]
        if POLICY not in rules.attached_policies(self.cloud, cluster["roleArn"]):
            issue = {"code": "AccessDenied", "message": f"The role lacks {POLICY}", "resourceIds": [name]}
            cluster.update(status="FAILED", health={"issues": [issue]})
            return
        network = cluster["resourcesVpcConfig"]
        group = self.cloud.ask(
            "ec2:CreateSecurityGroup",
            GroupName=f"eks-cluster-sg-{name}-{uuid.uuid4().int % 10**9}",
            Description="EKS created security group applied to ENIs of the control plane",
            VpcId=network["vpcId"],
        )["GroupId"]
        network["clusterSecurityGroupId"] = group
        self._interfaces[name] = [
            self.cloud.ask("ec2:CreateNetworkInterface", SubnetId=subnet, Groups=[group])["NetworkInterface"][
                "NetworkInterfaceId"
            ]
            for subnet in network["subnetIds"][:2]
        ]
        endpoint = self.kubernetes.endpoint if self.kubernetes else f"https://{name}.invalid"
        authority = self.kubernetes.certificate_authority if self.kubernetes else "bm9uZQ=="
        cluster.update(endpoint=endpoint, certificateAuthority={"data": authority}, status="ACTIVE")
        self.log(cluster)

    def _end(self, cluster: Values) -> None:
        """Without the right to, EKS leaves its network interfaces and its security group behind."""
        name = cluster["name"]
        if POLICY in rules.attached_policies(self.cloud, cluster["roleArn"]):
            for interface in self._interfaces.pop(name, []):
                self.cloud.ask("ec2:DeleteNetworkInterface", NetworkInterfaceId=interface)
            if group := cluster["resourcesVpcConfig"].get("clusterSecurityGroupId"):
                self.cloud.ask("ec2:DeleteSecurityGroup", GroupId=group)
        for follow in self.on_end:
            follow(name)
        if self.kubernetes and cluster.get("endpoint"):
            self.kubernetes.wipe()
        self.self_managed.discard(name)
        del self.kept[name]

    def _tagged(self, arn: str) -> Values:
        return next(each for kept in self.tagged for each in kept.values() if arn in each.values())


def log_group(cluster: str) -> str:
    return f"/aws/eks/{cluster}/cluster"
