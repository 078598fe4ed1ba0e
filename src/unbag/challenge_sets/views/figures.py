"""Figure data for charts and tables. A figure covers the models that predicted the same rows of a set."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views.examples import ExampleSelection
from unbag.challenge_sets.views.tables import format_interval
from unbag.scoring.bootstrap import Estimate


@dataclass(frozen=True)
class ReportModel:
    """A model in the report."""

    name: str
    record: dict[str, Any]
    is_baseline: bool


@dataclass(frozen=True)
class ScoredModel:
    """The result of one model in a group, and its selected examples if they were stored."""

    model: ReportModel
    result: Result
    selection: ExampleSelection | None


@dataclass(frozen=True)
class ResultGroup:
    """The results of one or more models on the same rows: the same set, corpus and options."""

    key: str  # unique key, for anchors of the page
    title: str  # name of the data, e.g. "snli validation"
    scored_models: tuple[ScoredModel, ...]  # results, in the order of the report's models

    @property
    def set(self) -> str:
        """Name of the challenge set."""
        return self.scored_models[0].result.set

    @property
    def corpus(self) -> str:
        """Name of the corpus and, if it has one, of its split, e.g. `snli validation`."""
        return self.scored_models[0].result.corpus


_MOST_ROWS: Final = 25  # rows of a readable table


class FigurePoint(NamedTuple):
    """A point of a figure: its position, value and interval."""

    x: float | str  # position: a number on a curve, otherwise a name
    estimate: Estimate
    detail: str = ""  # name that distinguishes several points at one position


@dataclass(frozen=True)
class FigureSeries:
    """The points of one model in a figure, or of a reference such as the human accuracy."""

    name: str
    points: tuple[FigurePoint, ...]
    is_reference: bool = False  # whether the series is a reference and not a model of the report
    reference_index: int = 0  # index among the references of the figure
    is_hollow: bool = False  # whether the values were measured on other rows than the models' or by another method


@dataclass(frozen=True)
class Figure:
    """A figure of values between 0 and 1: a curve, or a dot plot with one row per category."""

    title: str
    about: str  # explanation, one or two sentences
    x: str  # label of the positions
    y: str  # label of the values
    kind: Literal["curve", "dots"]  # `curve` for numeric positions, `dots` for names
    series: tuple[FigureSeries, ...]
    order: tuple[str, ...] = ()  # order of names, if it differs from the order in the series

    @property
    def positions(self) -> list[float | str]:
        """Positions of all series. Numbers are sorted, and names are in order of first occurrence."""
        positions = list(dict.fromkeys((*self.order, *(point.x for series in self.series for point in series.points))))
        return sorted(positions) if self.kind == "curve" else positions


class TextTable(NamedTuple):
    """A table of text cells: caption, column headers, and rows that begin with a row header."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def build_metrics_table(caption: str, columns: Mapping[str, Mapping[tuple[str, str], str]]) -> TextTable:
    """Build a table of metrics, with one row per metric, in order of first appearance, and one column per model.

    `columns` has for each model its numbers as text, by their name and meaning.

    >>> build_metrics_table("", {"a": {("n", "rows"): "1"}, "b": {}}).rows
    (('n', 'rows', '1', '–'),)
    """
    rows = dict.fromkeys(key for cells in columns.values() for key in cells)
    return TextTable(
        caption,
        ("metric", "meaning", *columns),
        tuple((*key, *(cells.get(key, "–") for cells in columns.values())) for key in rows),
    )


def build_figure_table(figure: Figure) -> TextTable:
    """Convert a figure to a table for screen readers. Long curves are sampled at evenly spaced positions."""
    ticks = figure.positions
    if len(ticks) > _MOST_ROWS:
        # Fewer than the maximum, since rounding down the step adds rows.
        step = (len(ticks) - 1) // (_MOST_ROWS - 5)
        ticks = [tick for number, tick in enumerate(ticks) if number % step == 0 or number == len(ticks) - 1]
    cells: dict[tuple[str, float | str], list[str]] = {}
    for series in figure.series:
        for point in series.points:
            cells.setdefault((series.name, point.x), []).append(
                f"{point.detail} {format_interval(point.estimate)}".strip()
            )
    rows = [
        (_text(tick), *("; ".join(cells.get((series.name, tick), ["–"])) for series in figure.series)) for tick in ticks
    ]
    return TextTable(f"{figure.title}: {figure.y}", (figure.x, *(series.name for series in figure.series)), tuple(rows))


def build_point_estimate(value: float | None, n: int = 0) -> Estimate:
    """Build an estimate without an interval."""
    return Estimate(value, None, None, n)


def build_group_figure(
    group: ResultGroup,
    points: Callable[[Any], Iterable[tuple[float | str, Estimate]]],
    *,
    y: str = "accuracy",
    kind: Literal["curve", "dots"] = "dots",
    references: Sequence[FigureSeries] = (),
    **attributes: Any,
) -> Figure | None:
    """Build a figure with one series per model of a result group. Return None if no model has values.

    `points` computes the points from a model's scores. `references` are further series. The other arguments are the
    attributes of the figure.
    """
    series = []
    for scored in group.scored_models:
        values = tuple(
            FigurePoint(x, estimate) for x, estimate in points(scored.result.scores) if estimate.value is not None
        )
        if values:
            series.append(FigureSeries(scored.model.name, values))
    return Figure(y=y, kind=kind, series=(*series, *references), **attributes) if series else None


def _text(tick: float | str) -> str:
    return tick if isinstance(tick, str) else f"{tick:g}"
