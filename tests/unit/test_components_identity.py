"""Labels and names."""

import re

from hypothesis import given
from hypothesis import strategies as st

from components.identity import Identity, instance_of

stack_names = st.text("abcXYZ019-_.", min_size=1, max_size=100)


@given(stack_names)
def test_every_stack_name_makes_a_label(stack):
    assert re.fullmatch(r"[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?", instance_of(stack))


@given(stack_names, stack_names)
def test_two_stacks_never_share_a_label(one, other):
    assert (instance_of(one) == instance_of(other)) == (one == other)


def test_stack_names_stay_legible_and_the_same_from_run_to_run():
    assert instance_of("dev") == "dev"
    assert (
        instance_of("x" * 64)
        == f"{'x' * 54}-7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"[:63]
    )


def test_more_labels_cannot_override_ours():
    identity = Identity("dev", "environment", "echo", "envfleet")
    ours = identity.metadata().labels
    assert identity.metadata(dict.fromkeys(ours, "stolen") | {"team": "x"}).labels == {**ours, "team": "x"}


def test_labels_say_what_an_object_is():
    assert Identity("dev", "environment", "echo", "envfleet").labels == {
        "app.kubernetes.io/name": "echo",
        "app.kubernetes.io/instance": "dev",
        "app.kubernetes.io/component": "environment",
        "app.kubernetes.io/part-of": "envfleet",
        "app.kubernetes.io/managed-by": "pulumi",
    }
