"""Readers of rows from csv, tsv, jsonl and Parquet files and from Hub data sets.

Each row knows its number and its place for error messages. Several processes can each read a part of a text file: the
file is passed over once, line by line and without parsing, to find where rows begin. Where a line of csv has quotation
marks, the csv reader itself finds the end of the row, since a quoted cell may contain line breaks.
"""

import csv
import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, islice, pairwise
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol

from unbag.utils.hashing import content_hash, file_hash
from unbag.utils.hub import HubReadError, hub_read, missing_repo_message
from unbag.utils.offline import unless_unreachable
from unbag.utils.redaction import first_line
from unbag.utils.retries import was_reached
from unbag.utils.safe_io import MOST_COLUMNS, DataError, lines, parse_json, validate_file


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


def validate_unique_columns(names: Sequence[str], place: object) -> None:
    """Refuse columns of one name, but those without any: nobody reads them, and spreadsheets write several.

    Raises:
        DataError: naming them; also if there are too many columns.
    """
    validate_column_count(names, place)
    if twice := named_twice(names):
        raise DataError(f"{place}: {twice}")


def validate_column_count(names: Collection[str], place: object) -> None:
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


_PARTS: Final = 16
"""The most parts of a row group: where one begins is found by decoding what is before it in the group, which takes a
hundredth of the time of making rows of it."""


def read_parquet(path: Path, start: int = 0, stop: int | None = None) -> Iterator[Row]:
    """Yield a range of the rows of a Parquet file; row groups outside of it are not read.

    Raises:
        DataError: if it cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from unbag.data import parquet

    number = start
    try:
        bounds = list(pairwise(_bounds(pq.read_metadata(path))))
        groups = [i for i, (first, end) in enumerate(bounds) if end > start and (stop is None or first < stop)]
        if not groups:
            return
        first = bounds[groups[0]][0]  # row of the batch
        for batch in parquet.batches(path, path, path.stat().st_size, groups):
            if number == start:
                validate_unique_columns(batch.schema.names, path)
            n = batch.num_rows
            wanted = batch[max(0, start - first) : n if stop is None else max(0, stop - first)]
            columns = [_values(wanted, name, path) for name in wanted.schema.names]
            for cells in zip(*columns, strict=True):
                yield Row(number, f"{path}, row {number}", dict(zip(wanted.schema.names, cells, strict=True)))
                number += 1
            first += n
    except (pa.ArrowException, OSError, UnicodeError) as error:  # names of columns may be any bytes
        raise DataError(f"{path}, after {number:,} rows: {first_line(error)}") from None


def parquet_spans(path: Path, size: int) -> list[tuple[int, int | None]]:
    """Return ranges of rows that cover a Parquet file, none in two row groups, each of at least about `size` rows.

    Raises:
        DataError: if it cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        groups = list(pairwise(_bounds(pq.read_metadata(path))))
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: {first_line(error)}") from None
    firsts = [row for first, end in groups for row in range(first, end, max(size, ceil((end - first) / _PARTS)))]
    return list(zip(firsts or [0], [*firsts[1:], None], strict=True))


def _bounds(metadata: Any) -> list[int]:
    """Return the first row of each row group, and the number of all rows."""
    return list(accumulate((metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)), initial=0))


def _values(batch: Any, name: str, path: Path) -> Sequence[Any]:
    """Return the values of a column, of whatever type: of some, not all are values of Python."""
    column = batch.column(batch.schema.names.index(name))
    try:
        values: Sequence[Any] = column.to_pylist()
    except (ValueError, ArithmeticError, LookupError, ImportError, NotImplementedError) as error:
        raise DataError(f"{path}: the column {name!r} cannot be read ({column.type}: {first_line(error)})") from None
    return values


class Start(NamedTuple):
    """Where a row begins: its number from 0, how many lines are before it, and how many bytes."""

    row: int
    lines: int
    bytes: int


def csv_delimiter(path: Path) -> str:
    """Return what separates the cells of a csv file: a semicolon where its header has that and no comma.

    Spreadsheets write semicolons in languages whose numbers have a decimal comma.

    Raises:
        DataError: if the file cannot be read.
    """
    for number, line in lines(path):
        if not _is_blank_record(number, line):
            try:
                cells = next(csv.reader([_text(number, line)]), [])
            except csv.Error:  # a damaged header, which `text_rows` reports with its line
                break
            return ";" if len(cells) == 1 and ";" in cells[0] else ","
    return ","


def jsonl_starts(path: Path, every: int) -> Iterator[Start]:
    """Yield where each `every`th row of a jsonl file begins, but not the first.

    Raises:
        DataError: if the file cannot be read, or a line is too long.
    """
    return _starts(path, every, _is_blank_json, header=False, quotes=False)


def separated_starts(path: Path, every: int, *, quotes: bool) -> Iterator[Start]:
    """Yield where each `every`th row behind the header of a csv or tsv file begins, but not the first.

    It ends early at what is no csv: who reads on from the last start is told what is wrong there.

    Args:
        path: the file, as `jsonl_starts` takes it.
        every: how many rows lie between two starts.
        quotes: whether a quotation mark begins a cell in which a line may end; it is a character like others in a tsv.

    Raises:
        DataError: see `jsonl_starts`.
    """
    return _starts(path, every, _is_blank_record, header=True, quotes=quotes)


def _starts(
    path: Path, every: int, is_blank: Callable[[int, bytes], bool], *, header: bool, quotes: bool
) -> Iterator[Start]:
    stream = lines(path)
    row = -1 if header else 0
    done = 0  # bytes
    delimiter = csv_delimiter(path) if quotes else ","
    for number, line in stream:
        if not is_blank(number, line):
            if row > 0 and row % every == 0:
                yield Start(row, number - 1, done)
            row += 1
            if quotes and b'"' in line:
                try:
                    done += _bytes_behind(_text(number, line), stream, delimiter)
                except csv.Error:
                    return
        done += len(line)


def _bytes_behind(line: str, following: Iterator[tuple[int, bytes]], delimiter: str) -> int:
    """Take the lines that belong to the row that a line begins, and return how many bytes they have."""
    taken = 0

    def row() -> Iterator[str]:
        nonlocal taken
        yield line
        for number, more in following:
            taken += len(more)
            yield _text(number, more)

    next(csv.reader(row(), delimiter=delimiter, strict=True))
    return taken


def _is_blank_json(number: int, line: bytes) -> bool:
    """Tell whether a line has nothing but white space, as the reader of jsonl files sees it."""
    if line.startswith(b"{"):  # at once, for there are millions
        return False
    return not _text(number, line).strip()


def _text(number: int, line: bytes) -> str:
    """Return a line as it is read, but that what is not UTF-8 passes: whoever reads the row says what is wrong."""
    return line.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace")


def _is_blank_record(number: int, line: bytes) -> bool:
    """Tell whether a line has nothing, as the reader of csv files sees it."""
    return not line.strip(b"\r\n")


FIRST: Final = Start(0, 0, 0)
"""The beginning of a file."""


def read_csv(path: Path, start: Start = FIRST) -> Iterator[Row]:
    """Yield the rows of a csv file, from a start on; its cells are separated by commas, or by semicolons.

    Raises:
        DataError: at the first line that is none, naming it.
    """
    return _read_separated(path, csv_delimiter(path), csv.QUOTE_MINIMAL, start)


def read_tsv(path: Path, start: Start = FIRST) -> Iterator[Row]:
    """Yield the rows of a tsv file, from a start on.

    They are as NLI's are written (SNLI, HANS): a quotation mark is a character of the sentence.

    Raises:
        DataError: see `read_csv`.
    """
    return _read_separated(path, "\t", csv.QUOTE_NONE, start)


def read_jsonl(path: Path, start: Start = FIRST) -> Iterator[Row]:
    """Yield the rows of a jsonl file, from a start on.

    Raises:
        DataError: see `read_csv`.
    """
    decode = json.JSONDecoder(object_pairs_hook=_object).decode
    filled = ((number, text) for number, text in _lines(path, start) if text.strip())
    for row_number, (line_number, line) in enumerate(filled, start=start.row):
        place = f"{path}, line {line_number}"
        try:
            values = parse_json(line, decode)
        except json.JSONDecodeError as error:
            raise DataError(f"{place}: not JSON ({error})") from None
        except ValueError as error:
            raise DataError(f"{place}: {error}") from None
        if not isinstance(values, dict):
            raise DataError(f"{place}: expected one JSON object a line, found {type(values).__name__}")
        validate_column_count(values, place)
        yield Row(row_number, place, values)


def _lines(path: Path, start: Start = FIRST) -> Iterator[tuple[int, str]]:
    """Yield line numbers from 1 and lines, decoded one by one so that a broken one can be named."""
    for number, line in lines(path, start=start.bytes, before=start.lines):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1}); "
                "save the file as UTF-8"
            ) from None
        yield number, text


def _read_separated(path: Path, delimiter: str, quoting: Literal[0, 3], start: Start) -> Iterator[Row]:
    def reader_from(begin: Start) -> Any:
        texts = (line for _, line in _lines(path, begin))
        return csv.reader(texts, delimiter=delimiter, quoting=quoting, strict=True)

    reader, before = reader_from(FIRST), 0
    try:
        header = next(reader, None)
        if header is None:
            return
        validate_unique_columns(header, path)
        if start.row:
            reader, before = reader_from(start), start.lines
        for number, cells in enumerate((row for row in reader if row), start=start.row):
            place = f"{path}, line {before + reader.line_num}"
            if len(cells) != len(header):
                raise DataError(f"{place}: expected {len(header)} cells ({', '.join(header)}), found {len(cells)}")
            yield Row(number, place, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise DataError(f"{path}, line {before + reader.line_num}: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs) and (twice := named_twice([name for name, _ in pairs])):
        raise ValueError(twice)
    return values


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
    validate_file(path)
    if kind_of(path) not in ENDINGS:
        raise DataError(f"{path}: expected a file that ends in {', '.join(ENDINGS)} (or one of these and .gz)")
    first = next(File(path, ()).read(), None)
    if first is None:
        raise DataError(f"{path}: the file has no rows")
    return File(path, list(first.values))


def kind_of(path: Path) -> str:
    """Return the ending of a file's name, of one that is compressed the one before."""
    return path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix


_BATCH = 1000


class Table(Protocol):
    """Rows that can be read again and again."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns' names."""
        ...

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """Yield a range of rows."""
        ...

    def label_names(self, column: str) -> Sequence[str] | None:
        """Return the names that are stored with the data for a column's label ids, if any."""
        ...

    def spans(self, size: int) -> tuple[tuple[int, int | None], ...]:
        """Return ranges of about `size` rows that cover the table; one open range where rows have no random access."""
        ...


@dataclass(frozen=True)
class HubTable:
    """One split of a data set on the Hub, memory-mapped from the cache or streamed."""

    name: str
    data: Any  # datasets.Dataset or IterableDataset

    @property
    def columns(self) -> Sequence[str]:
        """The columns' names."""
        return list(self.data.column_names or self.data.features or next(iter(self.data)))

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """Yield a range of rows."""
        data = self.data
        if hasattr(data, "num_rows"):
            data = data.select(range(start, data.num_rows if stop is None else min(stop, data.num_rows)))
        else:
            data = data.skip(start) if stop is None else data.skip(start).take(stop - start)
        number = start
        for batch in data.iter(batch_size=_BATCH):
            for values in zip(*batch.values(), strict=True):
                yield Row(number, f"{self.name}, row {number}", dict(zip(batch, values, strict=True)))
                number += 1

    def label_names(self, column: str) -> Sequence[str] | None:
        """Return the names of a `ClassLabel` column."""
        return getattr((self.data.features or {}).get(column), "names", None)

    def spans(self, size: int) -> tuple[tuple[int, int | None], ...]:
        """Return ranges of `size` rows; one open range for a stream."""
        if not hasattr(self.data, "num_rows"):
            return ((0, None),)
        n = self.data.num_rows
        return tuple((start, min(start + size, n)) for start in range(0, n, size)) or ((0, 0),)

    def content_hash(self, columns: Sequence[str]) -> str:
        """Return the hash of the named columns' rows (`unbag.utils.hashing`)."""
        return content_hash(self.data.with_format("arrow").iter(batch_size=_BATCH), columns)


def is_hub_id(name: str) -> bool:
    """Tell whether a name is that of a data set on the Hub: `org/name`, and no file that is there or could be.

    >>> is_hub_id("org/my.pairs"), is_hub_id("folder/pairs.csv"), is_hub_id("./model")
    (True, False, False)
    """
    path = Path(name)
    return re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) is not None and not path.exists() and kind_of(path) not in ENDINGS


def hub_commit(repo_id: str, revision: str) -> str:
    """Return the commit at which a branch, tag or other ref of a data set stands; the ref itself when offline.

    Raises:
        DataError: if there is no such repository or ref.
    """
    if len(revision) == 40:  # a commit stays where it is
        return revision
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        info = hub_read(f"the data set {repo_id}", lambda: HfApi().dataset_info(repo_id, revision=revision))
        return str(info.sha or revision)
    except HubReadError as error:
        if was_reached(error):
            raise DataError(str(error)) from error
        return revision
    except HfHubHTTPError as error:
        absent = missing_repo_message(error, "data set", repo_id)
        raise DataError(absent or f"{repo_id} at {revision}: {first_line(error)}") from error
    except OSError:  # offline
        return revision  # as out of reach, what is in the cache is used; `load_dataset` says so if nothing is


def open_hub(
    repo_id: str, config: str | None, split: str, revision: str, *, streaming: bool = False
) -> tuple[HubTable, str]:
    """Open one split of a data set on the Hub, and return it with the commit it was read at.

    Raises:
        DataError: if it is not there or cannot be reached.
    """
    with unless_unreachable() as unreachable:
        return _open_hub(repo_id, config, split, revision, streaming=streaming, unreachable=unreachable)


def _open_hub(
    repo_id: str, config: str | None, split: str, revision: str, *, streaming: bool, unreachable: str
) -> tuple[HubTable, str]:
    import datasets
    from huggingface_hub.errors import HfHubHTTPError

    commit = hub_commit(repo_id, revision)

    if datasets.config.HF_HUB_OFFLINE:
        datasets.utils.logging.set_verbosity_error()  # else it tells for each split that it uses the cache

    def load(**how: Any) -> Any:
        data = datasets.load_dataset(repo_id, config, split=split, revision=commit, streaming=streaming, **how)
        if streaming or len(commit) < 40 or commit in str(data.cache_files):
            return data
        if datasets.config.HF_HUB_OFFLINE:
            raise DataError(
                f"{repo_id}: expected commit {commit}, found another on this machine, which is offline; fetch it while "
                "there is a network (unbag prefetch)"
            )
        # `datasets` takes what it has where the Hub does not answer.
        raise ConnectionAbortedError("the Hub does not say what is there, and on this machine is another commit")

    what = f"{repo_id} (config {config}, split {split}, revision {commit})"
    try:
        try:
            data = hub_read(what, load)
        except (datasets.exceptions.DatasetGenerationError, OSError, ValueError) as error:
            if not is_damage(error) or datasets.config.HF_HUB_OFFLINE:
                raise
            data = hub_read(what, partial(load, download_mode="force_redownload"))
    except DataError:
        raise
    except HubReadError as error:
        raise DataError(str(error)) from error
    except (datasets.exceptions.DatasetsError, HfHubHTTPError, OSError, ValueError) as error:
        if unreachable:
            raise DataError(f"{repo_id}, split {split}, is not on this machine, and {unreachable}") from error
        raise DataError(f"{what} could not be loaded: {first_line(error.__cause__ or error)}") from error
    return HubTable(repo_id, data), commit


def is_damage(error: BaseException) -> bool:
    """Tell whether an error of `datasets` means that a file in its cache is no longer what was written there.

    A full disk or a dead network is none: those have a number or a type of their own.
    """
    import datasets
    import pyarrow as pa

    cause = error.__cause__ if isinstance(error, datasets.exceptions.DatasetGenerationError) else error
    unnumbered = type(cause) is OSError and cause.errno is None  # Arrow's, about a file that ends too early
    return unnumbered or isinstance(cause, pa.ArrowInvalid) or type(cause) is FileNotFoundError
