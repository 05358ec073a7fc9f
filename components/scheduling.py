"""Which nodes an environment may run on: the configuration in Kubernetes' types."""

from collections.abc import Iterator, Sequence

from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

from config.scheduling import Affinity, NodeAffinity, PodAffinity, PodTerm, Requirement, Toleration

# How long a pod stays bound to a node that is lost; Kubernetes' default is 300 s.
_LOST_NODE_SECONDS = 30


def tolerations(config: Sequence[Toleration]) -> list[core.TolerationArgs]:
    """The configured tolerations, and those of a lost node unless the configuration has them."""
    return [
        *(_toleration(each) for each in config),
        *_lost_node(config),
    ]


def _toleration(config: Toleration) -> core.TolerationArgs:
    # Without an empty value, as Kubernetes keeps it: else taking the Pod back after a lost state conflicts.
    return core.TolerationArgs(**{key: value for key, value in config.model_dump().items() if value})


def _lost_node(config: Sequence[Toleration]) -> Iterator[core.TolerationArgs]:
    # Exactly where Kubernetes would add its own: it changes the list, and after a lost state that conflicts.
    configured = {each.key for each in config if each.effect in {None, "NoExecute"}}
    for condition in ("not-ready", "unreachable"):
        key = f"node.kubernetes.io/{condition}"
        if configured.isdisjoint({None, key}):
            yield core.TolerationArgs(
                key=key, operator="Exists", effect="NoExecute", toleration_seconds=_LOST_NODE_SECONDS
            )


def affinity(config: Affinity) -> core.AffinityArgs | None:
    """The configured affinity; None if there is none."""
    if config == Affinity():
        return None
    return core.AffinityArgs(
        node_affinity=_node_affinity(config.node_affinity),
        pod_affinity=core.PodAffinityArgs(**_pod_affinity(config.pod_affinity)),
        pod_anti_affinity=core.PodAntiAffinityArgs(**_pod_affinity(config.pod_anti_affinity)),
    )


def _node_affinity(config: NodeAffinity) -> core.NodeAffinityArgs:
    terms = [core.NodeSelectorTermArgs(match_expressions=_expressions(term)) for term in config.required]
    preferred = [
        core.PreferredSchedulingTermArgs(
            weight=each.weight,
            preference=core.NodeSelectorTermArgs(match_expressions=_expressions(each.requirements)),
        )
        for each in config.preferred
    ]
    return core.NodeAffinityArgs(
        required_during_scheduling_ignored_during_execution=core.NodeSelectorArgs(node_selector_terms=terms)
        if terms
        else None,
        preferred_during_scheduling_ignored_during_execution=preferred or None,
    )


def _expressions(requirements: Sequence[Requirement]) -> list[core.NodeSelectorRequirementArgs]:
    return [
        core.NodeSelectorRequirementArgs(key=each.key, operator=each.operator, values=each.values or None)
        for each in requirements
    ]


def _pod_affinity(config: PodAffinity) -> core.PodAffinityArgsDict:
    preferred = [
        core.WeightedPodAffinityTermArgs(weight=each.weight, pod_affinity_term=_pod_term(each.term))
        for each in config.preferred
    ]
    return {
        "required_during_scheduling_ignored_during_execution": [_pod_term(each) for each in config.required]
        or None,
        "preferred_during_scheduling_ignored_during_execution": preferred or None,
    }


def _pod_term(term: PodTerm) -> core.PodAffinityTermArgs:
    return core.PodAffinityTermArgs(
        label_selector=meta.LabelSelectorArgs(match_labels=term.match_labels or None),
        topology_key=term.topology_key,
        namespaces=term.namespaces or None,
    )
