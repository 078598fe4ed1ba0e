"""Results as tables that fit a terminal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.text import Text

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.report import cross, summary
from unbag.report.remarks import remarks
from unbag.utils.files import atomic_write
from unbag.utils.terminal import console

FILE: Final = "table.txt"


def view(result: Result) -> RenderableType:
    """Return one result as its set's table with what that says in words."""
    tables = challenge_sets.get(result.set).module("table")
    reading = tables.reading(result)
    warning = result.model.get("label_probe_warning")
    warnings = [Text(f"{result.model['name']} {warning}.")] if warning else []
    warnings += [Text(each) for each in remarks(result)]
    return Group(tables.table(result), Text(f"{reading[0].upper()}{reading[1:]}"), *warnings)


def views(results: Sequence[Result], *, crossed: bool = False) -> list[RenderableType]:
    """Return each result's view; or one table of all, where they are models `crossed` with corpora."""
    return [cross.view(results)] if crossed else [view(result) for result in results]


def together(results: Sequence[Result]) -> list[RenderableType]:
    """Return what results are together: the score beyond words on each set, and the verdict."""
    return [summary.view(results)]


def write(renderables: Sequence[RenderableType], path: Path) -> None:
    """Write views as a text file, 80 columns wide."""
    with atomic_write(path) as tmp, tmp.open("w", encoding="utf-8") as file:
        show(renderables, console(file=file, width=80))


def show(renderables: Sequence[RenderableType], to: Console) -> None:
    """Print views, an empty line after each."""
    for renderable in renderables:
        to.print(renderable)
        to.print()
