"""A stack's file, `Pulumi.NAME.yaml`, read as Pulumi reads it."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import SecretStr

from toolchain.progress import StepError

PROJECT = "envfleet"
PREFIX = f"{PROJECT}:"
REMEDY = (
    "Indent with spaces, write each line as `key: value` or `- item`, and quote text with special characters"
)


class _Loader(yaml.SafeLoader):
    """Keys are text, so `1: a` has the key "1"; a value that can't be read is an error with a place."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        self.flatten_mapping(node)
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                key.tag = self.DEFAULT_SCALAR_TAG
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: ANN401
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from None


def read(file: Path) -> dict[str, Any]:
    """The project's keys, without the project's name in front, which may be left out.

    Raises:
        StepError: Pulumi could not read it either.
    """
    try:
        text = file.read_text("utf-8")
        document = yaml.load(text, _Loader)  # noqa: S506 (a SafeLoader)
    except yaml.MarkedYAMLError as error:
        place = _place(text, error.problem_mark) if error.problem_mark else ""
        raise StepError(f"{file.name}{place}: {error.problem}. {REMEDY}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        problem = " ".join(str(error).split())
        raise StepError(f"{file.name} is not text: {problem}. Save it as UTF-8") from None
    config = _mapping(_mapping(document, file.name).get("config"), f"{file.name}: config")
    full = {key if ":" in key else PREFIX + key: value for key, value in config.items()}
    return {key.removeprefix(PREFIX): value for key, value in full.items() if key.startswith(PREFIX)}


def without_ciphers(written: dict[str, Any], stack: str) -> tuple[dict[str, Any], str, set[str]]:
    """What `config.parse` takes, of a file's keys, each encrypted value as a secret text that is nobody's.

    The last part has the keys that hold encrypted values, other than `secrets`, where they belong.
    """
    stand_in = SecretStr("")
    encrypted = {key for key, value in written.items() if _has_cipher(value)} - {"secrets"}
    secrets = written.get("secrets")
    if isinstance(secrets, dict):
        shown = {name: stand_in if _is_cipher(value) else value for name, value in secrets.items()}
        written = {**written, "secrets": shown}
    return written, stack, encrypted


def has_secrets(file: Path) -> bool:
    """Whether a file has encrypted values."""
    return _has_cipher(read(file))


def _is_cipher(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == {"secure"}


def _has_cipher(value: object) -> bool:
    if isinstance(value, dict):
        return _is_cipher(value) or any(map(_has_cipher, value.values()))
    return isinstance(value, list) and any(map(_has_cipher, value))


def _place(text: str, mark: yaml.Mark) -> str:
    lines = [*text.splitlines(), ""]
    return f", line {mark.line + 1} = {_show(lines[mark.line])}"


def _mapping(value: object, place: str) -> dict[str, Any]:
    """A mapping, empty where nothing is written."""
    if not isinstance(value, dict | None):
        raise StepError(f"{place} = {_show(value)}: write a mapping, each line a key: value")
    return value or {}


def _show(value: object) -> str:
    from config.errors import show  # noqa: PLC0415 (imports Pulumi: a second that only an error may take)

    return show(value)
