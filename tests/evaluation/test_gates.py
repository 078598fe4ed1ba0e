"""Tests of gates and parity: an interval above or below the bound passes or fails, any other is inconclusive."""

import json
import re

import numpy as np
import pytest
from scipy.stats import beta
from typer.testing import CliRunner

from tests.factories import ROWS, build_result, write_run
from unbag import cli
from unbag.challenge_sets import results
from unbag.challenge_sets.base import SKILL
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.data.labels import LABELS
from unbag.data.predictions import NONE, SetPredictions
from unbag.evaluation import gates, parity, samples
from unbag.evaluation.outcome import EvaluationOutcome
from unbag.evaluation.samples import RowLabels
from unbag.evaluation.verdict import TOO_FEW_ROWS
from unbag.inference.distributed import ProcessGroup
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.verification import compute_verifier_scores


def run_check(*arguments):
    """Run the command as in CI, and return the exit code and the output."""
    done = CliRunner(env={"COLUMNS": "400"}).invoke(cli.app, ["check", *map(str, arguments)], catch_exceptions=False)
    return done.exit_code, done.output


def build_gate_result(low, high, bound, side="min", n=100):
    made = build_result()
    made.scores["accuracy"] = Estimate((low + high) / 2, low, high, n)
    [checked] = gates.check_bounds([made], [gates.GateBound("plain", "accuracy", side, bound)])
    return checked


@pytest.mark.parametrize(
    ("bound", "outcome"),
    [
        (0.6, "fails"),
        (0.45, "inconclusive"),  # the point is below the bound, possibly by chance
        (0.5, "inconclusive"),
        (0.3, "passes"),
    ],
)
def test_gate_outcome_depends_on_interval(bound, outcome):
    checked = build_gate_result(0.3, 0.5, bound)
    assert checked.outcome == outcome
    assert checked.is_failure(strict=False) == (outcome == "fails")
    assert checked.is_failure(strict=True) == (outcome != "passes")
    # An upper bound is the mirror image.
    assert build_gate_result(-0.5, -0.3, -bound, "max").outcome == outcome


WITHOUT_PROBABILITIES = compute_verifier_scores(
    np.arange(40) % 3, SetPredictions(np.eye(3)[np.arange(40) % 3], LABELS, has_probabilities=False), range(40)
)


@pytest.mark.parametrize(
    ("bound", "side", "scores", "why"),
    [
        ("plain:score=.2", "min", {SKILL: None}, TOO_FEW_ROWS),
        ("plain:false_contradiction=.05", "max", {}, "no examples for this metric"),
        ("plain:auroc=.5", "min", {"verification": WITHOUT_PROBABILITIES}, "the model returns no probabilities"),
        ("plain:accuracy=.2", "min", {"accuracy": Estimate(None, None, None, 0)}, "no examples for this metric"),
        ("plain:accuracy=.2", "min", {"accuracy": Estimate(0.9, None, None, 90)}, "no interval"),
    ],
)
def test_gate_that_was_not_computed_stops_every_build(tmp_path, bound, side, scores, why):
    made = build_result(proportion_correct=1.0)
    made.scores.update(scores)
    [checked] = gates.check_bounds([made], [gates.parse_bound(bound, side)])
    assert (checked.outcome, checked.why) == ("not computed", why)
    assert checked.is_failure(strict=False)
    code, said = run_check(write_run(tmp_path / "run", made), f"--{side}", bound, "--min", "plain:accuracy=0")
    assert code == 1
    assert "of 2 gates not computed." in said


@pytest.mark.parametrize(
    ("text", "side", "words"),
    [
        ("plain:score", "min", "expected SET:METRIC=BOUND, such as permuted:score=.2, got 'plain:score'"),
        ("plain:score=-1e999", "min", "expected SET:METRIC=BOUND"),
        ("plane:score=.2", "min", "expected one of the challenge sets "),
        ("swapped:acuracy_after=.2", "min", "did you mean accuracy_after? the metrics are score, accuracy_before, "),
        ("swapped:drop=.2", "min", "expected --max, since lower values of swapped:drop are better"),
        ("plain:accuracy=75", "min", "75: expected a bound from 0 to 1, got 75; write a percentage as 0.75"),
        ("swapped:score=.2", "max", "expected --min, since higher values of swapped:score are better"),
    ],
)
def test_bound_invalid_text_is_rejected(text, side, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        gates.parse_bound(text, side)


@pytest.mark.parametrize(
    ("bounds", "options", "words"),
    [
        ([], {}, "expected a gate, got none"),
        ([("plain:score=.2", "min")], {"metric_paths": ("accuracy",)}, "--metric: requires --no-worse-than"),
        ([("plain:changed_labels=.05", "max")], {}, "plain:changed_labels: expected --no-worse-than, got none"),
    ],
)
def test_gates_without_required_earlier_run_are_rejected(bounds, options, words):
    with pytest.raises(ValueError, match=words):
        gates.Gates(tuple(gates.parse_bound(*each) for each in bounds), **options)


def test_check_set_without_results_is_rejected():
    with pytest.raises(ValueError, match="expected results on swapped, got results on plain"):
        gates.check_bounds([build_result()], [gates.parse_bound("swapped:score=.2", "min")])


def test_bound_applies_to_every_corpus_of_set():
    both = [build_result(proportion_correct=0.9), build_result(proportion_correct=0.1, data="theirs.jsonl")]
    checked = gates.check_bounds(both, [gates.parse_bound("plain:accuracy=.5", "min")])
    assert [(each.data, each.outcome) for each in checked] == [("ours.jsonl", "passes"), ("theirs.jsonl", "fails")]


def test_no_worse_than_uses_paired_test(tmp_path):
    weak, strong = (
        write_run(tmp_path / name, build_result(name, right)) for name, right in (("weak", 0.5), ("strong", 0.9))
    )
    [worse], _ = gates.check_no_worse_than(weak, strong)
    assert (worse.set, worse.number, worse.against, worse.outcome) == ("plain", "score", "strong", "fails")
    assert worse.estimate.high < 0
    assert worse.p < 0.001
    [better], _ = gates.check_no_worse_than(strong, weak)
    assert better.outcome == "passes"
    assert better.estimate.low == pytest.approx(-worse.estimate.high)
    [same], _ = gates.check_no_worse_than(strong, strong)
    assert (same.outcome, same.estimate.value) == ("passes", 0)
    assert same.estimate.low == pytest.approx(-same.estimate.high)
    assert same.estimate.low < 0


@pytest.mark.parametrize(("rows", "outcome"), [(9, "inconclusive"), (10, "fails")])
def test_gate_with_few_sources_is_inconclusive(tmp_path, rows, outcome):
    why = "9 source examples are too few" if rows == 9 else ""
    after, before = (
        write_run(tmp_path / name, build_result(name, right, rows=rows)) for name, right in (("weak", 0), ("strong", 1))
    )
    [checked], _ = gates.check_no_worse_than(after, before, ["accuracy"])
    assert checked.p < 0.01
    bound = build_gate_result(0.0, 0.0, 0.9, n=rows)
    assert [(each.outcome, each.why) for each in (checked, bound)] == [(outcome, why)] * 2


def test_no_worse_than_respects_direction(tmp_path):
    few, many = build_result("few", 0.9, set_name="swapped"), build_result("many", 0.9, set_name="swapped", seed=3)
    few.scores["drop"], many.scores["drop"] = (few.scores["accuracy_before"], many.scores["agreement"])
    before, after = write_run(tmp_path / "few", few), write_run(tmp_path / "many", many)
    [checked], _ = gates.check_no_worse_than(after, before, ["drop"])
    assert checked.estimate.value == pytest.approx(1 - few.scores["drop"].value)
    assert checked.outcome == "fails"
    with pytest.raises(ValueError, match=r"for which higher or lower is better, got overall\.drop of swapped"):
        gates.check_no_worse_than(after, before, ["overall.drop"])


def test_no_worse_than_ignores_baselines_and_rejects_two_models(tmp_path):
    beside = write_run(tmp_path / "beside", build_result("mine", 0.9), build_result("lexical", 0.2, kind="lexical"))
    alone = write_run(tmp_path / "alone", build_result("mine", 0.9))
    assert run_check(beside, "--min", "plain:accuracy=.5")[0] == 0
    assert [each.outcome for each in gates.check_no_worse_than(beside, alone)[0]] == ["passes"]
    two = write_run(tmp_path / "two", build_result("mine", 0.9), build_result("yours", 0.2))
    with pytest.raises(ValueError, match=r"expected the results of one model, got results of mine, yours"):
        run_check(two, "--min", "plain:accuracy=.5")


def test_exit_codes_match_gate_outcomes(tmp_path):
    folder = write_run(tmp_path / "run", build_result(proportion_correct=0.8))
    code, said = run_check(folder, "--min", "plain:accuracy=.5,plain:score=.5")
    assert (code, "Passed: all 2 gates." in said) == (0, True)
    code, said = run_check(folder, "--min", "plain:accuracy=.9", "--min", "plain:score=.5")
    assert (code, "Failed: 1 of 2 gates." in said) == (1, True)
    undecided = (folder, "--min", "plain:accuracy=.74")
    code, said = run_check(*undecided)
    assert (code, "Passed: no gate fails; 1 of 1 inconclusive." in said) == (0, True)
    assert run_check(*undecided, "--strict")[0] == 1
    for wrong in ((), ("--min", "plain:acc=.5"), ("--min", "plain:accuracy=.5", "--corpus", "mnli"), ("--strict",)):
        assert run_check(folder, *wrong)[0] == 2
    assert run_check(folder, "--no-worse-than", tmp_path / "nowhere")[0] == 2


def test_command_prints_only_in_first_process(tmp_path, monkeypatch):
    def run_models(*_, **__):
        return EvaluationOutcome([], [EvaluationFailure("swapped", ValueError("no pairs"))])

    old = write_run(tmp_path / "old", build_result(proportion_correct=0.5))
    monkeypatch.setattr("unbag.inference.distributed.connect_process_group", lambda: ProcessGroup(rank=1, world_size=2))
    monkeypatch.setattr("unbag.cli.check.run_models", run_models)
    bounds = ("--min", "plain:accuracy=.9,swapped:score=.2")
    assert run_check(old, *bounds) == (0, "")
    assert run_check("majority", *bounds, "--output-dir", old) == (0, ""), "what is there is of an earlier run"


def test_csv_contains_every_gate(tmp_path):
    folder = write_run(tmp_path / "run", build_result(proportion_correct=0.8))
    head, row = run_check(folder, "--min", "plain:accuracy=.9", "--format", "csv")[1].splitlines()
    assert head.split(",")[:5] == ["set", "data", "number", "label", "asked"]
    assert row.startswith("plain,ours.jsonl,accuracy,accuracy,≥ 0.9,")
    assert ",fails," in row


def test_no_worse_than_set_of_only_one_run_is_not_computed(tmp_path):
    before = write_run(tmp_path / "before", build_result("old", 0.8), build_result("old", 0.8, set_name="swapped"))
    blank = build_result("new", 0.8, set_name="swapped")
    blank.scores[SKILL] = None
    checked, notes = gates.check_no_worse_than(write_run(tmp_path / "after", build_result("new", 0.8), blank), before)
    assert [(each.set, each.outcome) for each in checked] == [("plain", "passes"), ("swapped", "not computed")]
    assert checked[1].why.startswith("only one run has a skill score")
    less = write_run(tmp_path / "less", build_result("new", 0.8))
    checked, notes = gates.check_no_worse_than(less, before)
    assert (checked[1].outcome, notes) == ("not computed", [])
    assert checked[1].why == "no result on ours.jsonl; evaluate swapped on it, as in the earlier run"
    assert run_check(less, "--no-worse-than", before)[0] == 1
    checked, notes = gates.check_no_worse_than(before, less)
    assert [(each.set, each.outcome) for each in checked] == [("plain", "passes")]
    assert notes == ["Swapped · ours.jsonl: evaluated only for B"]


@pytest.mark.parametrize(("bound", "message"), [(".5", "1 of 1 passes"), (".9", "0 of 1 passes")])
def test_badge_without_challenge_set_counts_gates(tmp_path, bound, message):
    folder = write_run(tmp_path / "run", build_result(proportion_correct=0.8))
    code, _ = run_check(folder, "--min", f"plain:accuracy={bound}", "--badge", tmp_path / "badge.json")
    assert code == (bound == ".9")
    badge = json.loads((tmp_path / "badge.json").read_text())
    assert (badge["label"], badge["message"]) == ("gates", message)
    assert badge["color"] == ("lightgrey" if code else "blue")


def test_no_worse_than_small_difference_of_few_examples_is_inconclusive(tmp_path):
    one, two = build_result("one", 0.7, rows=45, seed=1), build_result("two", 0.7, rows=45, seed=2)
    [checked], _ = gates.check_no_worse_than(write_run(tmp_path / "two", two), write_run(tmp_path / "one", one))
    assert checked.p > 0.05
    assert checked.outcome == "inconclusive"


LABEL_GATE = "--max", "plain:changed_labels=.05"


def write_labels(folder, name="model", *, changed=0, source=None):
    """Write a run with labels, of which the first `changed` differ from those of a run with `changed=0`."""
    made = build_result(name)
    ids = np.arange(ROWS) % 3
    ids[:changed] = (ids[:changed] + 1) % 3
    source = np.arange(ROWS) if source is None else source
    labels = RowLabels(source.astype(np.int32), ids.astype(np.int8), (*LABELS, NONE))
    samples.write_samples([made], folder, labels={0: labels})
    results.write_results([made], folder / results.FILE)
    return folder


def test_changed_labels_have_clopper_pearson_interval(tmp_path):
    before, after = write_labels(tmp_path / "before", "fp32"), write_labels(tmp_path / "after", "int8", changed=3)
    [found], notes = parity.compare_predicted_labels(after, before)
    assert (found.set, found.against, found.changed, found.sources, notes) == ("plain", "fp32", 3, ROWS, [])
    limits = beta.ppf([0.025, 0.975], [3, 4], [ROWS - 2, ROWS - 3])
    assert found.estimate[:4] == pytest.approx((3 / ROWS, *limits, ROWS), abs=1e-9)
    [same], _ = parity.compare_predicted_labels(before, before)
    assert same.estimate[:2] == (0, 0)
    assert same.estimate.high == pytest.approx(1 - 0.025 ** (1 / ROWS)), "no change in a sample is no proof of none"


def test_changed_labels_count_shared_sources(tmp_path):
    source = np.arange(ROWS) // 10  # thirty sources of ten rows each, which change together
    runs = [write_labels(tmp_path / str(changed), changed=changed, source=source) for changed in (0, 10)]
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
    before, after = write_labels(tmp_path / "before", "fp32"), write_labels(tmp_path / "after", "int8", changed=40)
    code, output = run_check(after, "--no-worse-than", before, *LABEL_GATE, "--json")
    found = json.loads(output)
    assert (code, [each["outcome"] for each in found["gates"]]) == (1, ["passes", "fails"])
    [each] = found["changed_labels"]
    assert (each["set"], each["against"], each["changed"]) == ("plain", "fp32", 40)
    assert each["estimate"] == found["gates"][-1]["estimate"]

    (before / "samples" / "00-plain.labels.parquet").unlink()
    note = "labels not compared, because one run contains no labels"
    assert f"{note}; evaluate again" in run_check(after, "--no-worse-than", before)[1]
    code, said = run_check(after, "--no-worse-than", before, *LABEL_GATE)
    assert (code, "Failed: 1 of 2 gates not computed." in said) == (1, True)
    assert f"plain:changed_labels: Corpus · ours.jsonl: {note}" in said


def test_changed_labels_gate_depends_only_on_rows(tmp_path):
    """The gate runs without a skill score and for a moved file, and not for other rows or labels."""
    before = write_labels(tmp_path / "before", "fp32")
    moved = write_labels(tmp_path / "moved", "int8", changed=3)
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
    code, said = run_check(moved, "--no-worse-than", before, *LABEL_GATE)
    assert code == 1
    assert "different labels (entailment,neutral,contradiction and entailment,not_entailment)" in said


def test_read_damaged_labels_are_rejected(tmp_path):
    before, after = write_labels(tmp_path / "before", "fp32"), write_labels(tmp_path / "after", "int8")
    file = before / "samples" / "00-plain.labels.parquet"
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(ValueError, match=r"00-plain\.labels\.parquet: expected readable labels"):
        parity.compare_predicted_labels(after, before)
