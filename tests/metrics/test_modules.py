"""Tests of the metric modules: equal to their functions, also in batches and with label names."""

import json

import pyarrow as pa
import pytest

from unbag import challenge_sets, scripts
from unbag.data.labels import FOUR_WAY, LABELS
from unbag.hub.metric_page import parse_metric_columns, read_table
from unbag.scoring import (
    category_accuracy,
    compositionality_sensitivity,
    document_consistency,
    label_distribution,
    natural_logic,
    negation_consistency,
    permutation_acceptance,
    swap_consistency,
    uncertainty_partitions,
    verification,
)
from unbag.scoring.bootstrap import to_json

evaluate = pytest.importorskip("evaluate")

PAIRED = {"predictions": [0, 1, 0, 0, 1, 1], "references": [0, 1, 0, 1, 0, 1], "source_id": ["a"] * 6}

# Of each metric the function, the columns of rows, other columns and options, and one score of the rows.
CASES = {
    "category_accuracy": (
        category_accuracy.category_accuracy,
        {"predictions": [2, 2, 0, 1], "references": [2, 2, 0, 0], "category": ["colors", "colors", "ends", "ends"]},
        {"similarity": [0.5, 0.9, None, None], "pair_frequency": [0, 7, None, None], "seed": 3}
        | {"annotator_labels": [[2, 2, 2], [2, 2, 0], [0, 0, 0], [0, 1, 2]]},
        ("accuracy", 0.75),
    ),
    "compositionality_sensitivity": (
        compositionality_sensitivity.compositionality_sensitivity,
        {"predictions": [0, 1, 2, 0], "references": [0, 1, 1, 2], "lms": [0.1, 0.6, 0.7, 0.9]},
        {"annotator_labels": [[0, 0], [1, None], [-1], [2, 1]], "thresholds": [0.6, 1.0]},
        ("subsets_0.7_accuracy_n", 2),  # as a 32-bit number, 0.7 would be less than 0.7
    ),
    "document_consistency": (
        document_consistency.document_consistency,
        {
            "predictions": [0, 1, 0, 0, 1],
            "references": [0, 1, 0, 1, 1],
            "source_id": ["a"] * 5,
            "group": ["a1", "a1", "a4", "a4", "a4"],
            "k": [1, 1, 4, 4, 4],
            "position": [0, 0, 2, 2, 2],
            "operation": ["supported", "removed", "supported", "subject", "removed"],
        },
        {},
        ("paired_accuracy", 0.5),
    ),
    "label_distribution": (
        label_distribution.label_distribution,
        {"predictions": [0, 0, 1, 2], "references": [2, 2, 2, 1], "source_id": ["a", "b", "c", "d"]},
        {"kind": ["swap", "swap", "add", "add"], "resamples": 50},
        ("accuracy", 0),
    ),
    "natural_logic": (
        natural_logic.natural_logic,
        {
            "predictions": ["entailment", "neutral", "neutral", "neutral", "entailment", "neutral"],
            "references": ["forward_entailment", "reverse_entailment", "contradiction", None, None, None],
        },
        {"pair": list("abcabc"), "reverse": [False] * 3 + [True] * 3, "seed": 3}
        | {"groups": {"part": ["subject", "subject", "verb"] * 2}},
        ("n_examples", 3),
    ),
    "negation_consistency": (
        negation_consistency.negation_consistency,
        PAIRED | {"mirror": ["a1", "a1", "a2", "a2", "a3", "a3"], "operation": ["sentence"] * 4 + ["double"] * 2},
        {},
        ("mirror_consistency", pytest.approx(1 / 3)),
    ),
    "permutation_acceptance": (
        permutation_acceptance.permutation_acceptance,
        {
            "predictions": [0, 0, 1, 2, 0, 2],
            "references": [0] * 6,
            "source_id": list("aaabbb"),
            "permutation": [-1, 0, 1, -1, 0, 1],
        },
        {
            "probabilities": [[0.8, 0.1, 0.1]] * 2
            + [[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.45, 0.4, 0.15], [0.1, 0.1, 0.8]],
            "bleu": [1.0, 0.2, 0.3, 1.0, 0.2, 0.3],
            "curve": True,
        },
        ("omega_max", 1.0),
    ),
    "swap_consistency": (
        swap_consistency.swap_consistency,
        {
            "predictions": [0, 1, 2, 2, 1, 1, 2],
            "references": [0, 1, 2, 1, 1, 2, 1],
            "source_id": list("abcdbcd"),
            "swapped": [False] * 4 + [True] * 3,
        },
        {"neutral": 2, "contradiction": 1},
        ("n_excluded", 1),
    ),
    "uncertainty_partitions": (
        uncertainty_partitions.uncertainty_partitions,
        {
            "predictions": [0, 1, 2, 0, 1, 1],
            "references": [0, 1, 2, 1, 0, 2],
            "partition": [0, 0, 1, 1, 2, 2],
        },
        {"seed": 3},
        ("hardest", 0.0),
    ),
    "verification": (
        verification.verification,
        {"predictions": [0.9, 0.8, 0.6, 0.4, 0.3, 0.1], "references": [1, 0, 1, 0, 1, 0]},
        {"source_id": list("aabbcc"), "threshold": 0.35, "resamples": 20, "seed": 3},
        ("balanced_accuracy", pytest.approx(2 / 3)),
    ),
}

REQUIRED = ("curve", "pair", "reverse")  # options that a function or module needs


def load(name):
    return evaluate.load(str(scripts.find_script_folder("metrics", name)))


@pytest.fixture(params=CASES)
def metric(request):
    return load(request.param), *CASES[request.param]


def test_module_equals_function(metric):
    module, function, rows, options, _ = metric
    for given in ({name: options[name] for name in REQUIRED if name in options}, options):
        computed = module.compute(**rows, **given, structured=True)
        expected = to_json(function(**rows, **given))
        assert list(computed) == list(expected)
        assert computed == expected


def test_rows_can_be_added_in_batches(metric):
    module, _, rows, options, (key, value) = metric
    given = {name: options[name] for name in ("pair", "reverse") if name in options}
    assert module.compute(**rows, **given)[key] == value
    for batch in (slice(0, 2), slice(2, None)):
        module.add_batch(**{name: values[batch] for name, values in rows.items()})
    assert module.compute(**given) == module.compute(**rows, **given)


def test_arguments_are_in_description_and_scores_on_card(metric):
    module, function, rows, options, _ = metric
    assert function.__doc__ in module.inputs_description
    scores = function(**rows, **options)
    card = (scripts.find_script_folder("metrics", function.__name__) / "README.md").read_text(encoding="utf-8")
    assert all(f"`{key}`" in card for key in scores.get("subsets", [scores])[0])


@pytest.mark.parametrize("name", ["document_consistency", "negation_consistency"])
@pytest.mark.parametrize("other", ["not_entailment", "neutral", "contradiction"])
def test_every_name_except_entailment_means_not_entailed(name, other):
    module, rows = load(name), CASES[name][1]
    named = ["entailment" if label == 0 else other for label in rows["predictions"]]
    assert module.compute(**rows | {"predictions": named}) == module.compute(**rows)
    flipped = {column: [1 - label for label in rows[column]] for column in ("predictions", "references")}
    assert module.compute(**rows | flipped, names=["not_entailment", "entailment"]) == module.compute(**rows)


TAGGED = {
    "words": [["sleeps", "the", "cat"], ["the", "cat", "sleeps"]],
    "tags": [["VERB", "DET", "NOUN"], ["DET", "NOUN", "VERB"]],
    "original_words": [["the", "cat", "sleeps"]] * 2,
    "original_tags": [["DET", "NOUN", "VERB"]] * 2,
}

USUAL = {"cat": [0, 0, 0, 0, 0, 0.6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.4, 0]}


def test_pos_minitree_equals_card():
    measurement = load("pos_minitree")
    scores = measurement.compute(**TAGGED, usual=USUAL, radius=1, k=2, accepted=[False, True], structured=True)
    assert scores["ratios"] == [0.5, 1.0]
    assert scores["ratio"] == 0.75
    assert scores["by_ratio"][1] == {"low": 1.0, "high": 1.1, "n": 1, "acceptance": 1.0}
    assert set(measurement.compute(**TAGGED, usual=USUAL, structured=True)) == {"n", "ratio", "ratios"}
    assert measurement.compute(**TAGGED, usual=USUAL, radius=1, k=2) == {"n": 2, "ratio": 0.75}


def test_verification_reads_thresholds_and_label_names():
    module, rows = load("verification"), CASES["verification"][1]
    computed = module.compute(**rows)
    assert not any(key.startswith("false_contradiction") for key in computed)
    assert module.compute(**rows, threshold=0.85)["false_entailment"] == 0
    assert module.compute(**rows, threshold=0.1)["false_entailment"] == 1, "a score at the threshold is called entailed"
    names = ["entailment", "neutral", "SUPPORTS", "contradiction", "entailment", "not_entailment"]
    assert module.compute(**rows | {"references": names}) == computed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"references": [1, 0, 2, 0, 1, 0]}, "expected 1 \\(entailed\\), 0 \\(not entailed\\) or label names, got 2"),
        ({"references": [1] * 6}, "both entailed and not-entailed pairs"),
        ({"source_id": ["a"]}, "one prediction, reference and source per pair"),
    ],
)
def test_malformed_input_of_verification_is_rejected(changed, message):
    with pytest.raises(ValueError, match=message):
        load("verification").compute(**CASES["verification"][1] | changed)


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


def test_metric_of_every_set_has_folder():
    assert set(SETS) <= set(scripts.list_script_folders("metrics"))


def test_two_metrics_are_combined_and_saved(tmp_path):
    rows = {
        "predictions": [0, 0, 1, 2, 0, 2],
        "references": [0] * 6,
        "source_id": list("aaabbb"),
        "permutation": [-1, 0, 1, -1, 0, 1],
    }
    names = ("permutation_acceptance", "label_distribution")
    combined = evaluate.combine([load(name) for name in names])
    combined.add_batch(**rows)
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


IDS = [
    name
    for name in scripts.list_script_folders("metrics")
    if name not in ("natural_logic", "pos_minitree", "verification")
]


def _load_example(name):
    return parse_metric_columns(
        read_table((scripts.find_script_folder("metrics", name) / "example.csv").read_text())
    ) | {"resamples": 0}


def _convert_to_names(labels):
    return [LABELS[label] for label in labels]


@pytest.mark.parametrize("name", IDS)
def test_label_names_give_scores_of_ids(name):
    inputs = _load_example(name)
    scores = load(name).compute(**inputs)
    assert scores
    predictions = {"predictions": _convert_to_names(inputs["predictions"])}
    assert load(name).compute(**inputs | predictions) == scores
    assert (
        load(name).compute(**inputs | predictions | {"references": _convert_to_names(inputs["references"])}) == scores
    )


@pytest.mark.parametrize("name", ["category_accuracy", "compositionality_sensitivity"])
def test_annotator_label_names_give_scores_of_ids(name):
    inputs = _load_example(name)
    annotators = [[label, (label + row) % 3, None] for row, label in enumerate(inputs["references"])]
    scores = load(name).compute(**inputs, annotator_labels=annotators)
    assert any(key.endswith("human") for key in scores)
    names = [[label if label is None else LABELS[label] for label in row] for row in annotators]
    assert load(name).compute(**inputs, annotator_labels=names) == scores
    wrong = [["entails"], *names[1:]]
    with pytest.raises(ValueError, match=r"annotator_labels: expected one of the labels entailment"):
        load(name).compute(**inputs, annotator_labels=wrong)


def test_natural_logic_ids_give_scores_of_names():
    inputs = _load_example("natural_logic")
    ids = {
        "predictions": [LABELS.index(label) for label in inputs["predictions"]],
        "references": [None if not label else FOUR_WAY.index(label) for label in inputs["references"]],
    }
    assert load("natural_logic").compute(**inputs | ids) == load("natural_logic").compute(**inputs)


def test_unknown_name_error_lists_labels():
    inputs = _load_example("label_distribution")
    wrong = ["entails", *_convert_to_names(inputs["predictions"])[1:]]
    with pytest.raises(ValueError, match=r"expected one of the labels entailment, .*, got 'entails'; pass label ids"):
        load("label_distribution").compute(**inputs | {"predictions": wrong})


@pytest.mark.parametrize(("column", "label"), [("predictions", 3), ("predictions", -1), ("references", -1)])
def test_natural_logic_id_without_label_is_rejected(column, label):
    inputs = {"predictions": [0, 1, 2], "references": [0, 1, 2]}
    wrong = inputs | {"pair": ["a", "b", "c"], "reverse": [False] * 3, column: [0, 1, label]}
    with pytest.raises(ValueError, match=f"expected label ids from 0 to .*, got {label} in row 2"):
        load("natural_logic").compute(**wrong)
