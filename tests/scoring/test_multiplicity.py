import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbag.scoring.significance import correct_p_values

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_corrected_p_values_equal_hand_computed_values():
    # 4 × .01; 3 × .02 = .06; 2 × .03 = .06; 1 × .04, raised to the value before it.
    assert correct_p_values([0.02, 0.01, 0.04, 0.03]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert correct_p_values([0.6, 0.7]).tolist() == [1, 1]
    assert correct_p_values([0.2]).tolist() == [0.2]


@given(P_VALUES)
def test_corrected_p_values_lie_between_raw_and_bonferroni(p):
    corrected = correct_p_values(p)
    assert (corrected >= p).all()
    assert (corrected <= np.minimum(np.array(p) * len(p), 1) + 1e-12).all()
    assert min(corrected) == pytest.approx(min(1, min(p) * len(p)))


@given(P_VALUES, st.randoms())
def test_order_of_p_values_has_no_effect(p, random):
    order = list(range(len(p)))
    random.shuffle(order)
    assert correct_p_values([p[i] for i in order]) == pytest.approx(correct_p_values(p)[order])


@given(P_VALUES, st.floats(0.001, 0.2))
def test_correction_rejects_like_stepwise_holm(p, level):
    """The original procedure of Holm: from the smallest p-value on, until one is above level / (tests left)."""
    rejected = set()
    for left, place in zip(range(len(p), 0, -1), np.argsort(p, kind="stable"), strict=True):
        if p[place] * left > level:
            break
        rejected.add(int(place))
    assert {int(i) for i in np.flatnonzero(correct_p_values(p) <= level)} == rejected


def test_family_wise_error_rate_is_5_percent():
    rng = np.random.default_rng(0)
    assert np.mean([correct_p_values(rng.random(12)).min() < 0.05 for _ in range(4000)]) == pytest.approx(
        0.05, abs=0.012
    )


def test_invalid_p_values_raise():
    with pytest.raises(ValueError, match="from 0 to 1"):
        correct_p_values([0.5, float("nan")])
