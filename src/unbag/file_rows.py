"""Files of rows: csv, tsv, jsonl and Parquet, told apart by how their names end."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from unbag.parquet_rows import parquet_spans, read_parquet
from unbag.row import Row
from unbag.row_starts import Start, jsonl_starts, separated_starts
from unbag.text_rows import FIRST, read_csv, read_jsonl, read_tsv
from unbag.utils.hashing import file_hash
from unbag.utils.safe_io import DataError, require_file

_PARQUET: Final = ".parquet"
_TEXT: Final[Mapping[str, tuple[Callable[[Path, Start], Iterator[Row]], Callable[[Path, int], Iterator[Start]]]]] = {
    ".csv": (read_csv, partial(separated_starts, quotes=True)),
    ".tsv": (read_tsv, partial(separated_starts, quotes=False)),
    ".jsonl": (read_jsonl, jsonl_starts),
}
"""By the ending of a file of text, what reads its rows, and what finds where they begin."""

ENDINGS: Final = (*_TEXT, _PARQUET)


@dataclass(frozen=True)
class File:
    """A csv, tsv, jsonl or parquet file."""

    path: Path
    columns: Sequence[str]
    _starts: list[Start] = field(default_factory=list, repr=False, compare=False)  # known once `spans` was asked for

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """Yield a range of rows; of a text file whose `spans` nobody asked for, all lines before it are read too."""
        if kind_of(self.path) == _PARQUET:
            return read_parquet(self.path, start, stop)
        read, _ = _TEXT[kind_of(self.path)]
        nearest = bisect_right(self._starts, start, key=lambda at: at.row)
        begin = self._starts[nearest - 1] if nearest else FIRST
        rows = read(self.path, begin)
        return islice(rows, start - begin.row, None if stop is None else max(start, stop) - begin.row)

    def label_names(self, column: str) -> Sequence[str] | None:
        """Return None: a file does not name its label ids."""
        return None

    def spans(self, size: int) -> tuple[tuple[int, int | None], ...]:
        """Return ranges of about `size` rows; of Parquet within row groups; one open range of what is compressed."""
        if kind_of(self.path) == _PARQUET:
            return tuple(parquet_spans(self.path, size))
        if self.path.suffix == ".gz":
            return ((0, None),)
        _, find = _TEXT[kind_of(self.path)]
        self._starts[:] = find(self.path, size)
        firsts = [at.row for at in self._starts]
        return tuple(zip([0, *firsts], [*firsts, None], strict=True))

    def sha256(self) -> str:
        """Return the hash of the file's bytes."""
        return file_hash(self.path)


def open_file(path: Path) -> File:
    """Open a file by its ending.

    Raises:
        DataError: if it is not there, no file, of another kind, or has no rows.
    """
    require_file(path)
    if kind_of(path) not in ENDINGS:
        raise DataError(f"{path}: expected a file that ends in {', '.join(ENDINGS)} (or one of these and .gz)")
    first = next(File(path, ()).read(), None)
    if first is None:
        raise DataError(f"{path}: the file has no rows")
    return File(path, list(first.values))


def kind_of(path: Path) -> str:
    """Return the ending of a file's name, of one that is compressed the one before."""
    return path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix
