import pytest

from unbag import scripts
from unbag.scoring.permutation_acceptance import PermutationAcceptanceScores, PermutedRows, permutation_acceptance

ROWS = {
    "predictions": [0, 0, 1, 2, 0, 2],
    "references": [0] * 6,
    "source_id": list("aaabbb"),
    "permutation": [-1, 0, 1, -1, 0, 1],
}
PROBABILITIES = [[0.8, 0.1, 0.1]] * 2 + [[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.45, 0.4, 0.15], [0.1, 0.1, 0.8]]


@pytest.fixture(scope="module")
def metric(tmp_path_factory):
    evaluate = pytest.importorskip("evaluate")
    cache = str(tmp_path_factory.mktemp("cache"))
    return evaluate.load(str(scripts.find_script_folder("metrics", "permutation_acceptance")), cache_dir=cache)


def test_module_equals_function(metric):
    columns = {**ROWS, "probabilities": PROBABILITIES, "bleu": [1.0, 0.2, 0.3, 1.0, 0.2, 0.3]}
    computed = metric.compute(**columns, curve=True, structured=True)
    expected = permutation_acceptance(PermutedRows(**columns), curve=True)
    assert computed["p_c"] == expected["p_c"]._asdict()
    assert computed["confident"]["0.5"]["omega_max"] == expected["confident"]["0.5"]["omega_max"]._asdict()
    assert computed["curve"] == expected["curve"]
    assert computed["by_bleu"] == expected["by_bleu"] != []
    assert set(computed) == set(expected)


def test_rows_can_be_added_in_batches(metric):
    for half in (slice(0, 3), slice(3, 6)):
        metric.add_batch(**{name: values[half] for name, values in ROWS.items()})
    assert metric.compute()["omega_max"] == 1.0


def test_inputs_description_contains_arguments_and_scores(metric):
    assert permutation_acceptance.__doc__ in metric.inputs_description
    assert PermutedRows.__doc__ in metric.inputs_description
    assert all(f"{key}: " in metric.inputs_description for key in PermutationAcceptanceScores.__annotations__)
