"""Tests of the metric modules: equal to their functions, also in batches and with label names."""

import json
from importlib import import_module

import pyarrow as pa
import pytest

from tests.factories import MINITREES, read_metric_example
from unbag import challenge_sets, scripts
from unbag.data.labels import FOUR_WAY, LABELS
from unbag.scoring.bootstrap import to_json

evaluate = pytest.importorskip("evaluate")

NAMES = [name for name in scripts.list_script_folders("metrics") if name != "pos_minitree"]


def load(name):
    return evaluate.load(str(scripts.find_script_folder("metrics", name)))


def build_annotators(references):
    return [[label, (label + row) % 3, None] for row, label in enumerate(references)]


def build_options(name, references):
    """Build other columns and options of a metric."""
    n = len(references)
    shares = [row / n for row in range(n)]
    options = {
        "category_accuracy": {"similarity": shares, "pair_frequency": [*range(n - 1), None], "seed": 3},
        "compositionality_sensitivity": {"thresholds": [0.6, 1.0]},
        "label_distribution": {"resamples": 50},
        "permutation_acceptance": {"bleu": shares, "curve": True},
        "swap_consistency": {"neutral": 2, "contradiction": 1},
        "verification": {"threshold": 0.35, "resamples": 20, "seed": 3},
    }.get(name, {})
    if name in ("category_accuracy", "compositionality_sensitivity"):
        options["annotator_labels"] = build_annotators(references)
    return options


@pytest.fixture(params=NAMES)
def metric(request):
    """Return a module, its function, the columns of its example, and other options."""
    function = getattr(import_module(f"unbag.scoring.{request.param}"), request.param)
    example = read_metric_example(request.param)
    return load(request.param), function, example, build_options(request.param, example["references"])


def test_module_equals_function(metric):
    module, function, example, options = metric
    for given in ({}, options):
        computed = module.compute(**example, **given, structured=True)
        expected = to_json(function(**example, **given))
        assert list(computed) == list(expected)
        assert computed == expected


def test_rows_can_be_added_in_batches(metric):
    module, _, example, _ = metric
    columns = module.features[0] if isinstance(module.features, list) else module.features
    rows, given = ({name: example[name] for name in example if (name in columns) == inside} for inside in (True, False))
    expected = module.compute(**rows, **given)
    for batch in (slice(0, 2), slice(2, None)):
        module.add_batch(**{name: values[batch] for name, values in rows.items()})
    assert module.compute(**given) == expected


def test_arguments_are_in_description_and_scores_on_card(metric):
    module, function, example, options = metric
    assert function.__doc__ in module.inputs_description
    scores = function(**example, **options)
    card = (scripts.find_script_folder("metrics", function.__name__) / "README.md").read_text(encoding="utf-8")
    assert all(f"`{key}`" in card for key in scores.get("subsets", [scores])[0])


def test_numbers_keep_their_precision():
    scores = load("compositionality_sensitivity").compute(predictions=[0], references=[0], lms=[0.7])
    assert scores["subsets_0.7_accuracy_n"] == 1, "as a 32-bit number, 0.7 would be less than 0.7"


@pytest.mark.parametrize("name", ["document_consistency", "negation_consistency"])
def test_every_name_except_entailment_means_not_entailed(name):
    module, rows = load(name), read_metric_example(name)
    expected = module.compute(**rows)
    for other in ("not_entailment", "neutral", "contradiction"):
        named = ["entailment" if label == 0 else other for label in rows["predictions"]]
        assert module.compute(**rows | {"predictions": named}) == expected
    flipped = {column: [int(label == 0) for label in rows[column]] for column in ("predictions", "references")}
    assert module.compute(**rows | flipped, names=["not_entailment", "entailment"]) == expected


def test_pos_minitree_equals_card():
    measurement = load("pos_minitree")
    scores = measurement.compute(**MINITREES, accepted=[False, True], structured=True)
    assert scores["ratios"] == [0.5, 1.0]
    assert scores["ratio"] == 0.75
    assert scores["by_ratio"][1] == {"low": 1.0, "high": 1.1, "n": 1, "acceptance": 1.0}
    assert set(measurement.compute(**MINITREES, structured=True)) == {"n", "ratio", "ratios"}
    assert measurement.compute(**MINITREES) == {"n": 2, "ratio": 0.75}


PREDICTIONS = [0.9, 0.8, 0.6, 0.4, 0.3, 0.1]


def test_verification_reads_thresholds_and_label_names():
    module, rows = load("verification"), {"predictions": PREDICTIONS, "references": [1, 0, 1, 0, 1, 0]}
    computed = module.compute(**rows)
    assert computed["balanced_accuracy"] == pytest.approx(2 / 3)
    assert not any(key.startswith("false_contradiction") for key in computed)
    assert module.compute(**rows, threshold=0.85)["false_entailment"] == 0
    assert module.compute(**rows, threshold=0.1)["false_entailment"] == 1, "a score at the threshold is called entailed"
    names = ["entailment", "neutral", "SUPPORTS", "contradiction", "entailment", "not_entailment"]
    assert module.compute(**rows | {"references": names}) == computed


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"references": [1, 0, 2, 0, 1, 0]}, "expected 1 \\(entailed\\), 0 \\(not entailed\\) or label names, got 2"),
        ({"references": [1] * 6}, "both entailed and not-entailed pairs"),
        ({"references": [1, 0] * 3, "source_id": ["a"]}, "one prediction, reference and source per pair"),
    ],
)
def test_malformed_input_of_verification_is_rejected(columns, message):
    with pytest.raises(ValueError, match=message):
        load("verification").compute(predictions=PREDICTIONS, **columns)


SETS = {
    each.metrics[0]: each.name for each in challenge_sets.list_challenge_sets() if each.metrics and not each.is_control
}
"""The set whose scores each metric computes; a measurement of sentences has none."""


@pytest.mark.parametrize("name", SETS)
def test_columns_have_names_of_published_set(name):
    module = load(name)
    schema: pa.Schema = challenge_sets.get_challenge_set(SETS[name]).get_builder_class().SCHEMA
    assert len(module.features) == 4, "predictions and references are ids or names"
    for features in module.features:
        assert set(features) - {"predictions", "references"} <= set(schema.names)


def test_two_metrics_are_combined_and_saved(tmp_path):
    names = ("permutation_acceptance", "label_distribution")
    combined = evaluate.combine([load(name) for name in names])
    combined.add_batch(
        predictions=[0, 0, 1, 2, 0, 2],
        references=[0] * 6,
        source_id=list("aaabbb"),
        permutation=[-1, 0, 1, -1, 0, 1],
    )
    scores = combined.compute()
    assert scores["p_c_low"] < scores["p_c"] == 0.5 < scores["p_c_high"]
    assert scores["permutation_acceptance_accuracy"] == 0.5
    assert scores["label_distribution_accuracy"] == 0.5
    assert scores["shares_contradiction"] == pytest.approx(1 / 3)
    assert all(type(value) in (int, float) for value in scores.values())
    evaluate.save(tmp_path / "saved.json", **scores)
    assert json.loads((tmp_path / "saved.json").read_text())["p_c"] == 0.5


@pytest.mark.parametrize("name", [*SETS, "verification", "pos_minitree"])
def test_empty_column_beside_others_is_rejected(name):
    module = load(name)
    features = module.features[0] if isinstance(module.features, list) else module.features
    first, *others = features
    for empty in ({first}, set(others), set(features)):
        columns = {column: [] if column in empty else [None] for column in features}
        with pytest.raises(ValueError, match="expected columns of equal length with at least one row"):
            module.compute(**columns)


def convert_to_names(labels):
    return [LABELS[label] for label in labels]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("natural_logic", "verification")])
def test_label_names_give_scores_of_ids(name):
    module, inputs = load(name), read_metric_example(name) | {"resamples": 0}
    scores = module.compute(**inputs)
    assert scores
    inputs["predictions"] = convert_to_names(inputs["predictions"])
    assert module.compute(**inputs) == scores
    inputs["references"] = convert_to_names(inputs["references"])
    assert module.compute(**inputs) == scores
    inputs["predictions"][0] = "entails"
    with pytest.raises(ValueError, match=r"expected one of the labels entailment, .*, got 'entails'; pass label ids"):
        module.compute(**inputs)


@pytest.mark.parametrize("name", ["category_accuracy", "compositionality_sensitivity"])
def test_annotator_label_names_give_scores_of_ids(name):
    module, inputs = load(name), read_metric_example(name) | {"resamples": 0}
    annotators = build_annotators(inputs["references"])
    scores = module.compute(**inputs, annotator_labels=annotators)
    assert any(key.endswith("human") for key in scores)
    names = [[label if label is None else LABELS[label] for label in row] for row in annotators]
    assert module.compute(**inputs, annotator_labels=names) == scores
    with pytest.raises(ValueError, match=r"annotator_labels: expected one of the labels entailment"):
        module.compute(**inputs, annotator_labels=[["entails"], *names[1:]])


def test_natural_logic_ids_give_scores_of_names():
    module, inputs = load("natural_logic"), read_metric_example("natural_logic") | {"resamples": 0}
    ids = {
        "predictions": [LABELS.index(label) for label in inputs["predictions"]],
        "references": [None if not label else FOUR_WAY.index(label) for label in inputs["references"]],
    }
    assert module.compute(**inputs | ids) == module.compute(**inputs)
    for column, label in (("predictions", 3), ("predictions", -1), ("references", -1)):
        with pytest.raises(ValueError, match=f"expected label ids from 0 to .*, got {label} in row 1"):
            module.compute(**inputs | ids | {column: [0, label, *ids[column][2:]]})
