"""Tests of result folders: further sets are added, and runs of another model are rejected."""

import json
from dataclasses import replace

import datasets
import numpy as np
import pytest

import unbag
from tests import factories
from unbag.challenge_sets import results
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.challenge_sets.views.examples import ExampleSelection
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions
from unbag.evaluation import result_folder
from unbag.evaluation import samples as paired_samples
from unbag.evaluation.scoring import ScoredResult, write_scored_results
from unbag.inference.function import CallablePredictor

SCORED = (  # rows and predictions
    datasets.Dataset.from_dict({"source_id": ["a"]}),
    SetPredictions(np.eye(3)[:1], LABELS, has_probabilities=False),
)


def _build_result(name="a", set_name="plain", **model):
    made = factories.build_result(name, set_name=set_name, data="snli")
    return replace(made, model={**made.model, **model})


def _write_results(folder, *made, failures=()):
    """Write results to a folder as an evaluation does, with one selection of examples per result."""
    selections = [ExampleSelection(each.set, each.model["name"], each.data["sha256"], "rule", ()) for each in made]
    scored = [ScoredResult(*pair, *SCORED) for pair in zip(made, selections, strict=True)]
    write_scored_results(scored, folder, failures)


def _list_results(folder):
    return [(each.model["name"], each.set, each.data["name"]) for each in results.read_results(folder / results.FILE)]


def _count_samples(folder):
    """Count the results whose samples are stored."""
    found = results.read_results(folder / results.FILE)
    return sum(bool(paired_samples.read_samples(folder, number, result)) for number, result in enumerate(found))


@pytest.mark.parametrize(("stored", "asked"), [(["a"], ["b"]), (["a", "b"], ["a", "c"])])
def test_check_partly_overlapping_models_are_rejected(tmp_path, stored, asked):
    _write_results(tmp_path, *map(_build_result, stored))
    result_folder.validate_result_folder(tmp_path, dict.fromkeys([*stored, "b"]), {"swapped"})
    with pytest.raises(ValueError, match=f"got results of {', '.join(stored)}; use another --output-dir"):
        result_folder.validate_result_folder(tmp_path, dict.fromkeys(asked), {"swapped"})


@pytest.mark.parametrize(
    ("stored", "asked", "message"),
    [
        ({"options": {"dtype": "bfloat16"}}, {}, "of a with default options, got results with dtype=bfloat16"),
        (
            {"label_order": "x,y"},
            {"label_order": "y,x"},
            "label_order y,x, got results on swapped at label_order x,y",
        ),
    ],
)
def test_check_same_model_with_other_options_or_version_is_rejected(tmp_path, stored, asked, message):
    _write_results(tmp_path, _build_result(set_name="swapped", **stored))
    same = {"name": "a", "options": {}}
    result_folder.validate_result_folder(tmp_path, {"a": same | stored}, {"plain"})
    with pytest.raises(ValueError, match=message):
        result_folder.validate_result_folder(tmp_path, {"a": same | asked}, {"plain"})


def test_write_further_set_keeps_earlier_results(tmp_path):
    failures = [EvaluationFailure(name, ValueError("no pairs")) for name in ("swapped", "sicck")]
    _write_results(tmp_path, _build_result(), failures=failures)
    before = (tmp_path / "samples" / "00-plain.parquet").read_bytes()
    _write_results(tmp_path, _build_result(set_name="swapped"))
    assert _list_results(tmp_path) == [("a", "plain", "snli"), ("a", "swapped", "snli")]
    assert (tmp_path / "samples" / "00-plain.parquet").read_bytes() == before
    _, skipped = results.read_results_with_skipped(tmp_path / results.FILE)
    assert [each.set for each in skipped] == ["sicck"]
    selections = json.loads((tmp_path / "examples.json").read_text())["selections"]
    assert [each["set"] for each in selections] == ["plain", "swapped"]
    assert _count_samples(tmp_path) == 2


def test_write_same_set_on_other_rows_replaces_with_warning(tmp_path, caplog):
    _write_results(tmp_path, _build_result(), _build_result(set_name="swapped"))
    first = (tmp_path / results.FILE).read_bytes()
    _write_results(tmp_path, _build_result())
    assert (tmp_path / results.FILE).read_bytes() == first
    assert not caplog.messages
    again = _build_result()
    _write_results(tmp_path, replace(again, config={"max_examples": 9}))
    assert _list_results(tmp_path) == [("a", "plain", "snli"), ("a", "swapped", "snli")]
    assert results.read_results(tmp_path / results.FILE)[0].config == {"max_examples": 9}
    assert "replacing earlier results: plain of snli for a (max_examples 9, before none)" in caplog.text


def test_write_other_version_drops_old_results_and_names_difference(tmp_path, caplog):
    old = {"revision": "sha256:" + "0" * 63 + "1", "label_order": "x,y"}
    _write_results(tmp_path, _build_result(**old), _build_result(set_name="swapped", **old))
    _write_results(tmp_path, _build_result(revision="sha256:" + "0" * 63 + "2", label_order="y,x"))
    assert _list_results(tmp_path) == [("a", "plain", "snli")]
    short = f"(revision sha256:{2:064}, before sha256:{1:064}; label_order y,x, before x,y)"
    assert f"replacing earlier results: plain of snli for a {short}" in caplog.text
    caplog.clear()
    _write_results(tmp_path, _build_result(revision="sha256:" + "ab" * 32, label_order="y,x"))
    assert f"(revision {'ab' * 6}, before {'0' * 12})" in caplog.text


def test_write_second_model_moves_samples_of_first(tmp_path):
    _write_results(tmp_path, _build_result("a"), _build_result("a", "swapped"))
    _write_results(tmp_path, _build_result("b", "swapped"), _build_result("b"), _build_result("a", "theirs"))
    expected = [("b", "swapped"), ("b", "plain"), ("a", "plain"), ("a", "swapped"), ("a", "theirs")]
    assert [pair[:2] for pair in _list_results(tmp_path)] == expected
    assert _count_samples(tmp_path) == len(expected)
    assert len(list((tmp_path / "samples").iterdir())) == 2 * len(expected), "samples and labels of each result"


def _build_constant_model(label):
    return CallablePredictor(lambda premises, _: [label] * len(premises), identity={"name": label})


def test_evaluate_other_model_is_rejected_before_prediction(tmp_path):
    unbag.evaluate(_build_constant_model("neutral"), "plain", output_dir=tmp_path, **factories.QUICK)
    before = (tmp_path / results.FILE).read_bytes()
    other = CallablePredictor(lambda *_: pytest.fail("a pair was predicted"), identity={"name": "other"})
    with pytest.raises(ValueError, match="only results of other, got results of neutral"):
        unbag.evaluate(other, "plain", output_dir=tmp_path, **factories.QUICK)
    assert (tmp_path / results.FILE).read_bytes() == before
    [added] = unbag.evaluate(_build_constant_model("neutral"), "swapped", output_dir=tmp_path, **factories.QUICK)
    assert added.set == "swapped"
    assert [each[:2] for each in _list_results(tmp_path)] == [("neutral", "plain"), ("neutral", "swapped")]


def test_receive_downloads_results_and_samples(tmp_path):
    address = f"memory://{tmp_path.name}/run"
    unbag.evaluate(_build_constant_model("neutral"), "plain", output_dir=address, **factories.QUICK)
    unbag.evaluate(_build_constant_model("neutral"), "swapped", output_dir=address, **factories.QUICK)
    result_folder.download_result_folder(address, tmp_path / "here")
    assert [each[1] for each in _list_results(tmp_path / "here")] == ["plain", "swapped"]
    assert _count_samples(tmp_path / "here") == 2
    with pytest.raises(ValueError, match="got results of neutral"):
        unbag.evaluate(_build_constant_model("entailment"), "plain", output_dir=address, **factories.QUICK)


def test_damaged_results_and_those_of_other_schema_are_rejected(tmp_path):
    path = tmp_path / results.FILE
    for text, message in (
        ('{"schema": 99, "results": []}', "expected results with schema 2, got schema 99"),
        ("[]", "expected a results file of unbag, got list"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            results.read_results(path)
    path.write_text("{")
    with pytest.raises(ValueError, match="or remove the file"):
        result_folder.validate_result_folder(tmp_path, {"a": None}, {"plain"})


def test_replaced_result_with_option_of_newer_version_is_described_by_its_differences():
    hashes = [f"sha256:{digit * 40}" for digit in "ab"]
    before, now = (replace(_build_result(), config={"lexical_model": each}) for each in hashes)
    now = replace(now, config={**now.config, "columns": None})
    [described] = result_folder.describe_replaced_results([before], [now])
    assert described.endswith("for a (lexical_model bbbbbbbbbbbb, before aaaaaaaaaaaa)")
    same = replace(now, config={**before.config, "columns": None})
    assert not result_folder.describe_replaced_results([before], [same])


def test_repeated_results_with_several_options_are_not_described_as_replaced():
    several = [replace(_build_result(), config={"q": q}) for q in (5, 10)]
    assert not result_folder.describe_replaced_results(several, several)
    [described] = result_folder.describe_replaced_results(several, [replace(several[0], config={"q": 7})])
    assert described.endswith("(q 7, before 5)")
