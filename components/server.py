"""The control server: one replica, and a Service in front of it."""

import hashlib
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

from components import pods, rbac, scheduling
from components.children import child_options
from components.identity import Identity
from config import Security, ServerConfig
from config.environment import PORT

_SECURITY = Security(read_only_root_filesystem=True)


@dataclass(frozen=True)
class ServerArgs:
    """The server.

    namespace, instance: where it runs, and the fleet (`Identity.instance`) it serves.
    image: the name by which the nodes know the image of `settings`.
    """

    namespace: str
    instance: str
    image: pulumi.Input[str]
    settings: ServerConfig

    @property
    def identity(self) -> Identity:
        """Name and labels."""
        return Identity(self.instance, "server", "server", self.namespace)

    @property
    def revision(self) -> str:
        """A digest of the settings."""
        return hashlib.sha256(self.settings.model_dump_json().encode()).hexdigest()[:8]


def deployment(args: ServerArgs) -> apps.DeploymentInitArgs:
    """The server's Deployment. All settings are in the pod template, so that a change rolls the server."""
    identity = args.identity
    return apps.DeploymentInitArgs(
        metadata=identity.metadata(annotations=pods.AWAITED_AS_FLEET),
        spec=apps.DeploymentSpecArgs(
            # It owns what it makes: two at a time, also during an update, would contradict each other.
            replicas=1,
            strategy=apps.DeploymentStrategyArgs(type="Recreate"),
            selector=meta.LabelSelectorArgs(match_labels=identity.selector),
            template=core.PodTemplateSpecArgs(
                metadata=meta.ObjectMetaArgs(labels=identity.labels),
                spec=core.PodSpecArgs(
                    service_account_name=rbac.SERVER,
                    automount_service_account_token=True,
                    enable_service_links=False,
                    termination_grace_period_seconds=30,
                    security_context=pods.pod_security(_SECURITY),
                    tolerations=scheduling.tolerations([]),
                    containers=[_container(args)],
                    volumes=[
                        core.VolumeArgs(
                            name="tmp", empty_dir=core.EmptyDirVolumeSourceArgs(size_limit="64Mi")
                        )
                    ],
                ),
            ),
        ),
    )


def _container(args: ServerArgs) -> core.ContainerArgs:
    settings = args.settings
    # With the api_version that Kubernetes would fill in: else applying it again after a lost state conflicts.
    namespace = core.EnvVarSourceArgs(
        field_ref=core.ObjectFieldSelectorArgs(api_version="v1", field_path="metadata.namespace")
    )
    return core.ContainerArgs(
        name="server",
        image=args.image,
        env=[
            core.EnvVarArgs(name="ENVFLEET_NAMESPACE", value_from=namespace),
            core.EnvVarArgs(name="PORT", value=str(settings.port)),
            core.EnvVarArgs(name="LOG_LEVEL", value=settings.log_level),
            *pods.variables(settings.env),
        ],
        ports=[core.ContainerPortArgs(name=PORT, container_port=settings.port)],
        resources=pods.resources(settings.resources),
        startup_probe=pods.probe("/healthz", period_seconds=1, failures=60),
        liveness_probe=pods.probe("/healthz", period_seconds=10, failures=3),
        readiness_probe=pods.probe("/readyz", period_seconds=5, failures=3),
        security_context=pods.container_security(_SECURITY),
        volume_mounts=[core.VolumeMountArgs(name="tmp", mount_path="/tmp")],  # noqa: S108 - in the container
    )


def service(args: ServerArgs) -> core.ServiceInitArgs:
    """The Service in front of the server."""
    settings = args.settings
    awaited = settings.service_type == "LoadBalancer"  # its address comes late
    return core.ServiceInitArgs(
        metadata=args.identity.metadata(annotations=None if awaited else pods.NOT_AWAITED),
        spec=core.ServiceSpecArgs(
            type=settings.service_type,
            selector=args.identity.selector,
            ports=[pods.service_port(settings.port, node_port=settings.node_port)],
        ),
    )


class Server(pulumi.ComponentResource):
    """The server. Clients inside the cluster reach it at `url`; `incarnation` changes when it is rolled."""

    def __init__(self, name: str, args: ServerArgs, opts: pulumi.ResourceOptions) -> None:
        super().__init__("envfleet:components:Server", name, None, opts)
        child = child_options(name, self, ready="5m", deleted="2m")
        made = apps.Deployment(f"{name}-server-deployment", deployment(args), child)
        core.Service(f"{name}-server-service", service(args), child)
        self.incarnation = pulumi.Output.format("{0} {1} {2}", made.metadata.uid, args.image, args.revision)
        self.url = args.identity.url(args.settings.port)
        self.register_outputs({"url": self.url})
