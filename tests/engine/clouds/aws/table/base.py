"""What Amazon's types have in common: one service, parameters named like properties, and tags."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from botocore.model import Shape
from pulumi import _types

from tests.engine.clouds import schema
from tests.engine.clouds.aws import model
from tests.engine.clouds.cloud import CloudError
from tests.engine.clouds.provider import TimedOut
from tests.engine.clouds.resource import Resource, Values

if TYPE_CHECKING:
    from tests.engine.clouds.aws.provider import AwsProvider

GONE = re.compile(r"NotFound|NoSuchEntity|\.NotFound")
TAGS = {"tags", "tagSpecifications"}  # as parameters: set apart from the properties


class AwsResource(Resource):
    service: ClassVar[str]
    parameter_of: ClassVar[Mapping[str, str]] = {}
    """Where Amazon's name is not the property's with or without a capital: {"roleArn": "nodeRole"}."""
    provider: "AwsProvider"

    def call(self, operation: str, **parameters: Any) -> Any:
        """Ask Amazon; parameters that are None are not given."""
        given = {key: value for key, value in parameters.items() if value is not None}
        name = operation if ":" in operation else f"{self.service}:{operation}"
        return self.provider.call(name, given)

    def request(self, operation: str, given: Values, **more: Any) -> Any:
        """Ask Amazon with all properties that the operation has parameters for."""
        names = {self.parameter_of.get(name, name).lower(): name for name in schema.inputs(self.type)}
        found = {}
        for parameter, shape in model.operation(f"{self.service}:{operation}").input_shape.members.items():
            name = names.get(parameter.lower())
            if parameter not in more and name and name not in TAGS and name in given:
                found[parameter] = to_amazon(given[name], shape)
        return self.call(operation, **found, **more)

    def state(self, answer: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """The outputs, from those parts of an answer that have a property's name."""
        by_name = {
            key.lower(): value for key, value in answer.items() if key.lower() not in {"tags", "tagset"}
        }
        found = {}
        for name, field in schema.outputs(self.type).items():
            value = by_name.get(self.parameter_of.get(name, name).lower())
            if name not in more and value is not None:
                found[name] = from_amazon(value, field.type)
        return {**found, **more}

    def found(self, operation: str, **parameters: Any) -> Any:
        """The answer, or None if there is no such thing."""
        try:
            return self.call(operation, **parameters)
        except CloudError as error:
            if GONE.search(error.code):
                return None
            raise

    def insist(self, operation: str, *codes: str, **parameters: Any) -> None:
        """Delete or detach something, again and again while Amazon answers with one of the codes."""
        obstacles: list[CloudError] = []

        def is_done() -> bool:
            try:
                self.found(operation, **parameters)
            except CloudError as error:
                if error.code not in codes:
                    raise
                obstacles.append(error)
                return False
            return True

        try:
            self.provider.wait(is_done, operation)
        except TimedOut:
            raise obstacles[-1] from None

    def await_status(self, read: Any, pending: set[str], target: set[str], key: str = "status") -> None:
        """Wait until what `read` returns has a status; gone is a status too."""

        def is_done() -> bool:
            thing = read()
            status = thing[key] if thing else "gone"
            if status not in pending | target:
                issues = (thing or {}).get("health", {}).get("issues", [])
                said = "; ".join(f"{issue['code']}: {issue['message']}" for issue in issues)
                wanted = "/".join(sorted(target))
                raise CloudError("UnexpectedState", f"unexpected state '{status}', wanted '{wanted}'. {said}")
            return status in target

        self.provider.wait(is_done, f"state to become {'/'.join(sorted(target))}")


class Ec2Resource(AwsResource):
    service = "ec2"
    tagged_as: ClassVar[str] = ""
    """The kind of thing, in a tag specification."""

    def tags(self, given: Values) -> list[dict[str, Any]] | None:
        tags = listed(given["tagsAll"])
        return [{"ResourceType": self.tagged_as, "Tags": tags}] if tags else None

    def retag(self, id_: str, old: Values, new: Values) -> None:
        gone = sorted(old.get("tagsAll", {}).keys() - new["tagsAll"].keys())
        if gone:
            self.call("DeleteTags", Resources=[id_], Tags=[{"Key": key} for key in gone])
        if new["tagsAll"]:
            self.call("CreateTags", Resources=[id_], Tags=listed(new["tagsAll"]))

    def arn(self, id_: str) -> str:
        return self.provider.cloud.arn("ec2", f"{self.tagged_as}/{id_}")

    def update(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        if changed & {"tags", "tagsAll"}:
            self.retag(id_, old, new)
        if rest := changed - {"tags", "tagsAll"}:
            self.change(id_, old, new, rest)

    def change(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        """Change what is not a tag."""
        raise NotImplementedError(f"{self.type}: can't change {', '.join(sorted(changed))}")


def listed(tags: Mapping[str, str], key: str = "Key", value: str = "Value") -> list[dict[str, str]]:
    return [{key: name, value: text} for name, text in tags.items()]


def mapped(tags: list[Mapping[str, str]] | None, key: str = "Key", value: str = "Value") -> dict[str, str]:
    return {tag[key]: tag[value] for tag in tags or [] if not tag[key].startswith("aws:")}


def to_amazon(value: Any, shape: Shape) -> Any:
    """A property as a parameter: names by Amazon's model, and truth that Pulumi has as text."""
    match shape.type_name:
        case "structure":
            members = {name.lower(): name for name in shape.members}
            named = {members[key.lower()]: each for key, each in value.items()}
            return {name: to_amazon(each, shape.members[name]) for name, each in named.items()}
        case "list":
            return [to_amazon(each, shape.member) for each in value]
        case "boolean" if isinstance(value, str):
            return value == "true"
        case _:
            return value


def from_amazon(value: Any, declared: Any) -> Any:
    """A part of an answer as a property of the type that the SDK declares."""
    expected = _types.unwrap_type(declared)
    if _types.is_output_type(expected) and isinstance(value, dict):
        by_name = {key.lower(): each for key, each in value.items()}
        return {
            name: from_amazon(by_name[name.lower()], field.type)
            for name, field in schema.fields(expected).items()
            if name.lower() in by_name
        }
    if isinstance(value, list):
        return [from_amazon(each, getattr(expected, "__args__", (Any,))[0]) for each in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if expected is str and isinstance(value, bool):
        return str(value).lower()
    return value
