import pytest

from unbag import scripts
from unbag.scoring.natural_logic import NaturalLogicScores, natural_logic

ROWS = {
    "predictions": ["entailment", "neutral", "neutral", "neutral", "entailment", "neutral"],
    "references": ["forward_entailment", "reverse_entailment", "contradiction", None, None, None],
}
OPTIONS = {
    "pair": list("abcabc"),
    "reverse": [False] * 3 + [True] * 3,
    "groups": {"part": ["subject", "subject", "verb"] * 2},
}


@pytest.fixture(scope="module")
def metric(tmp_path_factory):
    evaluate = pytest.importorskip("evaluate")
    cache = str(tmp_path_factory.mktemp("cache"))
    return evaluate.load(str(scripts.find_script_folder("metrics", "natural_logic")), cache_dir=cache)


@pytest.mark.parametrize("options", [OPTIONS, {**OPTIONS, "seed": 3}])
def test_module_equals_function(metric, options):
    computed = metric.compute(**ROWS, **options, structured=True)
    expected = natural_logic(**ROWS, **options)
    assert list(computed) == list(expected)
    assert computed["f1"] == expected["f1"]._asdict()
    assert computed["by_label"] == expected["by_label"]
    for name, column in expected["by"].items():
        assert computed["by"][name]["subject"]["recall"] == column["subject"]["recall"]._asdict()


def test_rows_can_be_added_in_batches(metric):
    for half in (slice(0, 2), slice(2, 6)):
        metric.add_batch(**{name: values[half] for name, values in ROWS.items()})
    assert metric.compute(**OPTIONS)["n_examples"] == 3


def test_inputs_description_contains_arguments_and_scores(metric):
    assert natural_logic.__doc__ in metric.inputs_description
    assert all(f"{key}: " in metric.inputs_description for key in NaturalLogicScores.__annotations__)
