"""Roles and what they may do, and identity providers.

Of a create whose answer was lost: the second attempt, and every later `up`, finds that a role or a provider
exists already; attaching a policy twice is no error.
"""

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from tests.engine.clouds.aws.table.base import AwsResource, listed, mapped
from tests.engine.clouds.resource import Inputs, Values


class Role(AwsResource):
    type = "aws:iam/role:Role"
    service = "iam"
    named = "name"
    replaced_by = frozenset({"name", "namePrefix", "path"})
    local = frozenset({"forceDetachPolicies"})
    parameter_of: ClassVar = {
        "name": "roleName",
        "assumeRolePolicy": "assumeRolePolicyDocument",
        "uniqueId": "roleId",
    }

    def create(self, given: Inputs) -> Iterator[str]:
        name = given["name"]
        self.request("CreateRole", _with_text(given), Tags=listed(given["tagsAll"]) or None)
        trust, inline = given["assumeRolePolicy"], given.get("inlinePolicies", [])
        assert trust
        yield name
        for policy in inline:
            self.call(
                "PutRolePolicy", RoleName=name, PolicyName=policy["name"], PolicyDocument=policy["policy"]
            )

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        if not (answer := self.found("GetRole", RoleName=id_)):
            return None
        role = answer["Role"]
        inline = [
            self._inline(id_, name) for name in self.call("ListRolePolicies", RoleName=id_)["PolicyNames"]
        ]
        return self.state(
            role,
            assumeRolePolicy=json.dumps(role["AssumeRolePolicyDocument"]),
            tagsAll=mapped(role.get("Tags")),
            **({"inlinePolicies": inline} if "inlinePolicies" in known else {}),
        )

    def update(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        if "assumeRolePolicy" in changed:
            document = _with_text(new)["assumeRolePolicy"]
            self.call("UpdateAssumeRolePolicy", RoleName=id_, PolicyDocument=document)
        if changed & {"description", "maxSessionDuration"}:
            self.request("UpdateRole", {key: new[key] for key in changed | {"name"} if key in new})
        if "inlinePolicies" in changed:
            wanted = {policy["name"]: policy["policy"] for policy in new.get("inlinePolicies", [])}
            for name in {policy["name"] for policy in old.get("inlinePolicies", [])} - wanted.keys():
                self.call("DeleteRolePolicy", RoleName=id_, PolicyName=name)
            for name, policy in wanted.items():
                self.call("PutRolePolicy", RoleName=id_, PolicyName=name, PolicyDocument=policy)
        if changed & {"tags", "tagsAll"}:
            if gone := sorted(old["tagsAll"].keys() - new["tagsAll"].keys()):
                self.call("UntagRole", RoleName=id_, TagKeys=gone)
            self.call("TagRole", RoleName=id_, Tags=listed(new["tagsAll"]))

    def delete(self, id_: str, known: Values) -> None:
        """Without its attachments it can be deleted; only the inline policies are its own."""
        if not self.found("GetRole", RoleName=id_):
            return
        if known.get("forceDetachPolicies"):
            for policy in self.call("ListAttachedRolePolicies", RoleName=id_)["AttachedPolicies"]:
                self.call("DetachRolePolicy", RoleName=id_, PolicyArn=policy["PolicyArn"])
        if known.get("forceDetachPolicies") or known.get("inlinePolicies"):
            for name in self.call("ListRolePolicies", RoleName=id_)["PolicyNames"]:
                self.call("DeleteRolePolicy", RoleName=id_, PolicyName=name)
        self.insist("DeleteRole", "DeleteConflict", RoleName=id_)

    def _inline(self, role: str, name: str) -> dict[str, str]:
        document = self.call("GetRolePolicy", RoleName=role, PolicyName=name)["PolicyDocument"]
        return {"name": name, "policy": json.dumps(document)}


class RolePolicyAttachment(AwsResource):
    type = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
    service = "iam"
    replaced_by = frozenset({"role", "policyArn"})
    deleted_first = True  # made first, it would be the same attachment, and be gone after

    def create(self, given: Inputs) -> Iterator[str]:
        self.call("AttachRolePolicy", RoleName=given["role"], PolicyArn=given["policyArn"])
        yield f"{given['role']}/{given['policyArn']}"

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        role, _, policy = id_.partition("/")
        answer = self.found("ListAttachedRolePolicies", RoleName=role)
        attached = [each["PolicyArn"] for each in answer["AttachedPolicies"]] if answer else []
        return {"role": role, "policyArn": policy} if policy in attached else None

    def delete(self, id_: str, known: Values) -> None:
        self.found("DetachRolePolicy", RoleName=known["role"], PolicyArn=known["policyArn"])


class OpenIdConnectProvider(AwsResource):
    type = "aws:iam/openIdConnectProvider:OpenIdConnectProvider"
    service = "iam"
    replaced_by = frozenset({"url"})

    def as_given(self, name: str, given: Any, actual: Any) -> Any:
        return (
            given if name == "url" and given == f"https://{actual}" else super().as_given(name, given, actual)
        )

    def create(self, given: Inputs) -> Iterator[str]:
        created = self.call(
            "CreateOpenIDConnectProvider",
            Url=given["url"],
            ClientIDList=given["clientIdLists"],
            ThumbprintList=given.get("thumbprintLists"),
            Tags=listed(given["tagsAll"]) or None,
        )
        yield created["OpenIDConnectProviderArn"]

    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        answer = self.found("GetOpenIDConnectProvider", OpenIDConnectProviderArn=id_)
        if not answer:
            return None
        return {
            "arn": id_,
            "url": answer["Url"].removeprefix("https://"),
            "clientIdLists": answer["ClientIDList"],
            "thumbprintLists": answer["ThumbprintList"],
            "tagsAll": mapped(answer.get("Tags")),
        }

    def update(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        which = {"OpenIDConnectProviderArn": id_}
        if "thumbprintLists" in changed:
            self.call("UpdateOpenIDConnectProviderThumbprint", **which, ThumbprintList=new["thumbprintLists"])
        if "clientIdLists" in changed:
            for client in set(new["clientIdLists"]) - set(old["clientIdLists"]):
                self.call("AddClientIDToOpenIDConnectProvider", **which, ClientID=client)
            for client in set(old["clientIdLists"]) - set(new["clientIdLists"]):
                self.call("RemoveClientIDFromOpenIDConnectProvider", **which, ClientID=client)
        if changed & {"tags", "tagsAll"}:
            if gone := sorted(old["tagsAll"].keys() - new["tagsAll"].keys()):
                self.call("UntagOpenIDConnectProvider", **which, TagKeys=gone)
            self.call("TagOpenIDConnectProvider", **which, Tags=listed(new["tagsAll"]))

    def delete(self, id_: str, known: Values) -> None:
        self.found("DeleteOpenIDConnectProvider", OpenIDConnectProviderArn=id_)


def _with_text(given: Values) -> Values:
    """A trust policy that the program gave as an object, as the text that Amazon takes."""
    trust = given["assumeRolePolicy"]
    return given if isinstance(trust, str) else {**dict(given.items()), "assumeRolePolicy": json.dumps(trust)}
