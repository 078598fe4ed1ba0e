"""Published results that correspond to metrics of the challenge sets."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from unbag.challenge_sets import papers

_CORPUS: Final = "corpus"


class PublishedColumn(NamedTuple):
    """A column of a paper's table that reports the same metric as one of ours.

    Attributes:
        paper: Short name of the paper, e.g. "Nie et al. 2019".
        table: Number of the table.
        column: Name of the column.
        corpus: Our name of the corpus, with or without a split, if the table has no key "corpus".
        same_rows: Whether our complete set has exactly the rows of the paper: a corpus, or the authors' file. A
            generated set has other rows.
    """

    paper: str
    table: str
    column: str
    corpus: str = ""
    same_rows: bool = False


class PublishedScore(NamedTuple):
    """A score that a paper published for one model.

    Attributes:
        model: Measured model, from the table's keys: "ESIM", "ESIM, MultiNLI + SNLI".
        value: Value, a fraction in [0, 1].
        source: Paper and table.
        is_comparable: Whether the figure was measured on exactly our rows and does not depend on training data.
    """

    model: str
    value: float
    source: str
    is_comparable: bool


def list_published_scores(published_columns: Iterable[PublishedColumn], corpus: str) -> list[PublishedScore]:
    """List the published results in columns of papers, in column order.

    Args:
        published_columns: Columns of papers' tables.
        corpus: Corpus and split of our figure, e.g. `snli validation`. Only figures on the same corpus are listed, and
            on the same split if the table distinguishes splits.
    """
    figures = []
    for paper, number, column, table_corpus, same_rows in published_columns:
        table = papers.get_paper_table(paper, number)
        for row, value in zip(table.rows, table.read_shares(column), strict=True):
            keys = {key: cell for key, cell in zip(table.keys, row, strict=False) if cell is not None}
            measured_on = table.corpora.get(str(keys.pop(_CORPUS, "")), table_corpus)
            # The appended spaces make this a prefix match of whole words: "snli" matches "snli validation".
            if value is None or not measured_on or not f"{corpus} ".startswith(f"{measured_on} "):
                continue
            comparable = same_rows and measured_on == corpus and row[0] in table.untrained
            figures.append(PublishedScore(", ".join(map(str, keys.values())), value, table.source, comparable))
    return figures
