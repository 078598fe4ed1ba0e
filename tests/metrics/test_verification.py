import pytest

from unbag import scripts
from unbag.scoring.bootstrap import to_json
from unbag.scoring.verification import VerificationScores, verification

ROWS = {"predictions": [0.9, 0.8, 0.6, 0.4, 0.3, 0.1], "references": [1, 0, 1, 0, 1, 0]}
NAMES = ["entailment", "neutral", "SUPPORTS", "contradiction", "entailment", "not_entailment"]


@pytest.fixture(scope="module")
def metric(tmp_path_factory):
    evaluate = pytest.importorskip("evaluate")
    cache = str(tmp_path_factory.mktemp("cache"))
    return evaluate.load(str(scripts.find_script_folder("metrics", "verification")), cache_dir=cache)


def test_module_equals_function(metric):
    options = {"source_id": list("aabbcc"), "threshold": 0.35, "resamples": 20, "seed": 3}
    computed = metric.compute(**ROWS, **options, structured=True)
    assert computed == to_json(verification(**ROWS, **options))
    assert set(computed) == set(VerificationScores.__annotations__)


def test_scores_equal_manual_example(metric):
    computed = metric.compute(**ROWS)
    # Entailed pairs have higher scores than 3, 2 and 1 of the 3 others. Two of them and one other reach 0.5.
    assert computed["auroc"] == pytest.approx(6 / 9)
    assert computed["balanced_accuracy"] == pytest.approx(2 / 3)
    assert computed["false_entailment"] == pytest.approx(1 / 3)
    assert computed["calibration_brier"] == pytest.approx((0.01 + 0.64 + 0.16 + 0.16 + 0.49 + 0.01) / 6)
    assert not any(key.startswith("false_contradiction") for key in computed)


def test_threshold_sets_predicted_entailment(metric):
    assert metric.compute(**ROWS, threshold=0.85)["false_entailment"] == 0
    assert metric.compute(**ROWS, threshold=0.1)["false_entailment"] == 1, "a score at the threshold is called entailed"


def test_label_names_equal_booleans(metric):
    assert metric.compute(predictions=ROWS["predictions"], references=NAMES) == metric.compute(**ROWS)


def test_rows_can_be_added_in_batches(metric):
    for half in (slice(0, 3), slice(3, 6)):
        metric.add_batch(**{name: values[half] for name, values in ROWS.items()})
    assert metric.compute() == metric.compute(**ROWS)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"references": [1, 0, 2, 0, 1, 0]}, "expected 1 \\(entailed\\), 0 \\(not entailed\\) or label names, got 2"),
        ({"references": [1] * 6}, "both entailed and not-entailed pairs"),
        ({"predictions": [1.5, 0, 0, 0, 0, 0]}, "probabilities from 0 to 1"),
        ({"source_id": ["a"]}, "one prediction, reference and source per pair"),
    ],
)
def test_malformed_input_is_rejected(metric, changed, message):
    with pytest.raises(ValueError, match=message):
        metric.compute(**{**ROWS, **changed})


def test_inputs_description_contains_arguments_and_scores(metric):
    assert verification.__doc__ in metric.inputs_description
    assert all(f"{key}: " in metric.inputs_description for key in VerificationScores.__annotations__)
