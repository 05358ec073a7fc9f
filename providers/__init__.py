"""Where clusters come from: one module a provider, behind one `Cluster` component."""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import pulumi
import pulumi_kubernetes as kubernetes

from toolchain.checkpoints import REFUSAL, SKIP

if TYPE_CHECKING:
    from config import StackConfig


class Cluster(pulumi.ComponentResource):
    """A cluster, whatever the provider; nothing above it knows which cloud it is on."""

    name: str
    identifier: pulumi.Output[str]
    """One per incarnation: a cluster that is created anew gets another."""
    kubeconfig: pulumi.Output[str]
    """A secret."""
    provider: kubernetes.Provider
    deleted_with: pulumi.Resource | None = None
    """What takes all objects on the cluster along when it is deleted, for the option of that name."""

    _local_images: Mapping[str, pulumi.Output[str]] = MappingProxyType({})

    def image(self, reference: str) -> pulumi.Input[str]:
        """The name by which pods use an image: for a local one, its name on the nodes once it is loaded."""
        return self._local_images.get(reference, reference)


def provision(config: "StackConfig") -> Cluster:
    """Create the cluster that the configuration describes, or find the one that exists.

    Raises:
        pulumi.RunError: This machine, or the cluster, lacks something that is needed; the message names it.
    """
    match config.cluster.provider:
        case "kind":
            from providers.kind import KindCluster  # noqa: PLC0415

            return KindCluster("cluster", config.cluster)
        case "aws":
            from providers.aws import AwsCluster  # noqa: PLC0415

            return AwsCluster("cluster", config.cluster, pulumi.get_stack())
        case "existing":
            from providers.existing import ExistingCluster  # noqa: PLC0415

            return ExistingCluster("cluster", config.cluster, config.namespace, config.secrets)


def checkpointed() -> pulumi.ResourceHookBinding:
    """Hooks for what no later run finds again by itself, such as a cluster: see `cli.unsaved`.

    Killed while it makes such a thing, a run without checkpoints would leave it behind for ever.
    """
    return pulumi.ResourceHookBinding(before_create=[pulumi.ResourceHook("checkpointed", _refuse_without)])


def checkpointed_within(prefix: str) -> pulumi.ResourceTransformation:
    """The same for every resource below a component whose type begins with a prefix, such as "aws:"."""
    hooks = pulumi.ResourceOptions(hooks=checkpointed())

    def add(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if not args.type_.startswith(prefix):
            return None
        return pulumi.ResourceTransformationResult(args.props, pulumi.ResourceOptions.merge(args.opts, hooks))

    return add


def _refuse_without(args: pulumi.ResourceHookArgs) -> None:
    if os.environ.get(SKIP) == "true":
        if note := os.environ.get(REFUSAL):
            Path(note).touch()
        raise pulumi.RunError(f"{args.name} is made only by a run that saves its state at each step")
