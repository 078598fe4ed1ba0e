import pytest

from unbag import scripts
from unbag.scoring.bootstrap import to_json
from unbag.scoring.category_accuracy import CategoryAccuracyScores, category_accuracy

ROWS = {"predictions": [2, 2, 0, 1], "references": [2, 2, 0, 0], "category": ["colors", "colors", "ends", "ends"]}
OPTIONS = {"similarity": [0.5, 0.9, None, None], "pair_frequency": [0, 7, None, None], "seed": 3}
VOTES = [[2, 2, 2], [2, 2, 0], [0, 0, 0], [0, 1, 2]]


@pytest.fixture(scope="module")
def metric(tmp_path_factory):
    evaluate = pytest.importorskip("evaluate")
    cache = str(tmp_path_factory.mktemp("cache"))
    return evaluate.load(str(scripts.find_script_folder("metrics", "category_accuracy")), cache_dir=cache)


def test_module_equals_function(metric):
    computed = metric.compute(**ROWS, **OPTIONS, structured=True)
    assert computed == to_json(category_accuracy(**ROWS, **OPTIONS))
    assert {"by_similarity", "by_frequency"} <= set(computed)


def test_annotators_are_passed_to_function(metric):
    computed = metric.compute(**ROWS, annotator_labels=VOTES)
    assert computed["human"] == pytest.approx((1 + 2 / 3 + 1 + 1 / 3) / 4)
    assert computed["kappa_annotators"] == 3


def test_optional_inputs_can_be_omitted(metric):
    assert "by_similarity" not in metric.compute(**ROWS, structured=True)


def test_rows_can_be_added_in_batches(metric):
    for half in (slice(0, 2), slice(2, 4)):
        metric.add_batch(**{name: values[half] for name, values in ROWS.items()})
    assert metric.compute()["accuracy"] == 0.75


def test_inputs_description_contains_arguments_and_scores(metric):
    assert category_accuracy.__doc__ in metric.inputs_description
    assert all(f"{key}: " in metric.inputs_description for key in CategoryAccuracyScores.__annotations__)
