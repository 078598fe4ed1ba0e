import re

import numpy as np
import pytest

from unbag.scoring.label_distribution import label_distribution

E, N, C = 0, 1, 2
PREDICTIONS = [E, E, C, N, N, E]
REFERENCES = [C, C, C, C, N, N]
GROUPS = ["a", "b", "c", "d", "a", "e"]
SUBSETS = ["swap"] * 4 + ["add"] * 2


def _sample_inputs(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "predictions": rng.integers(0, 3, n),
        "references": rng.integers(0, 3, n),
        "source_id": rng.integers(0, n // 2, n),
        "kind": rng.choice(["swap", "add"], n),
    }


def _values(scores):
    return {name: share.value for name, share in scores["shares"].items()} | {"right": scores["accuracy"].value}


def test_all_metrics_equal_hand_computed_values():
    scores = label_distribution(PREDICTIONS, REFERENCES, GROUPS, kind=SUBSETS)
    assert scores["n_examples"] == 6
    assert _values(scores) == {"entailment": 3 / 6, "neutral": 2 / 6, "contradiction": 1 / 6, "right": 2 / 6}
    parts = scores["by_subset"]
    assert {name: part["n_examples"] for name, part in parts.items()} == {"swap": 4, "add": 2}
    assert _values(parts["swap"]) == {"entailment": 2 / 4, "neutral": 1 / 4, "contradiction": 1 / 4, "right": 1 / 4}
    assert _values(parts["add"]) == {"entailment": 1 / 2, "neutral": 1 / 2, "contradiction": 0, "right": 1 / 2}
    assert (scores["accuracy"].n, parts["swap"]["accuracy"].n, parts["add"]["accuracy"].n) == (5, 4, 2)


def test_distribution_equals_plain_count():
    data = _sample_inputs()
    scores = label_distribution(**data)
    for name in ("swap", "add"):
        rows = [
            (p, r) for p, r, s in zip(data["predictions"], data["references"], data["kind"], strict=True) if s == name
        ]
        part = _values(scores["by_subset"][name])
        assert part["right"] == pytest.approx(sum(p == r for p, r in rows) / len(rows))
        for label, key in ((E, "entailment"), (N, "neutral"), (C, "contradiction")):
            assert part[key] == pytest.approx(sum(p == label for p, _ in rows) / len(rows))


def test_proportions_sum_to_one():
    data = _sample_inputs() | {"references": np.full(400, C)}
    scores = label_distribution(**data)
    for part in (scores, *scores["by_subset"].values()):
        assert sum(share.value for share in part["shares"].values()) == pytest.approx(1)
        assert part["shares"]["contradiction"] == part["accuracy"]


def test_row_order_has_no_effect():
    data = _sample_inputs()
    order = np.random.default_rng(1).permutation(400)
    assert (order != np.arange(400)).any()
    shuffled = {name: values[order] for name, values in data.items()}
    assert _values(label_distribution(**shuffled)) == pytest.approx(_values(label_distribution(**data)))


def test_pairs_of_one_source_are_resampled_together():
    # 200 sources of two identical pairs are 200 observations instead of 400, so the interval is √2 wider.
    answers = np.random.default_rng(0).integers(0, 2, 200).repeat(2)
    together = label_distribution(answers, np.zeros(400, dtype=int), np.arange(200).repeat(2))["accuracy"]
    apart = label_distribution(answers, np.zeros(400, dtype=int), np.arange(400))["accuracy"]
    assert (together.high - together.low) / (apart.high - apart.low) == pytest.approx(2**0.5, rel=0.1)


def test_two_label_model_has_two_proportions():
    scores = label_distribution([0, 1, 1], [1, 1, 1], ["a", "b", "c"], names=("entailment", "not_entailment"))
    assert _values(scores) == {"entailment": 1 / 3, "not_entailment": 2 / 3, "right": 2 / 3}


def test_intervals_need_no_seed_and_are_optional():
    data = _sample_inputs()
    scores = label_distribution(**data, seed=1)
    assert scores["accuracy"].low < scores["accuracy"].value < scores["accuracy"].high
    assert scores == label_distribution(**data, seed=2)
    assert label_distribution(**data, resamples=0)["accuracy"][1:3] == (None, None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"source_id": ["a"]}, "{'references': 6, 'source_id': 1, 'kind': 6}"),
        ({"kind": ["swap"]}, "{'references': 6, 'source_id': 6, 'kind': 1}"),
        (
            {"predictions": [3] * 6},
            "predictions: expected label ids from 0 to 2 (entailment, neutral, contradiction), got 3 in row 0",
        ),
        ({"references": [-1] * 6}, "expected a gold label for every example, got -1 in row 0"),
    ],
)
def test_invalid_input_error_names_argument(change, words):
    inputs = {"predictions": PREDICTIONS, "references": REFERENCES, "source_id": GROUPS, "kind": SUBSETS} | change
    with pytest.raises(ValueError, match=re.escape(words)):
        label_distribution(**inputs)
