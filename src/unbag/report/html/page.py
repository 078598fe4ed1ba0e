"""The page: what `gathered` holds, put into words, tables, pictures and the template."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from unbag import challenge_sets, papers, verdict
from unbag.challenge_sets.base import ChallengeSet
from unbag.papers.counterparts import published as counterparts
from unbag.report import published, summary
from unbag.report.html.charts import WIDE, svg, swatch
from unbag.report.html.gathered import Gathered
from unbag.report.html.profile import standings, subject_of
from unbag.report.rerun import rerun
from unbag.results import Result
from unbag.verdict import SetVerdict
from unbag.views.cells import interval, left_out, value
from unbag.views.examples import Line, ReportExample
from unbag.views.figures import Figure, Point, Series, TextTable, bare, table
from unbag.views.group import Group, Scored

PUBLISHED: Final = "published"
_MOST_PUBLISHED: Final = 12  # names below each other in one figure


Standings = Mapping[str, Mapping[str, SetVerdict]]
"""How each model stands on each group, by the model's name and the group's key."""


@dataclass(frozen=True)
class Drawn:
    """A figure as the page has it."""

    title: str
    about: str
    pictures: tuple[Markup, ...]
    legend: tuple[tuple[Markup, str], ...]
    table: TextTable
    is_tall: bool


@dataclass(frozen=True)
class Section:
    """A group as the page has it."""

    key: str
    title: str
    data: str
    question: str
    paper: papers.Paper | None
    readings: tuple[tuple[str, str], ...]
    measures: TextTable
    figures: tuple[Drawn, ...]
    published: tuple[TextTable, ...]
    note: str


@dataclass(frozen=True)
class Example:
    """An example as the page has it: its sentences in pieces, each with the kind of its mark or none."""

    set: str
    model: str
    shown: ReportExample
    lines: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


def render(gathered: Gathered) -> str:
    """Return the page as text."""
    environment = Environment(
        loader=PackageLoader(__package__, "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    script = _asset("page.js")
    stand = standings(gathered)
    text = environment.get_template("page.html.jinja").render(
        script=Markup(script),
        style=Markup(_asset("page.css")),
        # Nothing is fetched, and no script runs but ours: not one in a sentence either.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        subject=gathered.subject.name,
        models=[(swatch(Series(each.name, ()), names(gathered), line=True), each) for each in gathered.models],
        lead=lead(gathered, stand),
        cards=list(_cards(gathered, stand)),
        left_out=[(_title(each.set), each.model or "", each.reason) for each in gathered.left_out],
        profile=_drawn(profile(stand, gathered), gathered, wide=True),
        sections=[_section(group, gathered) for group in gathered.groups],
        examples=list(_examples(gathered)),
        marks=_marks(gathered),
        rules=list(_rules(gathered)),
        records=list(_records(gathered)),
        versions=_versions(gathered),
    )
    return text + "\n"


def names(gathered: Gathered) -> list[str]:
    """Return the names of the report's models."""
    return [model.name for model in gathered.models]


def lead(gathered: Gathered, stand: Standings) -> list[str]:
    """Return what is to say of the first model: the verdict, and what it is held against."""
    own = list(stand[gathered.subject.name].values())
    return [_sentence(verdict.sentence(own)), f"On the scale of all sets {summary.scale(own)}"]


def profile(stand: Standings, gathered: Gathered) -> Figure:
    """Return the score beyond words of all models on all sets."""
    titles = {group.key: _title_of(group, gathered) for group in gathered.groups}
    series = [
        Series(
            name,
            tuple(Point(titles[key], each.score) for key, each in stand[name].items() if each.score.value is not None),
        )
        for name in names(gathered)
    ]
    every = [each for of_model in stand.values() for each in of_model.values()]
    return Figure(
        title="Beyond words, set by set",
        about=f"{_sentence(summary.scale(every))} Left of 0 is worse than these. Lines are 95 % intervals.",
        x="set",
        y="score beyond words",
        kind="dots",
        series=tuple(series),
        order=tuple(titles.values()),
    )


def _title_of(group: Group, gathered: Gathered) -> str:
    several = sum(each.set == group.set for each in gathered.groups) > 1
    return challenge_sets.get(group.set).short + (f", {group.title}" if several else "")


def pieces(line: Line) -> tuple[tuple[str, str], ...]:
    """Return a sentence cut where its marks begin and end: text and kind of mark, "" for none.

    >>> from unbag.views.examples import Mark
    >>> pieces(Line("premise", "An old man", (Mark(3, 6, "moved"),)))
    (('An ', ''), ('old', 'moved'), (' man', ''))
    """
    parts, end = [], 0
    for start, until, kind in line.marks:
        parts += [(line.text[end:start], ""), (line.text[start:until], kind)]
        end = until
    return tuple(piece for piece in (*parts, (line.text[end:], "")) if piece[0])


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _reading(result: Result) -> str:
    reading: str = challenge_sets.get(result.set).module("table").reading(result)
    return reading


def _title(name: str) -> str:
    described = challenge_sets.find(name)
    return described.title if described else name


def _sentence(verdict: str) -> str:
    return verdict[0].upper() + verdict[1:]


def _cards(gathered: Gathered, stand: Standings) -> Iterator[dict[str, str]]:
    for group in gathered.groups:
        scored = subject_of(group, gathered)
        own = stand[scored.model.name][group.key]
        others = [each.model.name for each in group.scored if each.model != scored.model]
        yield {
            "key": group.key,
            "title": challenge_sets.get(group.set).title,
            "data": group.title if scored.model == gathered.subject else f"{group.title}, {scored.model.name}",
            "number": f"{own.score.value:.2f}".replace("-", "−") if own.score.value is not None else "–",
            "standing": f"{own.standing} than words" if own.standing != "cannot be told" else own.standing,
            "interval": f"beyond words {interval(own.score)}, {own.score.n:,} rows",
            "others": ", ".join(f"{name} {value(stand[name][group.key].score)}" for name in others),
            "reading": _sentence(_reading(scored.result)),
        }


def _drawn(figure: Figure, gathered: Gathered, *, wide: bool = False) -> Drawn:
    """Return a figure drawn; where `wide`, for wide screens too, and the page shows the one that fits."""
    models = names(gathered)
    legend = tuple((swatch(each, models, line=figure.kind == "curve"), each.name) for each in figure.series)
    pictures = (svg(figure, models), *([svg(figure, models, WIDE)] if wide else []))
    return Drawn(figure.title, figure.about, pictures, legend, table(figure), figure.is_tall)


def _section(group: Group, gathered: Gathered) -> Section:
    described = challenge_sets.get(group.set)
    first = group.scored[0].result
    figures: list[Figure | None] = described.module("figures").figures(group)
    paper = next((each for each in papers.papers() if each.short == described.figures_from), None)
    return Section(
        key=group.key,
        title=described.title,
        data=group.title,
        question=described.question,
        paper=paper,
        readings=tuple((scored.model.name, _sentence(_reading(scored.result))) for scored in group.scored),
        measures=_measures(group, described),
        figures=tuple(_drawn(each, gathered) for each in (*figures, *_beside_papers(group, described)) if each),
        published=tuple(_published(each) for each in papers.tables() if each.set == group.set),
        note=left_out(first.data),
    )


def _beside_papers(group: Group, described: ChallengeSet) -> Iterator[Figure]:
    """Yield a figure for each number of the set's profile that papers print of the same corpus, with their names."""
    for quantity in described.of_role("beside_papers"):
        theirs = counterparts(quantity.counterparts, group.corpus)[:_MOST_PUBLISHED]
        ours = {each.model.name: quantity.value(each.result.scores) for each in group.scored}
        if not theirs:
            continue
        series = [
            Series(name, (Point(name, one),)) for name, one in ours.items() if one is not None and one.value is not None
        ]
        points = tuple(Point(one.model, bare(one.value), one.source) for one in theirs)
        direction = "more" if quantity.higher_is_better else "less"
        yield Figure(
            title=f"Beside the papers: {quantity.label}",
            about=f"Bars are published figures ({theirs[0].source}), of models trained on other data and, if the set "
            f"was made anew, of other rows. To do better is to have {direction}.",
            x="model",
            y=quantity.label,
            kind="dots",
            series=(*series, Series(PUBLISHED, points, is_reference=True)),
        )


def _measures(group: Group, described: ChallengeSet) -> TextTable:
    by_model: list[dict[tuple[str, str], str]] = [
        {
            (name, meaning): interval(estimate)
            for name, meaning, estimate in described.module("figures").measures(scored.result.scores)
        }
        for scored in group.scored
    ]
    order = dict.fromkeys(key for values in by_model for key in values)
    rows = tuple((*key, *(values.get(key, "–") for values in by_model)) for key in order)
    heads = ("measure", "meaning", *(scored.model.name for scored in group.scored))
    return TextTable(f"{described.title}, {group.title}: values with 95 % intervals", heads, rows)


def _published(one: papers.PaperTable) -> TextTable:
    columns, rows = published.cells(one)
    unit = ", in per cent" if "percent" in one.units.values() else ""
    remark = f" ({one.remark})" if one.remark else ""
    return TextTable(f"{one.source}. {one.about}{unit}.{remark}", tuple(columns), tuple(map(tuple, rows)))


def _scored(gathered: Gathered) -> Iterator[tuple[Group, Scored]]:
    """Yield all results, those of one model together."""
    for model in gathered.models:
        for group in gathered.groups:
            for scored in group.scored:
                if scored.model == model:
                    yield group, scored


def _examples(gathered: Gathered) -> Iterator[Example]:
    # Mistakes on ordinary pairs tell least of order.
    for group, scored in sorted(_scored(gathered), key=lambda pair: challenge_sets.get(pair[0].set).is_control):
        for example in scored.selection.examples if scored.selection else ():
            lines = tuple((line.name, pieces(line)) for line in example.lines)
            title = f"{challenge_sets.get(group.set).title}, {group.title}"
            yield Example(title, scored.model.name, example, lines)


def _marks(gathered: Gathered) -> list[tuple[str, str]]:
    """Return the kinds of marks that the examples have, with their meaning."""
    used = {mark.kind for each in _examples(gathered) for line in each.shown.lines for mark in line.marks}
    meanings: dict[str, str] = {}
    for group in gathered.groups:
        meanings |= challenge_sets.get(group.set).module("examples").MARKS
    return [(kind, meaning) for kind, meaning in meanings.items() if kind in used]


def _rules(gathered: Gathered) -> Iterator[tuple[str, str]]:
    rules = {
        challenge_sets.get(group.set).title: scored.selection.rule
        for group, scored in _scored(gathered)
        if scored.selection
    }
    yield from rules.items()


def _records(gathered: Gathered) -> Iterator[dict[str, Any]]:
    for group, scored in _scored(gathered):
        result = scored.result
        data = {f"data {name}": value for name, value in result.data.items() if name != "left_out"}
        yield {
            "title": f"{scored.model.name} · {challenge_sets.get(group.set).title} · {group.title}",
            "rerun": rerun(result),
            "facts": [
                *((f"model {name}", str(value)) for name, value in result.model.items() if value != {}),
                *((name, str(value)) for name, value in data.items()),
                *((f"set {name}", str(value)) for name, value in result.config.items() if value is not None),
            ],
        }


def _versions(gathered: Gathered) -> list[tuple[str, str]]:
    """Return the versions that the results were computed with; several of a package where they differ."""
    by_package: dict[str, dict[str, None]] = {}
    for _, scored in _scored(gathered):
        for name, version in scored.result.environment.items():
            by_package.setdefault(name, {})[version] = None
    return [(name, ", ".join(versions)) for name, versions in by_package.items()]
