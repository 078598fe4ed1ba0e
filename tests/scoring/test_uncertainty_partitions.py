import re

import numpy as np
import pytest
from scipy import stats

from unbag.scoring.uncertainty_partitions import uncertainty_partitions

# Three partitions by hand: 2 of 2, 1 of 3 and 2 of 4 right.
REFERENCES = [0, 1, 0, 1, 2, 0, 1, 2, 2]
PREDICTIONS = [0, 1, 0, 2, 1, 0, 2, 2, 1]
PARTITIONS = [0, 0, 1, 1, 1, 2, 2, 2, 2]


def _sample_inputs(seed=0, n=600, m=20):
    """Return predictions whose accuracy decreases with the partition."""
    rng = np.random.default_rng(seed)
    partitions = np.arange(n) % m
    references = rng.integers(0, 3, n)
    right = rng.random(n) > partitions / m
    return {
        "predictions": np.where(right, references, (references + 1) % 3),
        "references": references,
        "partition": partitions,
    }


def test_all_metrics_equal_hand_computed_values():
    scores = uncertainty_partitions(PREDICTIONS, REFERENCES, PARTITIONS)
    assert scores["accuracy"].value == 5 / 9
    assert [(row["partition"], row["accuracy"].value, row["accuracy"].n) for row in scores["by_partition"]] == [
        (0, 1.0, 2),
        (1, 1 / 3, 3),
        (2, 1 / 2, 4),
    ]
    assert scores["easiest"] == scores["by_partition"][0]["accuracy"]
    assert scores["hardest"] == scores["by_partition"][2]["accuracy"]
    assert (scores["drop"].value, scores["drop"].n) == (1 / 2, 2)
    # Ranks 1 2 3 and 3 1 2: 1 - 6 (4 + 1 + 1) / (3 · 8).
    assert scores["rank_correlation"] == pytest.approx(-0.5)
    assert (scores["n_examples"], scores["n_partitions"]) == (9, 3)


@pytest.mark.parametrize("seed", range(5))
def test_rank_correlation_equals_scipy(seed):
    scores = uncertainty_partitions(**_sample_inputs(seed, n=120), resamples=0)
    accuracies = [row["accuracy"].value for row in scores["by_partition"]]
    assert len(set(accuracies)) < len(accuracies), "no ties, so this test would not show how they are treated"
    expected = stats.spearmanr(np.arange(20), accuracies).statistic
    assert scores["rank_correlation"] == pytest.approx(expected, abs=1e-12)


def test_monotone_accuracy_has_rank_correlation_one():
    predictions, references, partitions = [0, 0, 0, 1, 1, 1], [0] * 6, [0, 0, 1, 1, 2, 2]
    assert uncertainty_partitions(predictions, references, partitions)["rank_correlation"] == -1
    rising = [2 - number for number in partitions]
    assert uncertainty_partitions(predictions, references, rising)["rank_correlation"] == 1


def test_perfect_model_has_no_rank_correlation():
    data = _sample_inputs()
    scores = uncertainty_partitions(**data | {"predictions": data["references"]})
    assert {(row["accuracy"].value, row["accuracy"].high) for row in scores["by_partition"]} == {(1.0, 1.0)}
    assert scores["by_partition"][0]["accuracy"].low == pytest.approx(0.025 ** (1 / 30))
    assert scores["drop"].value == 0
    assert scores["drop"].low < 0 < scores["drop"].high
    assert scores["rank_correlation"] is None


def test_single_partition_equals_whole_set():
    scores = uncertainty_partitions(PREDICTIONS, REFERENCES, [0] * 9)
    assert scores["easiest"] == scores["hardest"] == scores["accuracy"]
    assert scores["rank_correlation"] is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"partition": [0, 0, 1, 1, 1, 3, 3, 3, 3]}, "from 0 to 3, got none in partition 2"),
        ({"partition": [1] * 9}, "from 0 to 1, got none in partition 0"),
        ({"partition": [-1, *PARTITIONS[1:]]}, "partition: expected the test split, got -1, as in the other splits"),
        ({"partition": [0.5] * 9}, "expected integers, got {'partition': 'float64'}"),
    ],
)
def test_invalid_input_error_names_argument(change, words):
    inputs = {"predictions": PREDICTIONS, "references": REFERENCES, "partition": PARTITIONS} | change
    with pytest.raises(ValueError, match=re.escape(words)):
        uncertainty_partitions(**inputs)
