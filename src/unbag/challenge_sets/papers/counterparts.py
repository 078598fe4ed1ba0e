"""The papers' models beside ours: the published figures that a number of ours has as counterparts."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from unbag.challenge_sets import papers

_CORPUS: Final = "corpus"


class Counterpart(NamedTuple):
    """A column of a paper's table that holds what a number of ours is.

    Attributes:
        paper: in short, e.g. "Nie et al. 2019".
        table: its number.
        column: its name.
        corpus: our name of what all rows were measured on, with or without a split, where the table has no such key.
        same_rows: whether ours are the very rows of the paper where all are asked: a corpus, or the authors' file. A
            set that is made anew has others.
    """

    paper: str
    table: str
    column: str
    corpus: str = ""
    same_rows: bool = False


class Published(NamedTuple):
    """A published figure.

    Attributes:
        model: what was measured, by the table's keys: "ESIM", "ESIM, MultiNLI + SNLI".
        value: a share of 1.
        source: paper and table.
        is_comparable: whether it is of the very rows of ours, where all are asked, and owes nothing to training data.
    """

    model: str
    value: float
    source: str
    is_comparable: bool


def counterparts_of(counterparts: Iterable[Counterpart], corpus: str) -> list[Published]:
    """Return the figures in some columns, in the order of the columns.

    Args:
        counterparts: the columns.
        corpus: what our figure was measured on, e.g. `snli validation`. Only figures on the same corpus are
            counterparts, and on the same split where a table tells splits apart.
    """
    figures = []
    for paper, number, column, of_all, same_rows in counterparts:
        table = papers.table(paper, number)
        for row, value in zip(table.rows, table.shares(column), strict=True):
            keys = {key: cell for key, cell in zip(table.keys, row, strict=False) if cell is not None}
            measured_on = table.corpora.get(str(keys.pop(_CORPUS, "")), of_all)
            if value is None or not measured_on or not f"{corpus} ".startswith(f"{measured_on} "):
                continue
            comparable = same_rows and measured_on == corpus and row[0] in table.untrained
            figures.append(Published(", ".join(map(str, keys.values())), value, table.source, comparable))
    return figures
