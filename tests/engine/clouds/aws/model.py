"""Amazon's own model of its services, as botocore ships it: it judges requests and our own answers."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore.model import OperationModel, Shape
from botocore.validate import ParamValidator

from tests.engine.clouds.cloud import CloudError

READING = ("Describe", "Get", "List")


@cache
def session() -> botocore.session.Session:
    """Without the user's configuration, and with credentials that open nothing."""
    made = botocore.session.Session(session_vars={"config_file": (None, None, "/dev/null", None)})
    made.set_credentials("simulated", "simulated")
    return made


def operation(name: str) -> OperationModel:
    """Of "ec2:CreateVpc"."""
    service, _, action = name.partition(":")
    return session().get_service_model(service).operation_model(action)


def is_change(name: str) -> bool:
    return not name.partition(":")[2].startswith(READING)


def tokens(name: str) -> list[str]:
    """The parameters by which Amazon recognises a request that is sent again."""
    return operation(name).idempotent_members


def judge(name: str, parameters: Mapping[str, Any]) -> None:
    """Raise CloudError for what Amazon's model does not allow."""
    shape = operation(name).input_shape
    report = ParamValidator().validate(parameters, shape)
    problems = [report.generate_report()] if report.has_errors() else list(_violations(shape, parameters, ""))
    if problems:
        raise CloudError("ValidationException", f"{name}: {'; '.join(problems)}")


def _violations(shape: Shape, value: Any, path: str) -> Iterator[str]:
    """What botocore knows and does not check: enumerations, patterns, and the longest and largest."""
    match shape.type_name:
        case "structure":
            for name, each in value.items():
                yield from _violations(shape.members[name], each, f"{path}.{name}")
        case "list":
            for index, each in enumerate(value):
                yield from _violations(shape.member, each, f"{path}[{index}]")
        case "map":
            for key, each in value.items():
                yield from _violations(shape.value, each, f"{path}.{key}")
        case "string":
            yield from _violations_of_text(shape, value, path)
        case "integer" | "long" if value > shape.metadata.get("max", value):
            yield f"{path} is {value}, more than {shape.metadata['max']}"


def _violations_of_text(shape: Shape, value: str, path: str) -> Iterator[str]:
    allowed = shape.enum
    if allowed and value not in allowed:
        yield f"{path} is {value!r}, not one of {', '.join(allowed)}"
    if len(value) > shape.metadata.get("max", len(value)):
        yield f"{path} has {len(value)} characters, more than {shape.metadata['max']}"
    pattern = shape.metadata.get("pattern")
    if pattern and r"\p" not in pattern and not re.fullmatch(pattern, value, re.DOTALL):
        yield f"{path} is {value!r}, which does not match {pattern}"
