"""Tests of probabilities near 0 and 1: they rank pairs, and each printed threshold reproduces its recall."""

import csv
import re

import numpy as np
import pytest

from unbag import cli, evaluate
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


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "claims.csv"
    with path.open("w", newline="") as file:
        rows = [
            (f"Document {row}.", f"Claim {row}.", "supported" if e else "unsupported")
            for row, e in enumerate(IS_ENTAILED)
        ]
        csv.writer(file).writerows([("document", "claim", "label"), *rows])
    return path


def verify(model, data, threshold=None, **options):
    report = evaluate(
        model, "plain", data=str(data), threshold=threshold, lexical_baseline=False, shuffled=False, trust_labels=True,
        progress=False, **options,
    )  # fmt: skip
    return report.results[0]


def find_row(hypothesis):
    return int(re.search(r"\d+", hypothesis).group()) if hypothesis.startswith("Claim") else 0


@pytest.mark.parametrize(("name", "n_labels"), [*((name, 2) for name in LOG_ODDS), ("near 1", 3)])
def test_printed_threshold_reproduces_its_recall(data, name, n_labels):
    odds = LOG_ODDS[name]
    columns = compute_columns(odds)
    if n_labels == 3:
        columns = np.column_stack([columns[:, 0], 0.25 * columns[:, 1], 0.75 * columns[:, 1]])
    label_map = ",".join(TWO_WAY if n_labels == 2 else LABELS)

    def model(premises, hypotheses):
        return [columns[find_row(hypothesis)].tolist() for hypothesis in hypotheses]

    scores = verify(model, data, label_map=label_map).scores["verification"]
    above = odds[IS_ENTAILED][:, None] > odds[~IS_ENTAILED]
    ties = odds[IS_ENTAILED][:, None] == odds[~IS_ENTAILED]
    assert scores["auroc"].value == pytest.approx((above + ties / 2).mean())
    printed = [scores["thresholds"][len(scores["thresholds"]) // 2]]
    printed += [
        row | {"recall": row["recall"].value} for row in scores["safe_thresholds"][-1:] if row["threshold"] is not None
    ]
    for row in printed:
        result = verify(model, data, format_threshold(row["threshold"]), label_map=label_map)
        assert result.scores["verification"]["recall"].value == row["recall"], row
        assert result.scores["verification"]["auroc"].value == scores["auroc"].value
        assert result.model["ranking"]["auc"] == pytest.approx(scores["auroc"].value)


def test_break_even_threshold_reproduces_its_count(data):
    columns = compute_columns(LOG_ODDS["near 1"])

    def model(premises, hypotheses):
        return [columns[find_row(hypothesis)].tolist() for hypothesis in hypotheses]

    even = verify(model, data, "break-even", label_map="entailment,not_entailment").model["ranking"]
    assert even["n_predicted_entailed"] == IS_ENTAILED.sum()
    again = verify(model, data, even["threshold"], label_map="entailment,not_entailment").model["ranking"]
    assert again == even


def test_metric_threshold_reproduces_its_recall():
    for odds in LOG_ODDS.values():
        probabilities = compute_columns(np.clip(odds, -40, 30))[:, 0]
        references = IS_ENTAILED.astype(int).tolist()
        for row in verification(probabilities, references, resamples=0)["thresholds"]:
            at_threshold = verification(probabilities, references, threshold=row["threshold"], resamples=0)
            assert at_threshold["recall"].value == row["recall"]


@pytest.mark.parametrize("threshold", ["1", "0", "1e-6", "0.000001", "0.99999999999999999999"])
def test_extreme_threshold_is_accepted(data, threshold):
    odds = LOG_ODDS["0 and 1"]
    columns = compute_columns(odds)

    def model(premises, hypotheses):
        return [columns[find_row(hypothesis)].tolist() for hypothesis in hypotheses]

    result = verify(model, data, threshold, label_map="entailment,not_entailment")
    expected = odds >= (
        np.inf if threshold == "1" or threshold.startswith("0.9") else -np.inf if threshold == "0" else -13.8
    )
    assert result.model["ranking"]["n_predicted_entailed"] == expected.sum()


def test_prediction_file_keeps_probabilities_at_threshold(data, tmp_path):
    """A file of rounded probabilities: 0.7 reaches the threshold 0.7, and the model is not needed."""
    from typer.testing import CliRunner

    scores = np.round(0.05 + 0.9 * SHUFFLED / N, 1)
    table = tmp_path / "table.csv"

    def model(premises, hypotheses):
        return [[scores[find_row(h)], 1 - scores[find_row(h)]] for h in hypotheses]

    verify(model, data, 0.7, label_map="entailment,not_entailment", predictions_csv=str(table))
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["entailment"]) for row in rows] == pytest.approx(scores.tolist())
    assert [row["prediction"] == "entailment" for row in rows] == (scores >= 0.7).tolist()
    arguments = ["score", str(table), "--set", "plain", "--data", str(data), "--no-lexical-baseline"]
    done = CliRunner().invoke(cli.app, [*arguments, "--threshold", "0.7", "--output-dir", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    recall = (scores >= 0.7)[IS_ENTAILED].mean()
    assert f"{recall:.3f}" in done.output


def test_one_column_keeps_written_digits():
    assert compute_log_odds([0.999999999999]) == pytest.approx(np.log(1e12), abs=1e-6)
