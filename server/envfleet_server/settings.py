"""The server's settings, read once from environment variables."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, FilePath, ValidationError


class SettingsError(ValueError):
    """An environment variable is missing or wrong; the message names it, its value and what to write."""


class Settings(BaseModel, frozen=True):
    """What the server is told from outside. A field's description says what to write into its variable."""

    namespace: str = Field(
        alias="ENVFLEET_NAMESPACE",
        pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
        description="the pod's own namespace, from the downward API (fieldRef: metadata.namespace)",
    )
    kubeconfig: FilePath | None = Field(
        alias="ENVFLEET_KUBECONFIG",
        default=None,
        description="the path of a kubeconfig file; leave it unset in a pod, which has a service account",
    )
    port: int = Field(alias="PORT", default=8080, ge=1, le=65535, description="a port from 1 to 65535")
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(str.lower)] = Field(
        alias="LOG_LEVEL", default="info", description="debug, info, warning or error"
    )


def load(variables: Mapping[str, str]) -> Settings:
    """Read the settings from environment variables.

    Raises:
        SettingsError: one message, with one line for each variable that is missing or wrong.
    """
    try:
        return Settings.model_validate(dict(variables))
    except ValidationError as error:
        remedies = {field.alias: field.description for field in Settings.model_fields.values()}
        lines = []
        for problem in error.errors():
            variable = str(problem["loc"][0])
            found = "is not set" if problem["type"] == "missing" else f"is {problem['input']!r}"
            lines.append(f"{variable} {found}: set it to {remedies[variable]}")
        raise SettingsError("\n".join(lines)) from error
