"""A stack's configuration becomes a cluster, a fleet on it, and outputs that say how to reach it."""

import gc

import pulumi

from components.fleet import Fleet, FleetArgs
from components.identity import instance_of
from config import ConfigError, load
from providers import provision

# Everything a fleet is made of lives until the end: looking for garbage took a fifth of the program's time.
gc.disable()

try:
    config = load()
except ConfigError as error:
    raise pulumi.RunError(str(error)) from None  # shown without a traceback

cluster = provision(config)
fleet = Fleet(
    "fleet",
    FleetArgs(
        config, instance_of(pulumi.get_stack()), cluster.kubeconfig, cluster.image, cluster.deleted_with
    ),
    pulumi.ResourceOptions(providers=[cluster.provider]),
)

pulumi.export("cluster", cluster.name)
pulumi.export("kubeconfig", cluster.kubeconfig)
pulumi.export("instance", fleet.instance)
pulumi.export("namespace", fleet.namespace)
pulumi.export("server", fleet.server_url)
pulumi.export("environments", fleet.environments)
