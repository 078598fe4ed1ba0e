"""Figures as plain numbers, which charts draw and tables list, for the models that predicted the same rows of a set."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import ExampleSelection
from unbag.challenge_sets.views.tables import interval
from unbag.scoring.bootstrap import Estimate


@dataclass(frozen=True)
class Model:
    """A model of the report: its name there, its record, and whether it is one of the built-in baselines."""

    name: str
    record: dict[str, Any]
    is_baseline: bool


@dataclass(frozen=True)
class Scored:
    """One model's result on the rows of a group, with the examples selected of it, if any were kept."""

    model: Model
    result: Result
    selection: ExampleSelection | None


@dataclass(frozen=True)
class Group:
    """A set built from the same data in the same way, and the models that answered its rows.

    Attributes:
        key: unique, for anchors.
        title: of the data, e.g. "snli validation".
        scored: in the order of the report's models.
    """

    key: str
    title: str
    scored: tuple[Scored, ...]

    @property
    def set(self) -> str:
        """The challenge set."""
        return self.scored[0].result.set

    @property
    def corpus(self) -> str:
        """What the pairs come from, as `challenge_sets.papers.counterparts` names it."""
        return self.scored[0].result.corpus


_MOST_ROWS: Final = 25  # of a table that is still read


class Point(NamedTuple):
    """A value with its interval at a place: a number on a curve, a name otherwise; `of` tells equals apart."""

    x: float | str
    estimate: Estimate
    of: str = ""


@dataclass(frozen=True)
class Series:
    """The points of one model, or of something to hold models against, such as people.

    Attributes:
        name: the model's in the report, or what it is.
        points: its values.
        is_reference: whether it is no model of the report.
        number: which of a figure's references.
        is_hollow: whether it is of something else than the models of the report were asked, or made in another way.
    """

    name: str
    points: tuple[Point, ...]
    is_reference: bool = False
    number: int = 0
    is_hollow: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure: shares between 0 and 1 along a curve, or as dots beside names.

    Attributes:
        title: what it shows.
        about: how to read it, in a sentence.
        x: what the places are.
        y: what the values are.
        kind: `curve` for places that are numbers, `dots` for names.
        series: whose values.
        order: of names, where it is not that in which the series have them.
    """

    title: str
    about: str
    x: str
    y: str
    kind: Literal["curve", "dots"]
    series: tuple[Series, ...]
    order: tuple[str, ...] = ()

    @property
    def places(self) -> list[float | str]:
        """The places of all series: numbers in their order, names as they come."""
        places = list(dict.fromkeys((*self.order, *(point.x for series in self.series for point in series.points))))
        return sorted(places) if self.kind == "curve" else places


class TextTable(NamedTuple):
    """A table as text: its caption, the heads of its columns, its rows with the head of each first."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def table(figure: Figure) -> TextTable:
    """Return a figure as a table, for readers who cannot see it; of a long curve, evenly spaced places."""
    ticks = figure.places
    if len(ticks) > _MOST_ROWS:
        step = (len(ticks) - 1) // (_MOST_ROWS - 5)
        ticks = [tick for number, tick in enumerate(ticks) if number % step == 0 or number == len(ticks) - 1]
    cells: dict[tuple[str, float | str], list[str]] = {}
    for series in figure.series:
        for point in series.points:
            cells.setdefault((series.name, point.x), []).append(f"{point.of} {interval(point.estimate)}".strip())
    rows = [
        (_text(tick), *("; ".join(cells.get((series.name, tick), ["–"])) for series in figure.series)) for tick in ticks
    ]
    return TextTable(f"{figure.title}: {figure.y}", (figure.x, *(series.name for series in figure.series)), tuple(rows))


def bare(value: float | None, n: int = 0) -> Estimate:
    """Return a value without interval."""
    return Estimate(value, None, None, n)


def figure_of(
    group: Group,
    points: Callable[[Any], Iterable[tuple[float | str, Estimate]]],
    *,
    references: Sequence[Series] = (),
    **attributes: Any,
) -> Figure | None:
    """Return a figure of all models of a group, or None where there is nothing to see.

    Args:
        group: the group.
        points: gives a model's points from its scores.
        references: what else to draw.
        attributes: the other attributes of the figure.
    """
    series = []
    for scored in group.scored:
        values = tuple(Point(x, estimate) for x, estimate in points(scored.result.scores) if estimate.value is not None)
        if values:
            series.append(Series(scored.model.name, values))
    return Figure(series=(*series, *references), **attributes) if series else None


def _text(tick: float | str) -> str:
    return tick if isinstance(tick, str) else f"{tick:g}"
