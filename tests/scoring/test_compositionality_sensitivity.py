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


def _sample_inputs(seed=0, n=400):
    rng = np.random.default_rng(seed)
    return {
        "predictions": rng.integers(0, 3, n),
        "references": rng.integers(0, 3, n),
        "lms": rng.random(n),
        "annotator_labels": rng.integers(-1, 3, (n, 5)),
    }


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


def test_annotator_array_equals_lists():
    padded = [labels + [-1] * (5 - len(labels)) for labels in ANNOTATORS]
    array = np.array([[-1 if label is None else label for label in labels] for labels in padded])
    assert _score(annotator_labels=array) == _score(annotator_labels=ANNOTATORS)


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


def test_lambda_zero_equals_accuracy():
    data = _sample_inputs()
    whole = compositionality_sensitivity(**data)["subsets"][0]
    assert whole["accuracy"].value == np.mean(data["predictions"] == data["references"])
    assert whole["drop"] == Estimate(0.0, 0.0, 0.0, 400)


def test_subsets_are_nested():
    sizes = [
        subset["n"]
        for subset in compositionality_sensitivity(**_sample_inputs(), thresholds=np.linspace(0, 1, 21))["subsets"]
    ]
    assert len(sizes) == 21
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[10] > sizes[-1]


def test_perfect_model_has_no_drop():
    data = _sample_inputs()
    for subset in compositionality_sensitivity(**data | {"predictions": data["references"]})["subsets"]:
        assert subset["accuracy"].value == subset["accuracy"].high == 1
        assert subset["accuracy"].low == pytest.approx(0.025 ** (1 / subset["n"]))
        assert subset["drop"].value == 0
        # at λ = 0, all minus all is always 0
        assert (subset["drop"].low < 0 < subset["drop"].high) == (subset["lambda"] > 0)


def test_constant_majority_prediction_equals_majority_accuracy():
    data = _sample_inputs()
    label = compositionality_sensitivity(**data)["subsets"][-1]["majority_label"]
    subset = compositionality_sensitivity(**data | {"predictions": np.full(400, label)})["subsets"][-1]
    assert subset["accuracy"] == subset["majority"]


def test_row_order_has_no_effect():
    data = _sample_inputs()
    order = np.random.default_rng(1).permutation(400)
    assert (order != np.arange(400)).any()
    shuffled = {name: values[order] for name, values in data.items()}
    ours, theirs = (_values(compositionality_sensitivity(**rows)["subsets"]) for rows in (data, shuffled))
    for one, other in zip(ours, theirs, strict=True):
        assert one == pytest.approx(other)


def test_metrics_equal_plain_loop():
    """An independent implementation of the definitions, one example at a time."""
    data = _sample_inputs(seed=3, n=150)
    compared = 0
    everything = None
    for subset in compositionality_sensitivity(**data, thresholds=[0.3, 0.5, 0.95])["subsets"]:
        rows = [i for i in range(150) if data["lms"][i] >= subset["lambda"]]
        accuracy = sum(data["predictions"][i] == data["references"][i] for i in rows) / len(rows)
        everything = accuracy if everything is None else everything
        frequency = {label: sum(data["references"][i] == label for i in rows) for label in (E, N, C)}
        agreements = []
        for i in rows:
            labels = [label for label in data["annotator_labels"][i] if label != -1]
            if labels:
                agreements.append(labels.count(data["references"][i]) / len(labels))
        assert subset["n"] == len(rows)
        assert subset["accuracy"].value == pytest.approx(accuracy)
        assert subset["drop"].value == pytest.approx(everything - accuracy)
        assert subset["majority"].value == pytest.approx(max(frequency.values()) / len(rows))
        assert frequency[subset["majority_label"]] == max(frequency.values())
        assert subset["human"].value == pytest.approx(sum(agreements) / len(agreements))
        assert subset["human"].n == len(agreements)
        compared += 1
    assert compared == 4


def test_interval_contains_value_for_any_seed():
    data = _sample_inputs()
    subset = compositionality_sensitivity(**data, seed=1)["subsets"][1]
    for name in ("accuracy", "drop", "majority", "human"):
        assert subset[name].low < subset[name].value < subset[name].high
    assert subset == compositionality_sensitivity(**data, seed=2)["subsets"][1]


def test_drop_is_resampled_jointly():
    # CS_0.5 contains all but one example, so both accuracies vary together and the drop hardly varies.
    data = _sample_inputs()
    subset = compositionality_sensitivity(**data | {"lms": [0.0] + [1.0] * 399})["subsets"][1]
    assert subset["drop"].high - subset["drop"].low < (subset["accuracy"].high - subset["accuracy"].low) / 5


def test_zero_resamples_give_no_intervals():
    subset = _score(resamples=0)[1]
    assert subset["drop"] == Estimate(4 / 6 - 2 / 4, None, None, 4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"predictions": [E]}, "{'references': 6, 'predictions': 1}"),
        ({"lms": [0.5]}, "lms: expected one value per example, shape (6,), got shape (1,)"),
        ({"lms": [*LMS[:5], 1.1]}, "lms: expected values from 0 to 1, got 1.1 in row 5"),
        ({"lms": [-0.1, *LMS[1:]]}, "lms: expected values from 0 to 1, got -0.1 in row 0"),
        ({"lms": [0.1, float("nan"), *LMS[2:]]}, "lms: expected values from 0 to 1, got nan in row 1"),
        ({"thresholds": [0.5, 1.5]}, "thresholds: expected values from 0 to 1, got [1.5]"),
        ({"thresholds": [float("nan")]}, "thresholds: expected values from 0 to 1, got [nan]"),
        ({"references": [E, N, -1, C, N, C]}, "expected a gold label for every example, got -1 in row 2"),
        ({"references": [E, N, C, 3, N, C]}, "references: expected label ids from 0 to 2, got 3 in row 3"),
        ({"n_labels": 2}, "references: expected label ids from 0 to 1, got 2 in row 2"),
        ({"predictions": ["entailment"] * 6}, "expected integers, got {'predictions': '<U10'}"),
        ({"predictions": [[0.1, 0.8, 0.1]] * 6}, "{'references': (6,), 'predictions': (6, 3)}"),
        (
            {"annotator_labels": [[E]]},
            "annotator_labels: expected columns of equal length, got {'references': 6, 'annotator_labels': 1}",
        ),
        ({"annotator_labels": [[E]] * 5 + [[E, 7]]}, "expected label ids from 0 to 2, got 7 in row 5"),
        ({"annotator_labels": [["entailment"]] * 6}, "annotator_labels: expected label ids, None or -1, got <U10"),
        ({"predictions": [], "references": [], "lms": []}, "expected at least one example, got none"),
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
