"""Property values as the engine sends them."""

import json
from typing import Any

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime import rpc

UNKNOWN = rpc.UNKNOWN  # what a preview has in place of a value that only the cloud can say


def from_struct(struct: Struct) -> dict[str, Any]:
    return _plain(json_format.MessageToDict(struct))


def to_struct(values: dict[str, Any]) -> Struct:
    return json_format.ParseDict(_plain(values), Struct())


def contains_unknown(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(contains_unknown, value.values()))
    if isinstance(value, list):
        return any(map(contains_unknown, value))
    return value == UNKNOWN


def alike(one: Any, other: Any) -> bool:
    """Whether two values mean the same: lists in any order, JSON texts in any layout."""
    return _canonical(one) == _canonical(other)


def _plain(value: Any) -> Any:
    """Without nulls, which mean "not given"; whole numbers as int."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted((_canonical(each) for each in value), key=repr)
    if isinstance(value, str) and value.startswith("{"):
        try:
            return _canonical(json.loads(value))
        except ValueError:
            return value
    return value
