import numpy as np
import pytest

from tests.factories import score_swapped_pairs
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.nested import iter_estimates

E, N, C = 0, 1, 2
NOTHING = Estimate(None, None, None, 0)

# By hand: two entailment pairs, three neutral pairs and two contradictions.
REFERENCES = [E, N, C, N, E, C, N]
PREDICTIONS = [E, N, C, C, N, C, N]
SWAPPED = [N, N, N, N, E, C, E]


def test_all_metrics_equal_hand_computed_values():
    scores = score_swapped_pairs(PREDICTIONS, REFERENCES, SWAPPED)
    assert (scores["n_examples"], scores["n_excluded"]) == (7, 2)
    assert {path: estimate.value for path, estimate in iter_estimates(scores)} == {
        "accuracy_before": 4 / 5,  # all except the second neutral pair
        "accuracy_after": 3 / 5,
        "drop": 4 / 5 - 3 / 5,
        "agreement": 2 / 5,
        "by_label.neutral.accuracy_before": 2 / 3,
        "by_label.neutral.accuracy_after": 2 / 3,
        "by_label.neutral.drop": 0.0,  # one lost and one gained
        "by_label.neutral.agreement": 1 / 3,
        "by_label.contradiction.accuracy_before": 1.0,
        "by_label.contradiction.accuracy_after": 1 / 2,
        "by_label.contradiction.drop": 1 / 2,
        "by_label.contradiction.agreement": 1 / 2,
        "overall.accuracy_before": 5 / 7,
        "overall.accuracy_after": 4 / 7,  # of the entailment pairs, the first is right and the second wrong
        "overall.drop": 5 / 7 - 4 / 7,
    }
    assert (scores["drop"].n, scores["by_label"]["neutral"]["drop"].n, scores["overall"]["drop"].n) == (5, 3, 7)


def test_order_insensitive_model_has_no_drop():
    rng = np.random.default_rng(0)
    references = rng.integers(0, 3, 500)
    predictions = np.where(rng.random(500) < 0.8, references, rng.integers(0, 3, 500))
    scores = score_swapped_pairs(predictions, references, predictions)
    for part in (scores, scores["overall"], *scores["by_label"].values()):
        assert part["drop"].value == 0
        assert part["drop"].low == pytest.approx(-part["drop"].high)
        assert part["drop"].high == pytest.approx(1.959964 * 2**0.5 / (part["drop"].n + 2))
        assert part["accuracy_before"] == part["accuracy_after"]
    assert scores["agreement"].value == scores["agreement"].high == 1
    assert scores["agreement"].low == pytest.approx(0.025 ** (1 / scores["agreement"].n))


def test_swapped_entailment_and_other_label_ids_give_same_scores():
    expected = score_swapped_pairs(PREDICTIONS, REFERENCES, SWAPPED)
    other = [label if gold != E else -1 for label, gold in zip(SWAPPED, REFERENCES, strict=True)]
    assert other != SWAPPED
    assert score_swapped_pairs(PREDICTIONS, REFERENCES, other) == expected
    recoded = [[{E: 1, N: 2, C: 0}[label] for label in labels] for labels in (PREDICTIONS, REFERENCES, SWAPPED)]
    assert score_swapped_pairs(*recoded, neutral=2, contradiction=0) == expected


def test_scores_without_examples_are_none():
    scores = score_swapped_pairs([E, N], [E, N], [E, N])
    assert set(scores["by_label"]["contradiction"].values()) == {NOTHING}
    scores = score_swapped_pairs([E, N], [E, E], [E, N])
    assert {scores[name] for name in ("accuracy_before", "accuracy_after", "drop", "agreement")} == {NOTHING}
    assert scores["n_excluded"] == 2
    assert scores["overall"]["accuracy_before"].value == 0.5


def test_two_missing_predictions_do_not_agree():
    assert score_swapped_pairs([-1, N, C], [N, N, C], [-1, N, N])["agreement"].value == pytest.approx(1 / 3)
