import pytest

from unbag import scripts
from unbag.scoring.compositionality_sensitivity import MisleadingSubset, compositionality_sensitivity

ROWS = {"predictions": [0, 1, 2, 0], "references": [0, 1, 1, 2], "lms": [0.1, 0.6, 0.7, 0.9]}


@pytest.fixture(scope="module")
def metric(tmp_path_factory):
    evaluate = pytest.importorskip("evaluate")
    cache = str(tmp_path_factory.mktemp("cache"))
    return evaluate.load(str(scripts.find_script_folder("metrics", "compositionality_sensitivity")), cache_dir=cache)


def test_module_equals_function(metric):
    options = {"annotator_labels": [[0, 0], [1, None], [-1], [2, 1]], "thresholds": [0.6, 1.0]}
    computed = metric.compute(**ROWS, **options, structured=True)["subsets"]
    expected = compositionality_sensitivity(**ROWS, **options)["subsets"]
    assert [row["lambda"] for row in computed] == [0.0, 0.6, 1.0]
    for ours, theirs in zip(computed, expected, strict=True):
        assert list(ours) == list(theirs)
        assert ours["drop"] == theirs["drop"]._asdict()
        assert ours["human"] == theirs["human"]._asdict()
        assert (ours["n"], ours["majority_label"]) == (theirs["n"], theirs["majority_label"])


def test_score_at_threshold_is_included(metric):
    # As a 32-bit number, 0.7 would be less than 0.7, so the feature has 64 bits.
    assert metric.compute(**ROWS)["subsets_0.7_accuracy_n"] == 2


def test_rows_can_be_added_in_batches(metric):
    for half in (slice(0, 2), slice(2, 4)):
        metric.add_batch(**{name: values[half] for name, values in ROWS.items()})
    assert metric.compute()["subsets_0_accuracy"] == 0.5


def test_inputs_description_contains_arguments_and_scores(metric):
    assert compositionality_sensitivity.__doc__ in metric.inputs_description
    assert all(f"{key}: " in metric.inputs_description for key in MisleadingSubset.__annotations__)
