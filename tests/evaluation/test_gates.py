"""Tests of gates: an interval above or below the bound passes or fails, any other is inconclusive."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.factories import ROWS, build_result, write_run
from unbag import cli
from unbag.challenge_sets.base import SKILL
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions
from unbag.evaluation import gates
from unbag.evaluation.outcome import EvaluationOutcome
from unbag.evaluation.verdict import TOO_FEW_ROWS
from unbag.inference.distributed import ProcessGroup
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.verification import compute_verifier_scores


def run_check(*arguments):
    """Run the command as in CI, and return the exit code and the output."""
    done = CliRunner(env={"COLUMNS": "80"}).invoke(cli.app, ["check", *map(str, arguments)], catch_exceptions=False)
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


def test_json_and_csv_contain_every_gate(tmp_path):
    folder = write_run(tmp_path / "run", build_result(proportion_correct=0.8))
    code, said = run_check(folder, "--min", "plain:accuracy=.9", "--json")
    told = json.loads(said)
    assert code == 1
    assert (told["passed"], told["strict"]) == (False, False)
    [gate] = told["gates"]
    assert (gate["set"], gate["number"], gate["asked"], gate["outcome"]) == ("plain", "accuracy", "≥ 0.9", "fails")
    assert gate["estimate"]["low"] < gate["estimate"]["high"] < 0.9
    assert gate["estimate"]["n"] == ROWS
    head, row = run_check(folder, "--min", "plain:accuracy=.9", "--format", "csv")[1].splitlines()
    assert head.split(",")[:5] == ["set", "data", "number", "label", "asked"]
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


def test_no_worse_than_without_skill_names_reason(tmp_path):
    few = build_result()
    few.scores[SKILL] = None
    folder = write_run(tmp_path / "run", few)
    [checked], _ = gates.check_no_worse_than(folder, folder)
    assert (checked.outcome, checked.why.startswith(TOO_FEW_ROWS)) == ("inconclusive", True)


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
