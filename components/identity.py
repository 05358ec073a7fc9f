"""What every object of a fleet is called and labelled."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pulumi_kubernetes.meta import v1 as meta

from config.fields import OWN_PREFIX

SECURITY_LABEL = (
    f"{OWN_PREFIX}pod-security"  # of what leaves Pod Security `restricted`: the level it has instead
)
# By whom every object's fields are owned. Pulumi would take another random name each time it creates one: an
# object found again after a lost state would keep what its first owner wrote, and refuse changes of it.
_FIELD_MANAGER = {"pulumi.com/patchFieldManager": "pulumi-envfleet"}
_LONGEST_LABEL = 63
_DIGEST_LENGTH = 8


@dataclass(frozen=True)
class Identity:
    """A Kubernetes object.

    instance: the fleet that it belongs to; `instance_of` makes one from a stack's name.
    component: its role in the fleet, such as "environment".
    name: its name in Kubernetes.
    namespace: its namespace; None for what is in none.
    """

    instance: str
    component: str
    name: str
    namespace: str | None

    @property
    def labels(self) -> dict[str, str]:
        """All labels of ours."""
        return self.selector | {
            "app.kubernetes.io/component": self.component,
            "app.kubernetes.io/part-of": "envfleet",
            "app.kubernetes.io/managed-by": "pulumi",
        }

    @property
    def selector(self) -> dict[str, str]:
        """The labels by which a Service or a Deployment finds its pods: they must never change."""
        return {"app.kubernetes.io/name": self.name, "app.kubernetes.io/instance": self.instance}

    def url(self, port: int) -> str:
        """Where clients inside the cluster reach the Service that is called so."""
        return f"http://{self.name}.{self.namespace}:{port}"

    def metadata(
        self, more_labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None
    ) -> meta.ObjectMetaArgs:
        """The object's metadata; more_labels can't override ours."""
        return meta.ObjectMetaArgs(
            name=self.name,
            namespace=self.namespace,
            labels={**(more_labels or {}), **self.labels},
            annotations={**(annotations or {}), **_FIELD_MANAGER},
        )


def instance_of(stack: str) -> str:
    """A stack's name as a label's value: as it is if it can be one, else cut and with a hash of the whole."""
    if re.fullmatch(rf"[A-Za-z0-9]([-\w.]{{0,{_LONGEST_LABEL - 2}}}[A-Za-z0-9])?", stack, re.ASCII):
        return stack
    digest = hashlib.sha256(stack.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{stack[: _LONGEST_LABEL - _DIGEST_LENGTH - 1]}-{digest}".lstrip("-_.")
