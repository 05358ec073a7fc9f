"""Every command of README works, in its order, on a clean clone; the last step is for test_teardown.py."""

import pytest

from tests.e2e.clone import Result
from tests.e2e.readme import STEPS, Step, Walk, lines


def test_readme_begins_with_up_and_ends_with_down() -> None:
    assert (STEPS[0].block, STEPS[-1].block) == ("make up\n", "make down\n")


@pytest.mark.parametrize("step", STEPS[:-1], ids=str)
def test_step_works_and_prints_what_readme_shows(step: Step, walk: Walk, up: Result) -> None:
    printed = lines(walk.take(step).succeeded(), walk.clone.prefix)
    missing = [line for line in lines(step.shown) if line not in printed]
    assert not missing, "\n".join(printed)
