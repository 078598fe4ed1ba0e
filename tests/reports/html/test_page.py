"""Tests of the content of the report, without a browser, and of the featured pairs of its cards."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.factories import build_result, run_unbag
from tests.reports.html.conftest import HOSTILE, HOSTILE_NAME
from unbag import challenge_sets
from unbag.challenge_sets import results
from unbag.challenge_sets.base import SKILL
from unbag.challenge_sets.papers import list_published_scores
from unbag.challenge_sets.results import Result, SkippedSet
from unbag.challenge_sets.views import figures
from unbag.challenge_sets.views.examples import ExampleLine, ExampleSelection, OriginalPrediction, ReportExample
from unbag.challenge_sets.views.figures import Figure, FigurePoint, FigureSeries, ReportModel, ResultGroup, ScoredModel
from unbag.reports import html
from unbag.reports.html import charts, page
from unbag.reports.html import data as profile
from unbag.reports.html.data import ReportData, load_report_data
from unbag.reports.html.examples import SHORT as SHORT_PAIR
from unbag.reports.html.examples import select_featured_pairs, shorten_lines
from unbag.reports.html.page import iter_paper_figures
from unbag.reports.terminal import build_prompt_table
from unbag.scoring.bootstrap import Estimate


def _build_result(name, value, *, sha="1", **model):
    made = build_result(name)
    skill = {"score": Estimate(value - 0.1, value - 0.2, value, 100), "model": value, "baseline": 0.1, "shuffled": 0.0}
    scores = {"accuracy": Estimate(value, value - 0.02, value + 0.02, 100)}
    data = {"name": "snli", "split": "test", "origin": "stanfordnlp/snli", "revision": "c" * 40, "sha256": sha}
    return replace(
        made,
        config={"max_examples": 100, "sample_seed": 7},
        model={"name": name, **model},
        data=made.data | data,
        scores=made.scores | scores | {SKILL: made.scores[SKILL] | skill | {"reference": "baseline"}},
    )


@pytest.fixture
def written_report(tmp_path):
    def writing(*found):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        results.write_results(found, folder / results.FILE)
        return folder

    return writing


def test_models_on_same_rows_are_grouped_with_baselines_last(written_report):
    first = written_report(_build_result("lexical", 0.6), _build_result("org/a", 0.8))
    second = written_report(_build_result("org/b", 0.7), _build_result("org/c", 0.9, sha="2"))
    report_data = load_report_data([first, second])
    assert [model.name for model in report_data.models] == ["org/a", "org/b", "org/c", "lexical"]
    assert [[each.model.name for each in group.scored_models] for group in report_data.groups] == [
        ["org/a", "org/b", "lexical"],
        ["org/c"],
    ]
    assert [group.title for group in report_data.groups] == ["snli test", "snli test (2)"]


def test_model_in_two_folders_counts_once(written_report):
    once = _build_result("org/a", 0.8, head="plain")
    again = _build_result("org/a", 0.7, head="plain", truncated_pairs=3)
    other = _build_result("org/a", 0.6, head="residual")
    report_data = load_report_data([written_report(once), written_report(again, other)])
    assert [model.name for model in report_data.models] == ["org/a", "org/a (2)"]
    [group] = report_data.groups
    assert [each.result.scores["accuracy"].value for each in group.scored_models] == [0.7, 0.6]


def test_abstentions_do_not_make_another_model(written_report):
    counts = [_build_result("endpoint:a", 0.8, sha=str(n), truncated_pairs=n, n_abstained=n) for n in (0, 5)]
    assert [model.name for model in load_report_data([written_report(*counts)]).models] == ["endpoint:a"]


def test_folder_without_results_is_rejected(tmp_path, written_report):
    with pytest.raises(ValueError, match=r"expected a results.json, got none; pass a folder written"):
        load_report_data([tmp_path])
    with pytest.raises(ValueError, match="expected results, got none; run `unbag evaluate` first"):
        load_report_data([written_report()])


def test_prompt_table_contains_mean_deviation_and_extremes():
    """Accuracies 0.6 and 0.8 have mean 0.7 and standard deviation 0.2 / √2."""
    options = {"options": {"prompt": "p.jinja"}}
    judge = [_build_result("causal:m · short", 0.6, **options), _build_result("causal:m · long", 0.8, **options)]
    table = build_prompt_table([*judge, _build_result("lexical", 0.5)])
    [row] = [row for row in table.rows if row[0] == "Corpus: accuracy"]
    assert row[1:] == ("0.700", "0.141", "0.600 (short)", "0.800 (long)")
    assert build_prompt_table(judge[:1]) is None


def test_published_scores_have_model_names(written_report):
    report_data = load_report_data([written_report(_build_result("org/a", 0.8))])
    [drawn] = iter_paper_figures(report_data.groups[0], challenge_sets.get_challenge_set("plain"))
    # ReSNLI paper, Table 2, trained on MNLI and tested on SNLI: InferSent 53.01, the first of five.
    assert (len(drawn.series[-1].points), drawn.series[-1].is_hollow) == (5, True)
    assert drawn.series[-1].points[0][:2] == ("InferSent, MultiNLI", figures.build_point_estimate(0.5301))
    assert drawn.positions[:2] == ["org/a", "InferSent, MultiNLI"]


def _build_breaking_nli_result(**config):
    accuracy = Estimate(0.5, 0.45, 0.55, 8193)
    data = {"name": "official", "split": "", "sha256": "1"}
    result = Result("breaking_nli", config, {"name": "m"}, data, {"accuracy": accuracy}, {})
    group = ResultGroup("g", "official", (ScoredModel(ReportModel("m", {}, False), result, None),))
    [drawn] = iter_paper_figures(group, challenge_sets.get_challenge_set("breaking_nli"))
    return {point.x: series.is_hollow for series in drawn.series[1:] for point in series.points}, drawn.about


def test_published_scores_are_hollow_unless_comparable():
    hollow, about = _build_breaking_nli_result()
    assert [name for name in hollow if not hollow[name]] == ["WordNet Baseline"]
    assert hollow["KIM, SNLI"]
    assert "Hollow bars: other rows, or a model whose training data differ or may differ." in about
    drawn_from, _ = _build_breaking_nli_result(max_examples=600)
    assert all(drawn_from.values())
    assert len(drawn_from) == len(hollow) == 11


def test_annotators_on_rebuilt_set_are_hollow():
    found = challenge_sets.get_challenge_set("soswap_addamod").list_metrics_with_role("beside_papers")[0]
    people = [one for one in list_published_scores(found.published_columns, "snli validation") if one.model == "Human"]
    assert [(one.value, one.is_comparable) for one in people] == [(0.84, False)]


def test_set_with_results_in_other_folder_is_not_skipped(tmp_path, written_report):
    skipped = [SkippedSet("plain", None, "no network"), SkippedSet("sicck", None, "no file")]
    results.write_results([], tmp_path / results.FILE, skipped)
    report_data = load_report_data([tmp_path, written_report(_build_result("org/a", 0.8))])
    assert [each.set for each in report_data.skipped] == ["sicck"]


def test_figure_table_has_row_per_place():
    one, two = Estimate(0.5, 0.4, 0.6, 9), Estimate(0.25, None, None, 9)
    first = FigureSeries("a", (FigurePoint("x", one), FigurePoint("y", two)))
    series = (first, FigureSeries("b", (FigurePoint("y", one),)))
    table = figures.build_figure_table(Figure("Title", "", "place", "share", "dots", series))
    assert table.columns == ("place", "a", "b")
    assert table.rows == (("x", "0.500 [0.400, 0.600]", "–"), ("y", "0.250", "0.500 [0.400, 0.600]"))


def test_table_of_long_curve_is_short_and_keeps_ends():
    points = tuple(FigurePoint(x / 100, Estimate(1 - x / 100, None, None, 9)) for x in range(101))
    table = figures.build_figure_table(Figure("Ω_x", "", "x", "share", "curve", (FigureSeries("a", points),)))
    assert len(table.rows) <= 25
    assert (table.rows[0][0], table.rows[-1][0]) == ("0", "1")


def test_each_result_has_reproduce_command(written_report, tmp_path):
    folder = written_report(_build_result("org/a b", 0.8, options={}), _build_result("a function", 0.7))
    html.write_report([folder], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    command = "unbag evaluate &#39;org/a b&#39; --sets plain --corpus snli --split test --max-examples 100 --seed 7"
    assert f"<code>{command} --no-lexical-baseline</code>" in text
    assert text.count("No command reproduces this result: the model is a Python object") == 1


def test_sentences_and_names_are_escaped(report):
    text = report.read_text(encoding="utf-8")
    assert HOSTILE not in text
    assert HOSTILE_NAME not in text
    assert "&lt;b onclick=alert(1)&gt;model&lt;/b&gt;" in text
    assert text.count("<script") == 1


def test_command_rebuilds_same_report_from_several_folders(folders, report, run):
    out = run / "by-command.html"
    said = run_unbag("report", *folders, "--output", out, "--json")
    assert said.exit_code == 0
    assert json.loads(said.output) == {"report": str(out), "bytes": out.stat().st_size}
    assert out.read_bytes() == report.read_bytes()


def test_permuted_and_swapped_examples_show_original_prediction(report):
    text = report.read_text(encoding="utf-8")
    cards = [part.partition("</li>")[0] for part in text.split('<li class="example" ')[1:]]
    permuted = [card for card in cards if 'data-set="Permuted' in card]
    assert {re.search('data-outcome="([a-z]+)"', card)[1] for card in permuted} == {"accepted", "refused"}
    for card in permuted:
        before, after = re.findall('<span class="([a-z]+)">[^\n]*?<small>(?:in order|permuted: [a-z]+)</small>', card)
        assert (before in ("right", "wrong"), after in ("accepted", "refused")) == (True, True)
        assert ("flipped" in card) == (before == "wrong")
    swapped = [card for card in cards if 'data-set="Swapped' in card]
    assert swapped
    assert all(re.search("<small>as given</small>.*<small>exchanged</small>", card) for card in swapped)


def test_results_without_scores_have_no_score_figures(written_report, tmp_path):
    def unscored(name):
        result = _build_result(name, 0.8)
        nothing = result.scores[SKILL] | {"score": Estimate(None, None, None, 0), "p": None}
        return replace(result, scores={**result.scores, SKILL: nothing})

    html.write_report([written_report(unscored("org/a"), unscored("org/b"))], tmp_path / "none.html")
    text = (tmp_path / "none.html").read_text(encoding="utf-8")
    assert text.count("– <small></small>") == 2, "one row per model, without a score"
    assert 'class="line"' not in text


def test_axis_is_clipped_with_arrow_and_verdict_follows(written_report):
    def scored(name, *estimate):
        result = _build_result(name, 0.5)
        skill = result.scores[SKILL] | {"score": Estimate(*estimate, 100)}
        return replace(result, scores={**result.scores, SKILL: skill})

    report_data = load_report_data([written_report(scored("org/a", -0.6, -0.9, -0.3), scored("b", -2.0, -3.0, -1.5))])
    chart = page.build_skill_chart(profile.compute_verdicts_by_group(report_data), report_data)
    assert chart["ticks"] == [("−1", 0.0), ("0", 50.0), ("1", 100.0)]
    [first, second] = chart["rows"][0]["lanes"]
    assert (first["place"], first["is_cut"], first["standing"]) == (20.0, False, "worse")
    assert [second[name] for name in ("place", "span", "is_cut", "standing")] == [0.0, (0.0, 0.0), True, "worse"]


def test_report_of_run_without_examples_has_balanced_accuracies_that_skill_score_compares(written_report, tmp_path):
    """A score of 0.7 between chance (1/3) and 1 is a balanced accuracy of 1/3 + 0.7 · 2/3 = 0.8."""
    html.write_report([written_report(_build_result("org/a", 0.7))], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    row = text.partition("balanced accuracy <small>")[2].partition("</tr>")[0]
    assert ">0.800<" in row
    assert "… of the lexical baseline" in text
    assert "Correct on 70.0 % [" in text
    assert 'class="line"' in text
    assert 'id="examples"' not in text, "the run has no examples"


def test_models_and_references_have_distinct_styles():
    """Color, shape and dash distinguish six models separately, and the seventh by shape and dash."""
    models = list("abcdefg")
    looks = [charts.choose_style(FigureSeries(name, ()), models) for name in models]
    for n, distinct in ((6, [6, 6, 6]), (7, [6, 7, 7])):
        assert [len({look[part] for look in looks[:n]}) for part in range(3)] == distinct
    references = [FigureSeries("people", (), is_reference=True, reference_index=number) for number in (0, 1)]
    assert len({*looks, *(charts.choose_style(each, models) for each in references)}) == 9
    assert all(charts.draw_swatch(FigureSeries(name, ()), models, line=True) for name in models)


def test_figure_has_all_points_and_no_active_content():
    points = tuple(FigurePoint(name, Estimate(0.5, 0.4, 0.6, 9)) for name in ("x < y", "z & w"))
    point = FigurePoint("z & w", figures.build_point_estimate(0.2))
    theirs = FigureSeries("the papers' models", (point,), is_reference=True)
    drawn = charts.draw_svg(Figure("T", "", "place", "share", "dots", (FigureSeries("a", points), theirs)), ["a"])
    hollow = charts.draw_svg(Figure("T", "", "place", "share", "dots", (replace(theirs, is_hollow=True),)), [])
    assert (drawn.count('fill-opacity="0"'), hollow.count('fill-opacity="0"')) == (0, 1)
    assert drawn.startswith("<svg aria-hidden")
    assert "x &lt; y" in drawn
    assert drawn.count('fill="var(--model-0)"') == 2
    assert drawn.count('fill="var(--reference)"') == 1
    assert not any(word in drawn for word in ("<script", "href", "url("))


def test_style_sheet_and_script_show_same_number_of_examples():
    script, style = (Path(page.__file__).with_suffix(end).read_text(encoding="utf-8") for end in (".js", ".css"))
    [shown] = re.findall(r"const PAGE = (\d+);", script)
    assert f".example:nth-child(n + {int(shown) + 1})" in style


SHORT, LONG = "A boat navigates a man", "A boat that is very long navigates a man who is very old and does not mind"


def _build_pair(number, answer, probability=0.9, text=SHORT, **more):
    lines = (ExampleLine("premise", f"{text} {number}"), ExampleLine("hypothesis", text))
    return ReportExample("kind", f"r{number}", lines, "contradiction", answer, probability, **more)


def _build_report_data(*groups):
    """Return report data of groups, each with a set name and the candidates by model name."""
    models = {name: ReportModel(name, {}, False) for _, of in groups for name in of}
    made = []
    for number, (name, of) in enumerate(groups):
        data = {"name": "snli", "split": "test"}
        scored = [
            ScoredModel(
                models[model],
                Result(name, {}, {"name": model}, data, {}, {}),
                ExampleSelection(name, model, "1", "", (), tuple(pairs)),
            )
            for model, pairs in of.items()
        ]
        made.append(ResultGroup(f"set-{number}", "snli test", tuple(scored)))
    return ReportData(tuple(models.values()), tuple(made))


def _select_ids(*groups):
    selected = select_featured_pairs(_build_report_data(*groups))
    return {key: " ".join(pair.example.id for pair in pairs) for key, pairs in selected.items()}


def test_most_confident_mistake_is_featured_shortest_first():
    answers = [("entailment", 0.6, SHORT), ("entailment", 0.95, LONG), ("entailment", 0.95, SHORT)]
    wrong = [_build_pair(number, *each) for number, each in enumerate(answers)]
    right = [_build_pair(3, "contradiction", 0.99)]
    assert _select_ids(("plain", {"m": [*right, *wrong]})) == {"set-0": "r2 r3"}
    assert _select_ids(("plain", {"m": [*wrong[::-1], *right]})) == {"set-0": "r2 r3"}
    longer, shorter = replace(wrong[1], probability=1.0), replace(wrong[2], probability=0.8)
    assert _select_ids(("plain", {"m": [longer, shorter]})) == {"set-0": "r2"}, "22 words more, for .2"


def test_short_pair_is_preferred_and_document_is_truncated():
    document = _build_pair(0, "entailment", 1.0, "A man reads. " * 2_000)
    assert _select_ids(("plain", {"m": [document, _build_pair(1, "entailment", 0.5)]})) == {"set-0": "r1"}
    assert _select_ids(("plain", {"m": [document]})) == {"set-0": "r0"}
    shown = shorten_lines(document).lines
    assert [len(line.text) for line in shown] == [SHORT_PAIR + 1, SHORT_PAIR + 1]
    assert all(line.text.startswith("A man reads. A man") and line.text.endswith("…") for line in shown)


def test_subject_without_mistakes_features_mistake_of_other_model():
    mine = [_build_pair(0, "contradiction", 0.99), _build_pair(1, "contradiction", 0.7)]
    other = [_build_pair(0, "contradiction"), _build_pair(1, "entailment")]
    assert _select_ids(("plain", {"m": mine, "other": other})) == {"set-0": "r1"}


def test_all_models_are_shown_on_same_pair():
    other = [_build_pair(0, "neutral"), _build_pair(1, "neutral")]
    data = _build_report_data(("plain", {"m": [_build_pair(0, "entailment")], "other": other}))
    [[pair]] = select_featured_pairs(data).values()
    predicted = {name: (each.answer, each.id) for name, each in pair.predictions.items()}
    assert predicted == {"m": ("entailment", "r0"), "other": ("neutral", "r0")}


def test_originally_correct_pairs_are_preferred():
    pairs = [
        _build_pair(number, "entailment", share, before=OriginalPrediction("as given", before, 0.5), where="exchanged")
        for number, (before, share) in enumerate((("neutral", 0.99), ("contradiction", 0.6)))
    ]
    assert _select_ids(("swapped", {"m": pairs})) == {"set-0": "r1"}


def test_accepted_permutation_is_mistake():
    before = OriginalPrediction("in order", "contradiction", 0.9)
    pairs = [
        _build_pair(number, answer, before=before, where="permuted", has_order=False)
        for number, answer in enumerate(("neutral", "contradiction"))
    ]
    assert _select_ids(("permuted", {"m": pairs})) == {"set-0": "r1 r0"}


def test_same_sentences_are_featured_once():
    pairs = [_build_pair(0, "entailment", 0.9), _build_pair(1, "entailment", 0.8)]
    assert _select_ids(("plain", {"m": pairs}), ("cs_lambda", {"m": pairs})) == {"set-0": "r0", "set-1": "r1"}


@pytest.mark.parametrize("kept", [{"m": []}, {"m": [], "other": [_build_pair(0, "neutral")]}])
def test_subject_without_candidates_has_no_featured_pairs(kept):
    assert _select_ids(("plain", kept)) == {"set-0": ""}


def test_predictions_without_probability_are_ordered_by_length():
    pairs = [_build_pair(0, "neutral", None, LONG), _build_pair(1, "neutral", None)]
    assert _select_ids(("plain", {"m": pairs})) == {"set-0": "r1"}
