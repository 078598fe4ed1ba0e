"""Rendering of the report page from the template, with tables, charts and published results.

Published results on other rows or with other training data have hollow markers.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
from unbag.evaluation.prompt_spread import compute_prompt_spreads
from unbag.reports import papers as paper_tables
from unbag.reports.html import examples
from unbag.reports.html.charts import choose_style, draw_svg, draw_swatch
from unbag.reports.html.data import ReportData, VerdictsByModel, compute_verdicts_by_group, select_main_model_result
from unbag.reports.reproduce import build_reproduce_command, list_remarks
from unbag.scoring.bootstrap import Estimate
from unbag.utils.templates import render_template

_SAME: Final = "published, same rows"
_OTHER: Final = "published, other rows or training"
_MOST: Final = 16  # names in one figure
_MOST_CORPORA: Final = 3  # names in the header


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


_BESIDE: Final = 2  # maximum number of models whose table fits next to the figures
_COLUMNS: Final = 3  # maximum number of figure columns on a wide screen


def render_page(report_data: ReportData) -> str:
    """Render the report page as HTML."""
    names, verdicts = report_data.names, compute_verdicts_by_group(report_data)
    pairs = examples.build_card_pairs(report_data)
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
        about=describe_origin(report_data),
        models=report_data.models,
        swatch=lambda name, line=False: draw_swatch(FigureSeries(name, ()), names, line=line),
        legend_swatch=lambda series, line: draw_swatch(series, names, line=line),
        draw_svg=lambda figure: draw_svg(figure, names),
        build_figure_table=build_figure_table,
        lead=verdict.format_verdict(list(verdicts[report_data.main_model.name].values())),
        scale=verdict.describe_skill_scale([each for of_model in verdicts.values() for each in of_model.values()]),
        chart=build_skill_chart(verdicts, report_data),
        skipped=[(_format_sets(sets), reason) for reason, sets in group_skipped_sets(report_data.skipped).items()],
        prompts=build_prompt_table(report_data),
        sections=[_section(group, report_data, verdicts, pairs[group.key]) for group in report_data.groups],
        list_predictions=examples.list_predictions,
        split_at_marks=examples.split_at_marks,
        examples=list(examples.iter_gallery_examples(report_data)),
        marks=examples.list_mark_types(report_data),
        rules=examples.collect_selection_rules(report_data),
        records=list(_records(report_data)),
        versions=_versions(report_data),
    )


def _format_sets(skipped: Iterable[SkippedSet]) -> str:
    """List the titles of skipped sets, with the model if only that model lacks a result."""
    parts = (filter(None, (challenge_sets.get_display_name(each.set), each.model)) for each in skipped)
    return ", ".join(dict.fromkeys(map(", ".join, parts)))


def describe_origin(report_data: ReportData) -> str:
    """Describe the origin of the results: model revision, data, version, and the date of the report."""
    record, corpora = report_data.main_model.record, dict.fromkeys(group.title for group in report_data.groups)
    named = [*corpora][:_MOST_CORPORA]
    more = [f"{len(corpora) - len(named)} more"] if len(corpora) > len(named) else []
    version = _versions(report_data).get("unbag", "")
    parts = [
        f"Revision {record['revision']}" if record.get("revision") else "",
        f"Data: {', '.join([*named, *more])}",
        f"unbag {version}" if version else "",
        f"report of {datetime.now(UTC):%Y-%m-%d}",
    ]
    return " · ".join(filter(None, parts))


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


def build_prompt_table(report_data: ReportData) -> TextTable | None:
    """Build the table that shows how metrics vary over several prompts. Return None if each model has one prompt."""
    spreads = compute_prompt_spreads([scored.result for group in report_data.groups for scored in group.scored_models])
    if not spreads:
        return None
    models, corpora = ({getattr(each, name) for each in spreads} for name in ("model", "data"))
    rows = []
    for each in spreads:
        title = f"{challenge_sets.get_display_name(each.set)}: {each.label}"
        about = [title, *([each.model] if len(models) > 1 else []), *([each.data] if len(corpora) > 1 else [])]
        ends = (f"{each.values[prompt]:.3f} ({prompt})" for prompt in (each.lowest, each.highest))
        rows.append((", ".join(about), f"{each.mean:.3f}", f"{each.deviation:.3f}", *ends))
    caption = "Metrics over several prompts, with the standard deviation over prompts (SD)"
    return TextTable(caption, ("metric", "mean", "SD", "lowest", "highest"), tuple(rows))


def _summarize(result: Result) -> str:
    """Summarize the main metrics of a result in a sentence."""
    text = challenge_sets.get_challenge_set(result.set).summarize_result(result)
    return text[0].upper() + text[1:]


def _section(
    group: ResultGroup, report_data: ReportData, verdicts: VerdictsByModel, pairs: Sequence[Any]
) -> dict[str, Any]:
    """Build the section and the card of the page with the results on one challenge set and corpus."""
    described = challenge_sets.get_challenge_set(group.set)
    main = select_main_model_result(group, report_data)
    standing = verdicts[main.model.name][group.key]
    figures = [each for each in (*described.build_figures(group), *iter_paper_figures(group, described)) if each]
    beside = len(group.scored_models) <= _BESIDE
    return {
        "group": group,
        "set": described,
        "summaries": [
            (each.model.name, " ".join([_summarize(each.result), *list_remarks(each.result)]))
            for each in group.scored_models
        ],
        "card": {
            # With the evaluated model if it is not the main model.
            "data": ", ".join([group.title, *([main.model.name] if main.model != report_data.main_model else [])]),
            "number": examples.format_score(standing.score.value),
            "standing": str(standing),
            "pairs": pairs,
            "reading": _summarize(main.result),
        },
        "measures": _measures(group, described),
        "is_table_beside_figures": beside,
        "columns": min(_COLUMNS, len(figures)) if not beside else 2 if figures else 1,  # on a wide screen
        "figures": figures,
        "verifier": _verifier(group, described),
        "published": [_published(each) for each in papers.list_paper_tables() if each.set == group.set],
        "note": summarize_exclusions(group.scored_models[0].result.data),
    }


def _verifier(group: ResultGroup, described: ChallengeSet) -> dict[str, Any] | None:
    """Build the collapsible part of a section with the verification metrics."""
    measures = verifier.build_verifier_metrics_table(group)
    if measures is None:
        return None
    # The table of thresholds replaces the sentences, except for models without probabilities.
    summaries = [
        (each.model.name, " ".join(verifier.describe_thresholds(each.result)))
        for each in group.scored_models
        if not (verifier.get_verification_scores(each.result) or {}).get("safe_thresholds")
    ]
    return {
        "is_open": described.is_control,
        "summaries": [each for each in summaries if each[1]],
        "measures": measures,
        "thresholds": verifier.build_threshold_table(group),
        "figures": list(verifier.build_verifier_figures(group)),
    }


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


def _records(report_data: ReportData) -> Iterator[dict[str, Any]]:
    for group, scored in examples.iter_scored_results(report_data):
        result = scored.result
        facts = {
            **{f"model {name}": value for name, value in result.model.items() if value != {}},
            **{f"data {name}": value for name, value in result.data.items() if name != "excluded"},
            **{f"set {name}": value for name, value in result.config.items() if value is not None},
        }
        yield {
            "title": f"{scored.model.name} · {challenge_sets.get_challenge_set(group.set).title} · {group.title}",
            "rerun": build_reproduce_command(result),
            # Results in memory have tuples where those of a folder have lists. Both must be shown in the same way.
            "facts": [
                (name, format_interval(value) if isinstance(value, Estimate) else json.loads(json.dumps(value)))
                for name, value in facts.items()
            ],
        }


def _versions(report_data: ReportData) -> dict[str, str]:
    """Collect the package versions of all results; several versions per package if results differ."""
    by_package: dict[str, dict[str, None]] = {}
    for _, scored in examples.iter_scored_results(report_data):
        for name, version in scored.result.environment.items():
            by_package.setdefault(name, {})[version] = None
    return {name: ", ".join(versions) for name, versions in by_package.items()}
