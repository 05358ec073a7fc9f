"""Checks that compare several keys of one environment; see `config.relations`."""

import math
import re
from collections.abc import Iterator, Mapping

from pydantic import SecretStr

from config import capabilities
from config.environment import Health
from config.errors import Key, Problem, show
from config.fields import SECRET_NAME, SET_SECRET
from config.raw import Raw, items, mapping, mappings
from config.storage import SOURCES

Place = tuple[Key, ...]

_LONGEST_LIST = 200
_MOST_BYTES = 1024**2  # of a Secret; of all in a pod, etcd has room for little more
# What an operator compares with: in words, and how many values at least and at most.
_VALUES = {
    **dict.fromkeys(("In", "NotIn"), ("at least one value", 1, math.inf)),
    **dict.fromkeys(("Exists", "DoesNotExist"), ("no values", 0, 0)),
    **dict.fromkeys(("Gt", "Lt"), ("exactly one value", 1, 1)),
}


def environment_problems(place: Place, environment: Raw, secrets: Raw) -> Iterator[Problem]:
    """Every contradiction between the keys of the environment at `place`, and with the stack's secrets."""
    yield from _variables(place, environment, secrets)
    yield from _size(place, environment, secrets)
    yield from _health((*place, "health"), mapping(environment.get("health")))
    yield from _volumes((*place, "volumes"), dict(mappings(environment.get("volumes"))))
    yield from _security((*place, "security"), mapping(environment.get("security")))
    for index, toleration in mappings(environment.get("tolerations")):
        yield from _toleration((*place, "tolerations", index), toleration)
    yield from _node_affinity(
        (*place, "affinity", "node_affinity"),
        mapping(mapping(environment.get("affinity")).get("node_affinity")),
    )


def _variables(place: Place, environment: Raw, secrets: Raw) -> Iterator[Problem]:
    plain = mapping(environment.get("env"))
    known = ", ".join(name for name in secrets if isinstance(name, str) and SECRET_NAME.fullmatch(name))
    there = known[:_LONGEST_LIST] or "there are none"
    for variable, name in mapping(environment.get("secret_env")).items():
        if not isinstance(variable, str):
            continue
        path = (*place, "secret_env", variable)
        if variable in plain:
            yield Problem(path, "is set under env too; remove one of the two")
        if isinstance(name, str) and name not in secrets:
            # Not shown: it may be the secret itself.
            remedy = f"write the name of one of the stack's secrets ({there}); set a new one: {SET_SECRET}"
            yield Problem(path, remedy)


def _size(place: Place, environment: Raw, secrets: Raw) -> Iterator[Problem]:
    env, secret_env = mapping(environment.get("env")), mapping(environment.get("secret_env"))
    values = [secrets.get(name) for name in secret_env.values() if isinstance(name, str)]
    parts = {
        "command": items(environment.get("command")),
        "args": items(environment.get("args")),
        "env": [*env, *env.values()],
        "secret_env": [each.get_secret_value() if isinstance(each, SecretStr) else each for each in values],
    }
    sizes = {key: sum(_bytes(text) for text in texts) for key, texts in parts.items()}
    if sum(sizes.values()) > _MOST_BYTES:
        largest = max(sizes, key=lambda key: sizes[key])
        remedy = "a process is handed at most 1 MiB of arguments and variables in all; use a volume"
        yield Problem((*place, largest), remedy)


def _bytes(value: object) -> int:
    return len(value.encode(errors="surrogatepass")) if isinstance(value, str) else 0


def _health(place: Place, health: Raw) -> Iterator[Problem]:
    timeout = health.get("timeout_seconds", Health().timeout_seconds)
    restart = health.get("restart_seconds", Health().restart_seconds)
    if type(timeout) is int and type(restart) is int and restart < timeout:
        remedy = f"is below timeout_seconds, {show(timeout)}; raise this or lower that"
        yield Problem((*place, "restart_seconds"), remedy, show(restart))


def _volumes(place: Place, volumes: Mapping[int, Raw]) -> Iterator[Problem]:
    for index, volume in volumes.items():
        given = [source for source in SOURCES if volume.get(source) is not None]
        if len(given) != 1:
            found = f"it has {' and '.join(given)}" if given else "it has none"
            yield Problem((*place, index), f"must have exactly one of {', '.join(SOURCES)}; {found}")
    for key in ("name", "mount_path"):
        owners: dict[str, int] = {}
        for index, volume in volumes.items():
            value = volume.get(key)
            if isinstance(value, str) and owners.setdefault(value, index) != index:
                remedy = f"is that of volumes[{owners[value]}] too; choose another"
                yield Problem((*place, index, key), remedy, show(value))


def _security(place: Place, security: Raw) -> Iterator[Problem]:
    level = security.get("level", "restricted")
    user = security.get("run_as_user")
    if type(user) is int and user == 0 and level == "restricted":
        remedy = "is root, which level restricted forbids; choose another user, or write level: baseline"
        yield Problem((*place, "run_as_user"), remedy, "0")
    if security.get("privileged") is True and level != "privileged":
        yield Problem((*place, "privileged"), "write level: privileged too, or remove it", "true")
    allowed = {"restricted": capabilities.RESTRICTED, "baseline": capabilities.BASELINE}.get(str(level))
    for index, capability in enumerate(items(security.get("capabilities"))):
        if allowed and isinstance(capability, str) and capability not in allowed:
            enough = "baseline" if capability in capabilities.BASELINE else "privileged"
            remedy = f"level {level} does not allow it; remove it, or write level: {enough}"
            yield Problem((*place, "capabilities", index), remedy, show(capability))


def _toleration(place: Place, toleration: Raw) -> Iterator[Problem]:
    exists = toleration.get("operator") == "Exists"
    if toleration.get("key") is None and not exists:
        yield Problem(place, "without a key it tolerates every taint: write operator: Exists, or a key")
    if exists and toleration.get("value") is not None:
        remedy = "operator Exists compares with no value; remove it, or write operator: Equal"
        yield Problem((*place, "value"), remedy, show(toleration["value"]))
    if toleration.get("toleration_seconds") is not None and toleration.get("effect") != "NoExecute":
        remedy = "works only with effect: NoExecute; add that, or remove it"
        yield Problem((*place, "toleration_seconds"), remedy, show(toleration["toleration_seconds"]))


def _node_affinity(place: Place, affinity: Raw) -> Iterator[Problem]:
    for index, term in enumerate(items(affinity.get("required"))):
        yield from _requirements((*place, "required", index), term)
    for index, preference in mappings(affinity.get("preferred")):
        path = (*place, "preferred", index, "requirements")
        yield from _requirements(path, preference.get("requirements"))


def _requirements(place: Place, requirements: object) -> Iterator[Problem]:
    if requirements == []:
        yield Problem(place, "needs at least one requirement; add one, or remove the entry")
    for index, requirement in mappings(requirements):
        operator, values = requirement.get("operator"), requirement.get("values", [])
        if not (isinstance(operator, str) and operator in _VALUES and isinstance(values, list)):
            continue
        path = (*place, index, "values")
        wanted, least, most = _VALUES[operator]
        if not least <= len(values) <= most:
            yield Problem(path, f"operator {operator} needs {wanted}", show(values))
        elif operator in {"Gt", "Lt"} and not re.fullmatch(r"[0-9]{1,18}", str(values[0])):
            yield Problem((*path, 0), f"operator {operator} compares whole numbers", show(values[0]))
