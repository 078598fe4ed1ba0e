import pytest

from unbag import scripts
from unbag.scoring.swap_consistency import SwapConsistencyScores, swap_consistency

ROWS = {
    "predictions": [0, 1, 2, 2, 1, 1, 2],
    "references": [0, 1, 2, 1, 1, 2, 1],
    "source_id": list("abcdbcd"),
    "swapped": [False] * 4 + [True] * 3,
}


@pytest.fixture(scope="module")
def metric(tmp_path_factory):
    evaluate = pytest.importorskip("evaluate")
    cache = str(tmp_path_factory.mktemp("cache"))
    return evaluate.load(str(scripts.find_script_folder("metrics", "swap_consistency")), cache_dir=cache)


@pytest.mark.parametrize("options", [{}, {"neutral": 2, "contradiction": 1}])
def test_module_equals_function(metric, options):
    computed = metric.compute(**ROWS, **options, structured=True)
    expected = swap_consistency(**ROWS, **options)
    assert list(computed) == list(expected)
    assert computed["drop"] == expected["drop"]._asdict()
    assert computed["by_label"]["neutral"]["agreement"] == expected["by_label"]["neutral"]["agreement"]._asdict()
    assert computed["overall"]["accuracy_after"] == expected["overall"]["accuracy_after"]._asdict()


def test_rows_can_be_added_in_batches(metric):
    for half in (slice(0, 2), slice(2, 7)):
        metric.add_batch(**{name: values[half] for name, values in ROWS.items()})
    assert metric.compute()["n_excluded"] == 1


def test_inputs_description_contains_arguments_and_scores(metric):
    assert swap_consistency.__doc__ in metric.inputs_description
    assert all(f"{key}: " in metric.inputs_description for key in SwapConsistencyScores.__annotations__)
