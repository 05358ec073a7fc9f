"""What is mounted into an environment: the configuration in Kubernetes' types."""

from pulumi_kubernetes.core import v1 as core

from config.storage import EphemeralClaim, Volume


def volume(config: Volume) -> core.VolumeArgs:
    """Where a volume comes from; the configuration has exactly one source."""
    empty_dir, claim = config.empty_dir, config.persistent_volume_claim
    return core.VolumeArgs(
        name=config.name,
        empty_dir=core.EmptyDirVolumeSourceArgs(
            size_limit=empty_dir.size_limit, medium="Memory" if empty_dir.memory else None
        )
        if empty_dir
        else None,
        ephemeral=_ephemeral(config.ephemeral_claim) if config.ephemeral_claim else None,
        persistent_volume_claim=core.PersistentVolumeClaimVolumeSourceArgs(
            claim_name=claim, read_only=config.read_only
        )
        if claim
        else None,
        config_map=core.ConfigMapVolumeSourceArgs(name=config.config_map) if config.config_map else None,
        secret=core.SecretVolumeSourceArgs(secret_name=config.secret) if config.secret else None,
    )


def _ephemeral(claim: EphemeralClaim) -> core.EphemeralVolumeSourceArgs:
    spec = core.PersistentVolumeClaimSpecArgs(
        access_modes=["ReadWriteOnce"],
        resources=core.VolumeResourceRequirementsArgs(requests={"storage": claim.size}),
        storage_class_name=claim.storage_class,
    )
    return core.EphemeralVolumeSourceArgs(
        volume_claim_template=core.PersistentVolumeClaimTemplateArgs(spec=spec)
    )


def mount(config: Volume) -> core.VolumeMountArgs:
    """Where a volume is in the container."""
    return core.VolumeMountArgs(
        name=config.name,
        mount_path=config.mount_path,
        sub_path=config.sub_path,
        read_only=config.read_only or None,
    )
