import numpy as np
import pytest
from scipy import stats

from unbag.scoring.uncertainty_partitions import uncertainty_partitions

# Three partitions by hand: 2 of 2, 1 of 3 and 2 of 4 right.
REFERENCES = [0, 1, 0, 1, 2, 0, 1, 2, 2]
PREDICTIONS = [0, 1, 0, 2, 1, 0, 2, 2, 1]
PARTITIONS = [0, 0, 1, 1, 1, 2, 2, 2, 2]


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
    rng = np.random.default_rng(seed)
    partitions, references = np.arange(120) % 20, rng.integers(0, 3, 120)
    predictions = np.where(rng.random(120) > partitions / 20, references, (references + 1) % 3)
    scores = uncertainty_partitions(predictions, references, partitions, resamples=0)
    accuracies = [row["accuracy"].value for row in scores["by_partition"]]
    assert len(set(accuracies)) < len(accuracies), "no ties, so this test would not show how they are treated"
    expected = stats.spearmanr(np.arange(20), accuracies).statistic
    assert scores["rank_correlation"] == pytest.approx(expected, abs=1e-12)


def test_perfect_model_has_no_rank_correlation():
    references = np.arange(600) % 3
    scores = uncertainty_partitions(references, references, np.arange(600) // 30)
    assert {(row["accuracy"].value, row["accuracy"].high) for row in scores["by_partition"]} == {(1.0, 1.0)}
    assert scores["by_partition"][0]["accuracy"].low == pytest.approx(0.025 ** (1 / 30))
    assert scores["drop"].value == 0
    assert scores["drop"].low < 0 < scores["drop"].high
    assert scores["rank_correlation"] is None


def test_single_partition_equals_whole_set():
    scores = uncertainty_partitions(PREDICTIONS, REFERENCES, [0] * 9)
    assert scores["easiest"] == scores["hardest"] == scores["accuracy"]
    assert scores["rank_correlation"] is None
