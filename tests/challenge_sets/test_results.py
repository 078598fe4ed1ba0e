"""Tests of the validation of stored results: every set's scores, impossible values, and contradictions."""

import json
from pathlib import Path
from typing import is_typeddict

import pytest

from tests.factories import build_result, write_run
from unbag import challenge_sets
from unbag.challenge_sets import results

GOLDEN = Path(__file__).parents[1] / "golden/expected"
RUNS = [GOLDEN / "runs/transformer", GOLDEN / "runs/words", GOLDEN / "shared/runs/official"]


@pytest.fixture(scope="module")
def records():
    """Return one golden record per challenge set."""
    by_set = {}
    for run in RUNS:
        for record in json.loads((run / results.FILE).read_text())["results"]:
            by_set.setdefault(record["set"], json.dumps(record))
    assert len(by_set) == 8
    return by_set


def read_changed(record, path, value, folder):
    """Read a record after a change of the value at a path; None deletes the value."""
    record = json.loads(record)
    *above, last = (int(key) if key.isdigit() else key for key in path.split("/"))
    inner = record
    for key in above:
        inner = inner[key]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    (folder / results.FILE).write_text(json.dumps({"schema": results.SCHEMA, "results": [record]}))
    return results.read_results(folder / results.FILE)[0]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_read_golden_results_round_trips(run, tmp_path):
    read = results.read_results(run / results.FILE)
    results.write_results(read, tmp_path / results.FILE)
    assert json.loads((tmp_path / results.FILE).read_text()) == json.loads((run / results.FILE).read_text())


@pytest.mark.parametrize("name", challenge_sets.list_set_names())
def test_every_set_declares_type_of_scores(name):
    assert is_typeddict(challenge_sets.get_challenge_set(name).scores_type)


NO_VALUE = {"value": None, "low": None, "high": None, "n": 5}
CHANGES = (
    ("plain", "scores/accuracy/value", 1.5, "accuracy.value = 1.5, which is not between 0 and 1"),
    ("plain", "scores/accuracy/n", -1, "scores.accuracy.n: input should be greater than or equal to 0"),
    ("plain", "scores/accuracy/low", 1e300, "scores.accuracy.low: input should be less than"),
    ("plain", "model/options", {"train_data": "snli"}, "model.options.train_data: input should be a valid array"),
    ("cs_lambda", "config/lexical_models/0/training", None, "config.lexical_models.0.training: field required"),
    ("permuted", "config/mode", None, "config.mode: field required"),
    ("permuted", "scores/by_length/0/acceptance", None, "by_length.0.acceptance: field required"),
    ("soswap_addamod", "config/counts", {"addamod": "many"}, "config.counts.addamod: input should be a valid integer"),
    ("swapped", "scores/drop/value", None, "scores.drop.value: field required"),
    ("swapped", "scores/drop", {"value": None, "low": 0.1, "high": 0.2, "n": 5}, "there is no value"),
    ("swapped", "scores/skill/n_sources", "many", "scores.skill.n_sources: input should be a valid integer"),
)


@pytest.mark.parametrize(("name", "path", "value", "said"), CHANGES, ids=lambda each: str(each)[:40])
def test_read_invalid_result_is_rejected(records, tmp_path, name, path, value, said):
    with pytest.raises(ValueError, match=r"results\.json: expected a results file of unbag, got results\.0") as raised:
        read_changed(records[name], path, value, tmp_path)
    assert said in str(raised.value)


def test_read_result_keeps_unknown_fields(records, tmp_path):
    changed = read_changed(records["plain"], "scores/later", {"value": 1, "low": None, "high": None, "n": 1}, tmp_path)
    assert changed.scores["later"].value == 1
    assert read_changed(records["plain"], "later", 1, tmp_path).set == "plain"
    assert read_changed(records["plain"], "scores/later", [{}], tmp_path).scores["later"] == [{}]


def test_read_scores_of_unknown_set_needs_no_type(records, tmp_path):
    changed = read_changed(records["plain"], "set", "theirs", tmp_path)
    assert changed.scores["accuracy"].n > 0


def test_read_undefined_kappa_is_accepted(records, tmp_path):
    kappa = {"annotators": 5, "overall": NO_VALUE, "by_label": [{"label": 0, "kappa": NO_VALUE}]}
    assert read_changed(records["breaking_nli"], "scores/kappa", kappa, tmp_path).scores["kappa"]["overall"].n == 5


def test_read_result_without_version_of_unbag_is_unknown(tmp_path):
    result = build_result()
    del result.environment["unbag"]
    folder = write_run(tmp_path / "run", result)
    assert results.read_results(folder / results.FILE)[0].unbag_version == "unknown"
