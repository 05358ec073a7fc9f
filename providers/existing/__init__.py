"""A cluster that exists already: looked at in every preview, and never changed but by the fleet on it."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pulumi
import pulumi_kubernetes as kubernetes

from live.api import ClusterError
from providers import Cluster
from providers.existing.examination import Report, examine
from providers.existing.kubeconfig import KubeconfigError, select

if TYPE_CHECKING:
    from pydantic import SecretStr

    from config import ExistingConfig


class ExistingCluster(Cluster):
    """The cluster that a context of a kubeconfig leads to."""

    def __init__(
        self,
        name: str,
        config: "ExistingConfig",
        namespace: str,
        secrets: "Mapping[str, SecretStr]",
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        kubeconfig = read(config, secrets)
        report = look(config, kubeconfig, namespace)
        super().__init__("envfleet:providers:ExistingCluster", name, None, opts)
        self.name = config.name
        self.identifier = pulumi.Output.from_input(report.identifier)
        self.kubeconfig = pulumi.Output.secret(kubeconfig)
        self.provider = kubernetes.Provider(
            f"{name}-kubernetes",
            kubeconfig=self.kubeconfig,
            cluster_identifier=report.identifier,
            kube_client_settings=kubernetes.KubeClientSettingsArgs(qps=100, burst=200, timeout=60),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs(
            {"name": self.name, "identifier": self.identifier, "kubeconfig": self.kubeconfig}
        )


def read(config: "ExistingConfig", secrets: "Mapping[str, SecretStr]") -> str:
    """The kubeconfig of the context, with all that it needs.

    Raises:
        pulumi.RunError: There is no such context, or no usable kubeconfig.
    """
    try:
        if config.kubeconfig_secret:
            place = f"envfleet:secrets.{config.kubeconfig_secret}"
            text, folder = secrets[config.kubeconfig_secret].get_secret_value(), Path()
        else:
            place = f'envfleet:cluster.kubeconfig = "{config.kubeconfig}"'
            file = Path(config.kubeconfig or "").expanduser().absolute()
            text, folder = file.read_text(), file.parent
        return select(text, config.context, folder)
    except KubeconfigError as error:
        raise pulumi.RunError(f"{place}: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise pulumi.RunError(f"{place}: can't be read: {error}") from None


def look(config: "ExistingConfig", kubeconfig: str, namespace: str) -> Report:
    """See whether the cluster has what a fleet needs; what would merely be of use is a warning.

    Raises:
        pulumi.RunError: It can't be reached, or lacks something.
    """
    place = f'envfleet:cluster.context = "{config.context}"'
    asked = examine(kubeconfig, namespace, enforces=config.enforces_network_policies)
    try:
        # In a thread of its own: this one's event loop runs the program.
        with ThreadPoolExecutor(1) as executor:
            report = executor.submit(asyncio.run, asked).result()
    except ClusterError as error:
        raise pulumi.RunError(f"{place}: the cluster can't be used: {error}") from None
    if report.missing:
        listed = "".join(f"\n  - {each}" for each in report.missing)
        raise pulumi.RunError(f"{place}: the cluster lacks what a fleet needs:{listed}\nSee docs/existing.md")
    for warning in report.warnings:
        pulumi.log.warn(warning)
    if config.enforces_network_policies is False:
        pulumi.log.warn("the cluster enforces no network policies: any pod can reach the environments")
    return report
