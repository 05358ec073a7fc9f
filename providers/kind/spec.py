"""What a kind cluster is made from: the resource's inputs, and the kind configuration they stand for."""

from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

if TYPE_CHECKING:
    from config import KindConfig

# The default runtime of an engine that toolchain/daemon.py started where a capability is missing.
FILTERING_RUNTIME = "envfleet-runc"


class PortMapping(TypedDict):
    """A port of the first control plane node, published on the host."""

    container_port: int
    host_port: int
    listen_address: str
    protocol: str


class ClusterInputs(TypedDict):
    """Inputs of the `Cluster` resource, besides its owner."""

    name: str
    control_plane_nodes: int
    worker_nodes: int
    node_image: NotRequired[str]
    port_mappings: list[PortMapping]
    feature_gates: dict[str, bool]
    ready_timeout_seconds: int


def cluster_inputs(config: "KindConfig") -> ClusterInputs:
    """The part of the configuration that makes the cluster; the keys are the same."""
    dumped = config.model_dump(exclude={"provider", "images"}, exclude_none=True)
    return cast("ClusterInputs", dumped)


def whole(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Turn the numbers of a value back into integers: Pulumi hands all of them over as floats."""
    match value:
        case float():
            return int(value)
        case dict():
            return {key: whole(item) for key, item in value.items()}
        case list():
            return [whole(item) for item in value]
        case _:
            return value


def containers_of(inputs: ClusterInputs) -> int:
    """How many containers the cluster is: its nodes, and a load balancer before several control planes."""
    control_planes = inputs["control_plane_nodes"]
    return control_planes + inputs["worker_nodes"] + (1 if control_planes > 1 else 0)


def kind_config(inputs: ClusterInputs, image: str, cgroup_version: int, runtime: str) -> dict[str, Any]:
    """The configuration file of `kind create cluster`, as data.

    Args:
        inputs: The resource's inputs.
        image: Node image to use.
        cgroup_version: 1 or 2, of the engine that will run the nodes.
        runtime: The engine's default runtime.
    """
    gates = dict(inputs["feature_gates"])
    if runtime == FILTERING_RUNTIME:
        # Without CAP_SYS_RESOURCE the kubelet can't set some limits; this gate lets it go on.
        gates["KubeletInUserNamespace"] = True
    control_plane = {"role": "control-plane", "image": image}
    first = {
        **control_plane,
        "extraPortMappings": [
            {
                "containerPort": mapping["container_port"],
                "hostPort": mapping["host_port"],
                "listenAddress": mapping["listen_address"],
                "protocol": mapping["protocol"],
            }
            for mapping in inputs["port_mappings"]
        ],
    }
    others = [control_plane] * (inputs["control_plane_nodes"] - 1)
    workers = [{"role": "worker", "image": image}] * inputs["worker_nodes"]
    config: dict[str, Any] = {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "name": inputs["name"],
        "nodes": [first, *others, *workers],
        "featureGates": gates,
    }
    if cgroup_version == 1:
        # kubelet 1.35 and newer refuse cgroup v1 unless told otherwise.
        config["kubeadmConfigPatches"] = ["kind: KubeletConfiguration\nfailCgroupV1: false\n"]
    return config
