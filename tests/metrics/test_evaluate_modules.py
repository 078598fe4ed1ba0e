"""Tests of the modules with `evaluate`: flat scores by default, and the column names of the published sets."""

import json
import re

import pyarrow as pa
import pytest

from unbag import challenge_sets, scripts

evaluate = pytest.importorskip("evaluate")

SETS = {each.metrics[0]: each.name for each in challenge_sets.list_challenge_sets() if not each.is_control}
"""The set whose scores each metric computes; a measurement of sentences has none."""


def load(name, tmp_path):
    return evaluate.load(str(scripts.find_script_folder("metrics", name)), cache_dir=str(tmp_path))


@pytest.mark.parametrize("name", SETS)
def test_columns_have_names_of_published_set(name, tmp_path):
    module = load(name, tmp_path)
    schema: pa.Schema = challenge_sets.get_challenge_set(SETS[name]).get_builder_class().SCHEMA
    assert len(module.features) == 4, "predictions and references are ids or names"
    for features in module.features:
        assert set(features) - {"predictions", "references"} <= set(schema.names)


def test_every_metric_belongs_to_set():
    assert {*SETS, "pos_minitree", "verification"} == set(scripts.list_script_folders("metrics"))


def test_two_metrics_are_combined_and_saved(tmp_path):
    rows = {
        "predictions": [0, 0, 1, 2, 0, 2],
        "references": [0] * 6,
        "source_id": list("aaabbb"),
        "permutation": [-1, 0, 1, -1, 0, 1],
    }
    names = ("permutation_acceptance", "label_distribution")
    combined = evaluate.combine([load(name, tmp_path) for name in names])
    combined.add_batch(**rows)
    scores = combined.compute()
    assert scores["p_c_low"] < scores["p_c"] == 0.5 < scores["p_c_high"]
    assert scores["permutation_acceptance_accuracy"] == 0.5
    assert scores["label_distribution_accuracy"] == 0.5
    assert scores["shares_contradiction"] == pytest.approx(1 / 3)
    assert all(type(value) in (int, float) for value in scores.values())
    evaluate.save(tmp_path / "saved.json", **scores)
    assert json.loads((tmp_path / "saved.json").read_text())["p_c"] == 0.5


@pytest.mark.parametrize("name", SETS)
def test_card_example_uses_column_names(name):
    card = (scripts.find_script_folder("metrics", name) / "README.md").read_text()
    call = re.search(r"metric\.compute\((.*?)\n\)", card, flags=re.DOTALL)
    assert call is not None
    assert "structured=True" in card


@pytest.mark.parametrize("name", [*SETS, "verification", "pos_minitree"])
def test_empty_column_beside_others_is_rejected(name, tmp_path):
    module = load(name, tmp_path)
    features = module.features[0] if isinstance(module.features, list) else module.features
    first, *others = features
    for empty in ({first}, set(others), set(features)):
        columns = {column: [] if column in empty else [None] for column in features}
        with pytest.raises(ValueError, match="expected columns of equal length with at least one row"):
            module.compute(**columns)
