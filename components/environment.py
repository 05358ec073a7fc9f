"""The environments: each a Pod, a Service of the same name in front of it, and a Secret if it has secrets."""

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
from pulumi.runtime.rpc import UNKNOWN
from pulumi_kubernetes.core import v1 as core
from pydantic import SecretStr

from components import pods, rbac, scheduling, volumes
from components.children import child_options
from components.identity import SECURITY_LABEL, Identity
from config import EnvironmentConfig
from config.environment import HEALTH_PORT, PORT

_LIVENESS_PERIOD_SECONDS = 10


@dataclass(frozen=True)
class EnvironmentArgs:
    """One environment.

    name: of the Pod and the Service, and the host name in its URL.
    namespace, instance: where it runs, and the fleet (`Identity.instance`) it belongs to.
    image: the name by which the nodes know the image of `settings`.
    settings: all else, as it is configured.
    secrets: the values of the variables in `settings.secret_env`.
    """

    name: str
    namespace: str
    instance: str
    image: pulumi.Input[str]
    settings: EnvironmentConfig
    secrets: Mapping[str, SecretStr] = field(default_factory=dict)

    @property
    def identity(self) -> Identity:
        """Name and labels."""
        return Identity(self.instance, "environment", self.name, self.namespace)

    @property
    def labels(self) -> dict[str, str]:
        """The labels that are not of `identity`; whoever leaves Pod Security `restricted` is marked."""
        level = self.settings.security.level
        return {**self.settings.labels, **({} if level == "restricted" else {SECURITY_LABEL: level})}


def pod(args: EnvironmentArgs, node: str | None = None) -> core.PodInitArgs:
    """The environment's Pod; ready when its health path answers. `node` is for previews: see Environments."""
    settings = args.settings
    return core.PodInitArgs(
        metadata=args.identity.metadata(args.labels, {**settings.annotations, **pods.AWAITED_AS_FLEET}),
        spec=core.PodSpecArgs(
            node_name=node,
            service_account_name=settings.service_account or rbac.ENVIRONMENT,
            automount_service_account_token=False,
            enable_service_links=False,
            restart_policy="Always",
            active_deadline_seconds=settings.ttl_seconds,
            termination_grace_period_seconds=10,
            security_context=pods.pod_security(settings.security),
            runtime_class_name=settings.runtime_class,
            priority_class_name=settings.priority_class,
            node_selector=settings.node_selector or None,
            affinity=scheduling.affinity(settings.affinity),
            tolerations=scheduling.tolerations(settings.tolerations),
            image_pull_secrets=[core.LocalObjectReferenceArgs(name=n) for n in settings.image_pull_secrets]
            or None,
            containers=[_container(args)],
            volumes=[volumes.volume(each) for each in settings.volumes] or None,
        ),
    )


def _container(args: EnvironmentArgs) -> core.ContainerArgs:
    settings, health = args.settings, args.settings.health

    def probe(period_seconds: int, failures: int) -> core.ProbeArgs:
        return pods.probe(
            health.path,
            period_seconds=period_seconds,
            failures=failures,
            timeout_seconds=health.timeout_seconds,
            port=HEALTH_PORT if HEALTH_PORT in settings.ports else PORT,
            scheme=health.scheme,
        )

    return core.ContainerArgs(
        name="environment",
        image=args.image,
        image_pull_policy=settings.image_pull_policy,
        command=settings.command,
        args=settings.args,
        env=[
            *pods.variables(settings.env),
            *(_secret_variable(args.name, variable) for variable in settings.secret_env),
        ],
        ports=[
            core.ContainerPortArgs(name=name, container_port=port) for name, port in settings.ports.items()
        ],
        resources=pods.resources(settings.resources),
        startup_probe=probe(period_seconds=1, failures=settings.startup_seconds),
        readiness_probe=probe(health.period_seconds, health.failures),
        liveness_probe=probe(
            _LIVENESS_PERIOD_SECONDS, math.ceil(health.restart_seconds / _LIVENESS_PERIOD_SECONDS)
        )
        if health.restart_seconds
        else None,
        security_context=pods.container_security(settings.security),
        volume_mounts=[volumes.mount(each) for each in settings.volumes] or None,
    )


def _secret_variable(secret: str, variable: str) -> core.EnvVarArgs:
    key = core.SecretKeySelectorArgs(name=secret, key=variable)
    return core.EnvVarArgs(name=variable, value_from=core.EnvVarSourceArgs(secret_key_ref=key))


def service(args: EnvironmentArgs) -> core.ServiceInitArgs:
    """The environment's Service."""
    return core.ServiceInitArgs(
        metadata=args.identity.metadata(args.labels, pods.NOT_AWAITED),
        spec=core.ServiceSpecArgs(
            selector=args.identity.selector,
            ports=[pods.service_port(port, name) for name, port in args.settings.ports.items()],
        ),
    )


def secret(args: EnvironmentArgs) -> core.SecretInitArgs:
    """The environment's secret variables."""
    return core.SecretInitArgs(
        metadata=args.identity.metadata(args.labels),
        type="Opaque",
        data={variable: pulumi.Output.secret(_encoded(value)) for variable, value in args.secrets.items()},
    )


def fingerprint(args: EnvironmentArgs) -> str:
    """16 bits of a digest of the secret variables: they tell of a change, and can confirm no guess."""
    values = sorted((variable, value.get_secret_value()) for variable, value in args.secrets.items())
    text = json.dumps([args.namespace, args.name, values])
    return hashlib.sha256(text.encode()).hexdigest()[:4]


def _encoded(value: SecretStr) -> str:
    return base64.b64encode(value.get_secret_value().encode()).decode()


class Environments(pulumi.ComponentResource):
    """All environments of a fleet; by name, `outputs` has URL and image, `incarnations` the Pod's identity.

    One component for all: with one each, adding an environment would preview as three resources, not two.
    """

    def __init__(self, name: str, args: Sequence[EnvironmentArgs], opts: pulumi.ResourceOptions) -> None:
        super().__init__("envfleet:components:Environments", name, None, opts)
        child = child_options(name, self, ready="5m", deleted="2m")
        # A preview has the API server try out a replacement under the name that the old Pod still has, which
        # it refuses: "pod updates may not change fields". What is known only later is not tried out, and the
        # node is such a thing. With `ignore_changes`, a Pod that stays does not differ by it.
        node = UNKNOWN if pulumi.runtime.is_dry_run() else None
        replaced = pulumi.ResourceOptions.merge(
            child, pulumi.ResourceOptions(ignore_changes=["spec.nodeName"])
        )
        self.outputs = {}
        self.incarnations: dict[str, pulumi.Output[str]] = {}
        for environment in args:
            options = replaced
            if environment.secrets:
                variables = core.Secret(f"{name}-{environment.name}-secret", secret(environment), child)
                # A process reads its variables when it starts. Another value makes another Secret, of which a
                # preview knows only the fingerprint. Not the values themselves: where a trigger is a secret,
                # `pulumi preview --json` ends with a panic.
                trigger = [variables.metadata.uid, fingerprint(environment)]
                started = pulumi.ResourceOptions(replacement_trigger=trigger, depends_on=[variables])
                options = pulumi.ResourceOptions.merge(replaced, started)
            made = core.Pod(f"{name}-{environment.name}-pod", pod(environment, node), options)
            self.incarnations[environment.name] = made.metadata.uid
            core.Service(f"{name}-{environment.name}-service", service(environment), child)
            self.outputs[environment.name] = {
                "url": environment.identity.url(environment.settings.port),
                "image": environment.image,
            }
        self.register_outputs({"environments": self.outputs})
