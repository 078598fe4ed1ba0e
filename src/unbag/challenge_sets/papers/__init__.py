"""Published results of the papers: every table as printed, with the source. The values are never recomputed.

There is one file per paper. The `rows` of a table begin with cells that identify the measurement (`keys`), followed by
the numbers (`values`), None where the paper has a dash. The files quote numbers only; the descriptions are ours.

`PublishedColumn` connects a metric of a challenge set with the column of a table that reports the same number.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple

_NOT_PRINTED: Final = "-"
_PER_CENT: Final = 100

Cell = str | float | int | None


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper, with its numbers as printed."""

    paper: str  # short name, e.g. "Nie et al. 2019"
    number: str  # number of the table, or of the section for a table without a number
    set: str  # challenge set that the table is about
    about: str  # description in our words, not the paper's caption
    keys: tuple[str, ...]  # names of the columns that identify the measurement
    values: tuple[str, ...]  # names of the columns of numbers. "x ±" holds the standard deviations of the column "x".
    # Unit of each column of `values`: `share` of 1, `percent`, `points` (difference of percentages), or `count`.
    units: Mapping[str, str]
    rows: tuple[tuple[Cell, ...], ...]  # cells, those of `keys` before those of `values`
    corpora: Mapping[str, str]  # map from the paper's names in the key "corpus" to ours (`snli validation`)
    remark: str  # note on the figures for readers
    untrained: tuple[str, ...] = ()  # first cells of the rows that do not depend on training data: humans, rules

    @property
    def source(self) -> str:
        """Citation of the table, e.g. "Nie et al. 2019, Table 5"."""
        # Papers number tables without a dot, and sections like "4.2".
        kind = "section" if "." in self.number else "Table"
        return f"{self.paper}, {kind} {self.number}"

    def read_shares(self, name: str) -> list[float | None]:
        """Read a numeric column of the table as fractions in [0, 1], one per row."""
        if self.units.get(name) not in ("share", "percent"):
            raise ValueError(f"{self.source}: expected a column of shares or percentages, got {name!r}")
        column = len(self.keys) + self.values.index(name)
        divisor = _PER_CENT if self.units[name] == "percent" else 1
        cells = [row[column] for row in self.rows]
        return [None if cell is None else float(cell) / divisor for cell in cells]


@cache
def _load_tables() -> tuple[PaperTable, ...]:
    """Load the tables of all papers, sorted by file name."""
    files = [file for file in resources.files(__name__).iterdir() if file.name.endswith(".toml")]
    papers = [tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(files, key=lambda file: file.name)]
    return tuple(
        _table(paper["short"], paper.get("corpora", {}), record) for paper in papers for record in paper["tables"]
    )


def list_paper_tables(name: str | None = None) -> list[PaperTable]:
    """List the tables of all papers, or only those about one challenge set."""
    all_tables = list(_load_tables())
    if name is None:
        return all_tables
    if set_tables := [table for table in all_tables if table.set == name]:
        return set_tables
    raise ValueError(f"expected one of {', '.join(sorted({table.set for table in all_tables}))}, got {name!r}")


def get_paper_table(short_name: str, table_number: str) -> PaperTable:
    """Look up a table by the paper's short name and the table number."""
    [match] = [one for one in list_paper_tables() if (one.paper, one.number) == (short_name, table_number)]
    return match


def _table(paper: str, corpora: Mapping[str, str], record: Mapping[str, Any]) -> PaperTable:
    return PaperTable(
        paper=paper,
        number=record["number"],
        set=record["set"],
        about=record["about"],
        keys=tuple(record["keys"]),
        values=tuple(record["values"]),
        units=dict.fromkeys(record["values"], record["unit"]) | record.get("units", {}),
        rows=tuple(tuple(None if cell == _NOT_PRINTED else cell for cell in row) for row in record["rows"]),
        corpora=corpora,
        remark=record.get("remark", ""),
        untrained=tuple(record.get("untrained", ())),
    )


_CORPUS: Final = "corpus"


class PublishedColumn(NamedTuple):
    """Column of a table in a paper that reports a metric of a challenge set."""

    paper: str  # short name, e.g. "Nie et al. 2019"
    table: str
    column: str
    corpus: str = ""  # our name of the corpus, with or without a split, if the table has no key "corpus"
    # Whether our complete set has exactly the rows of the paper: a corpus, or the authors' file. A generated set
    # has other rows.
    same_rows: bool = False


class PublishedScore(NamedTuple):
    """A score that a paper published for one model."""

    model: str  # measured model, from the table's keys: "ESIM", "ESIM, MultiNLI + SNLI"
    value: float  # a fraction in [0, 1]
    source: str  # paper and table
    is_comparable: bool  # whether the figure was measured on exactly our rows and does not depend on training data


def list_published_scores(published_columns: Iterable[PublishedColumn], corpus: str) -> list[PublishedScore]:
    """List the published scores for a corpus and split such as `snli validation`, in the order of the given columns.

    Only scores on the same corpus are listed, and on the same split if the table distinguishes splits.
    """
    figures = []
    for paper, number, column, table_corpus, same_rows in published_columns:
        table = get_paper_table(paper, number)
        for row, value in zip(table.rows, table.read_shares(column), strict=True):
            keys = {key: cell for key, cell in zip(table.keys, row, strict=False) if cell is not None}
            measured_on = table.corpora.get(str(keys.pop(_CORPUS, "")), table_corpus)
            # The appended spaces make this a prefix match of whole words: "snli" matches "snli validation".
            if value is None or not measured_on or not f"{corpus} ".startswith(f"{measured_on} "):
                continue
            # A trained model of the paper is not the model that we evaluate, even with the same name.
            comparable = same_rows and measured_on == corpus and row[0] in table.untrained
            figures.append(PublishedScore(", ".join(map(str, keys.values())), value, table.source, comparable))
    return figures
