"""Published tables of the papers for the terminal and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag.challenge_sets.papers import Cell, PaperTable

DEVIATION: Final = " ±"
"""Suffix of column names with standard deviations."""


def format_cells(table: PaperTable) -> tuple[list[str], list[list[str]]]:
    """Format the column names and cells of a table. A mean and its standard deviation share a column."""
    names = [*table.keys, *table.values]
    # The number of decimals is that of the longest number of a column, because the file has no trailing zeros.
    cells = dict(zip(names, zip(*table.rows, strict=True), strict=True))
    decimals = {
        name: max((len(repr(cell).partition(".")[2]) for cell in column if isinstance(cell, float)), default=0)
        for name, column in cells.items()
    }
    columns = [name for name in names if not name.endswith(DEVIATION)]
    rows = []
    for row in table.rows:
        by_name = dict(zip(names, row, strict=True))
        texts = {name: _text(by_name[name], decimals[name]) for name in names}
        rows.append([" ±".join(texts[each] for each in (name, name + DEVIATION) if each in texts) for name in columns])
    return columns, rows


def build_paper_view(table: PaperTable) -> RenderableType:
    """Build a terminal view of a paper's table that fits into 80 columns."""
    names, rows = format_cells(table)
    title = f"{table.source} · {table.about}{format_unit(table.units)}"
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column, name in enumerate(names):
        is_number = name in table.values
        # Numbers are never wrapped; only headings and model names are.
        least = max(len(row[column]) for row in rows) if is_number else None
        grid.add_column(name, justify="right" if is_number else "left", overflow="fold", min_width=least)
    for row in rows:
        grid.add_row(*row)
    return Group(Text(title, style="italic"), grid, *([Text(table.remark, style="dim")] if table.remark else []))


def convert_tables_to_json(tables: Sequence[PaperTable]) -> list[dict[str, Any]]:
    """Convert tables to JSON objects. Each row becomes an object whose keys are the column names."""
    return [
        {
            "source": table.source,
            "set": table.set,
            "about": table.about,
            "units": dict(table.units),
            "rows": [dict(zip((*table.keys, *table.values), row, strict=True)) for row in table.rows],
            **({"remark": table.remark} if table.remark else {}),
        }
        for table in tables
    ]


def format_unit(units: Mapping[str, str]) -> str:
    """Format the unit of a table for its title, such as ", in percent". Return an empty string for fractions."""
    return ", in percent" if "percent" in units.values() else ""


def _text(cell: Cell, decimals: int) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    return f"{cell:,.{decimals if isinstance(cell, float) else 0}f}"
