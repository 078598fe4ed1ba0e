"""Tests of detecting saved predictions whose labels are in the wrong order, from the pairs of the corpus."""

import json
from itertools import permutations

import numpy as np
import pytest

from tests.factories import score_file
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.data.labels import LABELS, find_label_space, list_two_label_orders, map_label_to_space
from unbag.evaluation.label_check import ENOUGH, compare_label_orders

GOLD = np.repeat([0, 1, 2], 40)


def _build_predictions(true_order, error_rate=0.0):
    """Return probabilities that are right in the order `true_order`, except for a proportion of each label."""
    right = np.array(
        [true_order.index(map_label_to_space(LABELS[label], find_label_space(true_order))) for label in GOLD]
    )
    miss = np.arange(len(GOLD)) % 40 < error_rate * 40
    return np.where(miss, (right + 1) % len(true_order), right)


@pytest.mark.parametrize("true_order", list(permutations(LABELS)))
def test_each_order_of_three_labels_is_found(true_order):
    found = compare_label_orders(_build_predictions(true_order, error_rate=0.1), GOLD, LABELS, has_columns=True)
    if true_order == LABELS:
        assert found == (108, 120, None)
    else:
        assert "90.0% with its labels renamed: its columns may be named in the wrong order" in found.warning
        renamed = [f"{name} to {label}" for name, label in zip(LABELS, true_order, strict=True) if name != label]
        assert f"change {', '.join(renamed)} in the file" in found.warning


@pytest.mark.parametrize("declared", list_two_label_orders())
@pytest.mark.parametrize("true_order", list_two_label_orders())
def test_each_order_of_two_labels_is_found(declared, true_order):
    warning = compare_label_orders(_build_predictions(true_order), GOLD, declared, has_columns=True).warning
    assert (warning is None) == (true_order == declared)


@pytest.mark.parametrize("label", range(3))
def test_constant_prediction_gives_no_warning(label):
    assert compare_label_orders(np.full(len(GOLD), label), GOLD, LABELS, has_columns=False) == (40, 120, None)


def test_inaccurate_predictions_give_no_warning():
    for error_rate in (0.15, 0.2):
        warning = compare_label_orders(
            _build_predictions(LABELS[::-1], error_rate), GOLD, LABELS, has_columns=True
        ).warning
        assert (warning is not None) == (1 - error_rate >= ENOUGH)


@pytest.mark.parametrize(("name", "options"), [("plain", {}), ("permuted", {"q": 2}), ("swapped", {})])
def test_file_of_other_label_order_adds_warning(tmp_path, monkeypatch, caplog, name, options):
    """Only the original rows count, since permuted or swapped rows have other answers."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    lines = [
        {
            "premise": f"the {x} man over there runs home with his dog",
            "hypothesis": f"a {x} person is out there now with his dog",
            "label": LABELS[i % 3],
        }
        for i, x in enumerate("abcdefghijklmnopqrstuvwxyz")
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    request = SetRequest(name, options={"data": str(tmp_path / "pairs.jsonl"), **options})
    turned = dict(zip(LABELS, ("neutral", "contradiction", "entailment"), strict=True))
    given = {"permuted": ("permutation", -1), "swapped": ("swapped", False)}.get(name)
    lines = [
        {
            "id": row["id"],
            "prediction": turned[LABELS[row["label"]]] if given is None or row[given[0]] == given[1] else "neutral",
        }
        for row in build_requested_set(request).rows
    ]
    file = tmp_path / "predictions.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = score_file(file, request, output_dir=tmp_path / "out", lexical_baseline=False)
    assert result.model["label_probe"] == {"rows": "0 of 26"}
    said = result.model["label_probe_warning"]
    assert "change entailment to contradiction, neutral to entailment, contradiction to neutral in the file" in said
    assert f"predictions.jsonl {said}" in caplog.text
