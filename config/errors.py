"""What is wrong with a configuration, in the terms of the person who wrote it."""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from config.raw import mapping

Key = str | int
_LONGEST_VALUE = 70
# Keys whose values may be secrets, by intention or by mistake.
_HOLD_SECRETS = frozenset({"env", "secret_env", "secrets"})

# What to write instead, by pydantic's type of error.
_REMEDIES = {
    "string_type": "write a string; a number, a date or true/false needs quotes around it",
    "string_unicode": "has half a character; write it anew",
    "invalid_key": "write a string as the key; a number, a date or true/false needs quotes around it",
    "int_type": "write a whole number, without quotes",
    "bool_type": "write true or false, without quotes",
    "list_type": 'write a list, each item on its own line after "- "',
    "dict_type": "write a mapping, each line a key: value",
    "model_type": "write a mapping, each line a key: value",
    "model_attributes_type": "write a mapping, each line a key: value",
    "literal_error": "write {expected}",
    "union_tag_not_found": "is required; write the provider that runs the cluster, such as kind",
    "union_tag_invalid": "is not known; write {expected_tags}",
    "value_error": "{error}",
}


@dataclass(frozen=True)
class Problem:
    """One thing to change.

    path: the key, from the top of the configuration.
    remedy: what to write instead.
    value: what is written there, as JSON; empty where nothing is or where it may be a secret.
    """

    path: tuple[Key, ...]
    remedy: str
    value: str = ""

    def __str__(self) -> str:
        value = f" = {self.value}" if self.value else ""
        return f"envfleet:{_join(self.path)}{value}: {self.remedy}"


class ConfigError(ValueError):
    """A stack's configuration is not usable; its message holds every problem, one a line."""

    def __init__(self, problems: Sequence[Problem], stack: str) -> None:
        self.problems = tuple(problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"{count} in Pulumi.{stack}.yaml:{lines}")


def show(value: object) -> str:
    """A value as JSON, shortened; of a mapping or a list only that it is one, since it may hold secrets."""
    if isinstance(value, Mapping):
        return "{…}"
    if isinstance(value, list):
        return "[…]"
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def from_pydantic(error: ValidationError, model: type[BaseModel]) -> Iterator[Problem]:
    """The problems found while validating as `model`."""
    for details in error.errors(include_url=False):
        path, owner = _locate(details["loc"], model)
        yield _problem(details, path, owner)


def _problem(details: ErrorDetails, path: tuple[Key, ...], owner: type[BaseModel]) -> Problem:
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    if kind == "extra_forbidden":
        return Problem(path, _nearest(str(path[-1]), owner.model_fields))
    if kind == "missing":
        return Problem(path, f"is required: {owner.model_fields[str(path[-1])].description}")
    if kind.startswith("union_tag"):
        discriminator = context["discriminator"].strip("'")
        path, value = (*path, discriminator), mapping(value).get(discriminator)
    remedy = _REMEDIES[kind].format_map(context) if kind in _REMEDIES else details["msg"]
    hidden = kind == "union_tag_not_found" or not _HOLD_SECRETS.isdisjoint(path)
    return Problem(path, remedy, "" if hidden else show(value))


def _nearest(key: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(key.lower(), known, n=1)
    return (
        f'unknown key; did you mean "{close[0]}"?' if close else f"unknown key; known are {', '.join(known)}"
    )


def _locate(location: Iterable[Key], model: type[BaseModel]) -> tuple[tuple[Key, ...], type[BaseModel]]:
    """The path as the user wrote it, and the model that its last key belongs to.

    pydantic's location has two parts that the user did not write: the chosen member of a discriminated union
    ("kind" after "cluster"), and "[key]" after a mapping's key that is wrong itself.
    """
    path: list[Key] = []
    owner, inner = model, [model]
    discriminator: Any = None
    for part in location:
        if discriminator is not None:
            inner = [each for each in inner if part in get_args(each.model_fields[discriminator].annotation)]
            discriminator = None
        elif part != "[key]":
            path.append(part)
            if isinstance(part, str) and inner:
                owner = inner[0]
                field = owner.model_fields.get(part)
                inner = list(_models(field.annotation)) if field else []
                discriminator = field.discriminator if field else None
    return tuple(path), owner


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """The models within an annotation such as `list[EnvironmentConfig]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _join(path: Iterable[Key]) -> str:
    """A path as Pulumi writes it: `environments[1].labels["example.com/team"]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[\w-]+", part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part)}]"
    return text
