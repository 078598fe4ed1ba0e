"""One row of a table, its number and its place in words, and what columns may be called."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from unbag.utils.safe_io import MOST_COLUMNS, DataError


class Row(NamedTuple):
    """One row: its number from 0, its place in words, its values by column."""

    number: int
    place: str
    values: Mapping[str, Any]


def cell(row: Row, name: str) -> Any:
    """Return a row's value in a column.

    Raises:
        DataError: if it has none: each line of a jsonl file has keys of its own.
    """
    if name not in row.values:
        raise DataError(f"{row.place}: expected a value of {name!r} as in the first row, found {list(row.values)[:20]}")
    return row.values[name]


def require_once(names: Sequence[str], place: object) -> None:
    """Refuse columns of one name, but those without any: nobody reads them, and spreadsheets write several.

    Raises:
        DataError: naming them; also if there are too many columns.
    """
    require_few(names, place)
    if twice := named_twice(names):
        raise DataError(f"{place}: {twice}")


def require_few(names: Collection[str], place: object) -> None:
    """Refuse more columns than SECURITY.md allows.

    Raises:
        DataError: saying how many there are.
    """
    if len(names) > MOST_COLUMNS:
        raise DataError(f"{place}: expected at most {MOST_COLUMNS:,} columns, found {len(names):,}")


def named_twice(names: Sequence[str]) -> str:
    """Return what is wrong with names of columns; nothing if each is there once."""
    repeated = [name for name, n in Counter(names).items() if name and n > 1]
    message = (
        f"expected each name once, found {' and '.join(map(repr, repeated))} again; leave out or rename all but one"
    )
    return message if repeated else ""
