"""A cluster on this machine: Kubernetes nodes as containers, made by kind."""

from typing import TYPE_CHECKING

import pulumi
import pulumi_kubernetes as kubernetes

from providers import Cluster, checkpointed
from providers.kind import cli, dynamic, engine
from providers.kind.spec import cluster_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from config import KindConfig


class KindCluster(Cluster):
    """A kind cluster, its local images, and the Kubernetes provider for what is put on it."""

    def __init__(self, name: str, config: "KindConfig", opts: pulumi.ResourceOptions | None = None) -> None:
        image_ids = local_image_ids(config.images)
        super().__init__("envfleet:providers:KindCluster", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        lasting = pulumi.ResourceOptions(parent=self, hooks=checkpointed())
        owner = dynamic.Owner(f"{name}-owner", lasting)
        cluster = dynamic.Cluster(f"{name}-kind", cluster_inputs(config), owner.owner, lasting)
        self.name = config.name
        self.identifier = cluster.identifier
        self.kubeconfig = cluster.kubeconfig
        self.deleted_with = cluster
        self.provider = kubernetes.Provider(
            f"{name}-kubernetes",
            kubeconfig=cluster.kubeconfig,
            cluster_identifier=cluster.identifier,
            # Objects went with their cluster, so a refresh or destroy after that has nothing to ask it.
            delete_unreachable=True,
            kube_client_settings=kubernetes.KubeClientSettingsArgs(qps=100, burst=200, timeout=60),
            # Without `deleted_with`, a replaced cluster makes the engine close this provider's old instance
            # before it has deleted the old objects with it (pulumi/pulumi#14650).
            opts=pulumi.ResourceOptions(parent=self, deleted_with=cluster),
        )
        self._local_images = {
            source: dynamic.Image(f"{name}-image-{source}", cluster, source, image_id, child).reference
            for source, image_id in image_ids.items()
        }
        self.register_outputs(
            {"name": self.name, "identifier": self.identifier, "kubeconfig": self.kubeconfig}
        )


def local_image_ids(images: "Sequence[str]") -> dict[str, str]:
    """The ID of each local image, by its reference.

    Raises:
        pulumi.RunError: One does not exist, or this machine can't make clusters.
    """
    try:
        cli.require()
        found = {reference: engine.image_id(reference) for reference in images}
    except engine.KindError as error:
        raise pulumi.RunError(str(error)) from None
    if missing := [reference for reference, image_id in found.items() if image_id is None]:
        raise pulumi.RunError(
            f"envfleet:cluster.images: the container engine has no {', '.join(missing)}. "
            "Build with `make images`, or remove it from the list."
        )
    if digests := [reference for reference in images if "@" in reference]:
        raise pulumi.RunError(
            f"envfleet:cluster.images: write repository:tag instead of {', '.join(digests)}. An image with a "
            "digest comes from a registry, where the nodes find it themselves: it needs no entry here."
        )
    return {reference: image_id for reference, image_id in found.items() if image_id}
