"""Tests of tables, badges and terminal views, and of verification scores in tables and figures."""

import csv
import io
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.factories import ROWS, build_result, render, run_unbag, write_run
from unbag import challenge_sets
from unbag.challenge_sets.base import SKILL, VERIFICATION, VERIFIER
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views import verifier
from unbag.challenge_sets.views.figures import ReportModel, ResultGroup, ScoredModel
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions, build_predictions_from_labels
from unbag.evaluation import comparison, metrics
from unbag.evaluation.verdict import compute_model_verdict
from unbag.reports import badge, formats, run_tables
from unbag.reports import comparison as compared
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.verification import compute_verifier_scores

NASTY = r"o_rg/50%_&_$x$#{1}~^\a--b|*c*`d`<e> 中é[1]"

_COMMAND = re.compile(r"\\(?:[A-Za-z]+|.)")

_KNOWN = {  # built-in commands, and those of booktabs
    *("begin", "end", "centering", "small", "caption", "par", "smallskip", "addlinespace"),
    *("toprule", "midrule", "bottomrule", "mathrm", "texttt", "Omega", "lambda", "tau", "beta", "geq", "leq", "pm"),
    *("times", "cdot", "rightarrow", "uparrow", "downarrow", "textbackslash", "textasciicircum", "textasciitilde"),
    *("textless", "textgreater", "textbar", "textendash", "dots", "usepackage"),
}

_RULES = (r"\toprule", r"\midrule", r"\addlinespace", r"\bottomrule")


@pytest.fixture
def folders(tmp_path):
    return [
        write_run(tmp_path / str(right), *(build_result(name, right, set_name=each) for each in ("plain", "swapped")))
        for name, right in (("weak", 0.5), (NASTY, 0.9))
    ]


def split_cells(line):
    r"""Split a row of LaTeX into cells. `\&` is no separator."""
    assert line.endswith(r" \\"), line
    return re.split(r"(?<!\\) & ", f" {line.removesuffix(chr(92) * 2)}")


def check_latex(text):
    """Check LaTeX for errors that TeX would report, and return the rows of the tables."""
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    body = "\n".join(lines)
    commands = [found.group()[1:] for found in _COMMAND.finditer(body)]
    words = {command for command in commands if command.isalpha()}
    assert words <= _KNOWN, words - _KNOWN
    assert {command for command in commands if not command.isalpha()} <= set("\\%&_#$`{}")
    bare = _COMMAND.sub("", body)
    assert bare.count("{") == bare.count("}")
    depth = 0
    for letter in bare:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth >= 0
    outside = ""
    for number, part in enumerate(re.split(r"(?<!\\)\$", body)):
        if number % 2:
            assert part.isascii(), "a letter inside of a formula"
            assert "_" not in part or part.count("_") == 1, "two indices"
        else:
            outside += part
    assert not re.search(r"(?<!\\)[#^~_%]", outside), "a special character"
    assert body.count("$") % 2 == body.count(r"\$") % 2
    opened = re.findall(r"\\begin\{(\w+)\}", body)
    assert sorted(opened) == sorted(re.findall(r"\\end\{(\w+)\}", body))
    within = body[body.index(r"\begin{tabular}") : body.index(r"\end{tabular}")].splitlines()[1:]
    rows = [line for line in within if line not in _RULES]
    [columns] = set(re.findall(r"\\begin\{tabular\}\{@\{\}([lr]+)@\{\}\}", body))
    assert rows
    assert {len(split_cells(row)) for row in rows} == {len(columns)}
    return [split_cells(row) for row in rows]


def parse_markdown_rows(text):
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    assert len({len(row) for row in rows}) == 1
    return [[cell.strip() for cell in row] for row in rows]


def test_better_system_is_named(folders):
    exported = compared.export_comparison(comparison.compare(*folders))
    by_number = {(row["set"], row["label"]): row for row in csv.DictReader(io.StringIO(exported.text("csv")))}
    accuracy = by_number["plain", "accuracy"]
    assert accuracy["better"] == NASTY
    assert accuracy["higher_is_better"] == accuracy["significant"] == "true"
    assert int(accuracy["n"]) == ROWS
    assert float(accuracy["low"]) < float(accuracy["difference"]) < float(accuracy["high"])
    assert float(accuracy["p"]) <= float(accuracy["p_holm"]) < 0.001
    drop = by_number["swapped", "drop"]
    assert (drop["better"], drop["significant"], drop["higher_is_better"]) == ("", "false", "false")
    rows = parse_markdown_rows(exported.text("md"))
    assert (rows[0][-1], rows[2][1]) == ("better", "skill score ↑")
    assert "not significant" in {row[-1] for row in rows}
    assert "Verdict: " in exported.text("md")


def test_better_system_is_lower_where_lower_is_better(tmp_path):
    before, after = (build_result(name, 0.9, set_name="swapped") for name in ("a", "b"))
    before.scores["drop"], after.scores["drop"] = after.scores["agreement"], after.scores["accuracy_before"]
    found = comparison.compare(write_run(tmp_path / "a", before), write_run(tmp_path / "b", after))
    [drop] = [each for each in found.differences if each.quantity == "drop"]
    assert drop.difference.high < 0
    assert found.find_better(drop) == "B"
    assert [each["better"] for each in found.to_json()["differences"] if each["quantity"] == "drop"] == ["B"]
    assert "Swapped · ours.jsonl drop (b better than a)" in compared.format_comparison_verdict(found, use_names=True)


def test_no_system_is_better_without_test_or_direction(folders):
    undirected = comparison.compare(*folders, metrics=["by_label.*"])
    assert any(undirected.is_significant(each) for each in undirected.differences)
    assert {undirected.find_better(each) for each in undirected.differences} == {None}
    assert "(B above A)" in compared.format_comparison_verdict(undirected)
    (folders[1] / "samples" / "00-plain.parquet").unlink()
    untested = [each for each in comparison.compare(*folders).differences if each.set == "plain"]
    records = compared.export_comparison(comparison.compare(*folders)).records
    assert untested
    assert all(each["better"] is None and each["significant"] is None for each in records if each["set"] == "plain")


def test_latex_is_valid_for_any_model_name(folders):
    for exported in (compared.export_comparison(comparison.compare(*folders)), run_tables.export_runs(folders)):
        text = exported.text("latex")
        assert any(r"$\downarrow$" in cell for row in check_latex(text) for cell in row)
        for escaped in (r"o\_rg/50\%\_\&\_\$x\$\#\{1\}", r"a-{}-b", r"\texttt{U+4E2D}é{[}1{]}"):
            assert escaped in text


def test_latex_labels_are_formulas_with_minus_signs():
    assert formats.format_latex_cell("CS_0.7, P^c′ and 1 − 2") == (
        r"$\mathrm{CS}_{\mathrm{0.7}}$, $P^{\mathrm{c}}$$'$ and 1 $-$ 2"
    )
    assert formats.format_latex_cell("ORG/P_c") == r"ORG/P\_c", "a name is none"
    assert formats.format_latex_cell("[-0.1, 0.2], a-b") == r"{[}$-$0.1, 0.2{]}, a-b"


def test_markdown_columns_are_valid_for_any_model_name(folders):
    found = comparison.compare(*folders)
    head, rule, *rows = parse_markdown_rows(compared.export_comparison(found).text("md"))
    assert r"\|\*c\*\`d\`\<e>" in head[3]
    assert set(rule) <= {"---", "---:"}
    assert len(rows) == len(found.differences)


def test_run_table_has_row_per_described_metric(folders):
    exported = run_tables.export_runs(folders)
    rows = list(csv.DictReader(io.StringIO(exported.text("csv"))))
    assert {row["model"] for row in rows} == {"weak", NASTY}
    for name in ("plain", "swapped"):
        of_set = [row["number"] for row in rows if row["set"] == name and row["model"] == "weak"]
        assert "score" in of_set
        assert of_set == [each for each in metrics.describe_metrics(name) if each in of_set]
    assert all(row["n"] and row["higher_is_better"] in ("true", "false") for row in rows)
    told = json.loads(exported.text("json"))
    assert len(told["numbers"]) == len(rows)
    assert set(told["verdicts"]) == {"weak", NASTY}
    shown = parse_markdown_rows(exported.text("md"))
    assert shown[0][:2] == ["set", "metric"]
    [accuracy] = [row for row in shown if row[1] == "accuracy ↑"]
    assert re.fullmatch(r"0\.\d{3} \[0\.\d{3}, 0\.\d{3}\]", accuracy[2])
    assert accuracy[-1] == str(ROWS)


def test_run_table_names_count_of_each_model_if_they_differ(tmp_path):
    """The model `b` has no result on the set, so its count is a dash."""
    of_a, of_b, of_c = build_result("a"), build_result("b", set_name="swapped"), build_result("c")
    fewer = Estimate(*of_c.scores["accuracy"][:3], 100)
    made = [of_a, of_b, replace(of_c, scores={**of_c.scores, "accuracy": fewer})]
    exported = run_tables.export_runs([write_run(tmp_path / each.model["name"], each) for each in made])
    counts = {row[1]: row[-1] for row in parse_markdown_rows(exported.text("md")) if row[2]}
    assert counts["accuracy ↑"] == f"{ROWS} / – / 100"
    assert counts["skill score ↑"] == str(ROWS)


def test_commands_print_exported_tables(folders, tmp_path):
    to_compare = compared.export_comparison(comparison.compare(*folders))
    to_report = run_tables.export_runs(folders)
    for form in ("md", "latex"):
        assert run_unbag("compare", *folders, "--format", form).output == to_compare.text(form)
    assert run_unbag("compare", *folders, "--json").output == to_compare.text("json")
    file, badge_file = tmp_path / "table.tex", tmp_path / "badge.svg"
    assert run_unbag("report", *folders, "--format", "latex", "--output", file).exit_code == 0
    assert file.read_text() == to_report.text("latex")
    assert run_unbag("report", folders[1], "--format", "csv", "--badge", badge_file).output.startswith("model,")
    assert "shown on 1 of 1 set" in badge_file.read_text()
    refused = run_unbag("compare", *folders, "--json", "--format", "md")
    assert refused.exit_code == 2


def _with_lexical_model(made):
    made.scores[SKILL] |= {"baseline": 0.0, "shuffled": 0.0}
    return made


@pytest.mark.parametrize(("right", "words"), [(0.8, "shown on 1 of 1 set"), (1 / 3, "shown on 0 of 1 set")])
def test_badge_counts_challenge_sets_without_corpus(right, words):
    challenge_set, corpus = (build_result(proportion_correct=right, set_name=name) for name in ("swapped", "plain"))
    verdicts = compute_model_verdict([_with_lexical_model(challenge_set), _with_lexical_model(corpus)])
    assert badge.format_badge_text(verdicts) == ("reads more than words", words)
    with pytest.raises(ValueError, match="expected results on at least one challenge set, got none"):
        badge.format_badge_text(compute_model_verdict([corpus]))


def test_badge_without_baselines_claims_only_better_than_chance():
    made = build_result(set_name="swapped")
    assert badge.format_badge_text(compute_model_verdict([made])) == ("better than chance", "shown on 1 of 1 set")
    made.scores[SKILL]["baseline"] = 0.0  # predictions for shuffled words are missing
    assert badge.format_badge_text(compute_model_verdict([made])) == ("better than chance", "shown on 1 of 1 set")


def test_svg_and_json_badge_have_same_text(tmp_path):
    verdicts = compute_model_verdict([_with_lexical_model(build_result(set_name="swapped"))])
    badge.write_badge(verdicts, tmp_path / "badge.json")
    badge.write_badge(verdicts, tmp_path / "badge.svg")
    told = json.loads((tmp_path / "badge.json").read_text())
    assert (told["schemaVersion"], told["label"], told["color"]) == (1, "reads more than words", "blue")
    root = ElementTree.fromstring((tmp_path / "badge.svg").read_text())
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == [told["label"], told["message"]]
    assert root.get("aria-label") == f"{told['label']}: {told['message']}"


def test_reading_without_pairs_correct_in_order_states_it():
    scores = {"p_c": Estimate(None, None, None, 0), "n_c": 2900, "q": 100, "n_labels": 3}
    result = Result("permuted", {}, {"name": "org/model"}, {"name": "snli", "split": "test"}, scores, {})
    assert "no pair is correct in order" in challenge_sets.get_challenge_set("permuted").summarize_result(result)


def build_verified_result(name="model", noise=0.1, *, has_probabilities=True):
    """Return a result on the plain set with verification scores. `noise` blurs the probabilities."""
    rng, gold = np.random.default_rng(3), np.arange(ROWS) % 3
    entailment = np.clip(np.where(gold == 0, 0.8, 0.2) + rng.normal(0, noise, ROWS), 0.01, 0.99)
    rest = (1 - entailment)[:, None] * np.where(gold[:, None] == 2, (0.2, 0.8), (0.8, 0.2))
    answers = SetPredictions(np.column_stack([entailment, rest]), LABELS, has_probabilities=True)
    if not has_probabilities:
        answers = build_predictions_from_labels(answers.predicted.tolist())
    made = build_result(name, 0.8)
    return replace(made, scores={**made.scores, VERIFICATION: compute_verifier_scores(gold, answers, range(ROWS))})


def build_group(made):
    model = ReportModel(made.model["name"], {}, False)
    return ResultGroup("set-0", "ours", (ScoredModel(model, made, None),))


SAFE = {"threshold": 0.83, "bound": 0.047, "confirmed": None, "recall": None}


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            SAFE | {"confirmed": Estimate(0.031, 0.01, 0.07, 130), "recall": Estimate(0.61, 0.5, 0.7, 80)},
            " (upper limit 4.7 % on one half of the sources): threshold 0.83; on the other half 3.1 % [1.0, 7.0]; "
            "recall on all pairs 61.0 %.",
        ),
        (
            SAFE,
            " (upper limit 4.7 % on one half of the sources): threshold 0.83; the other half has no not-entailed pair "
            "to confirm it.",
        ),
        ({"threshold": None}, ": no threshold has an upper limit this low on the 120 pairs of one half."),
    ],
)
def test_threshold_sentences_are_complete(row, sentence):
    made = build_verified_result()
    made.scores[VERIFICATION]["safe_thresholds"] = [{"target": 0.05, "needed": 59, "available": 120, **row}]
    assert verifier.describe_thresholds(made) == [f"At most 5 % false entailments{sentence}"]


def test_several_verifiers_are_compared_by_auroc_and_recall():
    made = [build_verified_result("sharp"), build_verified_result("dull", noise=0.5)]
    text = render(verifier.build_verifier_comparison(made))
    assert "Unchanged pairs: recall with at most 5 % false positives (95 % confidence)" in " ".join(text.split())
    assert f"{made[1].scores[VERIFICATION]['auroc'].value:.3f}" in text
    assert verifier.build_verifier_comparison(made[:1]) is None
    labels_only = [build_verified_result(name, has_probabilities=False) for name in ("sharp", "dull")]
    assert verifier.build_verifier_comparison(labels_only) is None


@pytest.fixture
def verified_folders(tmp_path):
    return [
        write_run(tmp_path / name, build_verified_result(name, noise))
        for name, noise in (("sharp", 0.1), ("dull", 0.5))
    ]


def test_compare_tests_named_metrics_except_average_precision(verified_folders):
    found = comparison.compare(*verified_folders, metrics=[each.name for each in VERIFIER])
    assert {each.label: each.test for each in found.differences} == {
        "AUROC": "bootstrap",
        "average precision": "unpaired",
        "balanced accuracy": "bootstrap",
        "recall": "mcnemar",
        "false entailment": "mcnemar",
        "false contradiction": "mcnemar",
        "Brier score": "bootstrap",
    }
    better = {each.label: found.find_better(each) for each in found.differences}
    assert better["AUROC"] == better["false entailment"] == better["Brier score"] == found.systems[0].letter
    assert "Corpus · ours.jsonl: average precision is not tested; its interval is unpaired" in found.notes


def test_exports_contain_verification_metrics(verified_folders):
    exported = run_tables.export_runs(verified_folders)
    assert "**Verification metrics of sharp, dull**" in exported.text("md")
    assert exported.text("md").count("| AUROC") == 1  # not among the metrics of the set, too
    assert "false entailment" in exported.text("latex")
    area = build_verified_result("sharp", 0.1).scores[VERIFICATION]["auroc"].value
    values = {(each["model"], each["number"]): each["value"] for each in exported.as_json["numbers"]}
    assert values["sharp", "auroc"] == pytest.approx(area)
    assert {("dull", each.name) for each in VERIFIER} <= values.keys()
    plain = run_tables.export_runs([write_run(verified_folders[0].parent / "none", build_result("none"))])
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
    rows = [row[0] for row in verifier.build_verifier_metrics_table(build_group(made)).rows]
    assert rows == ["balanced accuracy ↑", "recall ↑", "false entailment ↓", "false contradiction ↓"]
