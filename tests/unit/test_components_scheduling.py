"""Tolerations and affinity, from the configuration to Kubernetes."""

import pytest

from components import scheduling
from config.scheduling import Affinity, Toleration

REQUIRED = "required_during_scheduling_ignored_during_execution"
PREFERRED = "preferred_during_scheduling_ignored_during_execution"
LOST = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}


def tolerations(*configured):
    return scheduling.tolerations([Toleration(**each) for each in configured])


def affinity(**configured):
    return scheduling.affinity(Affinity(**configured))


def test_a_toleration_is_passed_on_beside_those_of_a_lost_node():
    whole = {"key": "gpu", "operator": "Equal", "value": "a", "effect": "NoExecute", "toleration_seconds": 9}
    ours, *others = tolerations(whole)
    assert {key: getattr(ours, key) for key in whole} == whole
    assert {each.key for each in others} == LOST


def test_an_empty_value_is_left_out_as_kubernetes_does():
    ours, *_ = tolerations({"key": "zone", "value": ""})
    assert ours.value is None


def test_a_toleration_of_everything_has_no_key():
    ours, *_ = tolerations({"operator": "Exists"})
    assert (ours.key, ours.operator, ours.value, ours.effect) == (None, "Exists", None, None)


def test_how_long_a_lost_node_is_put_up_with_can_be_configured():
    node = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "toleration_seconds": 900}
    found = tolerations({**node, "effect": "NoExecute"})
    assert sorted((each.key, each.toleration_seconds) for each in found) == [
        ("node.kubernetes.io/not-ready", 900),
        ("node.kubernetes.io/unreachable", 30),
    ]


def test_without_affinity_there_is_none():
    assert affinity() is None


def test_required_node_affinity_is_a_list_of_alternatives():
    alternatives = [
        [{"key": "a", "operator": "In", "values": ["x", "y"]}, {"key": "b", "operator": "Exists"}],
        [{"key": "c", "operator": "Gt", "values": ["3"]}],
    ]
    found = affinity(node_affinity={"required": alternatives}).node_affinity
    terms = [
        [(each.key, each.operator, each.values) for each in term.match_expressions]
        for term in getattr(found, REQUIRED).node_selector_terms
    ]
    assert terms == [[("a", "In", ["x", "y"]), ("b", "Exists", None)], [("c", "Gt", ["3"])]]
    assert getattr(found, PREFERRED) is None


def test_preferred_node_affinity_has_weights():
    preferred = [{"weight": 7, "requirements": [{"key": "a", "operator": "DoesNotExist"}]}]
    found = affinity(node_affinity={"preferred": preferred}).node_affinity
    (preference,) = getattr(found, PREFERRED)
    (expression,) = preference.preference.match_expressions
    assert (preference.weight, expression.key, expression.operator) == (7, "a", "DoesNotExist")
    assert getattr(found, REQUIRED) is None, "a required affinity without terms would match no node"


@pytest.mark.parametrize("kind", ["pod_affinity", "pod_anti_affinity"])
def test_pods_attract_and_repel_by_their_labels(kind):
    near = {"match_labels": {"role": "cache"}, "topology_key": "zone", "namespaces": ["shared"]}
    far = {"match_labels": {"role": "noise"}, "topology_key": "kubernetes.io/hostname"}
    whole = affinity(**{kind: {"required": [near], "preferred": [{"weight": 3, "term": far}]}})
    found = getattr(whole, kind)
    (term,) = getattr(found, REQUIRED)
    assert term.label_selector.match_labels == {"role": "cache"}
    assert (term.topology_key, term.namespaces) == ("zone", ["shared"])
    (preference,) = getattr(found, PREFERRED)
    assert preference.weight == 3
    assert preference.pod_affinity_term.label_selector.match_labels == {"role": "noise"}
    assert preference.pod_affinity_term.topology_key == "kubernetes.io/hostname"
    assert preference.pod_affinity_term.namespaces is None, "the fleet's own"
    (other,) = {"pod_affinity", "pod_anti_affinity"} - {kind}
    assert getattr(getattr(whole, other), REQUIRED) is None
