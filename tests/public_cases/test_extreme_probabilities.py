"""Tests of probabilities near 0 and 1: they rank pairs, and each printed threshold reproduces its recall."""

import csv
import re

import numpy as np
import pytest

from tests.factories import BARE, run_unbag, write_table
from unbag import evaluate
from unbag.data.labels import LABELS, TWO_WAY
from unbag.scoring.log_odds import compute_log_odds, format_threshold
from unbag.scoring.verification import verification

N = 200
SHUFFLED = np.random.default_rng(0).permutation(N)
IS_ENTAILED = (SHUFFLED >= N // 2) ^ (SHUFFLED % 7 == 0)
LOG_ODDS = {
    "near 1": 18 + 22 * SHUFFLED / N,
    "near 0": -45 + 25 * SHUFFLED / N,
    "usual": 8 * SHUFFLED / N - 4,
    "few values": (6 * SHUFFLED // N) - 3.0,
    "0 and 1": np.where(SHUFFLED < 40, -np.inf, np.where(SHUFFLED > 160, np.inf, SHUFFLED / 50)),
}


def compute_columns(odds):
    """Compute the probability of the label and its complement, each with the precision of float64."""
    with np.errstate(over="ignore"):
        return np.stack([1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(odds))], axis=1)


def build_model(columns):
    """Build a function that reads the row in the claim, and predicts its probabilities."""

    def model(premises, hypotheses):
        rows = [int(re.search(r"\d+", each).group()) if each.startswith("Claim") else 0 for each in hypotheses]
        return columns[rows].tolist()

    return model


@pytest.fixture
def data(tmp_path):
    labels = np.where(IS_ENTAILED, "supported", "unsupported")
    rows = [(f"Document {row}.", f"Claim {row}.", label) for row, label in enumerate(labels)]
    return write_table(tmp_path / "claims.csv", rows, ["document", "claim", "label"])


def verify(columns, data, threshold=None, labels=TWO_WAY, **options):
    options |= {"data": str(data), "threshold": threshold, "label_map": ",".join(labels), "trust_labels": True}
    [result] = evaluate(build_model(columns), "plain", **options, **BARE)
    return result


@pytest.mark.parametrize(("name", "n_labels"), [*((name, 2) for name in LOG_ODDS), ("near 1", 3)])
def test_printed_threshold_reproduces_its_recall(data, name, n_labels):
    odds = LOG_ODDS[name]
    columns = compute_columns(odds)
    if n_labels == 3:
        columns = np.column_stack([columns[:, 0], 0.25 * columns[:, 1], 0.75 * columns[:, 1]])
    labels = TWO_WAY if n_labels == 2 else LABELS
    scores = verify(columns, data, labels=labels).scores["verification"]
    above = odds[IS_ENTAILED][:, None] > odds[~IS_ENTAILED]
    ties = odds[IS_ENTAILED][:, None] == odds[~IS_ENTAILED]
    assert scores["auroc"].value == pytest.approx((above + ties / 2).mean())
    printed = [scores["thresholds"][len(scores["thresholds"]) // 2]]
    printed += [
        row | {"recall": row["recall"].value} for row in scores["safe_thresholds"][-1:] if row["threshold"] is not None
    ]
    for row in printed:
        result = verify(columns, data, format_threshold(row["threshold"]), labels)
        assert result.scores["verification"]["recall"].value == row["recall"], row
        assert result.scores["verification"]["auroc"].value == scores["auroc"].value
        assert result.model["ranking"]["auc"] == pytest.approx(scores["auroc"].value)


def test_break_even_threshold_reproduces_its_count(data):
    columns = compute_columns(LOG_ODDS["near 1"])
    even = verify(columns, data, "break-even").model["ranking"]
    assert even["n_predicted_entailed"] == IS_ENTAILED.sum()
    assert verify(columns, data, even["threshold"]).model["ranking"] == even


def test_metric_threshold_reproduces_its_recall():
    for odds in LOG_ODDS.values():
        probabilities = compute_columns(np.clip(odds, -40, 30))[:, 0]
        references = IS_ENTAILED.astype(int).tolist()
        for row in verification(probabilities, references, resamples=0)["thresholds"]:
            at_threshold = verification(probabilities, references, threshold=row["threshold"], resamples=0)
            assert at_threshold["recall"].value == row["recall"]


@pytest.mark.parametrize(
    ("threshold", "least"),
    [("1", np.inf), ("0", -np.inf), ("1e-6", -13.8), ("0.000001", -13.8), ("0.99999999999999999999", np.inf)],
)
def test_extreme_threshold_is_accepted(data, threshold, least):
    odds = LOG_ODDS["0 and 1"]
    result = verify(compute_columns(odds), data, threshold)
    assert result.model["ranking"]["n_predicted_entailed"] == (odds >= least).sum()


def test_prediction_file_keeps_probabilities_at_threshold(data, tmp_path):
    """A file of rounded probabilities: 0.7 reaches the threshold 0.7, and the model is not needed."""
    scores = np.round(0.05 + 0.9 * SHUFFLED / N, 1)
    table = tmp_path / "table.csv"
    verify(np.stack([scores, 1 - scores], axis=1), data, 0.7, predictions_csv=str(table))
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["entailment"]) for row in rows] == pytest.approx(scores.tolist())
    assert [row["prediction"] == "entailment" for row in rows] == (scores >= 0.7).tolist()
    options = ["--set", "plain", "--data", data, "--no-lexical-baseline", "--threshold", "0.7"]
    done = run_unbag("score", table, *options, "--output-dir", tmp_path / "out")
    assert done.exit_code == 0, done.output
    recall = (scores >= 0.7)[IS_ENTAILED].mean()
    assert f"{recall:.3f}" in done.output


def test_one_column_keeps_written_digits():
    assert compute_log_odds([0.999999999999]) == pytest.approx(np.log(1e12), abs=1e-6)
