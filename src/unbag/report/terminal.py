"""Results as tables that fit a terminal."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.text import Text

from unbag.files import whole
from unbag.results import Result


def view(result: Result) -> RenderableType:
    """Return one result as its set's table with its verdict."""
    tables = import_module(f"unbag.report.tables.{result.set}")
    return Group(tables.table(result), Text(f"Verdict: {tables.verdict(result)}", style="bold"))


def write(results: Sequence[Result], path: Path) -> None:
    """Write what `show` prints as a text file, 80 columns wide."""
    with whole(path) as beside, beside.open("w", encoding="utf-8") as file:
        show(results, Console(file=file, width=80, highlight=False))


def show(results: Sequence[Result], console: Console) -> None:
    """Print results."""
    for result in results:
        console.print(view(result))
