"""Writes docs/configuration.md and docs/cluster-role.yaml: run by `make docs`.

Keys, types, defaults and meanings come from the models in `config`, constraints and messages from its checks.
"""

import copy
import inspect
import itertools
import json
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from config import (
    ConfigError,
    aws,
    clouds,
    cluster,
    environment,
    models,
    parse,
    resources,
    scheduling,
    storage,
)
from config.errors import Problem
from providers.existing import permissions

PAGE = Path(__file__).with_name("configuration.md")
EXAMPLE = Path(__file__).with_name("example.yaml")
CLUSTER_ROLE = Path(__file__).with_name("cluster-role.yaml")
CLUSTERS = Path(__file__).with_name("clusters.yaml")

Yaml = Any  # what a YAML file may hold
Place = tuple[str | int, ...]  # keys and indices, from the top of a configuration
STACK = "dev"

# A table each: title, model, and where an example has one, or a list of several that have all keys together.
ENVIRONMENT: Place = ("environments", 0)
AFFINITY: Place = (*ENVIRONMENT, "affinity")
SECTIONS: tuple[tuple[str, type[BaseModel], Place], ...] = (
    ("The stack", models.StackConfig, ()),
    ("cluster: kind", cluster.KindConfig, ("cluster",)),
    ("cluster.port_mappings", cluster.PortMapping, ("cluster", "port_mappings")),
    ("cluster: existing", cluster.ExistingConfig, ("cluster",)),
    ("cluster: aws", aws.AwsConfig, ("cluster",)),
    ("cluster: aws: network", aws.AwsNetwork, ("cluster", "network")),
    ("cluster: aws: node_pools", aws.AwsNodePool, ("cluster", "node_pools")),
    ("node_pools.taints", clouds.Taint, ("cluster", "node_pools", 0, "taints")),
    ("network", models.NetworkConfig, ("network",)),
    ("network.clients", models.Client, ("network", "clients")),
    ("readiness", models.ReadinessConfig, ("readiness",)),
    ("server", models.ServerConfig, ("server",)),
    ("environments", environment.EnvironmentConfig, ENVIRONMENT),
    ("resources", resources.Resources, (*ENVIRONMENT, "resources")),
    ("resources.requests", resources.Requests, (*ENVIRONMENT, "resources", "requests")),
    ("resources.limits", resources.Limits, (*ENVIRONMENT, "resources", "limits")),
    ("health", environment.Health, (*ENVIRONMENT, "health")),
    ("volumes", storage.Volume, (*ENVIRONMENT, "volumes")),
    ("volumes.empty_dir", storage.EmptyDir, (*ENVIRONMENT, "volumes", 0, "empty_dir")),
    ("volumes.ephemeral_claim", storage.EphemeralClaim, (*ENVIRONMENT, "volumes", 1, "ephemeral_claim")),
    ("egress", environment.EgressRule, (*ENVIRONMENT, "egress")),
    ("security", environment.Security, (*ENVIRONMENT, "security")),
    ("affinity", scheduling.Affinity, AFFINITY),
    ("node_affinity", scheduling.NodeAffinity, (*AFFINITY, "node_affinity")),
    ("node_affinity.preferred", scheduling.NodePreference, (*AFFINITY, "node_affinity", "preferred")),
    (
        "node_affinity.requirements",
        scheduling.Requirement,
        (*AFFINITY, "node_affinity", "preferred", 0, "requirements"),
    ),
    ("pod_affinity", scheduling.PodAffinity, (*AFFINITY, "pod_affinity")),
    ("pod_affinity.required", scheduling.PodTerm, (*AFFINITY, "pod_affinity", "required")),
    ("pod_affinity.preferred", scheduling.PodPreference, (*AFFINITY, "pod_affinity", "preferred")),
    ("tolerations", scheduling.Toleration, (*ENVIRONMENT, "tolerations")),
)
WORDS: dict[object, str] = {
    str: "string",
    int: "whole number",
    bool: "true or false",
    SecretStr: "encrypted string",
}
# Values that a check may refuse. The answer to the first of each type is the key's rule, since it is nonsense
# everywhere; the answers to the others are exceptions from the rule.
NUMBERS = (-1, 2)
STRINGS = ("?", "untagged", "server", "default", "0", "512", "0.1m", "/proc/x", "169.254.169.254/32")
KEYS = ("?", "ENVFLEET_X", "PORT", "LOG_LEVEL", "kubernetes.io/x", "pulumi.com/x")
MISTAKEN = """\
cluster:
  provider: kind
  worker_node: 2
server:
  image: envfleet/server
  node_port: 30080
environments:
  - name: Echo
    image: envfleet/echo:0.1.0
    count: 0
  - name: guess
    image: envfleet/guess:0.1.0
    resources: {requests: {memory: 1Gi}}
  - image: envfleet/echo:0.1.0
    port: "8000"
"""
HEAD = """\
<!-- Written by `make docs` from config/ and docs/example.yaml: edit those. -->
# Configuration

A stack's configuration is its file `Pulumi.NAME.yaml`. The keys of the first table stand there under
`config:`, with `envfleet:` in front; [an example with every key](#every-key) is at the end.
All of it is checked before anything is created. Values have exactly the type that is given here (`"8000"` is
no number), and unknown keys are refused.

Keys that contradict each other are refused too, such as a request above its limit, two environments of one
name, a `node_port` without `service_type: NodePort`, or a capability that the security level does not allow.
[What mistakes look like](#mistakes) shows the answers.

A secret is set with Pulumi, which encrypts it, and handed to environments by its name, as `api-key` is here:

```sh
pulumi config set --stack NAME --secret --path secrets.api-key
pulumi config set --stack NAME --path 'environments[0].secret_env.API_KEY' api-key
```
"""


def page() -> str:
    """The text of the whole page."""
    examples = read_examples()
    for example in examples:
        parse(example, STACK)
    return "\n".join(
        [
            HEAD,
            *(line for title, model, place in SECTIONS for line in section(title, model, place, examples)),
            "## Every key",
            "",
            f"```yaml\n{EXAMPLE.read_text()}```",
            "",
            "## Mistakes",
            "",
            "All are reported at once, each with its key, its value and what to write instead. For example:",
            "",
            f"```yaml\n{MISTAKEN}```",
            "",
            f"```text\n{ConfigError(problems(yaml.safe_load(MISTAKEN)), STACK)}\n```",
            "",
        ]
    )


def read_examples() -> list[dict[str, Yaml]]:
    """The example, without the project's name and as if decrypted; then the same on other clusters."""
    written = yaml.safe_load(EXAMPLE.read_text())["config"]
    example = {key.removeprefix("envfleet:"): value for key, value in written.items()}
    example["secrets"] = dict.fromkeys(example["secrets"], SecretStr("hunter2"))
    clusters = itertools.chain(*yaml.safe_load(CLUSTERS.read_text()).values())
    return [example, *(example | {"cluster": each} for each in clusters)]


def those_of(model: type[BaseModel], place: Place, examples: list[dict[str, Yaml]]) -> list[dict[str, Yaml]]:
    """The examples that have a model at a place, where others may have another provider's."""

    def has(example: Yaml) -> bool:
        try:
            part = at(example, place)
        except KeyError:
            return False
        field = model.model_fields.get("provider")
        return field is None or part["provider"] in get_args(field.annotation)

    return [example for example in examples if has(example)]


def section(
    title: str, model: type[BaseModel], place: Place, examples: list[dict[str, Yaml]]
) -> Iterator[str]:
    """A model: what it is, and a table of its keys."""
    examples = those_of(model, place, examples)
    yield from (f"## {title}", "", inspect.cleandoc(model.__doc__ or ""), "")
    yield from ("| Key | Type | Default | Meaning | Example |", "|---|---|---|---|---|")
    for name, field in model.model_fields.items():
        if not field.description:
            raise SystemExit(f"error: {model.__name__}.{name} has no docstring")
        example, key = find(name, place, examples)
        written = kind(field.annotation)
        nested = "](#" in written  # which has a table of its own
        said = [] if nested or written.startswith("`") else rules(key, example)
        meaning = "<br>".join([" ".join(field.description.split()), *said])
        shown = "" if nested else code(at(example, key))
        yield f"| `{name}` | {written} | {default(key, field, example)} | {meaning} | {shown} |"
    yield ""


def kind(annotation: object) -> str:
    """A type in the words of someone who writes YAML."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        text = " or ".join(code(value) for value in arguments)
    elif origin in {Union, types.UnionType}:
        text = " or ".join(kind(argument) for argument in arguments if argument is not types.NoneType)
    elif origin is list:
        text = "list of " + re.sub("^(string|whole number|list)", r"\1s", kind(arguments[0]))
    elif origin is dict:
        text = f"mapping of name to {kind(arguments[1])}"
    elif origin is Annotated:
        text = kind(arguments[0])
    elif titles := [title for title, model, _ in SECTIONS if model is annotation]:
        text = f"[{titles[0]}](#{re.sub('[.:]', '', titles[0]).replace(' ', '-')})"
    else:
        text = WORDS[annotation]
    return text


def default(key: Place, field: FieldInfo, example: Yaml) -> str:
    """A key's default; one that the model has not is found by leaving the key out."""
    value = field.default
    if field.is_required():
        without = copy.deepcopy(example)
        del at(without, key[:-1])[key[-1]]
        if problems(without):
            return "required"
        value = at(parse(without, STACK).model_dump(), key)
    if value is None:
        return "none"
    return "as below" if isinstance(value, BaseModel) else code(value)


def rules(key: Place, example: Yaml) -> list[str]:
    """What the checks of a key demand, in their own words."""
    found: dict[str, str] = {}
    for shown, value in probes(at(example, key)):
        mistaken = copy.deepcopy(example)
        at(mistaken, key[:-1])[key[-1]] = value
        answer = next((each.remedy for each in problems(mistaken) if each.path[: len(key)] == key), "")
        said = answer.partition(";")[0]
        if said and shown in {str(NUMBERS[0]), STRINGS[0], KEYS[0]}:
            found.setdefault(said, f"{answer[0].upper()}{answer[1:]}.")
        elif said:
            found.setdefault(said, f"Refused: `{shown}`, {answer}.")
    return list(found.values())


def probes(value: Yaml) -> Iterator[tuple[str, Yaml]]:
    """Values of the same shape as this one, each with the part of it that a check may object to."""
    match value:
        case bool():
            pass
        case int():
            yield from ((str(number), number) for number in NUMBERS)
        case str():
            yield from ((text, text) for text in STRINGS)
        case [inner, *_]:
            yield from ((shown, [probe]) for shown, probe in probes(inner))
        case dict():
            name, inner = next(iter(value.items()))
            yield from ((key, {key: inner}) for key in KEYS)
            yield from ((shown, {name: probe}) for shown, probe in probes(inner))


def find(name: str, place: Place, examples: list[dict[str, Yaml]]) -> tuple[dict[str, Yaml], Place]:
    """The first example with a key, and where: at a place, or in one entry of the list that is there."""
    for example in examples:
        part = at(example, place)
        if isinstance(part, list):
            return example, (*place, next(index for index, entry in enumerate(part) if name in entry), name)
        if name in part:
            return example, (*place, name)
    raise SystemExit(f"error: no example has {name} at {place}")


def problems(config: dict[str, Yaml]) -> tuple[Problem, ...]:
    """What is wrong with a configuration."""
    try:
        parse(config, STACK)
    except ConfigError as error:
        return error.problems
    return ()


def at(config: Yaml, place: Place) -> Yaml:
    """The part of a configuration at a place."""
    for key in place:
        config = config[key]
    return config


def code(value: Yaml) -> str:
    """A value as code within a table."""
    return f"`{json.dumps(value, ensure_ascii=False, default=_as_written)}`"


def _as_written(value: BaseModel | SecretStr) -> Yaml:
    return {"secure": "v1:…"} if isinstance(value, SecretStr) else value.model_dump(exclude_defaults=True)


def cluster_role() -> str:
    """A ClusterRole with all that a fleet may need."""
    rules = [
        {"apiGroups": [each.group], "resources": [each.resource], "verbs": list(each.verbs)}
        for each in permissions.PERMISSIONS
    ]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "envfleet"},
        "rules": rules,
    }
    return f"# Written by `make docs` from {permissions.__name__}.\n{yaml.safe_dump(role, sort_keys=False)}"


if __name__ == "__main__":
    PAGE.write_text(page())
    CLUSTER_ROLE.write_text(cluster_role())
