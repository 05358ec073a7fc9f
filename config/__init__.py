"""A stack's configuration: keys in `models`, values in `fields` and `relations`, reading it in `load`."""

from config.errors import ConfigError
from config.load import load, parse
from config.models import (
    ClusterConfig,
    EnvironmentConfig,
    KindConfig,
    PortMapping,
    Resources,
    ServerConfig,
    StackConfig,
)

__all__ = [
    "ClusterConfig",
    "ConfigError",
    "EnvironmentConfig",
    "KindConfig",
    "PortMapping",
    "Resources",
    "ServerConfig",
    "StackConfig",
    "load",
    "parse",
]
