"""The papers' own figures: every table of numbers, as printed, with its source; typed in once, never recomputed.

One file a paper. A table's `rows` have first the cells that say what was measured (`keys`), then the numbers
(`values`), None where the paper has a dash. Figures only; the words that describe a table are ours.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

UNITS: Final = ("share", "percent", "points", "count")
"""What a number may be: a share of 1, per cent, a difference of percentages, a number of things."""

_NOT_PRINTED: Final = "-"
_PER_CENT: Final = 100

Cell = str | float | int | None


@dataclass(frozen=True)
class PaperTable:
    """One table of a paper.

    Attributes:
        paper: the paper in short, e.g. "Nie et al. 2019".
        number: the table's number; a section's where the paper gives it none.
        set: the challenge set that it is about.
        about: what it shows, in our words.
        keys: names of the columns that say what was measured.
        values: names of the columns of numbers; "x ±" holds the standard deviations of the column "x".
        units: the unit of each column of `values`.
        rows: the cells, those of `keys` before those of `values`.
        corpora: our name (`snli validation`) by the paper's, of the cells in the key "corpus".
        remark: what a reader should know of the figures.
        untrained: the first cells of the rows that owe nothing to training data: people, rules.
    """

    paper: str
    number: str
    set: str
    about: str
    keys: tuple[str, ...]
    values: tuple[str, ...]
    units: Mapping[str, str]
    rows: tuple[tuple[Cell, ...], ...]
    corpora: Mapping[str, str]
    remark: str
    untrained: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Where the figures are printed, e.g. "Nie et al. 2019, Table 5"."""
        kind = "section" if "." in self.number else "Table"
        return f"{self.paper}, {kind} {self.number}"

    def shares(self, name: str) -> list[float | None]:
        """Return a column of `values` by row, as shares of 1.

        Raises:
            ValueError: if there is no such column, or it holds neither shares nor percentages.
        """
        if self.units.get(name) not in ("share", "percent"):
            raise ValueError(f"{self.source}: expected a column of shares among {self.values}, found {name!r}")
        column = len(self.keys) + self.values.index(name)
        divisor = _PER_CENT if self.units[name] == "percent" else 1
        cells = [row[column] for row in self.rows]
        return [None if cell is None else float(cell) / divisor for cell in cells]


@dataclass(frozen=True)
class Paper:
    """A paper and its tables, in the order of the paper."""

    short: str
    title: str
    authors: str
    year: int
    url: str
    tables: tuple[PaperTable, ...]


@cache
def papers() -> tuple[Paper, ...]:
    """Return the papers, by name of their file."""
    files = [file for file in resources.files(__name__).iterdir() if file.name.endswith(".toml")]
    return tuple(
        _read(tomllib.loads(file.read_text(encoding="utf-8"))) for file in sorted(files, key=lambda file: file.name)
    )


def tables(name: str | None = None) -> list[PaperTable]:
    """Return all tables, or those about one challenge set.

    Raises:
        ValueError: if no table is about it.
    """
    all_tables = [table for paper in papers() for table in paper.tables]
    if name is None:
        return all_tables
    if about := [table for table in all_tables if table.set == name]:
        return about
    raise ValueError(f"expected one of {', '.join(sorted({table.set for table in all_tables}))}, found {name!r}")


def table(short: str, number: str) -> PaperTable:
    """Return one table by its paper and number."""
    [match] = [one for one in tables() if (one.paper, one.number) == (short, number)]
    return match


def _read(record: dict[str, Any]) -> Paper:
    fields = {name: record[name] for name in ("short", "title", "authors", "year", "url")}
    corpora = record.get("corpora", {})
    return Paper(**fields, tables=tuple(_table(record["short"], corpora, **one) for one in record["tables"]))


def _table(
    paper: str,
    corpora: Mapping[str, str],
    *,
    values: list[str],
    unit: str,
    rows: list[list[Cell]],
    keys: list[str],
    units: Mapping[str, str] | None = None,
    remark: str = "",
    untrained: list[str] | None = None,
    **fields: str,
) -> PaperTable:
    return PaperTable(
        paper=paper,
        keys=tuple(keys),
        values=tuple(values),
        units={name: unit for name in values} | dict(units or {}),
        rows=tuple(tuple(None if cell == _NOT_PRINTED else cell for cell in row) for row in rows),
        corpora=corpora,
        remark=remark,
        untrained=tuple(untrained or ()),
        **fields,
    )
