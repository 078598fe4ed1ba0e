import gzip
import json
import re

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


def _values(subsets):
    return [
        {name: item.value if isinstance(item, Estimate) else item for name, item in subset.items()}
        for subset in subsets
    ]


def test_all_metrics_equal_hand_computed_values():
    whole, half, most = _values(_score(annotator_labels=ANNOTATORS))
    assert whole == {
        "lambda": 0.0,
        "n": 6,
        "accuracy": 4 / 6,
        "drop": 0.0,
        "majority": 3 / 6,
        "majority_label": C,
        "human": pytest.approx((1 + 3 / 4 + 1 + 1 / 2 + 1 / 2) / 5),
    }
    assert half == {
        "lambda": 0.5,
        "n": 4,
        "accuracy": 2 / 4,
        "drop": 4 / 6 - 2 / 4,
        "majority": 3 / 4,
        "majority_label": C,
        "human": pytest.approx((1 + 1 / 2 + 1 / 2) / 3),
    }
    assert most == {
        "lambda": 0.7,
        "n": 2,
        "accuracy": 1 / 2,
        "drop": 4 / 6 - 1 / 2,
        "majority": 1 / 2,
        "majority_label": N,  # as frequent as C, but with the lower id
        "human": 1 / 2,
    }


def test_human_counts_only_annotated_examples():
    assert [subset["human"].n for subset in _score(annotator_labels=ANNOTATORS)] == [5, 3, 2]
    assert _score(annotator_labels=[[]] * 6)[0]["human"] == NOTHING
    assert "human" not in _score()[0]


def test_thresholds_are_sorted_unique_and_include_zero():
    assert [subset["lambda"] for subset in _score(thresholds=[0.7, 0, 0.5, 0.7])] == [0.0, 0.5, 0.7]
    assert [subset["lambda"] for subset in compositionality_sensitivity([E], [E], [0.0])["subsets"]] == [
        0.0,
        0.5,
        0.6,
        0.7,
    ]


def test_empty_subset_has_no_values():
    *_, empty = _score(thresholds=[1.0], annotator_labels=ANNOTATORS)
    assert empty == {
        "lambda": 1.0,
        "n": 0,
        "majority_label": None,
        **dict.fromkeys(("accuracy", "drop", "majority", "human"), NOTHING),
    }


def test_drop_is_resampled_jointly():
    # CS_0.5 contains all but one example, so both accuracies vary together and the drop hardly varies.
    predictions, references = np.random.default_rng(0).integers(0, 3, (2, 400))
    subset = compositionality_sensitivity(predictions, references, [0.0] + [1.0] * 399)["subsets"][1]
    assert subset["drop"].high - subset["drop"].low < (subset["accuracy"].high - subset["accuracy"].low) / 5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lms": [0.5]}, "expected columns of equal length, got {'references': 6, 'predictions': 6, 'lms': 1}"),
        ({"lms": [*LMS[:5], 1.1]}, "lms: expected values from 0 to 1, got 1.1 in row 5"),
        ({"lms": [0.1, float("nan"), *LMS[2:]]}, "lms: expected values from 0 to 1, got nan in row 1"),
        ({"thresholds": [0.5, 1.5]}, "thresholds: expected values from 0 to 1, got [1.5]"),
        ({"references": [E, N, C, 3, N, C]}, "references: expected label ids from 0 to 2, got 3 in row 3"),
        ({"predictions": ["entailment"] * 6}, "expected integers, got {'predictions': '<U10'}"),
        ({"predictions": [[0.1, 0.8, 0.1]] * 6}, "{'references': (6,), 'predictions': (6, 3)}"),
        ({"annotator_labels": [[E]] * 5 + [[E, 7]]}, "expected label ids from 0 to 2, got 7 in row 5"),
    ],
)
def test_invalid_input_error_names_argument(change, words):
    inputs = {"predictions": PREDICTIONS, "references": REFERENCES, "lms": LMS} | change
    with pytest.raises(ValueError, match=re.escape(words)):
        compositionality_sensitivity(**inputs)


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
