"""Rendering of the report page from the template, with tables, charts and published results.

Published results on other rows or with other training data have hollow markers.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from math import floor
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
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
from unbag.reports.html.examples import build_cards
from unbag.reports.reproduce import build_reproduce_command, list_remarks
from unbag.scoring.bootstrap import Estimate

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


@dataclass(frozen=True)
class RenderedFigure:
    """A rendered figure: title, caption, SVG, legend and table."""

    title: str
    about: str
    svg: Markup
    legend: tuple[tuple[Markup, str], ...]
    table: TextTable


@dataclass(frozen=True)
class VerifierSection:
    """The collapsible part of a report section that shows verification metrics. It is expanded if `is_open` is true."""

    is_open: bool
    summaries: tuple[tuple[str, str], ...]
    measures: TextTable
    thresholds: TextTable | None
    figures: tuple[RenderedFigure, ...]


@dataclass(frozen=True)
class ReportSection:
    """A section of the report page, with the results on one challenge set and corpus."""

    key: str
    title: str
    data: str
    question: str
    publisher: tuple[str, str]  # who published the test, and the address of the paper ("" if there is none)
    summaries: tuple[tuple[str, str], ...]
    measures: TextTable
    is_table_beside_figures: bool
    columns: int  # on a wide screen
    figures: tuple[RenderedFigure, ...]
    verifier: VerifierSection | None
    published: tuple[TextTable, ...]
    note: str  # on excluded source examples


def render_page(report_data: ReportData) -> str:
    """Render the report page as HTML."""
    environment = Environment(
        loader=PackageLoader(__package__, "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    script = _asset("page.js")
    verdicts = compute_verdicts_by_group(report_data)
    every = [each for of_model in verdicts.values() for each in of_model.values()]
    text = environment.get_template("page.html.jinja").render(
        script=Markup(script),
        style=Markup(_asset("page.css")),
        # The content security policy blocks all requests and all other scripts, even a script inside a sentence.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        subject=report_data.main_model.name,
        about=describe_origin(report_data),
        models=[
            (draw_swatch(FigureSeries(each.name, ()), report_data.names, line=True), each)
            for each in report_data.models
        ],
        lead=format_lead_paragraph(report_data, verdicts),
        cards=build_cards(report_data, verdicts, _readings(report_data)),
        scale=verdict.describe_skill_scale(every),
        chart=build_skill_chart(verdicts, report_data),
        skipped=[(_format_sets(sets), reason) for reason, sets in group_skipped_sets(report_data.skipped).items()],
        prompts=build_prompt_table(report_data),
        sections=[_section(group, report_data) for group in report_data.groups],
        examples=list(examples.iter_gallery_examples(report_data)),
        marks=examples.list_mark_types(report_data),
        rules=list(examples.collect_selection_rules(report_data).items()),
        records=list(_records(report_data)),
        versions=_versions(report_data),
    )
    return text + "\n"


def _format_sets(skipped: Iterable[SkippedSet]) -> str:
    """List the titles of skipped sets, with the model if only that model lacks a result."""
    titles = ((challenge_sets.get_display_name(each.set), each.model) for each in skipped)
    return ", ".join(dict.fromkeys(f"{title}, {model}" if model else title for title, model in titles))


def format_lead_paragraph(report_data: ReportData, verdicts: VerdictsByModel) -> str:
    """Format the first paragraph of the report, which states the verdict on the main model."""
    return verdict.format_verdict(list(verdicts[report_data.main_model.name].values()))


def describe_origin(report_data: ReportData) -> str:
    """Describe the origin of the results: model revision, data, version, and the date of the report."""
    record, corpora = report_data.main_model.record, dict.fromkeys(group.title for group in report_data.groups)
    named = [*corpora][:_MOST_CORPORA]
    more = [f"{len(corpora) - len(named)} more"] if len(corpora) > len(named) else []
    version = dict(_versions(report_data)).get("unbag", "")
    parts = [
        f"Revision {record['revision']}" if record.get("revision") else "",
        f"Data: {', '.join([*named, *more])}",
        f"unbag {version}" if version else "",
        f"report of {datetime.now(UTC):%Y-%m-%d}",
    ]
    return " · ".join(filter(None, parts))


@dataclass(frozen=True)
class SkillLane:
    """The skill score of one model on one set. Positions on the axis are percentages."""

    model: str
    sign: Markup
    colour: str
    number: str
    interval: str  # empty if there is none
    standing: str
    place: float | None
    span: tuple[float, float] | None  # start and width of the interval
    is_cut: bool  # whether the interval extends beyond the left end of the axis


@dataclass(frozen=True)
class SkillRow:
    """The skill scores of all models on one set."""

    key: str
    title: str
    lanes: tuple[SkillLane, ...]


@dataclass(frozen=True)
class SkillChart:
    """Chart of the skill scores of all models on all sets."""

    ticks: tuple[tuple[str, float], ...]  # labels with their positions, in percent
    zero: float
    rows: tuple[SkillRow, ...]


def build_skill_chart(verdicts: VerdictsByModel, report_data: ReportData) -> SkillChart:
    """Build the chart of skill scores. The axis ends at 1, and starts at −1 or at the next quarter below all values."""
    scores = [each.score for of_model in verdicts.values() for each in of_model.values()]
    lows = [low for score in scores for low in (score.low, score.value) if low is not None]
    # A skill score has no lower limit, so the axis ends at -1 and longer intervals are cut.
    start = max(-1.0, floor(4 * min([0.0, *lows])) / 4)

    def place(value: float) -> float:
        return round(100 * (max(value, start) - start) / (1 - start), 2)

    def lane(name: str, each: verdict.SetVerdict) -> SkillLane:
        (value, low, high, _), series = each.score, FigureSeries(name, ())
        return SkillLane(
            model=name,
            sign=draw_swatch(series, report_data.names, line=False),
            colour=choose_style(series, report_data.names)[0],
            number=examples.format_score(value),
            interval="" if low is None else f"[{examples.format_score(low)}, {examples.format_score(high)}]",
            standing=each.standing,
            place=None if value is None else place(value),
            span=None if low is None or high is None else (place(low), round(place(high) - place(low), 2)),
            is_cut=low is not None and low < start,
        )

    rows = [
        SkillRow(
            group.key,
            _title_of(group, report_data),
            tuple(lane(scored.model.name, verdicts[scored.model.name][group.key]) for scored in group.scored_models),
        )
        for group in report_data.groups
    ]
    # The start may be 0, which must not give two ticks.
    ticks = dict.fromkeys((start, 0.0, 1.0))
    return SkillChart(tuple((f"{tick:g}".replace("-", "−"), place(tick)) for tick in ticks), place(0.0), tuple(rows))


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


def _title_of(group: ResultGroup, report_data: ReportData) -> str:
    several = sum(each.set == group.set for each in report_data.groups) > 1
    return challenge_sets.get_display_name(group.set) + (f", {group.title}" if several else "")


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _reading(result: Result) -> str:
    return challenge_sets.get_challenge_set(result.set).summarize_result(result)


def _readings(report_data: ReportData) -> dict[str, str]:
    """Collect a sentence with the metrics of the main model (or else the first model), by group key."""
    return {
        group.key: _sentence(_reading(select_main_model_result(group, report_data).result))
        for group in report_data.groups
    }


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _drawn(figure: Figure, report_data: ReportData) -> RenderedFigure:
    models = report_data.names
    legend = tuple((draw_swatch(each, models, line=figure.kind == "curve"), each.name) for each in figure.series)
    return RenderedFigure(figure.title, figure.about, draw_svg(figure, models), legend, build_figure_table(figure))


def _section(group: ResultGroup, report_data: ReportData) -> ReportSection:
    described = challenge_sets.get_challenge_set(group.set)
    first = group.scored_models[0].result
    every = (*described.build_figures(group), *iter_paper_figures(group, described))
    figures: list[Figure] = [each for each in every if each]
    beside = len(group.scored_models) <= _BESIDE
    return ReportSection(
        key=group.key,
        title=described.title,
        data=group.title,
        question=described.question,
        publisher=described.publisher,
        summaries=tuple(
            (scored.model.name, " ".join([_sentence(_reading(scored.result)), *list_remarks(scored.result)]))
            for scored in group.scored_models
        ),
        measures=_measures(group, described),
        is_table_beside_figures=beside,
        columns=min(_COLUMNS, len(figures)) if not beside else 2 if figures else 1,
        figures=tuple(_drawn(each, report_data) for each in figures),
        verifier=_verifier(group, report_data),
        published=tuple(_published(each) for each in papers.list_paper_tables() if each.set == group.set),
        note=summarize_exclusions(first.data),
    )


def _verifier(group: ResultGroup, report_data: ReportData) -> VerifierSection | None:
    measures = verifier.build_verifier_metrics_table(group)
    if measures is None:
        return None
    thresholds = verifier.build_threshold_table(group)
    # The table of thresholds replaces the sentences, except for models without probabilities.
    summaries = [
        (each.model.name, " ".join(verifier.describe_thresholds(each.result)))
        for each in group.scored_models
        if not (verifier.get_verification_scores(each.result) or {}).get("safe_thresholds")
    ]
    return VerifierSection(
        is_open=challenge_sets.get_challenge_set(group.set).is_control,
        summaries=tuple((name, reading) for name, reading in summaries if reading),
        measures=measures,
        thresholds=thresholds,
        figures=tuple(_drawn(each, report_data) for each in verifier.build_verifier_figures(group)),
    )


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
    unit = paper_tables.format_unit(one.units)
    remark = f" ({one.remark})" if one.remark else ""
    return TextTable(f"{one.source}. {one.about}{unit}.{remark}", tuple(columns), tuple(map(tuple, rows)))


def _records(report_data: ReportData) -> Iterator[dict[str, Any]]:
    for group, scored in examples.iter_scored_results(report_data):
        result = scored.result
        data = {f"data {name}": value for name, value in result.data.items() if name != "excluded"}
        yield {
            "title": f"{scored.model.name} · {challenge_sets.get_challenge_set(group.set).title} · {group.title}",
            "rerun": build_reproduce_command(result),
            "facts": [
                *((f"model {name}", _fact(value)) for name, value in result.model.items() if value != {}),
                *((name, str(value)) for name, value in data.items()),
                *((f"set {name}", str(value)) for name, value in result.config.items() if value is not None),
            ],
        }


def _fact(value: Any) -> str:
    return format_interval(value) if isinstance(value, Estimate) else str(value)


def _versions(report_data: ReportData) -> list[tuple[str, str]]:
    """Collect the package versions of all results; several versions per package if results differ."""
    by_package: dict[str, dict[str, None]] = {}
    for _, scored in examples.iter_scored_results(report_data):
        for name, version in scored.result.environment.items():
            by_package.setdefault(name, {})[version] = None
    return [(name, ", ".join(versions)) for name, versions in by_package.items()]
