"""Tests of parity between two runs: the proportion of changed labels, its interval, and the gate."""

import json

import numpy as np
import pytest
from scipy.stats import beta
from typer.testing import CliRunner

from tests.factories import ROWS, build_result
from unbag import cli
from unbag.challenge_sets import results
from unbag.challenge_sets.base import SKILL
from unbag.data.labels import LABELS
from unbag.data.predictions import NONE
from unbag.evaluation import parity, samples
from unbag.evaluation.samples import RowLabels

GATE = "--max", "plain:changed_labels=.05"


def write_run(folder, name="model", *, changed=0, source=None, **options):
    """Write a run whose first `changed` labels differ from those of a run with `changed=0`."""
    made = build_result(name, **options)
    ids = np.arange(ROWS) % 3
    ids[:changed] = (ids[:changed] + 1) % 3
    source = np.arange(ROWS) if source is None else source
    labels = RowLabels(source.astype(np.int32), ids.astype(np.int8), (*LABELS, NONE))
    samples.write_samples([made], folder, labels={0: labels})
    results.write_results([made], folder / results.FILE)
    return folder


def run_check(*arguments):
    done = CliRunner(env={"COLUMNS": "80"}).invoke(cli.app, ["check", *map(str, arguments)], catch_exceptions=False)
    return done.exit_code, " ".join(done.output.split())


def test_changed_labels_have_clopper_pearson_interval(tmp_path):
    before, after = write_run(tmp_path / "before", "fp32"), write_run(tmp_path / "after", "int8", changed=3)
    [found], notes = parity.compare_predicted_labels(after, before)
    assert (found.set, found.against, found.changed, found.sources, notes) == ("plain", "fp32", 3, ROWS, [])
    limits = beta.ppf([0.025, 0.975], [3, 4], [ROWS - 2, ROWS - 3])
    assert found.estimate[:4] == pytest.approx((3 / ROWS, *limits, ROWS), abs=1e-9)
    [same], _ = parity.compare_predicted_labels(before, before)
    assert same.estimate[:2] == (0, 0)
    assert same.estimate.high == pytest.approx(1 - 0.025 ** (1 / ROWS)), "no change in a sample is no proof of none"


def test_changed_labels_count_shared_sources(tmp_path):
    source = np.arange(ROWS) // 10  # thirty sources of ten rows each, which change together
    runs = [write_run(tmp_path / str(changed), changed=changed, source=source) for changed in (0, 10)]
    [found], _ = parity.compare_predicted_labels(runs[1], runs[0])
    assert (found.sources, found.estimate.n) == (30, ROWS)
    np.testing.assert_allclose(found.estimate[1:3], beta.ppf([0.025, 0.975], [1, 2], [30, 29]), atol=1e-9)


def test_labels_are_compared_by_name():
    source = np.zeros(4, dtype=np.int32)
    ours = RowLabels(source, np.array([0, 1, 2, 3], dtype=np.int8), (*LABELS, NONE))
    theirs = RowLabels(source, np.array([2, 0, 1, 3], dtype=np.int8), ("neutral", "other", "entailment", NONE))
    assert ours.find_differences(theirs).tolist() == [False, False, True, False]
    assert theirs.find_differences(ours).tolist() == [False, False, True, False]


def test_check_reports_changed_labels_or_their_absence(tmp_path):
    before, after = write_run(tmp_path / "before", "fp32"), write_run(tmp_path / "after", "int8", changed=40)
    code, output = run_check(after, "--no-worse-than", before, *GATE, "--json")
    found = json.loads(output)
    assert (code, [each["outcome"] for each in found["gates"]]) == (1, ["passes", "fails"])
    [each] = found["changed_labels"]
    assert (each["set"], each["against"], each["changed"]) == ("plain", "fp32", 40)
    assert each["estimate"] == found["gates"][-1]["estimate"]

    (before / "samples" / "00-plain.labels.parquet").unlink()
    note = "labels not compared, because one run contains no labels"
    assert f"{note}; evaluate again" in run_check(after, "--no-worse-than", before)[1]
    code, said = run_check(after, "--no-worse-than", before, *GATE)
    assert (code, "Failed: 1 of 2 gates not computed." in said) == (1, True)
    assert f"plain:changed_labels: Corpus · ours.jsonl: {note}" in said


def test_changed_labels_gate_depends_only_on_rows(tmp_path):
    """The gate runs without a skill score and for a moved file, and not for other rows or labels."""
    before = write_run(tmp_path / "before", "fp32")
    moved = write_run(tmp_path / "moved", "int8", changed=3)
    for folder in (before, moved):
        record = json.loads((folder / results.FILE).read_text())
        record["results"][0]["scores"][SKILL] = None
        record["results"][0]["data"]["origin"] = folder.name
        (folder / results.FILE).write_text(json.dumps(record))
    code, said = run_check(moved, "--no-worse-than", before, "--max", "plain:changed_labels=.5", "--json")
    gate = json.loads(said)["gates"][-1]
    assert (gate["number"], gate["outcome"], gate["estimate"]["value"]) == ("changed_labels", "passes", 0.01)
    assert code == 1, "the origin of the rows differs, so the skill scores are not compared"

    [result] = results.read_results(before / results.FILE)
    labels = samples.read_row_labels(before, 0, result)
    two_labels = labels._replace(names=("entailment", "not_entailment", NONE))
    samples.write_samples([result], before, labels={0: two_labels})
    code, said = run_check(moved, "--no-worse-than", before, *GATE)
    assert code == 1
    assert "different labels (entailment,neutral,contradiction and entailment,not_entailment)" in said


def test_read_damaged_labels_are_rejected(tmp_path):
    before, after = write_run(tmp_path / "before", "fp32"), write_run(tmp_path / "after", "int8")
    file = before / "samples" / "00-plain.labels.parquet"
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(ValueError, match=r"00-plain\.labels\.parquet: expected readable labels"):
        parity.compare_predicted_labels(after, before)
