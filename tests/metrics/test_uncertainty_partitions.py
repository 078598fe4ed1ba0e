import pytest

from unbag import scripts
from unbag.scoring.uncertainty_partitions import UncertaintyPartitionsScores, uncertainty_partitions

ROWS = {
    "predictions": [0, 1, 2, 0, 1, 1],
    "references": [0, 1, 2, 1, 0, 2],
    "partition": [0, 0, 1, 1, 2, 2],
}


@pytest.fixture(scope="module")
def metric(tmp_path_factory):
    evaluate = pytest.importorskip("evaluate")
    cache = str(tmp_path_factory.mktemp("cache"))
    return evaluate.load(str(scripts.find_script_folder("metrics", "uncertainty_partitions")), cache_dir=cache)


def test_module_equals_function(metric):
    computed = metric.compute(**ROWS, seed=3, structured=True)
    expected = uncertainty_partitions(**ROWS, seed=3)
    assert list(computed) == list(expected)
    assert computed["rank_correlation"] == expected["rank_correlation"] == -1
    assert computed["drop"] == expected["drop"]._asdict()
    assert computed["by_partition"] == [
        {"partition": row["partition"], "accuracy": row["accuracy"]._asdict()} for row in expected["by_partition"]
    ]


def test_rows_can_be_added_in_batches(metric):
    for half in (slice(0, 3), slice(3, 6)):
        metric.add_batch(**{name: values[half] for name, values in ROWS.items()})
    assert metric.compute()["hardest"] == 0.0


def test_inputs_description_contains_arguments_and_scores(metric):
    assert uncertainty_partitions.__doc__ in metric.inputs_description
    assert all(f"{key}: " in metric.inputs_description for key in UncertaintyPartitionsScores.__annotations__)
