"""All sets at a glance: for each the number that stands for it, of every model."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag import challenge_sets
from unbag.challenge_sets.base import Measured
from unbag.results import Result
from unbag.views.cells import interval, value

_ACROSS = 5  # models beside each other in 80 columns


def view(results: Sequence[Result]) -> RenderableType:
    """Return a row for each set, in the order of the results: interval and n of one model, or the values of several."""
    models = list(dict.fromkeys(result.model["name"] for result in results))
    if len(models) == 1:
        table = _empty("value [95 %]", "examples")
        for result in results:
            if (score := _score(result)) is not None:
                table.add_row(*_name(result, results, score), interval(score.estimate), f"{score.estimate.n:,}")
        return Group(Text(f"{models[0]}: a number a set; more is better", style="italic"), table)
    letters = {model: chr(ord("A") + index) if index < 26 else str(index + 1) for index, model in enumerate(models)}
    legend = Text("\n".join(f"{letter}  {model}" for model, letter in letters.items()))
    tables = [
        _values(results, {model: letters[model] for model in models[start : start + _ACROSS]})
        for start in range(0, len(models), _ACROSS)
    ]
    return Group(legend, *tables, Text("More is better. unbag compare says which differences are chance.", style="dim"))


def _values(results: Sequence[Result], letters: dict[str, str]) -> Table:
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for result in results:
        if result.model["name"] in letters and (score := _score(result)) is not None:
            row = rows.setdefault(_name(result, results, score), {"n": f"{score.estimate.n:,}"})
            row[result.model["name"]] = value(score.estimate)
    table = _empty(*letters.values(), "examples")
    for name, row in rows.items():
        table.add_row(*name, *(row.get(model, "") for model in letters), row["n"])
    return table


def _empty(*numbers: str) -> Table:
    table = Table("set", "", *numbers, box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns[2:]:
        column.justify, column.no_wrap = "right", True
    return table


def _score(result: Result) -> Measured | None:
    described = challenge_sets.find(result.set)  # a set that is not installed here has none
    return None if described is None else described.score(result.scores)


def _name(result: Result, results: Sequence[Result], score: Measured) -> tuple[str, str]:
    """Return what a row is called: the set, with its data where the set comes with several, and its number."""
    data = f"{result.data['name']} {result.data['split']}".strip()
    several = {other.data["name"] + other.data["split"] for other in results if other.set == result.set}
    return (f"{result.set} {data}" if len(several) > 1 else result.set), score.quantity.label
