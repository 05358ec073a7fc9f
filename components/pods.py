"""What the pods of a fleet have in common: no privileges, probes, resources."""

from collections.abc import Mapping

from pulumi_kubernetes.core import v1 as core

from config import Resources

POD_SECURITY = core.PodSecurityContextArgs(
    run_as_non_root=True, seccomp_profile=core.SeccompProfileArgs(type="RuntimeDefault")
)
# For a Service: awaiting one costs 10 s, and the pods behind it are awaited anyway.
NOT_AWAITED = {"pulumi.com/skipAwait": "true"}
PORT = "http"  # name of a container's port, which probes and Services refer to


def container_security(*, read_only: bool) -> core.SecurityContextArgs:
    """No capability and no way to get one; read_only is about the container's own file system."""
    return core.SecurityContextArgs(
        allow_privilege_escalation=False,
        capabilities=core.CapabilitiesArgs(drop=["ALL"]),
        read_only_root_filesystem=read_only,
    )


def probe(path: str, *, period_seconds: int, failures: int) -> core.ProbeArgs:
    """GET `path` once a period; it fails after so many failures in a row."""
    return core.ProbeArgs(
        http_get=core.HTTPGetActionArgs(path=path, port=PORT),
        period_seconds=period_seconds,
        failure_threshold=failures,
        timeout_seconds=5,
    )


def resources(config: Resources) -> core.ResourceRequirementsArgs:
    """The configured resources in Kubernetes' terms."""
    return core.ResourceRequirementsArgs(
        requests=config.requests.model_dump(), limits=config.limits.model_dump()
    )


def variables(env: Mapping[str, str]) -> list[core.EnvVarArgs]:
    """Environment variables in Kubernetes' terms."""
    return [core.EnvVarArgs(name=name, value=value) for name, value in env.items()]


def service_port(port: int, node_port: int | None = None) -> core.ServicePortArgs:
    """A Service's port that leads to the container's."""
    return core.ServicePortArgs(name=PORT, port=port, target_port=PORT, node_port=node_port)
