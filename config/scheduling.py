"""Which nodes a pod may run on, in Kubernetes' terms."""

from typing import Literal

from config.base import Model
from config.fields import ExistingNamespace, LabelValue, Lifetime, NodeLabels, QualifiedName, Weight


class Toleration(Model):
    """A taint of nodes that the pod puts up with."""

    key: QualifiedName | None = None
    """Key of the taint; without it, every taint."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """Whether the taint must have `value`, or only exist."""
    value: LabelValue | None = None
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Effect of the taint; without it, every effect."""
    toleration_seconds: Lifetime | None = None
    """For NoExecute: how long the pod stays on a node that gets the taint; without it, for ever."""


class Requirement(Model):
    """What a node's label must be."""

    key: QualifiedName
    """Key of the label."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    """How the label's value compares to `values`."""
    values: list[LabelValue] = []
    """Values: at least one for In and NotIn, a single number for Gt and Lt, none otherwise."""


class NodePreference(Model):
    """Nodes to prefer."""

    weight: Weight
    """How much, from 1 to 100."""
    requirements: list[Requirement]
    """What such a node fulfils, all of it."""


class NodeAffinity(Model):
    """Nodes by their labels."""

    required: list[list[Requirement]] = []
    """Alternatives, one of which a node must fulfil: each a list of requirements that hold together."""
    preferred: list[NodePreference] = []
    """Nodes to prefer among those."""


class PodTerm(Model):
    """Nodes by the pods that are on them."""

    match_labels: NodeLabels
    """Labels of those pods."""
    topology_key: QualifiedName
    """Label of nodes whose value says what is close, such as `kubernetes.io/hostname` for the same node."""
    namespaces: list[ExistingNamespace] = []
    """Namespaces of those pods; by default the fleet's."""


class PodPreference(Model):
    """Nodes to prefer, or to avoid, for the pods that are on them."""

    weight: Weight
    """How much, from 1 to 100."""
    term: PodTerm
    """Which nodes."""


class PodAffinity(Model):
    """Nodes close to certain pods, or away from them."""

    required: list[PodTerm] = []
    """All of these must hold."""
    preferred: list[PodPreference] = []
    """These count."""


class Affinity(Model):
    """What draws a pod to nodes, and what keeps it away."""

    node_affinity: NodeAffinity = NodeAffinity()
    """To nodes with certain labels."""
    pod_affinity: PodAffinity = PodAffinity()
    """To nodes close to certain pods."""
    pod_anti_affinity: PodAffinity = PodAffinity()
    """Away from nodes close to certain pods."""
