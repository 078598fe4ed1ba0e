"""The labeller beside the annotators of the official file."""

import pytest

from unbag.natlog.agreement import agreement, official_shapes
from unbag.natlog.models import outcomes
from unbag.natlog.sicck import read


@pytest.fixture(scope="module")
def rows(shared):
    return read(shared / "data/sicck/SICCK-Ground-Truth-apr24.csv")[0]


def test_agreement_is_what_the_card_says(rows):
    """A record of what comes out, so that a changed reading is seen: the readings were fixed before the labels."""
    found = agreement(rows)
    assert found["n"] == 1304
    assert (found["seven_way"], found["four_way"]) == (1085, 1159)


def test_a_higher_bound_changes_nothing_on_the_shapes_that_occur(rows):
    shapes = set(official_shapes(rows))
    assert len(shapes) > 100
    for shape in shapes:
        bound = 6 if max(_numbers(shape)) == 1 else 7
        assert set(outcomes(shape)) == set(outcomes(shape, bound)), shape


def _numbers(shape):
    for clause in (shape.premise, shape.hypothesis):
        yield clause.subject.number
        if clause.object is not None:
            yield clause.object.number
