"""Tests of detecting saved predictions whose labels are in the wrong order, from the pairs of the corpus."""

import json

import pytest

from tests.factories import score_file
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.data.labels import LABELS


@pytest.mark.parametrize(("name", "options"), [("plain", {}), ("permuted", {"q": 2}), ("swapped", {})])
def test_file_of_other_label_order_adds_warning(tmp_path, empty_caches, caplog, name, options):
    """Only the original rows count, since permuted or swapped rows have other answers."""
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
    [warning] = result.model["matched"]["warnings"]
    assert "contradiction=neutral,entailment=contradiction,neutral=entailment 100.0%" in warning
    assert f"predictions.jsonl {warning}" in caplog.text
