"""What a resource type takes and has, from the metadata that its SDK carries for its own use.

Names are those on the wire. SDKs translate the names of properties they know and leave others as they are,
so a property that no Args class has arrives here under the name the program gave it.
"""

import importlib
import inspect
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin

from pulumi import _types

from tests.engine.clouds.wire import UNKNOWN, alike

INTERNAL = {"__defaults"}  # the provider's own notes among the inputs


class Field(NamedTuple):
    type: Any
    required: bool


class Failure(NamedTuple):
    path: str  # "vpcConfig.subnetIds[0]"
    reason: str


def resource_class(token: str) -> type:
    """The class for "aws:ec2/vpc:Vpc"."""
    package, module, name = token.split(":")
    folder = module.split("/")[0]
    parent = f"pulumi_{package.replace('-', '_')}"
    return getattr(importlib.import_module(parent if folder == "index" else f"{parent}.{folder}"), name)


@cache
def inputs(token: str) -> dict[str, Field]:
    """What the type takes."""
    return fields(args_class(resource_class(token)))


@cache
def outputs(token: str) -> dict[str, Field]:
    """What the type has once it exists."""
    hints = _types._raw_return_hints(resource_class(token))
    inner = {name: get_args(hint)[0] for name, hint in hints.items() if name not in {"id", "urn"}}
    return {name: Field(hint, not _types._is_optional_type(hint)) for name, hint in inner.items()}


def args_class(resource: type) -> type:
    module = importlib.import_module(resource.__module__)
    return getattr(module, f"{resource.__name__}Args")


@cache
def fields(cls: type) -> dict[str, Field]:
    """The fields of an input or output class of an SDK."""
    parameters = inspect.signature(cls.__init__).parameters
    return {
        name: Field(hint, parameters[python_name].default is inspect.Parameter.empty)
        for python_name, name, _ in _types._py_properties(cls)
        for hint in [_types._types_from_py_properties(cls)[name]]
    }


def failures(allowed: Mapping[str, Field], values: Mapping[str, Any], path: str = "") -> Iterator[Failure]:
    """What is unknown, missing or ill-typed, nested values included."""
    prefix = f"{path}." if path else ""
    for name in sorted(values.keys() - allowed.keys() - INTERNAL):
        yield Failure(f"{prefix}{name}", "there is no such property")
    for name, (expected, required) in allowed.items():
        if name in values:
            yield from _mismatches(expected, values[name], f"{prefix}{name}")
        elif required:
            yield Failure(f"{prefix}{name}", "is required, but missing")


def _mismatches(declared: Any, value: Any, path: str) -> Iterator[Failure]:
    expected = _types.unwrap_type(declared)
    if value == UNKNOWN or expected is Any:
        return
    match get_origin(expected):
        case typing.Union | types.UnionType:
            yield from _of_union(expected, value, path)
        case origin if inspect.isclass(origin) and issubclass(origin, Mapping):
            yield from _of_mapping(expected, value, path)
        case origin if inspect.isclass(origin) and issubclass(origin, Sequence):
            yield from _of_sequence(expected, value, path)
        case _ if _types.is_input_type(expected) or _types.is_output_type(expected):
            if isinstance(value, dict):
                yield from failures(fields(expected), value, path)
            else:
                yield Failure(path, f"must be an object, not {value!r}")
        case _:
            yield from _of_scalar(expected, value, path)


def _of_union(expected: Any, value: Any, path: str) -> Iterator[Failure]:
    members = [each for each in get_args(expected) if not _types._is_plumbing_arg(each)]
    found = [list(_mismatches(each, value, path)) for each in members if each is not type(None)]
    yield from min(found, key=len)


def _of_mapping(expected: Any, value: Any, path: str) -> Iterator[Failure]:
    if not isinstance(value, dict):
        yield Failure(path, f"must be an object, not {value!r}")
        return
    for key, each in value.items():
        yield from _mismatches(get_args(expected)[1], each, f"{path}.{key}")


def _of_sequence(expected: Any, value: Any, path: str) -> Iterator[Failure]:
    if not isinstance(value, list):
        yield Failure(path, f"must be a list, not {value!r}")
        return
    for index, each in enumerate(value):
        yield from _mismatches(get_args(expected)[0], each, f"{path}[{index}]")


def _of_scalar(expected: type, value: Any, path: str) -> Iterator[Failure]:
    if issubclass(expected, Enum):
        if value not in {member.value for member in expected}:
            yield Failure(path, f"must be one of {[member.value for member in expected]}, not {value!r}")
        return
    accepted = (int, float) if expected is float else expected
    if not isinstance(value, accepted) or (isinstance(value, bool) and expected is not bool):
        yield Failure(path, f"must be {expected.__name__}, not {value!r}")


def as_given(declared: Any, given: Any, actual: Any) -> Any:
    """What the cloud has, in terms of what the program gave: equal to `given` where both mean the same.

    Of objects only what was given counts, since the cloud adds its defaults; maps such as tags count whole.
    """
    if alike(given, actual) or (not given and actual is None):
        return given
    expected = _types.unwrap_type(declared)
    if isinstance(given, dict) and isinstance(actual, dict) and _types.is_input_type(expected):
        known = fields(expected)
        return {key: as_given(known[key].type, each, actual.get(key)) for key, each in given.items()}
    if isinstance(given, list) and isinstance(actual, list) and len(given) == len(actual):
        [item] = get_args(expected)
        return [as_given(item, *pair) for pair in zip(given, actual, strict=True)]
    return actual
