"""A stack's configuration: its keys, their values in `fields` and `relations`, reading it in `load`.

`models` has the whole; `cluster`, `environment`, `resources`, `scheduling` and `storage` have its parts.
"""

from config.aws import AwsConfig
from config.cluster import ClusterConfig, ExistingConfig, KindConfig, PortMapping
from config.environment import EnvironmentConfig, Security
from config.errors import ConfigError
from config.load import load, parse
from config.models import NetworkConfig, ServerConfig, StackConfig
from config.resources import Resources

__all__ = [
    "AwsConfig",
    "ClusterConfig",
    "ConfigError",
    "EnvironmentConfig",
    "ExistingConfig",
    "KindConfig",
    "NetworkConfig",
    "PortMapping",
    "Resources",
    "Security",
    "ServerConfig",
    "StackConfig",
    "load",
    "parse",
]
