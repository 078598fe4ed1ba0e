"""Tests of human agreement on the pairs of a set whose data has annotator labels."""

import json

import datasets
import pytest

from unbag.challenge_sets.human_agreement import compute_annotator_accuracy
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.challenge_sets.views.tables import summarize_exclusions
from unbag.data.sources import Example

PAIRS = [
    ("entailment", ["entailment"] * 4 + ["neutral"]),
    ("neutral", ["neutral", "neutral", "contradiction"]),
    ("contradiction", ["contradiction"] * 5),
    ("contradiction", []),
    ("-", ["neutral", "contradiction"]),  # no gold label: excluded
]
PREMISE = "Two young children are playing in the long green grass ."
HYPOTHESIS = "Some happy people sit outside in the warm sun today ."


@pytest.fixture
def pairs(tmp_path):
    """Write a file of pairs with annotator labels."""
    path = tmp_path / "pairs.jsonl"
    rows = [
        {"sentence1": f"{number} {PREMISE}", "sentence2": HYPOTHESIS, "gold_label": gold, "annotator_labels": votes}
        for number, (gold, votes) in enumerate(PAIRS)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(("name", "options"), [("plain", {}), ("permuted", {"q": 3}), ("swapped", {})])
def test_human_agreement_counts_only_unchanged_pairs(pairs, name, options):
    estimate = build_requested_set(SetRequest(name, options={"data": pairs, **options})).data["human"]
    assert estimate["pairs"] == 3
    assert estimate["share"] == pytest.approx((4 / 5 + 2 / 3 + 1) / 3, abs=5e-5)
    assert estimate["low"] < estimate["share"] < estimate["high"]


def test_annotator_accuracy_of_rows_with_annotator_labels_is_none():
    votes = [Example("1", "p", "h", "neutral", ("neutral", "entailment"))]
    columns = {"source_id": ["1"], "premise": ["p"], "hypothesis": ["h"]}
    assert compute_annotator_accuracy(datasets.Dataset.from_dict(columns), votes)["share"] == 0.5
    assert (
        compute_annotator_accuracy(datasets.Dataset.from_dict({**columns, "annotator_labels": [[1, 0]]}), votes) is None
    )


def test_exclusion_summary_states_annotator_accuracy():
    data = {"rows": 5, "excluded": {"unlabelled": 1}}
    estimate = {"share": 0.8, "low": 0.7, "high": 0.9, "pairs": 3}
    assert summarize_exclusions(data) == "5 rows; excluded 1 unlabelled"
    assert summarize_exclusions({**data, "human": estimate}) == (
        "5 rows; excluded 1 unlabelled. One annotator gives the gold label of 0.800 [0.700, 0.900] of the 3 "
        "unchanged pairs"
    )
