"""Security groups: a VPC's own, which is adopted, emptied and never deleted, and others.

Of a create whose answer was lost: the second is refused as a duplicate of its name.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from tests.engine.clouds.aws.table.base import Ec2Resource, mapped
from tests.engine.clouds.resource import Inputs, Values

EVERYTHING = "-1"  # as a protocol; then there are no ports
SIDES = {"ingress": "IpPermissions", "egress": "IpPermissionsEgress"}
SOURCES = {
    # a rule's list, Amazon's list, the key in it
    "cidrBlocks": ("IpRanges", "CidrIp"),
    "ipv6CidrBlocks": ("Ipv6Ranges", "CidrIpv6"),
    "prefixListIds": ("PrefixListIds", "PrefixListId"),
    "securityGroups": ("UserIdGroupPairs", "GroupId"),
}


class SecurityGroup(Ec2Resource):
    type = "aws:ec2/securityGroup:SecurityGroup"
    tagged_as = "security-group"
    named = "name"
    replaced_by = frozenset({"name", "namePrefix", "description", "vpcId"})
    local = frozenset({"revokeRulesOnDelete"})
    parameter_of: ClassVar = {"name": "groupName", "arn": "securityGroupArn"}

    def create(self, given: Inputs) -> Iterator[str]:
        description = given.get("description", "Managed by Pulumi")
        tags = self.tags(given)
        created = self.request("CreateSecurityGroup", given, Description=description, TagSpecifications=tags)
        sides = {side: given.get(side, []) for side in SIDES}
        yield created["GroupId"]
        self._replace_rules(created["GroupId"], sides)

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        if not (answer := self.found("DescribeSecurityGroups", GroupIds=[id_])):
            return None
        [group] = answer["SecurityGroups"]
        sides = {}
        for side, listed in SIDES.items():
            actual = [rule for permission in group[listed] for rule in _rules(permission, id_)]
            wanted = known.get(side, [])
            same = _set(actual) == _set([single for rule in wanted for single in _singles(rule)])
            sides[side] = wanted if same else actual
        return self.state(group, tagsAll=mapped(group["Tags"]), **sides)

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        self._replace_rules(id_, {side: new.get(side, []) for side in SIDES if side in changed})

    def delete(self, id_: str, known: Values) -> None:
        self.insist("DeleteSecurityGroup", "DependencyViolation", GroupId=id_)

    def _replace_rules(self, id_: str, sides: dict[str, list[Values]]) -> None:
        [group] = self.call("DescribeSecurityGroups", GroupIds=[id_])["SecurityGroups"]
        for side, rules in sides.items():
            name = side.capitalize()
            if there := group[SIDES[side]]:
                given = [{key: value for key, value in each.items() if value} for each in there]
                self.call(f"RevokeSecurityGroup{name}", GroupId=id_, IpPermissions=given)
            if rules:
                given = [_permission(rule, id_) for rule in rules]
                self.call(f"AuthorizeSecurityGroup{name}", GroupId=id_, IpPermissions=given)


class DefaultSecurityGroup(SecurityGroup):
    type = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
    named = ""
    replaced_by = frozenset({"vpcId"})
    without = frozenset({"namePrefix"})

    def create(self, given: Inputs) -> Iterator[str]:
        own = [{"Name": "vpc-id", "Values": [given["vpcId"]]}, {"Name": "group-name", "Values": ["default"]}]
        [group] = self.call("DescribeSecurityGroups", Filters=own)["SecurityGroups"]
        sides = {side: given.get(side, []) for side in SIDES}
        tags = given["tagsAll"]
        yield group["GroupId"]
        self.retag(group["GroupId"], {}, {"tagsAll": tags})
        self._replace_rules(group["GroupId"], sides)

    def delete(self, id_: str, known: Values) -> None:
        """It dies with its VPC."""


def _permission(rule: Values, own: str) -> dict[str, Any]:
    protocol = rule["protocol"]
    ports = {} if protocol == EVERYTHING else {"FromPort": rule["fromPort"], "ToPort": rule["toPort"]}
    groups = [*rule.get("securityGroups", []), *([own] if rule.get("self") else [])]
    described = {"Description": rule["description"]} if rule.get("description") else {}
    sources = {
        listed: [{key: source, **described} for source in given]
        for name, (listed, key) in SOURCES.items()
        if (given := groups if name == "securityGroups" else rule.get(name, []))
    }
    return {"IpProtocol": protocol, **ports, **sources}


def _rules(permission: Values, own: str) -> Iterator[dict[str, Any]]:
    """One rule for each source of a permission."""
    ports = {"fromPort": permission.get("FromPort", 0), "toPort": permission.get("ToPort", 0)}
    common = {"protocol": permission["IpProtocol"], **ports}
    for name, (listed, key) in SOURCES.items():
        for source in permission[listed]:
            described = {"description": source["Description"]} if source.get("Description") else {}
            itself = name == "securityGroups" and source[key] == own
            yield {**common, **described, **({"self": True} if itself else {name: [source[key]]})}


def _singles(rule: Values) -> Iterator[dict[str, Any]]:
    """A rule with many sources as rules with one each."""
    common = {key: rule[key] for key in ("protocol", "fromPort", "toPort", "description") if rule.get(key)}
    common = {"fromPort": 0, "toPort": 0, **common}
    for name in SOURCES:
        yield from ({**common, name: [source]} for source in rule.get(name, []))
    if rule.get("self"):
        yield {**common, "self": True}


def _set(rules: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(rule.items())) for rule in rules)
