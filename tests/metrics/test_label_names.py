"""Tests that every metric gives the same scores for label names and label ids."""

import evaluate
import pytest

from unbag import scripts
from unbag.data.labels import FOUR_WAY, LABELS
from unbag.hub.metric_page import parse_metric_columns, read_table

IDS = [
    name
    for name in scripts.list_script_folders("metrics")
    if name not in ("natural_logic", "pos_minitree", "verification")
]


def _metric(name):
    return evaluate.load(str(scripts.find_script_folder("metrics", name)))


def _load_example(name):
    return parse_metric_columns(
        read_table((scripts.find_script_folder("metrics", name) / "example.csv").read_text())
    ) | {"resamples": 0}


def _convert_to_names(labels):
    return [LABELS[label] for label in labels]


@pytest.mark.parametrize("name", IDS)
def test_label_names_give_scores_of_ids(name):
    inputs = _load_example(name)
    scores = _metric(name).compute(**inputs)
    assert scores
    predictions = {"predictions": _convert_to_names(inputs["predictions"])}
    assert _metric(name).compute(**inputs | predictions) == scores
    assert (
        _metric(name).compute(**inputs | predictions | {"references": _convert_to_names(inputs["references"])})
        == scores
    )


def test_other_order_of_names_gives_same_scores():
    inputs = _load_example("swap_consistency")
    names = LABELS[::-1]
    ids = {column: [names.index(LABELS[label]) for label in inputs[column]] for column in ("predictions", "references")}
    metric = _metric("swap_consistency")
    assert metric.compute(**inputs | ids, names=names) == metric.compute(**inputs)


@pytest.mark.parametrize("name", ["category_accuracy", "compositionality_sensitivity"])
def test_annotator_label_names_give_scores_of_ids(name):
    inputs = _load_example(name)
    annotators = [[label, (label + row) % 3, None] for row, label in enumerate(inputs["references"])]
    scores = _metric(name).compute(**inputs, annotator_labels=annotators)
    assert any(key.endswith("human") for key in scores)
    names = [[label if label is None else LABELS[label] for label in row] for row in annotators]
    assert _metric(name).compute(**inputs, annotator_labels=names) == scores
    wrong = [["entails"], *names[1:]]
    with pytest.raises(ValueError, match=r"annotator_labels: expected one of the labels entailment"):
        _metric(name).compute(**inputs, annotator_labels=wrong)


def test_natural_logic_ids_give_scores_of_names():
    inputs = _load_example("natural_logic")
    ids = {
        "predictions": [LABELS.index(label) for label in inputs["predictions"]],
        "references": [None if not label else FOUR_WAY.index(label) for label in inputs["references"]],
    }
    assert _metric("natural_logic").compute(**inputs | ids) == _metric("natural_logic").compute(**inputs)


def test_unknown_name_error_lists_labels():
    inputs = _load_example("label_distribution")
    wrong = ["entails", *_convert_to_names(inputs["predictions"])[1:]]
    with pytest.raises(ValueError, match=r"expected one of the labels entailment, .*, got 'entails'; pass label ids"):
        _metric("label_distribution").compute(**inputs | {"predictions": wrong})


@pytest.mark.parametrize(("column", "label"), [("predictions", 3), ("predictions", -1), ("references", -1)])
def test_natural_logic_id_without_label_is_rejected(column, label):
    inputs = {"predictions": [0, 1, 2], "references": [0, 1, 2]}
    wrong = inputs | {"pair": ["a", "b", "c"], "reverse": [False] * 3, column: [0, 1, label]}
    with pytest.raises(ValueError, match=f"expected label ids from 0 to .*, got {label} in row 2"):
        _metric("natural_logic").compute(**wrong)
