import pytest

from unbag import scripts

ROWS = {
    "words": [["sleeps", "the", "cat"], ["the", "cat", "sleeps"]],
    "tags": [["VERB", "DET", "NOUN"], ["DET", "NOUN", "VERB"]],
    "original_words": [["the", "cat", "sleeps"]] * 2,
    "original_tags": [["DET", "NOUN", "VERB"]] * 2,
}
USUAL = {"cat": [0, 0, 0, 0, 0, 0.6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.4, 0]}


@pytest.fixture(scope="module")
def measurement(tmp_path_factory):
    evaluate = pytest.importorskip("evaluate")
    cache = str(tmp_path_factory.mktemp("cache"))
    return evaluate.load(str(scripts.find_script_folder("metrics", "pos_minitree")), cache_dir=cache)


def test_output_equals_card(measurement):
    scores = measurement.compute(**ROWS, usual=USUAL, radius=1, k=2, accepted=[False, True], structured=True)
    assert scores["ratios"] == [0.5, 1.0]
    assert scores["ratio"] == 0.75
    assert scores["by_ratio"][1] == {"low": 1.0, "high": 1.1, "n": 1, "acceptance": 1.0}


def test_without_predictions_acceptance_is_omitted(measurement):
    assert set(measurement.compute(**ROWS, usual=USUAL, structured=True)) == {"n", "ratio", "ratios"}


def test_default_output_contains_only_numbers(measurement):
    assert measurement.compute(**ROWS, usual=USUAL, radius=1, k=2) == {"n": 2, "ratio": 0.75}
