import pytest

from unbag import scripts
from unbag.scoring.document_consistency import DocumentConsistencyScores, document_consistency

ROWS = {
    "predictions": [0, 1, 0, 0, 1],
    "references": [0, 1, 0, 1, 1],
    "source_id": ["a"] * 5,
    "group": ["a1", "a1", "a4", "a4", "a4"],
    "k": [1, 1, 4, 4, 4],
    "position": [0, 0, 2, 2, 2],
    "operation": ["supported", "removed", "supported", "subject", "removed"],
}


@pytest.fixture(scope="module")
def metric(tmp_path_factory):
    evaluate = pytest.importorskip("evaluate")
    cache = str(tmp_path_factory.mktemp("cache"))
    return evaluate.load(str(scripts.find_script_folder("metrics", "document_consistency")), cache_dir=cache)


def test_module_equals_function(metric):
    computed = metric.compute(**ROWS, structured=True)
    expected = document_consistency(**ROWS)
    assert list(computed) == list(expected)
    assert computed["paired_accuracy"] == expected["paired_accuracy"]._asdict()
    assert computed["by_k"][1]["balanced_accuracy"] == expected["by_k"][1]["balanced_accuracy"]._asdict()


def test_rows_can_be_added_in_batches(metric):
    for half in (slice(0, 2), slice(2, 5)):
        metric.add_batch(**{name: values[half] for name, values in ROWS.items()})
    assert metric.compute()["paired_accuracy"] == 0.5


@pytest.mark.parametrize("other", ["not_entailment", "neutral", "contradiction"])
def test_every_name_except_entailment_means_not_entailed(metric, other):
    named = {name: ["entailment" if label == 0 else other for label in ROWS[name]] for name in ("predictions",)}
    assert metric.compute(**ROWS | named) == metric.compute(**ROWS)


def test_names_option_sets_id_of_entailment(metric):
    flipped = {name: [1 - label for label in ROWS[name]] for name in ("predictions", "references")}
    assert metric.compute(**ROWS | flipped, names=["not_entailment", "entailment"]) == metric.compute(**ROWS)


def test_inputs_description_contains_arguments_and_scores(metric):
    assert document_consistency.__doc__ in metric.inputs_description
    assert all(f"{key}: " in metric.inputs_description for key in DocumentConsistencyScores.__annotations__)
