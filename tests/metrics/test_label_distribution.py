import pytest

from unbag import scripts
from unbag.scoring.label_distribution import LabelDistributionScores, label_distribution

ROWS = {"predictions": [0, 0, 1, 2], "references": [2, 2, 2, 1], "source_id": ["a", "b", "c", "d"]}


@pytest.fixture(scope="module")
def metric(tmp_path_factory):
    evaluate = pytest.importorskip("evaluate")
    cache = str(tmp_path_factory.mktemp("cache"))
    return evaluate.load(str(scripts.find_script_folder("metrics", "label_distribution")), cache_dir=cache)


@pytest.mark.parametrize("options", [{}, {"kind": ["swap", "swap", "add", "add"], "resamples": 50}])
def test_module_equals_function(metric, options):
    computed = metric.compute(**ROWS, **options, structured=True)
    expected = label_distribution(**ROWS, **options)
    assert list(computed) == list(expected)
    assert computed["accuracy"] == expected["accuracy"]._asdict()
    assert computed["shares"]["entailment"] == expected["shares"]["entailment"]._asdict()
    for name, part in expected.get("by_subset", {}).items():
        assert computed["by_subset"][name]["accuracy"] == part["accuracy"]._asdict()


def test_rows_can_be_added_in_batches(metric):
    for half in (slice(0, 2), slice(2, 4)):
        metric.add_batch(**{name: values[half] for name, values in ROWS.items()})
    assert metric.compute()["accuracy"] == 0


def test_inputs_description_contains_arguments_and_scores(metric):
    assert label_distribution.__doc__ in metric.inputs_description
    assert all(f"{key}: " in metric.inputs_description for key in LabelDistributionScores.__annotations__)
