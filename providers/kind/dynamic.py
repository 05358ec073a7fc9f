"""The resources of a kind cluster, as Pulumi's dynamic providers: see `plugin` on their names."""

import secrets
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi import dynamic
from pulumi.runtime import rpc
from typing_extensions import override

from plugin import Provider, say
from providers.kind import cli, engine
from providers.kind.engine import KindError
from providers.kind.spec import ClusterInputs, containers_of, whole

# `ready_timeout_seconds` is not among them: it matters only while a cluster is made.
_REPLACING = (
    "name",
    "owner",
    "control_plane_nodes",
    "worker_nodes",
    "node_image",
    "port_mappings",
    "feature_gates",
)
_IMAGE_INPUTS = ("source", "image_id", "reference", "cluster", "owner", "incarnation")


class OwnerProvider(Provider):
    """A random id, in the state before the cluster exists; deleting it removes whatever carries it."""

    @override
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        owner = secrets.token_hex(4)
        return dynamic.CreateResult(owner, {"owner": owner})

    @override
    def diff(self, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> dynamic.DiffResult:
        return dynamic.DiffResult(changes=False)

    @override
    def delete(self, id_: str, props: dict[str, Any]) -> None:
        # A create that was killed is in no state, so no other delete gets at what it made.
        engine.remove(id_)


class ClusterProvider(Provider):
    """A kind cluster: its containers, their network, and the kubeconfig that kind writes."""

    @override
    def check(self, olds: dict[str, Any], news: dict[str, Any]) -> dynamic.CheckResult:
        failures = []
        if not olds and (stranger := _stranger(news["name"], news["owner"])):
            failures.append(dynamic.CheckFailure("name", stranger))
        # One per incarnation: Pulumi checks a replacement without the old inputs.
        identifier = olds.get("identifier") or f"{news['name']}-{secrets.token_hex(4)}"
        return dynamic.CheckResult({**news, "identifier": identifier}, failures)

    @override
    def diff(self, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> dynamic.DiffResult:
        replaces = [field for field in _REPLACING if olds.get(field) != news.get(field)]
        containers = engine.owned(olds["owner"])
        if len(containers) < containers_of(whole(olds)):
            state = "is incomplete" if containers else "no longer exists"
            say(f"kind cluster {olds['name']!r} {state}: it will be created anew")
            replaces.append("identifier")
        stopped = [container.name for container in containers if not container.running]
        if stopped and not replaces:
            say(f"kind cluster {olds['name']!r} is stopped: {', '.join(stopped)} will be started")
        return dynamic.DiffResult(
            changes=bool(replaces or stopped), replaces=replaces, delete_before_replace=True
        )

    @override
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        owner = props["owner"]
        if stranger := _stranger(props["name"], owner):
            raise KindError(stranger)
        # Left by a create that was killed.
        engine.remove(owner)
        image = props.get("node_image") or cli.default_node_image()
        kubeconfig = cli.create(whole(props), owner, image)
        return dynamic.CreateResult(props["identifier"], {**props, "kubeconfig": kubeconfig})

    @override
    def update(self, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> dynamic.UpdateResult:
        cli.start(news["owner"], news["ready_timeout_seconds"])
        return dynamic.UpdateResult({**olds, **news})

    @override
    def read(self, id_: str, props: dict[str, Any]) -> dynamic.ReadResult:
        # A blank id is how a provider says that a resource is gone.
        return dynamic.ReadResult(id_, props) if engine.owned(props["owner"]) else dynamic.ReadResult("", {})

    @override
    def delete(self, id_: str, props: dict[str, Any]) -> None:
        engine.remove(props["owner"])


class ImageProvider(Provider):
    """A local image on the nodes, under a name that holds its content's hash.

    Nothing is removed when a name is no longer used: pods may not have moved yet, and it goes with the nodes.
    """

    @override
    def diff(self, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> dynamic.DiffResult:
        return dynamic.DiffResult(changes=any(olds.get(key) != news.get(key) for key in _IMAGE_INPUTS))

    @override
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        self._load(props)
        return dynamic.CreateResult(props["source"], props)

    @override
    def update(self, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> dynamic.UpdateResult:
        self._load(news)
        return dynamic.UpdateResult(dict(news))

    @staticmethod
    def _load(props: Mapping[str, Any]) -> None:
        cli.load_image(
            props["cluster"], props["owner"], props["source"], props["image_id"], props["reference"]
        )


def _stranger(name: str, owner: str) -> str | None:
    """What to tell the user if a cluster of this name exists that the owner (perhaps unknown) lacks."""
    ours = set() if rpc.contains_unknowns(owner) else {each.id for each in engine.owned(owner)}
    if all(container.id in ours for container in engine.named(name)):
        return None
    return (
        f"a kind cluster {name!r} exists and is not this stack's, so it stays untouched. Choose another "
        f"envfleet:cluster.name, or run `kind delete cluster --name {name}` if nobody needs it"
    )


class Owner(dynamic.Resource, module="kind", name="Owner"):
    """The id that marks all that belongs to one kind cluster."""

    owner: pulumi.Output[str]

    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__(OwnerProvider(), name, {"owner": None}, opts)


class Cluster(dynamic.Resource, module="kind", name="Cluster"):
    """A kind cluster."""

    name: pulumi.Output[str]
    owner: pulumi.Output[str]
    identifier: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]

    def __init__(
        self, name: str, inputs: ClusterInputs, owner: pulumi.Input[str], opts: pulumi.ResourceOptions
    ) -> None:
        outputs = {"identifier": None, "kubeconfig": None}
        secret = pulumi.ResourceOptions(additional_secret_outputs=["kubeconfig"])
        super().__init__(
            ClusterProvider(),
            name,
            {**inputs, "owner": owner, **outputs},
            pulumi.ResourceOptions.merge(opts, secret),
        )


class Image(dynamic.Resource, module="kind", name="Image"):
    """A local docker image on all nodes of a cluster."""

    reference: pulumi.Output[str]

    def __init__(
        self, name: str, cluster: Cluster, source: str, image_id: str, opts: pulumi.ResourceOptions
    ) -> None:
        inputs = {
            "source": source,
            "image_id": image_id,
            "reference": content_reference(source, image_id),
            "cluster": cluster.name,
            "owner": cluster.owner,
            "incarnation": cluster.identifier,
        }
        super().__init__(ImageProvider(), name, inputs, opts)


def content_reference(source: str, image_id: str) -> str:
    """The name of an image on the nodes: `repo:tag-<12 hex digits of its ID>`."""
    return f"{source}-{image_id.removeprefix('sha256:')[:12]}"
