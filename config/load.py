"""From Pulumi's configuration to a checked `StackConfig`."""

import json
from collections.abc import Collection, Iterator, Mapping

import pulumi
from pulumi.runtime.config import CONFIG  # Pulumi's public interface can't list the keys that are set
from pydantic import ValidationError

from config import relations
from config.errors import ConfigError, Key, Problem, from_pydantic
from config.fields import SET_SECRET
from config.models import StackConfig
from config.raw import mapping

SECRETS = "secrets"


def load() -> StackConfig:
    """The configuration of the stack that runs.

    Raises:
        ConfigError: with every problem that it has.
    """
    prefix = f"{pulumi.get_project()}:"
    texts = {key.removeprefix(prefix): text for key, text in CONFIG.get().items() if key.startswith(prefix)}
    secret = {key for key in texts if pulumi.runtime.is_config_secret(f"{prefix}{key}")}
    return parse({key: _structure(text) for key, text in texts.items()}, pulumi.get_stack(), secret)


def parse(raw: Mapping[str, object], stack: str, secret: Collection[str] = ()) -> StackConfig:
    """Check a configuration as it was written.

    raw: the keys of the project, without its name in front.
    stack: name of the stack; unless the configuration says otherwise, the cluster is named after it.
    secret: the keys that Pulumi keeps encrypted, whole or in part: only `secrets` may be one. A `SecretStr`
        under `secrets` is encrypted too. Their values are in no message.

    Raises:
        ConfigError: with every problem that it has.
    """
    cluster = raw.get("cluster")
    if isinstance(cluster, Mapping):
        raw = {**raw, "cluster": {"name": f"envfleet-{stack}", **cluster}}
    problems = [problem for problem in _problems(raw) if problem.path[0] not in set(secret) - {SECRETS}]
    problems += [
        Problem(
            (key,), f"holds a secret, which belongs under {SECRETS}: {SET_SECRET}. Then name it in secret_env"
        )
        for key in secret
        if key != SECRETS
    ]
    if SECRETS not in secret:
        problems += [
            Problem((SECRETS, name), f"is not encrypted; set it anew: {SET_SECRET}")
            for name, value in mapping(raw.get(SECRETS)).items()
            if isinstance(name, str) and isinstance(value, str)
        ]
    if problems:
        raise ConfigError(sorted(problems, key=_place), stack)
    return StackConfig.model_validate(raw)


def _problems(raw: Mapping[str, object]) -> Iterator[Problem]:
    malformed: list[Problem] = []
    try:
        StackConfig.model_validate(raw)
    except ValidationError as error:
        malformed += from_pydantic(error, StackConfig)
    yield from malformed
    reported = {problem.path for problem in malformed}
    yield from (problem for problem in relations.problems(raw) if problem.path not in reported)


def _place(problem: Problem) -> list[tuple[bool, Key]]:
    """Where a problem stands among others; YAML's keys may be numbers and texts, which have no order."""
    return [(isinstance(key, str), key) for key in problem.path]


def _structure(text: str) -> object:
    """Pulumi hands mappings and lists over as JSON, everything else as it is."""
    if not text.startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
