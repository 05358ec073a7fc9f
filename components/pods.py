"""What the pods of a fleet have in common: privileges, probes, resources."""

from collections.abc import Mapping

from pulumi_kubernetes.core import v1 as core

from config import Resources, Security
from config.environment import PORT

# For a Service: awaiting one costs 10 s, and the pods behind it are awaited anyway.
NOT_AWAITED = {"pulumi.com/skipAwait": "true"}
# For what `Readiness` waits for: created once it exists. `skipAwait` would skip the wait for a deletion too.
AWAITED_AS_FLEET = {"pulumi.com/waitFor": "jsonpath={.metadata.uid}"}


def pod_security(security: Security) -> core.PodSecurityContextArgs:
    """Of the pod: who its processes are."""
    restricted = security.level == "restricted"
    return core.PodSecurityContextArgs(
        run_as_non_root=True if restricted else None,
        run_as_user=security.run_as_user,
        run_as_group=security.run_as_group,
        fs_group=security.fs_group,
        seccomp_profile=core.SeccompProfileArgs(type="RuntimeDefault"),
    )


def container_security(security: Security) -> core.SecurityContextArgs:
    """Of the container: within `restricted`, no capability that is not asked for, and no way to get one."""
    restricted = security.level == "restricted"
    return core.SecurityContextArgs(
        privileged=security.privileged,
        allow_privilege_escalation=not restricted,
        capabilities=core.CapabilitiesArgs(
            drop=["ALL"] if restricted else None, add=security.capabilities or None
        ),
        read_only_root_filesystem=security.read_only_root_filesystem,
    )


def probe(
    path: str,
    *,
    period_seconds: int,
    failures: int,
    timeout_seconds: int = 5,
    port: str = PORT,
    scheme: str = "HTTP",
) -> core.ProbeArgs:
    """GET `path` once a period; it fails after so many failures in a row."""
    return core.ProbeArgs(
        http_get=core.HTTPGetActionArgs(path=path, port=port, scheme=scheme),
        period_seconds=period_seconds,
        failure_threshold=failures,
        timeout_seconds=timeout_seconds,
    )


def resources(config: Resources) -> core.ResourceRequirementsArgs:
    """The configured resources in Kubernetes' terms."""
    devices = {name: str(count) for name, count in config.extended.items()}
    quantities = (
        {name.replace("_", "-"): quantity for name, quantity in each.model_dump().items()} | devices
        for each in (config.requests, config.limits)
    )
    requests, limits = quantities
    return core.ResourceRequirementsArgs(requests=requests, limits=limits)


def variables(env: Mapping[str, str]) -> list[core.EnvVarArgs]:
    """Environment variables in Kubernetes' terms."""
    return [core.EnvVarArgs(name=name, value=value) for name, value in env.items()]


def service_port(port: int, name: str = PORT, node_port: int | None = None) -> core.ServicePortArgs:
    """A Service's port that leads to the container's port of that name."""
    return core.ServicePortArgs(name=name, port=port, target_port=name, node_port=node_port)
