import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbag.scoring.significance import mcnemar_test


def _build_outcomes(only_first, only_second, both=3, neither=2):
    first = [1] * only_first + [0] * only_second + [1] * both + [0] * neither
    second = [0] * only_first + [1] * only_second + [1] * both + [0] * neither
    return first, second


def test_p_value_equals_hand_computed_value():
    # 0 of 4 discordant examples: 2 (1/16) / 2. 1 of 3: 2 (1/8 + 3/8 / 2).
    assert mcnemar_test(*_build_outcomes(0, 4)).p == pytest.approx(1 / 16)
    assert mcnemar_test(*_build_outcomes(1, 2)).p == pytest.approx(5 / 8)


@given(st.integers(0, 300), st.integers(0, 300))
def test_p_value_equals_scipy(one, two):
    binomial = pytest.importorskip("scipy.stats").binom
    d, fewer = one + two, min(one, two)
    mid = 2 * (binomial.cdf(fewer, d, 0.5) - binomial.pmf(fewer, d, 0.5) / 2)
    assert mcnemar_test(*_build_outcomes(one, two)).p == pytest.approx(min(1, mid), rel=1e-9, abs=1e-300)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 20))
def test_system_order_and_concordant_examples_have_no_effect(one, two, both):
    assert mcnemar_test(*_build_outcomes(one, two, both)).p == mcnemar_test(*_build_outcomes(two, one, 0)).p


def test_equal_systems_have_p_value_one():
    assert mcnemar_test(*_build_outcomes(7, 7)).p == pytest.approx(1)
    assert mcnemar_test(*_build_outcomes(0, 0)).p == 1


def test_many_discordant_examples_do_not_overflow():
    assert mcnemar_test(*_build_outcomes(5000, 5400)).p == pytest.approx(
        8.9e-5, rel=0.02
    )  # z = 400 / 10400 ** 0.5 = 3.92


def test_false_positive_rate_is_5_percent():
    rng = np.random.default_rng(0)
    found = [mcnemar_test(rng.random(200) < 0.8, rng.random(200) < 0.8).p < 0.05 for _ in range(2000)]
    assert np.mean(found) == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize(("first", "second", "words"), [([1], [1, 0], "arrays of equal length"), ([2], [1], "correct")])
def test_invalid_outcomes_raise(first, second, words):
    with pytest.raises(ValueError, match=words):
        mcnemar_test(first, second)
