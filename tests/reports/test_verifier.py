"""Tests of verification scores in all outputs: terminal, gates, comparison, exported tables, HTML report."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from tests.factories import ROWS, build_result, render, write_run
from unbag.challenge_sets.base import VERIFICATION, VERIFIER
from unbag.challenge_sets.views import verifier
from unbag.challenge_sets.views.figures import ReportModel, ResultGroup, ScoredModel
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions, build_predictions_from_labels
from unbag.evaluation import comparison, gates, metrics
from unbag.evaluation.gates import GateBound
from unbag.reports import run_tables
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.verification import compute_verifier_scores


def build_verified_result(name="model", noise=0.1, *, has_probabilities=True, rows=ROWS):
    """Return a result on the plain set with verification scores. `noise` blurs the probabilities."""
    rng = np.random.default_rng(3)
    gold = np.arange(rows) % 3
    entailment = np.clip(np.where(gold == 0, 0.8, 0.2) + rng.normal(0, noise, rows), 0.01, 0.99)
    rest = (1 - entailment)[:, None] * np.where(gold[:, None] == 2, (0.2, 0.8), (0.8, 0.2))
    answers = SetPredictions(np.column_stack([entailment, rest]), LABELS, has_probabilities=True)
    if not has_probabilities:
        answers = build_predictions_from_labels(answers.predicted.tolist())
    made = build_result(name, 0.8, rows=rows)
    found = compute_verifier_scores(gold, answers, range(rows))
    return replace(made, scores={**made.scores, VERIFICATION: found})


def build_group(*made):
    return ResultGroup(
        "set-0", "ours", tuple(ScoredModel(ReportModel(each.model["name"], {}, False), each, None) for each in made)
    )


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            {"threshold": 0.83, "bound": 0.047, "confirmed": Estimate(0.031, 0.01, 0.07, 130)}
            | {"recall": Estimate(0.61, 0.5, 0.7, 80), "available": 120},
            "At most 5 % false entailments (upper limit 4.7 % on one half of the sources): threshold 0.83; on the "
            "other half 3.1 % [1.0, 7.0]; recall on all pairs 61.0 %.",
        ),
        (
            {"threshold": 0.83, "bound": 0.047, "confirmed": None, "recall": None, "available": 120},
            "At most 5 % false entailments (upper limit 4.7 % on one half of the sources): threshold 0.83; the other "
            "half has no not-entailed pair to confirm it.",
        ),
        (
            {"threshold": None, "available": 120},
            "At most 5 % false entailments: no threshold has an upper limit this low on the 120 pairs of one half.",
        ),
    ],
)
def test_threshold_sentences_are_complete(row, sentence):
    made = build_verified_result()
    scores = {**made.scores[VERIFICATION], "safe_thresholds": [{"target": 0.05, "needed": 59, **row}]}
    assert verifier.describe_thresholds(replace(made, scores={**made.scores, VERIFICATION: scores})) == [sentence]


def test_summary_states_lowest_safe_target_and_recall():
    made = build_verified_result()
    row = made.scores[VERIFICATION]["safe_thresholds"][1]
    sentence = verifier.summarize_verifier(made)
    assert sentence.startswith("Verifier with AUROC ")
    assert f"at threshold {row['threshold']}, at most 5 % false entailments" in sentence
    assert sentence.endswith(f"a recall of {100 * row['recall'].value:.1f} %.")
    assert verifier.summarize_verifier(build_verified_result(has_probabilities=False)).startswith("Verifier: ")
    assert verifier.summarize_verifier(build_result()) is None


def test_several_verifiers_are_compared_by_auroc_and_recall():
    made = [build_verified_result("sharp"), build_verified_result("dull", noise=0.5)]
    text = render(verifier.build_verifier_comparison(made))
    assert "Unchanged pairs: recall with at most 5 % false positives (95 % confidence)" in " ".join(text.split())
    assert "recall at 5 %" in text
    assert text.index("sharp") < text.index("dull")
    assert f"{made[1].scores[VERIFICATION]['auroc'].value:.3f}" in text
    assert max(map(len, text.splitlines())) <= 80
    assert verifier.build_verifier_comparison(made[:1]) is None
    labels_only = [build_verified_result(name, has_probabilities=False) for name in ("sharp", "dull")]
    assert verifier.build_verifier_comparison(labels_only) is None


def test_gates_check_verification_metrics_by_name():
    made = build_verified_result(noise=0.3)
    assert set(metrics.collect_metrics(made)) == {"score", "accuracy", *(each.name for each in VERIFIER)}
    bounds = [
        GateBound("plain", "false_entailment", "max", 0.05),
        GateBound("plain", "auroc", "min", 0.8),
        GateBound("plain", "brier", "max", 0.3),
    ]
    outcomes = [(each.number, each.outcome) for each in gates.check_bounds([made], bounds)]
    assert outcomes == [("false_entailment", "fails"), ("auroc", "passes"), ("brier", "passes")]


@pytest.fixture
def folders(tmp_path):
    return [
        write_run(tmp_path / name, build_verified_result(name, noise))
        for name, noise in (("sharp", 0.1), ("dull", 0.5))
    ]


def test_compare_tests_named_metrics_except_average_precision(folders):
    names = [each.name for each in VERIFIER]
    compared = comparison.compare(*folders, metrics=names)
    tests = {each.label: each.test for each in compared.differences}
    assert tests == {
        "AUROC": "bootstrap",
        "average precision": "unpaired",
        "balanced accuracy": "bootstrap",
        "recall": "mcnemar",
        "false entailment": "mcnemar",
        "false contradiction": "mcnemar",
        "Brier score": "bootstrap",
    }
    better = {each.label: compared.find_better(each) for each in compared.differences}
    assert better["AUROC"] == better["false entailment"] == better["Brier score"] == compared.systems[0].letter
    assert "Corpus · ours.jsonl: average precision is not tested; its interval is unpaired" in compared.notes


def test_exports_contain_verification_metrics(folders):
    exported = run_tables.export_runs(folders)
    assert "**Verification metrics of sharp, dull**" in exported.text("md")
    assert exported.text("md").count("| AUROC") == 1  # not among the metrics of the set, too
    assert "false entailment" in exported.text("latex")
    rows = list(csv.DictReader(io.StringIO(exported.text("csv"))))
    area = build_verified_result("sharp", 0.1).scores[VERIFICATION]["auroc"].value
    assert [float(row["value"]) for row in rows if row["number"] == "auroc" and row["model"] == "sharp"] == [
        pytest.approx(area)
    ]
    assert {each.name for each in VERIFIER} <= {each["number"] for each in exported.as_json["numbers"]}
    plain = run_tables.export_runs([write_run(folders[0].parent / "none", build_result("none"))])
    assert "Verification metrics" not in plain.text("md")


def test_figures_show_diagonal_areas_and_both_rates():
    made = build_verified_result(noise=0.3)
    reliability, risk, alarms, recall = verifier.build_verifier_figures(build_group(made))
    own, diagonal = reliability.series
    assert [(point.x, point.estimate.value) for point in diagonal.points] == [(0, 0), (1, 1)]
    bins = made.scores[VERIFICATION]["calibration"]["bins"]
    assert [point.estimate for point in own.points] == [each["share"] for each in bins]
    areas = made.scores[VERIFICATION]["risk_coverage"]
    assert (
        f"{areas['aurc']:.3f} (perfect order {areas['oracle']:.3f}, random order {areas['random']:.3f})" in risk.about
    )
    for figure in (alarms, recall):
        values = [point.estimate.value for point in figure.series[0].points]
        assert values == sorted(values), "from strict thresholds to lenient ones"
    assert alarms.positions == recall.positions


def test_label_only_results_have_no_figures():
    made = build_verified_result(has_probabilities=False)
    assert verifier.build_verifier_figures(build_group(made)) == []
    assert verifier.build_threshold_table(build_group(made)) is None
    assert [row[0] for row in verifier.build_verifier_metrics_table(build_group(made)).rows] == [
        "balanced accuracy ↑",
        "recall ↑",
        "false entailment ↓",
        "false contradiction ↓",
    ]
