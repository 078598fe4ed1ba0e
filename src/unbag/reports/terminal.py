"""Terminal tables: one per set, the summary with the verdict, and the cross-domain table.

The cross-domain table has the accuracy of each model on each corpus (ReSNLI paper, Table 2).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views import verifier
from unbag.challenge_sets.views.tables import count, interval, value
from unbag.evaluation.quantities import compute_verdicts
from unbag.evaluation.verdict import MARKS, TOO_FEW_ROWS, SetVerdict, describe_scale, format_verdict
from unbag.reports.reproduce import remarks
from unbag.utils.files import atomic_write
from unbag.utils.terminal import create_console

_ACROSS: Final = 5  # models beside each other in 80 columns
_LEGEND: Final = ", ".join(f"{mark} {standing}" for standing, mark in MARKS.items())


def summary(results: Sequence[Result]) -> RenderableType:
    """Build the table of skill scores, one row per set in the order of the results, and the verdicts.

    One model is shown with intervals and its baselines, several models with their values side by side.
    """
    by_model = compute_verdicts(results)
    names = list(by_model)
    sentences = [
        Text(f"Verdict{_of(name, names)}: {format_verdict(each)}", style="bold") for name, each in by_model.items()
    ]
    every = [each for of_one in by_model.values() for each in of_one]
    if len(names) > 1:
        return Group(_several(by_model, results), Text(f"{describe_scale(every)} {_LEGEND}.", style="dim"), *sentences)
    if len(every) == 1:
        [one] = every
        if one.score.value is None:
            line = f"No skill score: {TOO_FEW_ROWS}."
        else:
            line = f"Skill score {interval(one.score)}, {one.score.n:,} rows. {describe_scale(every)}"
        return Group(Text(line), *sentences)
    table = _empty("model", "shuffled", "lexical", "skill [95 %]", "")
    few = next((each.reason for each in every if each.reason), "")
    for each in every:
        parts = (_part(value) for value in (each.model, each.shuffled, each.lexical))
        mark = "*" if each.reason else ""
        table.add_row(name_of(each.result, results), *parts, interval(each.score), f"{each.standing}{mark}")
    if all(each.score.value is None for each in every):
        note = f"No skill score: {TOO_FEW_ROWS}."
        return Group(Text(names[0], style="italic"), table, Text(note, style="dim"), *sentences)
    note = f"In the first three columns 0 is chance. Skill score: {describe_scale(every)}"
    note += f" * Inconclusive whatever the interval: {few}." if few else ""
    return Group(Text(names[0], style="italic"), table, Text(note, style="dim"), *sentences)


def _part(share: float | None) -> str:
    return "" if share is None else f"{share:.3f}"


def _several(by_model: Mapping[str, Sequence[SetVerdict]], results: Sequence[Result]) -> RenderableType:
    letters = {model: chr(ord("A") + index) if index < 26 else str(index + 1) for index, model in enumerate(by_model)}
    parts: list[RenderableType] = [Text("\n".join(f"{letter}  {model}" for model, letter in letters.items()))]
    names = list(letters)
    for start in range(0, len(names), _ACROSS):
        columns = names[start : start + _ACROSS]
        rows: dict[str, dict[str, str]] = {}
        for model in columns:
            for each in by_model[model]:
                row = rows.setdefault(name_of(each.result, results), {"n": count(each.score)})
                row[model] = f"{value(each.score)} {MARKS[each.standing]}"
        table = _empty(*(letters[model] for model in columns), "rows")
        for name, row in rows.items():
            table.add_row(name, *(row.get(model, "") for model in columns), row["n"])
        parts.append(table)
    return Group(*parts, Text("Skill scores; `unbag compare` tests the difference of two models.", style="dim"))


def _empty(*numbers: str) -> Table:
    table = Table("set", *numbers, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    return table


def _of(name: str, names: Sequence[str]) -> str:
    return f" on {name}" if len(names) > 1 else ""


def name_of(result: Result, results: Sequence[Result]) -> str:
    """Build the name of a row: the display name of the set, with its corpus if the set was evaluated on several."""
    several = {other.corpus for other in results if other.set == result.set}
    title = challenge_sets.display_name(result.set)
    return f"{title} {result.corpus}" if len(several) > 1 else title


def cross_table(results: Sequence[Result]) -> RenderableType:
    """Build the cross-domain table from results on the plain set: one row per corpus and model."""
    models = list(dict.fromkeys(result.model["name"] for result in results))
    corpora = list(dict.fromkeys(result.corpus for result in results))
    scores = {(result.model["name"], result.corpus): result.scores for result in results}
    table = Table("tested on", "model", "accuracy [95 %]", "n", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns[2:]:
        column.justify = "right"
    for corpus in corpora:
        for model in models:
            accuracy = scores[model, corpus]["accuracy"]
            first, last = model == models[0], model == models[-1]
            table.add_row(corpus if first else "", model, interval(accuracy), f"{accuracy.n:,}", end_section=last)
    majorities = ", ".join(f"{corpus} {scores[models[0], corpus]['majority']:.3f}" for corpus in corpora)
    notes = [Text(f"{result.corpus}: {each}") for result in results for each in remarks(result)]
    return Group(table, Text(f"Best constant prediction: {majorities}.", style="dim"), *notes)


FILE: Final = "table.txt"


def view(result: Result) -> RenderableType:
    """Build the view of one result: the table of its set, a sentence that sums it up, and warnings."""
    tables = challenge_sets.get(result.set).module("table")
    reading = tables.reading(result)
    warning = result.model.get("label_probe_warning")
    warnings = [Text(f"{result.model['name']} {warning}.")] if warning else []
    warnings += [Text(each) for each in remarks(result)]
    return Group(tables.table(result), Text(f"{reading[0].upper()}{reading[1:]}"), *_verifier(result), *warnings)


def _verifier(result: Result) -> list[RenderableType]:
    """Build the table of the scores as a verifier on unchanged pairs. Reports have those of every set."""
    if not challenge_sets.get(result.set).is_control or (table := verifier.table(result)) is None:
        return []
    return [Text(), table, *map(Text, verifier.sentences(result))]


def views(results: Sequence[Result], *, crossed: bool = False) -> list[RenderableType]:
    """Build the view of each result; with `crossed`, one cross-domain table of all results."""
    return [cross_table(results)] if crossed else [view(result) for result in results]


def together(results: Sequence[Result]) -> list[RenderableType]:
    """Build the views that sum up several results: the skill score on each set, and the verdict."""
    return [summary(results)]


def write(renderables: Sequence[RenderableType], path: Path) -> None:
    """Write views to a text file, 80 columns wide."""
    with atomic_write(path) as tmp, tmp.open("w", encoding="utf-8") as file:
        show(renderables, create_console(file=file, width=80))


def show(renderables: Sequence[RenderableType], to: Console) -> None:
    """Print views with an empty line after each."""
    for renderable in renderables:
        to.print(renderable)
        to.print()
