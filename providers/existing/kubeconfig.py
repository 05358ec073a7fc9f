"""One context of a user's kubeconfig, as a kubeconfig of its own that needs no other file."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import yaml

# What names a file, and the key that holds its content instead.
_EMBEDDED = {
    "certificate-authority": "certificate-authority-data",
    "client-certificate": "client-certificate-data",
    "client-key": "client-key-data",
}


class KubeconfigError(ValueError):
    """It is not usable; the message quotes none of its content but names."""


def select(text: str, context: str, folder: Path) -> str:
    """A kubeconfig of one context and what that needs.

    text: the kubeconfig, as YAML.
    folder: where it is, which relative paths in it start from.

    Raises:
        KubeconfigError: it lacks the context, or something that the context names.
    """
    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError:  # its text would quote the kubeconfig
        raise KubeconfigError("is not YAML") from None
    chosen = dict(_named(config, "contexts", "context", context))
    cluster = dict(_named(config, "clusters", "cluster", chosen.get("cluster")))
    user = dict(_named(config, "users", "user", chosen.get("user")))
    if not cluster.get("server"):
        raise KubeconfigError(f'its cluster "{chosen["cluster"]}" has no server')
    for part in (cluster, user):
        _embed(part, folder)
    if "tokenFile" in user:  # read anew for each command: such tokens are renewed
        user["tokenFile"] = str(folder / user["tokenFile"])
    if "/" in (command := user.get("exec", {}).get("command", "")):
        user["exec"] = {**user["exec"], "command": str(folder / command)}
    # What the user chose as namespace is nothing to the fleet, which names its own.
    names = {"cluster": chosen["cluster"], "user": chosen["user"]}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": names["cluster"], "cluster": cluster}],
            "users": [{"name": names["user"], "user": user}],
            "contexts": [{"name": context, "context": names}],
            "current-context": context,
        }
    )


def _named(config: Any, plural: str, kind: str, name: object) -> dict[str, Any]:  # noqa: ANN401 (unchecked YAML)
    try:
        known = {each["name"]: each[kind] for each in config[plural]}
    except (KeyError, TypeError):
        raise KubeconfigError(f"is no kubeconfig: its {plural} are missing or not well-formed") from None
    if not isinstance(found := known.get(name), dict):
        listed = ", ".join(sorted(map(str, known))) or "none"
        raise KubeconfigError(f'has no {kind} "{name}"; it has: {listed}')
    return found


def _embed(part: dict[str, Any], folder: Path) -> None:
    for key, embedded in _EMBEDDED.items():
        if name := part.pop(key, None):
            try:
                content = (folder / name).read_bytes()
            except OSError as error:
                raise KubeconfigError(f"names a file that can't be read: {error}") from None
            part.setdefault(embedded, b64encode(content).decode())
