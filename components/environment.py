"""The environments: each a Pod, and a Service of the same name in front of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi.runtime.rpc import UNKNOWN
from pulumi_kubernetes.core import v1 as core

from components import pods, rbac
from components.children import child_options
from components.identity import Identity
from config import EnvironmentConfig

# How long a Pod stays bound to a node that is lost; Kubernetes' default is 300 s.
_LOST_NODE_SECONDS = 30


@dataclass(frozen=True)
class EnvironmentArgs:
    """One environment.

    name: of the Pod and the Service, and the host name in its URL.
    namespace, instance: where it runs, and the fleet (`Identity.instance`) it belongs to.
    image: the name by which the nodes know the image of `settings`.
    """

    name: str
    namespace: str
    instance: str
    image: pulumi.Input[str]
    settings: EnvironmentConfig

    @property
    def identity(self) -> Identity:
        """Name and labels."""
        return Identity(self.instance, "environment", self.name, self.namespace)


def pod(args: EnvironmentArgs, node: str | None = None) -> core.PodInitArgs:
    """The environment's Pod; ready when its health path answers. `node` is for previews: see Environments."""
    settings = args.settings
    return core.PodInitArgs(
        metadata=args.identity.metadata(settings.labels),
        spec=core.PodSpecArgs(
            node_name=node,
            service_account_name=rbac.ENVIRONMENT,
            automount_service_account_token=False,
            enable_service_links=False,
            restart_policy="Always",
            termination_grace_period_seconds=10,
            security_context=pods.POD_SECURITY,
            tolerations=[
                core.TolerationArgs(
                    key=f"node.kubernetes.io/{condition}",
                    operator="Exists",
                    effect="NoExecute",
                    toleration_seconds=_LOST_NODE_SECONDS,
                )
                for condition in ("not-ready", "unreachable")
            ],
            containers=[
                core.ContainerArgs(
                    name="environment",
                    image=args.image,
                    command=settings.command,
                    args=settings.args,
                    env=pods.variables(settings.env),
                    ports=[core.ContainerPortArgs(name=pods.PORT, container_port=settings.port)],
                    resources=pods.resources(settings.resources),
                    startup_probe=pods.probe(settings.health_path, period_seconds=1, failures=120),
                    # Patient: a long step may keep the environment from answering.
                    liveness_probe=pods.probe(settings.health_path, period_seconds=10, failures=12),
                    readiness_probe=pods.probe(settings.health_path, period_seconds=5, failures=3),
                    # User code writes where it likes, within its own container.
                    security_context=pods.container_security(read_only=False),
                )
            ],
        ),
    )


def service(args: EnvironmentArgs) -> core.ServiceInitArgs:
    """The environment's Service."""
    return core.ServiceInitArgs(
        metadata=args.identity.metadata(args.settings.labels, pods.NOT_AWAITED),
        spec=core.ServiceSpecArgs(
            selector=args.identity.selector, ports=[pods.service_port(args.settings.port)]
        ),
    )


class Environments(pulumi.ComponentResource):
    """All environments of a fleet; `outputs` has the URL and the image of each, by name.

    One component for all: with one each, adding an environment would preview as three resources, not two.
    """

    def __init__(self, name: str, args: Sequence[EnvironmentArgs], opts: pulumi.ResourceOptions) -> None:
        super().__init__("envfleet:components:Environments", name, None, opts)
        child = child_options(self, ready="5m", deleted="2m")
        # A preview has the API server try out a replacement under the name that the old Pod still has, which
        # it refuses: "pod updates may not change fields". What is known only later is not tried out, and the
        # node is such a thing. With `ignore_changes`, a Pod that stays does not differ by it.
        node = UNKNOWN if pulumi.runtime.is_dry_run() else None
        replaced = pulumi.ResourceOptions.merge(
            child, pulumi.ResourceOptions(ignore_changes=["spec.nodeName"])
        )
        self.outputs = {}
        for environment in args:
            core.Pod(f"{name}-{environment.name}-pod", pod(environment, node), replaced)
            core.Service(f"{name}-{environment.name}-service", service(environment), child)
            self.outputs[environment.name] = {
                "url": environment.identity.url(environment.settings.port),
                "image": environment.image,
            }
        self.register_outputs({"environments": self.outputs})
