"""Rendering of the report page from the template, with tables, charts and published results.

Published results on other rows or with other training data have hollow markers.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from importlib import resources
from math import floor
from typing import Any, Final

from markupsafe import Markup

from unbag import challenge_sets
from unbag.challenge_sets import papers
from unbag.challenge_sets.base import SKILL, ChallengeSet
from unbag.challenge_sets.papers import list_published_scores
from unbag.challenge_sets.results import Result, SkippedSet, group_skipped_sets
from unbag.challenge_sets.views import verifier
from unbag.challenge_sets.views.figures import (
    Figure,
    FigurePoint,
    FigureSeries,
    ResultGroup,
    TextTable,
    build_figure_table,
    build_metrics_table,
    build_point_estimate,
)
from unbag.challenge_sets.views.tables import format_interval, summarize_exclusions
from unbag.evaluation import verdict
from unbag.reports import papers as paper_tables
from unbag.reports.html import examples
from unbag.reports.html.charts import choose_style, draw_svg, draw_swatch
from unbag.reports.html.data import ReportData, VerdictsByModel, compute_verdicts_by_group, select_main_model_result
from unbag.reports.reproduce import build_reproduce_command, list_remarks
from unbag.reports.terminal import build_prompt_table, format_summary
from unbag.scoring.bootstrap import Estimate
from unbag.utils.templates import render_template

_SAME: Final = "published, same rows"
_OTHER: Final = "published, other rows or training"
_MOST: Final = 16  # names in one figure


def iter_paper_figures(group: ResultGroup, challenge_set: ChallengeSet) -> Iterator[Figure]:
    """Iterate over the figures that compare metrics of a set with published results on the same corpus.

    A published result has a solid marker if it is on the same rows (all rows of a set that is not rebuilt) and involves
    no training, as for annotators or a rule. All other results have hollow markers: their rows or training data differ
    or may differ, because the training data of models on the Hub are not recorded.
    """
    is_sampled = any(scored.result.config.get("max_examples") is not None for scored in group.scored_models)
    for metric in challenge_set.list_metrics_with_role("beside_papers"):
        theirs = list_published_scores(metric.published_columns, group.corpus)[:_MOST]
        if not theirs:
            continue
        ours = [(each.model.name, metric.get_estimate(each.result.scores)) for each in group.scored_models]
        series = [
            FigureSeries(name, (FigurePoint(name, one),))
            for name, one in ours
            if one is not None and one.value is not None
        ]
        full = [one for one in theirs if one.is_comparable and not is_sampled]
        for name, some in ((_SAME, full), (_OTHER, [one for one in theirs if one not in full])):
            points = tuple(FigurePoint(one.model, build_point_estimate(one.value), one.source) for one in some)
            if points:
                series.append(FigureSeries(name, points, is_reference=True, is_hollow=name == _OTHER))
        sources = ", ".join(dict.fromkeys(one.source for one in theirs))
        other = " Hollow bars: other rows, or a model whose training data differ or may differ."
        yield Figure(
            title=f"Comparison with papers: {metric.label}",
            about=f"Bars are published results ({sources}).{other if len(full) < len(theirs) else ''} "
            + (
                "Higher is better."
                if metric.higher_is_better
                else "Lower is better; random predictions may also score low."
            ),
            x="model",
            y="value",
            kind="dots",
            series=tuple(series),
        )


def render_page(report_data: ReportData) -> str:
    """Render the report page as HTML."""
    names, verdicts = report_data.names, compute_verdicts_by_group(report_data)
    sections = [
        (group, challenge_sets.get_challenge_set(group.set), main, verdicts[main.model.name][group.key])
        for group in report_data.groups
        for main in [select_main_model_result(group, report_data)]
    ]
    script, style = (resources.files(__package__).joinpath(f"page.{kind}").read_text("utf-8") for kind in ("js", "css"))
    return render_template(
        __package__,
        "page.html",
        autoescape=True,
        script=Markup(script),
        style=Markup(style),
        # The content security policy blocks all requests and all other scripts, even a script inside a sentence.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        subject=report_data.main_model.name,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        swatch=lambda name, line=False: draw_swatch(FigureSeries(name, ()), names, line=line),
        legend_swatch=lambda series, line: draw_swatch(series, names, line=line),
        draw_svg=lambda figure: draw_svg(figure, names),
        build_figure_table=build_figure_table,
        lead=verdict.format_verdict(list(verdicts[report_data.main_model.name].values())),
        scale=verdict.describe_skill_scale([each for of_model in verdicts.values() for each in of_model.values()]),
        chart=build_skill_chart(verdicts, report_data),
        skipped=[(_format_sets(sets), reason) for reason, sets in group_skipped_sets(report_data.skipped).items()],
        prompts=build_prompt_table([each.result for group in report_data.groups for each in group.scored_models]),
        sections=sections,
        featured=examples.select_featured_pairs(report_data),
        list_figures=lambda group, described: list(
            filter(None, (*described.build_figures(group), *iter_paper_figures(group, described)))
        ),
        build_measures=_measures,
        published=[(each.set, _published(each)) for each in papers.list_paper_tables()],
        summarize=format_summary,
        list_remarks=list_remarks,
        summarize_exclusions=summarize_exclusions,
        verifier=verifier,
        list_threshold_readings=_list_threshold_readings,
        view=examples,
        report=report_data,
        get_challenge_set=challenge_sets.get_challenge_set,
        build_reproduce_command=build_reproduce_command,
        list_facts=_list_facts,
        versions=_versions(report_data),
    )


def _format_sets(skipped: Iterable[SkippedSet]) -> str:
    """List the titles of skipped sets, with the model if only that model lacks a result."""
    parts = (filter(None, (challenge_sets.get_display_name(each.set), each.model)) for each in skipped)
    return ", ".join(dict.fromkeys(map(", ".join, parts)))


def build_skill_chart(verdicts: VerdictsByModel, report_data: ReportData) -> dict[str, Any]:
    """Build the chart of skill scores. The axis ends at 1, and starts at −1 or at the next quarter below all values.

    The chart has rows (sets) with lanes (models). Positions on the axis are percentages.
    """
    scores = [each.score for of_model in verdicts.values() for each in of_model.values()]
    lows = [low for score in scores for low in (score.low, score.value) if low is not None]
    # A skill score has no lower limit, so the axis ends at -1 and longer intervals are cut.
    start = max(-1.0, floor(4 * min([0.0, *lows])) / 4)

    def place(value: float) -> float:
        return round(100 * (max(value, start) - start) / (1 - start), 2)

    def lane(name: str, each: verdict.SetVerdict) -> dict[str, Any]:
        value, low, high, _ = each.score
        return {
            "model": name,
            "colour": choose_style(FigureSeries(name, ()), report_data.names)[0],
            "number": examples.format_score(value),
            "interval": "" if low is None else f"[{examples.format_score(low)}, {examples.format_score(high)}]",
            "standing": each.standing,
            "place": None if value is None else place(value),
            # Start and width of the interval.
            "span": None if low is None or high is None else (place(low), round(place(high) - place(low), 2)),
            "is_cut": low is not None and low < start,
        }

    groups_by_set = Counter(group.set for group in report_data.groups)
    rows = [
        {
            "key": group.key,
            "title": challenge_sets.get_display_name(group.set)
            + (f", {group.title}" if groups_by_set[group.set] > 1 else ""),
            "lanes": [lane(each.model.name, verdicts[each.model.name][group.key]) for each in group.scored_models],
        }
        for group in report_data.groups
    ]
    # The start may be 0, which must not give two ticks.
    ticks = [(f"{tick:g}".replace("-", "−"), place(tick)) for tick in dict.fromkeys((start, 0.0, 1.0))]
    return {"ticks": ticks, "zero": place(0.0), "rows": rows}


def _list_threshold_readings(group: ResultGroup) -> list[tuple[str, str]]:
    """List what the table of thresholds does not contain: the sentence on each model without probabilities."""
    readings = [
        (each.model.name, " ".join(verifier.describe_thresholds(each.result)))
        for each in group.scored_models
        if not (verifier.get_verification_scores(each.result) or {}).get("safe_thresholds")
    ]
    return [each for each in readings if each[1]]


def _measures(group: ResultGroup, described: ChallengeSet) -> TextTable:
    columns = {
        scored.model.name: {
            (name, meaning): format_interval(estimate)
            for name, meaning, estimate in (
                *described.iter_set_metrics(scored.result.scores),
                *_iter_balanced_accuracies(scored.result.scores.get(SKILL), described),
            )
        }
        for scored in group.scored_models
    }
    return build_metrics_table(f"{described.title}, {group.title}: values with 95 % intervals", columns)


def _iter_balanced_accuracies(skill: Any, described: ChallengeSet) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the balanced accuracies that the skill score compares, which may differ from the accuracies."""
    # The row scores of a set whose rows are shuffled (`permuted`) are no accuracies.
    if not skill or not described.has_shuffled_control:
        return
    k, n = skill["n_labels"], skill["score"].n
    names = {"model": "balanced accuracy", "baseline": "… of the lexical baseline", "shuffled": "… on shuffled words"}
    for key, name in names.items():
        if skill[key] is not None:
            # Row scores are scaled so that chance, an accuracy of 1 / k, is 0. The accuracy is the inverse.
            about = "mean accuracy over the gold labels; the skill score compares these" if key == "model" else ""
            yield name, about, build_point_estimate((skill[key] * (k - 1) + 1) / k, n)


def _published(one: papers.PaperTable) -> TextTable:
    columns, rows = paper_tables.format_cells(one)
    remark = f" ({one.remark})" if one.remark else ""
    caption = f"{one.source}. {one.about}{paper_tables.format_unit(one.units)}.{remark}"
    return TextTable(caption, tuple(columns), tuple(map(tuple, rows)))


def _list_facts(result: Result) -> list[tuple[str, Any]]:
    """List the fields of the record of a result."""
    facts = {
        **{f"model {name}": value for name, value in result.model.items() if value != {}},
        **{f"data {name}": value for name, value in result.data.items() if name != "excluded"},
        **{f"set {name}": value for name, value in result.config.items() if value is not None},
    }
    # Results in memory have tuples where those of a folder have lists. Both must be shown in the same way.
    return [
        (name, format_interval(value) if isinstance(value, Estimate) else json.loads(json.dumps(value)))
        for name, value in facts.items()
    ]


def _versions(report_data: ReportData) -> dict[str, str]:
    """Collect the package versions of all results; several versions per package if results differ."""
    by_package: dict[str, dict[str, None]] = {}
    for _, scored in examples.iter_scored_results(report_data):
        for name, version in scored.result.environment.items():
            by_package.setdefault(name, {})[version] = None
    return {name: ", ".join(versions) for name, versions in by_package.items()}
