import gzip
import json

import numpy as np
import pytest

from unbag.data.labels import LABELS
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity

E, N, C = 0, 1, 2
NOTHING = Estimate(None, None, None, 0)

# Six examples by hand. CS_0.5 contains the last four, CS_0.7 the last two.
REFERENCES = [E, N, C, C, N, C]
PREDICTIONS = [E, N, C, E, N, N]
LMS = [0.1, 0.49, 0.5, 0.69, 0.7, 0.9]
ANNOTATORS = [[E, E], [N, N, N, E, None], [C, -1], [None, -1], [N, C], [C, C, E, N]]


def _score(**options):
    return compositionality_sensitivity(PREDICTIONS, REFERENCES, LMS, **{"thresholds": [0.5, 0.7]} | options)["subsets"]


def test_all_metrics_equal_hand_computed_values():
    subsets = _score(annotator_labels=ANNOTATORS)
    names = ["lambda", "n", "accuracy", "drop", "majority", "majority_label", "human"]
    found = [[subset[name] for name in names] for subset in subsets]
    assert all(subset.keys() == set(names) for subset in subsets)
    assert [[each.value if isinstance(each, Estimate) else each for each in row] for row in found] == [
        [0.0, 6, 4 / 6, 0.0, 3 / 6, C, pytest.approx((1 + 3 / 4 + 1 + 1 / 2 + 1 / 2) / 5)],
        [0.5, 4, 2 / 4, 4 / 6 - 2 / 4, 3 / 4, C, pytest.approx((1 + 1 / 2 + 1 / 2) / 3)],
        [0.7, 2, 1 / 2, 4 / 6 - 1 / 2, 1 / 2, N, 1 / 2],  # N is as frequent as C, but has the lower id
    ]
    assert [subset["human"].n for subset in subsets] == [5, 3, 2]


def test_subset_without_examples_or_annotators_has_no_values():
    assert _score(annotator_labels=[[]] * 6)[0]["human"] == NOTHING
    assert "human" not in _score()[0]
    *_, empty = _score(thresholds=[1.0], annotator_labels=ANNOTATORS)
    assert empty == {
        "lambda": 1.0,
        "n": 0,
        "majority_label": None,
        **dict.fromkeys(("accuracy", "drop", "majority", "human"), NOTHING),
    }


def test_thresholds_are_sorted_unique_and_include_zero():
    assert [subset["lambda"] for subset in _score(thresholds=[0.7, 0, 0.5, 0.7])] == [0.0, 0.5, 0.7]
    defaults = compositionality_sensitivity([E], [E], [0.0])["subsets"]
    assert [subset["lambda"] for subset in defaults] == [0.0, 0.5, 0.6, 0.7]


def test_drop_is_resampled_jointly():
    # CS_0.5 contains all but one example, so both accuracies vary together and the drop hardly varies.
    predictions, references = np.random.default_rng(0).integers(0, 3, (2, 400))
    subset = compositionality_sensitivity(predictions, references, [0.0] + [1.0] * 399)["subsets"][1]
    assert subset["drop"].high - subset["drop"].low < (subset["accuracy"].high - subset["accuracy"].low) / 5


def test_snli_dev_majority_and_human_equal_table_5(shared):
    """Table 5, rows 7 and 8: 88.32 and 33.82 on the whole set. The paper samples one of five labels; unbag averages
    them.
    """
    with gzip.open(shared / "data" / "snli_1.0" / "snli_1.0_dev.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rows = [row for row in rows if row["gold_label"] != "-"]
    gold = [LABELS.index(row["gold_label"]) for row in rows]
    annotators = [[LABELS.index(label) for label in row["annotator_labels"] if label] for row in rows]
    scores = compositionality_sensitivity(gold, gold, np.zeros(len(gold)), annotator_labels=annotators, resamples=0)
    whole = scores["subsets"][0]
    assert whole["n"] == 9842
    assert whole["majority"].value == pytest.approx(0.3382, abs=5e-5)
    assert whole["human"].value == pytest.approx(0.883, abs=0.005)
