"""All sets at a glance: the score beyond words of every model, and the verdict."""

from collections.abc import Mapping, Sequence
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import count, interval, value
from unbag.evaluation.quantities import verdicts
from unbag.evaluation.verdict import MARKS, TOO_FEW_ROWS, SetVerdict, scale, sentence

_ACROSS: Final = 5  # models beside each other in 80 columns
_LEGEND: Final = ", ".join(f"{mark} {standing}" for standing, mark in MARKS.items())


def view(results: Sequence[Result]) -> RenderableType:
    """Return a row for each set, in the order of the results: interval and n of one model, or the values of several."""
    found = verdicts(results)
    names = list(found)
    sentences = [Text(f"Verdict{_of(name, names)}: {sentence(each)}", style="bold") for name, each in found.items()]
    asked = [each for of_one in found.values() for each in of_one]
    if len(names) > 1:
        return Group(_several(found, results), Text(f"{scale(asked)} {_LEGEND}.", style="dim"), *sentences)
    if len(asked) == 1:
        [one] = asked
        if one.score.value is None:
            line = f"No score beyond words: {TOO_FEW_ROWS}."
        else:
            line = f"Beyond words {interval(one.score)}, {one.score.n:,} rows. {scale(asked)}"
        return Group(Text(line), *sentences)
    table = _empty("model", "shuffled", "lexical", "beyond words [95 %]", "")
    for each in asked:
        parts = (_part(value) for value in (each.model, each.shuffled, each.lexical))
        table.add_row(name_of(each.result, results), *parts, interval(each.score), each.standing)
    told = f"On the left 0 is chance. Beyond words {scale(asked)}"
    return Group(Text(names[0], style="italic"), table, Text(told, style="dim"), *sentences)


def _part(share: float | None) -> str:
    return "" if share is None else f"{share:.3f}"


def _several(found: Mapping[str, Sequence[SetVerdict]], results: Sequence[Result]) -> RenderableType:
    letters = {model: chr(ord("A") + index) if index < 26 else str(index + 1) for index, model in enumerate(found)}
    parts: list[RenderableType] = [Text("\n".join(f"{letter}  {model}" for model, letter in letters.items()))]
    names = list(letters)
    for start in range(0, len(names), _ACROSS):
        shown = names[start : start + _ACROSS]
        rows: dict[str, dict[str, str]] = {}
        for model in shown:
            for each in found[model]:
                row = rows.setdefault(name_of(each.result, results), {"n": count(each.score)})
                row[model] = f"{value(each.score)} {MARKS[each.standing]}"
        table = _empty(*(letters[model] for model in shown), "rows")
        for name, row in rows.items():
            table.add_row(name, *(row.get(model, "") for model in shown), row["n"])
        parts.append(table)
    return Group(*parts, Text("Score beyond words; unbag compare tests two models.", style="dim"))


def _empty(*numbers: str) -> Table:
    table = Table("set", *numbers, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    return table


def _of(name: str, names: Sequence[str]) -> str:
    return f" on {name}" if len(names) > 1 else ""


def name_of(result: Result, results: Sequence[Result]) -> str:
    """Return the name of a row: the set's display name, with its data where the set comes with several."""
    several = {other.corpus for other in results if other.set == result.set}
    title = challenge_sets.display_name(result.set)
    return f"{title} {result.corpus}" if len(several) > 1 else title
