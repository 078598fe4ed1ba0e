"""The page: the template filled with the report data, tables, charts and published figures.

Published figures on other rows or with other training data are drawn hollow.
"""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from unbag import challenge_sets
from unbag.challenge_sets import papers
from unbag.challenge_sets.base import ChallengeSet
from unbag.challenge_sets.papers.counterparts import counterparts_of
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views import verifier
from unbag.challenge_sets.views.figures import (
    Figure,
    Group,
    Point,
    Series,
    TextTable,
    measures_table,
    table,
    without_interval,
)
from unbag.challenge_sets.views.tables import exclusion_summary, interval
from unbag.evaluation import verdict
from unbag.reports import papers as paper_tables
from unbag.reports.html import examples
from unbag.reports.html.charts import WIDE, svg, swatch
from unbag.reports.html.data import ReportData, Standings, standings, subject_of
from unbag.reports.html.examples import cards
from unbag.reports.reproduce import remarks, rerun

_SAME: Final = "published, same rows"
_OTHER: Final = "published, other rows or training"
_MOST: Final = 16  # names in one figure


def beside_papers(group: Group, described: ChallengeSet) -> Iterator[Figure]:
    """Iterate over figures of the set's numbers that papers report on the same corpus.

    A published figure is drawn full if it is on the same rows (all rows of a set that is not rebuilt) and involves no
    training, as for annotators or a rule. All others are drawn hollow: their rows differ, or their training data differ
    or may differ, since no record states what a model on the Hub was trained on.
    """
    is_sampled = any(scored.result.config.get("max_examples") is not None for scored in group.scored)
    for quantity in described.quantities_with_role("beside_papers"):
        theirs = counterparts_of(quantity.counterparts, group.corpus)[:_MOST]
        if not theirs:
            continue
        ours = [(each.model.name, quantity.value(each.result.scores)) for each in group.scored]
        series = [Series(name, (Point(name, one),)) for name, one in ours if one is not None and one.value is not None]
        full = [one for one in theirs if one.is_comparable and not is_sampled]
        for name, some in ((_SAME, full), (_OTHER, [one for one in theirs if one not in full])):
            points = tuple(Point(one.model, without_interval(one.value), one.source) for one in some)
            if points:
                series.append(Series(name, points, is_reference=True, is_hollow=name == _OTHER))
        sources = ", ".join(dict.fromkeys(one.source for one in theirs))
        other = " Hollow bars: other rows, or a model whose training data differ or may differ."
        yield Figure(
            title=f"Beside the papers: {quantity.label}",
            about=f"Bars are published figures ({sources}).{other if len(full) < len(theirs) else ''} "
            + ("Higher is better." if quantity.higher_is_better else "Lower is better; guessing may also be low."),
            x="model",
            y="value",
            kind="dots",
            series=tuple(series),
        )


_BESIDE: Final = 2  # models whose numbers fit beside the figures
_COLUMNS: Final = 3  # of figures, on a wide screen


@dataclass(frozen=True)
class Drawn:
    """A drawn figure with its title, caption, pictures, legend and table."""

    title: str
    about: str
    pictures: tuple[Markup, ...]
    legend: tuple[tuple[Markup, str], ...]
    table: TextTable

    @property
    def is_wide(self) -> bool:
        """Whether it has a picture for wide screens."""
        return len(self.pictures) > 1


@dataclass(frozen=True)
class Verifier:
    """The part of a section on the models as verifiers; it is unfolded where `is_open`."""

    is_open: bool
    readings: tuple[tuple[str, str], ...]
    measures: TextTable
    thresholds: TextTable | None
    figures: tuple[Drawn, ...]


@dataclass(frozen=True)
class Section:
    """The section of a group.

    Attributes:
        key: Key of the group.
        title: Title of the set.
        data: Corpus of the group.
        question: Question that the set answers.
        paper: Paper that the set is from; None if there is none.
        readings: Name of each model, and a sentence with its numbers.
        measures: Table of the numbers.
        is_beside: Whether the table stands beside the figures.
        columns: Number of columns on a wide screen.
        figures: Figures of the set.
        verifier: Part on the models as verifiers; None without such scores.
        published: Tables of the paper.
        note: Note on excluded source examples.
    """

    key: str
    title: str
    data: str
    question: str
    paper: papers.Paper | None
    readings: tuple[tuple[str, str], ...]
    measures: TextTable
    is_beside: bool
    columns: int
    figures: tuple[Drawn, ...]
    verifier: Verifier | None
    published: tuple[TextTable, ...]
    note: str


def render(gathered: ReportData) -> str:
    """Render the page as text."""
    environment = Environment(
        loader=PackageLoader(__package__, "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    script = _asset("page.js")
    stand = standings(gathered)
    scores = profile(stand, gathered)
    text = environment.get_template("page.html.jinja").render(
        script=Markup(script),
        style=Markup(_asset("page.css")),
        # The content security policy blocks all requests, and all scripts but ours, even one inside a sentence.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        subject=gathered.subject.name,
        models=[(swatch(Series(each.name, ()), gathered.names, line=True), each) for each in gathered.models],
        lead=lead(gathered, stand),
        cards=cards(gathered, stand, _readings(gathered)),
        scale=verdict.describe_scale(list(stand[gathered.subject.name].values())),
        skipped=[(challenge_sets.display_name(each.set), each.model or "", each.reason) for each in gathered.skipped],
        profile=_drawn(scores, gathered, wide=True) if any(each.points for each in scores.series) else None,
        sections=[_section(group, gathered) for group in gathered.groups],
        examples=list(examples.gallery(gathered)),
        marks=examples.marks(gathered),
        rules=list(examples.rules(gathered).items()),
        records=list(_records(gathered)),
        versions=_versions(gathered),
    )
    return text + "\n"


def lead(gathered: ReportData, stand: Standings) -> str:
    """Format the verdict on the report's subject."""
    return verdict.format_verdict(list(stand[gathered.subject.name].values()))


def profile(stand: Standings, gathered: ReportData) -> Figure:
    """Build the figure of the skill scores of all models on all sets."""
    titles = {group.key: _title_of(group, gathered) for group in gathered.groups}
    series = [
        Series(
            name,
            tuple(Point(titles[key], each.score) for key, each in stand[name].items() if each.score.value is not None),
        )
        for name in gathered.names
    ]
    every = [each for of_model in stand.values() for each in of_model.values()]
    return Figure(
        title="Skill score by set",
        about=f"{verdict.describe_scale(every)} Left of 0 is worse than the baseline. Lines are 95 % intervals.",
        x="set",
        y="skill score",
        kind="dots",
        series=tuple(series),
        order=tuple(titles.values()),
    )


def _title_of(group: Group, gathered: ReportData) -> str:
    several = sum(each.set == group.set for each in gathered.groups) > 1
    return challenge_sets.display_name(group.set) + (f", {group.title}" if several else "")


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _reading(result: Result) -> str:
    reading: str = challenge_sets.get(result.set).module("table").reading(result)
    return reading


def _readings(gathered: ReportData) -> dict[str, str]:
    """Collect the sentences with the numbers of the subject, or of a group's first model, by the group's key."""
    return {group.key: _sentence(_reading(subject_of(group, gathered).result)) for group in gathered.groups}


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _drawn(figure: Figure, gathered: ReportData, *, wide: bool = False) -> Drawn:
    """Draw a figure. With `wide`, draw it for wide screens too; the page shows the picture that fits."""
    models = gathered.names
    legend = tuple((swatch(each, models, line=figure.kind == "curve"), each.name) for each in figure.series)
    pictures = (svg(figure, models), *([svg(figure, models, WIDE)] if wide else []))
    return Drawn(figure.title, figure.about, pictures, legend, table(figure))


def _section(group: Group, gathered: ReportData) -> Section:
    described = challenge_sets.get(group.set)
    first = group.scored[0].result
    every = (*described.module("figures").figures(group), *beside_papers(group, described))
    figures: list[Figure] = [each for each in every if each]
    paper = next((each for each in papers.papers() if each.short == described.figures_from), None)
    beside = len(group.scored) <= _BESIDE
    return Section(
        key=group.key,
        title=described.title,
        data=group.title,
        question=described.question,
        paper=paper,
        readings=tuple(
            (scored.model.name, " ".join([_sentence(_reading(scored.result)), *remarks(scored.result)]))
            for scored in group.scored
        ),
        measures=_measures(group, described),
        is_beside=beside,
        columns=min(_COLUMNS, len(figures)) if not beside else 2 if figures else 1,
        figures=tuple(_drawn(each, gathered, wide=not beside and len(figures) == 1) for each in figures),
        verifier=_verifier(group, gathered),
        published=tuple(_published(each) for each in papers.tables() if each.set == group.set),
        note=exclusion_summary(first.data),
    )


def _verifier(group: Group, gathered: ReportData) -> Verifier | None:
    measures = verifier.measures(group)
    if measures is None:
        return None
    thresholds = verifier.thresholds(group)
    # The table of thresholds has what the sentences say, but for models without probabilities.
    readings = [
        (each.model.name, " ".join(verifier.sentences(each.result)))
        for each in group.scored
        if not (verifier.verification_of(each.result) or {}).get("safe_thresholds")
    ]
    return Verifier(
        is_open=challenge_sets.get(group.set).is_control,
        readings=tuple((name, reading) for name, reading in readings if reading),
        measures=measures,
        thresholds=thresholds,
        figures=tuple(_drawn(each, gathered) for each in verifier.figures(group)),
    )


def _measures(group: Group, described: ChallengeSet) -> TextTable:
    columns = {
        scored.model.name: {
            (name, meaning): interval(estimate)
            for name, meaning, estimate in described.module("figures").measures(scored.result.scores)
        }
        for scored in group.scored
    }
    return measures_table(f"{described.title}, {group.title}: values with 95 % intervals", columns)


def _published(one: papers.PaperTable) -> TextTable:
    columns, rows = paper_tables.cells(one)
    unit = paper_tables.unit(one.units)
    remark = f" ({one.remark})" if one.remark else ""
    return TextTable(f"{one.source}. {one.about}{unit}.{remark}", tuple(columns), tuple(map(tuple, rows)))


def _records(gathered: ReportData) -> Iterator[dict[str, Any]]:
    for group, scored in examples.scored(gathered):
        result = scored.result
        data = {f"data {name}": value for name, value in result.data.items() if name != "excluded"}
        yield {
            "title": f"{scored.model.name} · {challenge_sets.get(group.set).title} · {group.title}",
            "rerun": rerun(result),
            "facts": [
                *((f"model {name}", str(value)) for name, value in result.model.items() if value != {}),
                *((name, str(value)) for name, value in data.items()),
                *((f"set {name}", str(value)) for name, value in result.config.items() if value is not None),
            ],
        }


def _versions(gathered: ReportData) -> list[tuple[str, str]]:
    """Collect the versions of packages that the results were computed with; several if results differ."""
    by_package: dict[str, dict[str, None]] = {}
    for _, scored in examples.scored(gathered):
        for name, version in scored.result.environment.items():
            by_package.setdefault(name, {})[version] = None
    return [(name, ", ".join(versions)) for name, versions in by_package.items()]
