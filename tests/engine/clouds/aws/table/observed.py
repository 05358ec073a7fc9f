"""Keys, logs, flow logs and launch templates.

Of a create whose answer was lost: a key leaks (a dollar a month); an alias, a log group and a flow log exist
already, so the second attempt and every later `up` are refused; a launch template has a token, and the second
answer is the first.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from tests.engine.clouds.aws import model
from tests.engine.clouds.aws.table.base import (
    AwsResource,
    Ec2Resource,
    from_amazon,
    listed,
    mapped,
    to_amazon,
)
from tests.engine.clouds.cloud import CloudError
from tests.engine.clouds.resource import Inputs, Values
from tests.engine.clouds.schema import outputs

KMS_TAG = ("TagKey", "TagValue")


class Key(AwsResource):
    type = "aws:kms/key:Key"
    service = "kms"
    replaced_by = frozenset({"customKeyStoreId", "customerMasterKeySpec", "keyUsage", "multiRegion"})
    local = frozenset({"deletionWindowInDays", "bypassPolicyLockoutSafetyCheck"})

    def create(self, given: Inputs) -> Iterator[str]:
        created = self.request("CreateKey", given, Tags=listed(given["tagsAll"], *KMS_TAG) or None)
        id_ = created["KeyMetadata"]["KeyId"]
        rotates, days = given.get("enableKeyRotation"), given.get("rotationPeriodInDays")
        yield id_
        if rotates:
            self.call("EnableKeyRotation", KeyId=id_, RotationPeriodInDays=days)

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        answer = self.found("DescribeKey", KeyId=id_)
        if not answer or answer["KeyMetadata"]["KeyState"] == "PendingDeletion":
            return None
        rotation = self.call("GetKeyRotationStatus", KeyId=id_)
        period = rotation.get("RotationPeriodInDays")  # which moto forgets
        days = {"rotationPeriodInDays": period} if period else {}
        return self.state(
            answer["KeyMetadata"],
            enableKeyRotation=rotation["KeyRotationEnabled"],
            policy=self.call("GetKeyPolicy", KeyId=id_, PolicyName="default")["Policy"],
            isEnabled=answer["KeyMetadata"]["Enabled"],
            tagsAll=mapped(self.call("ListResourceTags", KeyId=id_)["Tags"], *KMS_TAG),
            **days,
        )

    def update(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        if "policy" in changed:
            self.call("PutKeyPolicy", KeyId=id_, PolicyName="default", Policy=new["policy"])
        if "description" in changed:
            self.call("UpdateKeyDescription", KeyId=id_, Description=new.get("description", ""))
        if changed & {"enableKeyRotation", "rotationPeriodInDays"}:
            if new.get("enableKeyRotation"):
                self.call(
                    "EnableKeyRotation", KeyId=id_, RotationPeriodInDays=new.get("rotationPeriodInDays")
                )
            else:
                self.call("DisableKeyRotation", KeyId=id_)
        if changed & {"tags", "tagsAll"}:
            if gone := sorted(old["tagsAll"].keys() - new["tagsAll"].keys()):
                self.call("UntagResource", KeyId=id_, TagKeys=gone)
            self.call("TagResource", KeyId=id_, Tags=listed(new["tagsAll"], *KMS_TAG))

    def delete(self, id_: str, known: Values) -> None:
        """Amazon deletes a key after a week at the earliest."""
        if self.read(id_, known):
            self.call(
                "ScheduleKeyDeletion", KeyId=id_, PendingWindowInDays=known.get("deletionWindowInDays", 30)
            )


class Alias(AwsResource):
    type = "aws:kms/alias:Alias"
    service = "kms"
    named = "name"
    replaced_by = frozenset({"name", "namePrefix"})
    parameter_of: ClassVar = {"name": "aliasName", "arn": "aliasArn"}

    def create(self, given: Inputs) -> Iterator[str]:
        self.request("CreateAlias", given)
        yield given["name"]

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        alias = next((a for a in self.call("ListAliases")["Aliases"] if a["AliasName"] == id_), None)
        if not alias:
            return None
        key = self.provider.cloud.arn("kms", f"key/{alias['TargetKeyId']}")
        return self.state(alias, targetKeyArn=key)

    def update(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        self.call("UpdateAlias", AliasName=id_, TargetKeyId=new["targetKeyId"])

    def delete(self, id_: str, known: Values) -> None:
        self.found("DeleteAlias", AliasName=id_)


class LogGroup(AwsResource):
    type = "aws:cloudwatch/logGroup:LogGroup"
    service = "logs"
    named = "name"
    replaced_by = frozenset({"name", "namePrefix", "logGroupClass"})
    local = frozenset({"skipDestroy"})
    parameter_of: ClassVar = {"name": "logGroupName"}

    def create(self, given: Inputs) -> Iterator[str]:
        self.request("CreateLogGroup", given, tags=given["tagsAll"] or None)
        days = given.get("retentionInDays")
        yield given["name"]
        if days:
            self.call("PutRetentionPolicy", logGroupName=given["name"], retentionInDays=days)

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        found = self.call("DescribeLogGroups", logGroupNamePrefix=id_)["logGroups"]
        group = next((each for each in found if each["logGroupName"] == id_), None)
        if not group:
            return None
        arn = self.provider.cloud.arn("logs", f"log-group:{id_}")
        tags = self.call("ListTagsForResource", resourceArn=arn)["tags"]
        return self.state(group, arn=arn, tagsAll=tags)

    def update(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        if "retentionInDays" in changed:
            if days := new.get("retentionInDays"):
                self.call("PutRetentionPolicy", logGroupName=id_, retentionInDays=days)
            else:
                self.call("DeleteRetentionPolicy", logGroupName=id_)
        if "kmsKeyId" in changed:
            self.call("AssociateKmsKey", logGroupName=id_, kmsKeyId=new["kmsKeyId"])
        if changed & {"tags", "tagsAll"}:
            if gone := sorted(old["tagsAll"].keys() - new["tagsAll"].keys()):
                self.call("UntagResource", resourceArn=old["arn"], tagKeys=gone)
            self.call("TagResource", resourceArn=old["arn"], tags=new["tagsAll"])

    def delete(self, id_: str, known: Values) -> None:
        if not known.get("skipDestroy"):
            self.found("DeleteLogGroup", logGroupName=id_)


class FlowLog(Ec2Resource):
    type = "aws:ec2/flowLog:FlowLog"
    tagged_as = "vpc-flow-log"
    replaced_by = frozenset(
        {"iamRoleArn", "logDestination", "logDestinationType", "maxAggregationInterval"}
    ) | {
        "subnetId",
        "trafficType",
        "vpcId",
        "logFormat",
    }
    parameter_of: ClassVar = {"iamRoleArn": "deliverLogsPermissionArn"}

    def create(self, given: Inputs) -> Iterator[str]:
        kind, watched = ("VPC", "vpcId") if "vpcId" in given else ("Subnet", "subnetId")
        answer = self.request(
            "CreateFlowLogs",
            given,
            ResourceType=kind,
            ResourceIds=[given[watched]],
            TagSpecifications=self.tags(given),
        )
        for failure in answer["Unsuccessful"]:
            raise CloudError(failure["Error"]["Code"], failure["Error"]["Message"])
        yield answer["FlowLogIds"][0]

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        found = self.call("DescribeFlowLogs", FlowLogIds=[id_])["FlowLogs"]
        if not found:
            return None
        watched = {"vpcId" if "vpcId" in known else "subnetId": found[0]["ResourceId"]}
        return self.state(found[0], arn=self.arn(id_), tagsAll=mapped(found[0]["Tags"]), **watched)

    def delete(self, id_: str, known: Values) -> None:
        self.found("DeleteFlowLogs", FlowLogIds=[id_])


class LaunchTemplate(Ec2Resource):
    type = "aws:ec2/launchTemplate:LaunchTemplate"
    tagged_as = "launch-template"
    named = "name"
    replaced_by = frozenset({"name", "namePrefix"})
    local = frozenset({"updateDefaultVersion"})
    recomputed = frozenset({"latestVersion"})
    about = frozenset({"name", "description", "defaultVersion", "tags", "tagsAll", "region"})
    """Properties of the template; the others are of its versions."""

    def create(self, given: Inputs) -> Iterator[str]:
        created = self.call(
            "CreateLaunchTemplate",
            LaunchTemplateName=given["name"],
            VersionDescription=given.get("description"),
            LaunchTemplateData=self._data({key: given[key] for key in given}),
            TagSpecifications=self.tags(given),
        )
        yield created["LaunchTemplate"]["LaunchTemplateId"]

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        if not (answer := self.found("DescribeLaunchTemplates", LaunchTemplateIds=[id_])):
            return None
        [template] = answer["LaunchTemplates"]
        by_id = [{"Name": "resource-id", "Values": [id_]}]
        versions = self.call("DescribeLaunchTemplateVersions", LaunchTemplateId=id_, Versions=["$Latest"])
        data = versions["LaunchTemplateVersions"][0]["LaunchTemplateData"]
        has = outputs(self.type)
        by_name = {_singular(name): name for name in has}
        content = {
            by_name[key.lower()]: from_amazon(value, has[by_name[key.lower()]].type)
            for key, value in data.items()
            if by_name.get(key.lower()) in known
        }
        return {
            **{key: value for key, value in content.items() if key != "tagSpecifications"},
            "name": template["LaunchTemplateName"],
            "arn": self.arn(id_),
            "latestVersion": template["LatestVersionNumber"],
            "defaultVersion": template["DefaultVersionNumber"],
            # Not the template's own: moto keeps those of its creation.
            "tagsAll": mapped(self.call("DescribeTags", Filters=by_id)["Tags"]),
        }

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        if changed - self.about:
            created = self.call(
                "CreateLaunchTemplateVersion", LaunchTemplateId=id_, LaunchTemplateData=self._data(new)
            )
            latest = str(created["LaunchTemplateVersion"]["VersionNumber"])
            if new.get("updateDefaultVersion"):
                self.call("ModifyLaunchTemplate", LaunchTemplateId=id_, DefaultVersion=latest)

    def delete(self, id_: str, known: Values) -> None:
        self.found("DeleteLaunchTemplate", LaunchTemplateId=id_)

    def _data(self, given: Values) -> dict[str, Any]:
        shape = model.operation("ec2:CreateLaunchTemplate").input_shape.members["LaunchTemplateData"]
        members = {name.lower(): name for name in shape.members}
        data = {}
        for name, value in given.items():
            if name in self.about | self.local or name.startswith("__"):
                continue
            member = members[_singular(name)]
            tagged = name == "tagSpecifications"
            prepared = [{**each, "tags": listed(each["tags"])} for each in value] if tagged else value
            data[member] = to_amazon(prepared, shape.members[member])
        return data


def _singular(name: str) -> str:
    """Amazon's name, in small letters: Pulumi speaks of the VPC's security groups."""
    return (
        name.lower()
        .replace("vpcsecuritygroupids", "securitygroupids")
        .replace("securitygroupnames", "securitygroups")
    )
