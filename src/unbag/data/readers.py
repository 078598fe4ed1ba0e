"""Readers for csv, tsv, jsonl and Parquet files and for Hub datasets.

Each row has its number and, for error messages, its location. Several processes can read different ranges of one text
file. One pass over the file finds the starts of rows, line by line and without parsing. If a csv line has quotation
marks, the csv reader finds the end of the row, since a quoted cell may contain line breaks.
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

from unbag.utils.hashing import hash_columns, hash_file
from unbag.utils.hub import HubReadError, describe_missing_repo, read_from_hub
from unbag.utils.offline import use_cache_if_unreachable
from unbag.utils.redaction import extract_first_line
from unbag.utils.retries import has_reached_server
from unbag.utils.safe_io import MOST_COLUMNS, DataError, iter_lines, parse_json, validate_file


class DataRow(NamedTuple):
    """Row of a file or dataset: number from 0, location for error messages (file and line), and values by column."""

    number: int
    location: str
    values: Mapping[str, Any]


def get_cell(row: DataRow, name: str) -> Any:
    """Look up the value of a column in a row.

    Raises:
        DataError: If the row has no such column. Lines of a jsonl file may have different keys.
    """
    if name not in row.values:
        raise DataError(
            f"{row.location}: expected the key {name!r} as in the first row, got {list(row.values)[:20]}; add it"
        )
    return row.values[name]


def validate_unique_columns(names: Sequence[str], location: object) -> None:
    """Validate that column names are unique. Empty names may repeat, as in exported spreadsheets.

    Raises:
        DataError: If a name is repeated, or there are too many columns.
    """
    validate_column_count(names, location)
    if problem := build_repeated_names_error(names):
        raise DataError(f"{location}: {problem}")


def validate_column_count(names: Collection[str], location: object) -> None:
    """Validate that a file has at most `MOST_COLUMNS` columns (see SECURITY.md).

    Raises:
        DataError: If there are more.
    """
    if len(names) > MOST_COLUMNS:
        raise DataError(f"{location}: expected at most {MOST_COLUMNS:,} columns, got {len(names):,}; remove columns")


def build_repeated_names_error(names: Sequence[str]) -> str:
    """Build the error message for repeated column names. Return an empty string if there are none."""
    repeated = [name for name, n in Counter(names).items() if name and n > 1]
    message = f"expected unique column names, got {' and '.join(map(repr, repeated))} repeatedly; rename all but one"
    return message if repeated else ""


_PARTS: Final = 16
"""Maximum number of parts of a row group. All preceding rows of the group are decoded to reach the start of a part. As
decoding is 100 times faster than the conversion to Python rows, 16 parts have little overhead."""


def read_parquet(path: Path, start: int = 0, stop: int | None = None) -> Iterator[DataRow]:
    """Iterate over a range of the rows of a Parquet file. Row groups outside the range are not read.

    Raises:
        DataError: If the file cannot be read.
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
        first = bounds[groups[0]][0]  # number of the first row of the batch
        for batch in parquet.iter_row_batches(path, path, path.stat().st_size, groups):
            if number == start:
                validate_unique_columns(batch.schema.names, path)
            n = batch.num_rows
            wanted = batch[max(0, start - first) : n if stop is None else max(0, stop - first)]
            columns = [_values(wanted, name, path) for name in wanted.schema.names]
            for cells in zip(*columns, strict=True):
                yield DataRow(number, f"{path}, row {number}", dict(zip(wanted.schema.names, cells, strict=True)))
                number += 1
            first += n
    except (pa.ArrowException, OSError, UnicodeError) as error:  # column names may be any bytes
        raise DataError(
            f"{path}, after {number:,} rows: expected a readable row, got an error ({extract_first_line(error)})"
        ) from None


def split_parquet_into_ranges(path: Path, range_size: int) -> list[tuple[int, int | None]]:
    """Split a Parquet file into ranges of about `range_size` rows. In very large row groups, ranges have more rows.

    Raises:
        DataError: If the file cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        groups = list(pairwise(_bounds(pq.read_metadata(path))))
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: {extract_first_line(error)}") from None
    firsts = [row for first, end in groups for row in range(first, end, max(range_size, ceil((end - first) / _PARTS)))]
    return list(zip(firsts or [0], [*firsts[1:], None], strict=True))


def _bounds(metadata: Any) -> list[int]:
    """List the first row of each row group, followed by the total number of rows."""
    return list(accumulate((metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)), initial=0))


def _values(batch: Any, name: str, path: Path) -> Sequence[Any]:
    """Convert a column to Python values. Some Arrow types have values that Python cannot represent."""
    column = batch.column(batch.schema.names.index(name))
    try:
        values: Sequence[Any] = column.to_pylist()
    except (ValueError, ArithmeticError, LookupError, ImportError, NotImplementedError) as error:
        raise DataError(
            f"{path}: expected a readable column {name!r}, got an error ({column.type}: {extract_first_line(error)})"
        ) from None
    return values


class RowStart(NamedTuple):
    """Start of a row: row number from 0, and the numbers of preceding lines and bytes."""

    row: int
    lines: int
    bytes: int


def detect_csv_delimiter(path: Path) -> str:
    """Detect the delimiter of a csv file: a semicolon if the header contains one and no comma, otherwise a comma.

    Spreadsheets use semicolons in languages with a decimal comma.

    Raises:
        DataError: If the file cannot be read.
    """
    for number, line in iter_lines(path):
        if not _is_blank_record(number, line):
            try:
                cells = next(csv.reader([_text(number, line)]), [])
            except csv.Error:  # a corrupted header, which `_read_separated` reports with its line
                break
            return ";" if len(cells) == 1 and ";" in cells[0] else ","
    return ","


def iter_jsonl_row_starts(path: Path, interval: int) -> Iterator[RowStart]:
    """Iterate over the start positions of rows `interval`, `2 * interval`, … in a jsonl file.

    Raises:
        DataError: If the file cannot be read, or a line is too long.
    """
    return _starts(path, interval, _is_blank_json, header=False, quotes=False)


def iter_csv_row_starts(path: Path, interval: int, *, quotes: bool) -> Iterator[RowStart]:
    """Iterate over the start positions of rows `interval`, `2 * interval`, … in a csv or tsv file.

    The iteration stops at malformed csv. The reader that continues from the last start reports the error.

    Args:
        path: File with a header.
        interval: Number of rows between two starts.
        quotes: Whether quotation marks enclose cells, which may then contain line breaks. In tsv, they are ordinary
            characters.

    Raises:
        DataError: If the file cannot be read, or a line is too long.
    """
    return _starts(path, interval, _is_blank_record, header=True, quotes=quotes)


def _starts(
    path: Path, every: int, is_blank: Callable[[int, bytes], bool], *, header: bool, quotes: bool
) -> Iterator[RowStart]:
    stream = iter_lines(path)
    row = -1 if header else 0
    done = 0  # bytes
    delimiter = detect_csv_delimiter(path) if quotes else ","
    for number, line in stream:
        if not is_blank(number, line):
            if row > 0 and row % every == 0:
                yield RowStart(row, number - 1, done)
            row += 1
            if quotes and b'"' in line:
                try:
                    done += _bytes_behind(_text(number, line), stream, delimiter)
                except csv.Error:
                    return
        done += len(line)


def _bytes_behind(line: str, following: Iterator[tuple[int, bytes]], delimiter: str) -> int:
    """Consume the remaining lines of a row and count their bytes.

    Args:
        line: First line of the row.
        following: Numbers and bytes of the following lines.
        delimiter: Delimiter of the cells.
    """
    n_bytes = 0

    def row() -> Iterator[str]:
        nonlocal n_bytes
        yield line
        for number, more in following:
            n_bytes += len(more)
            yield _text(number, more)

    next(csv.reader(row(), delimiter=delimiter, strict=True))
    return n_bytes


def _is_blank_json(number: int, line: bytes) -> bool:
    """Check whether a line contains only whitespace, like the jsonl reader."""
    if line.startswith(b"{"):  # sufficient for nearly all lines, without decoding
        return False
    return not _text(number, line).strip()


def _text(number: int, line: bytes) -> str:
    """Decode a line. Invalid UTF-8 is replaced here and reported by the reader of the row."""
    return line.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace")


def _is_blank_record(number: int, line: bytes) -> bool:
    """Check whether a line is empty, like the csv reader."""
    return not line.strip(b"\r\n")


FIRST_ROW_START: Final = RowStart(0, 0, 0)
"""Start of the first row of a file."""


def read_csv(path: Path, start: RowStart = FIRST_ROW_START) -> Iterator[DataRow]:
    """Iterate over the rows of a csv file, starting at `start`. The delimiter is a comma or a semicolon.

    Raises:
        DataError: If a line is malformed. The message contains the line number.
    """
    return _read_separated(path, detect_csv_delimiter(path), csv.QUOTE_MINIMAL, start)


def read_tsv(path: Path, start: RowStart = FIRST_ROW_START) -> Iterator[DataRow]:
    """Iterate over the rows of a tsv file, starting at `start`.

    Quotation marks are part of the sentence, as in the files of SNLI and HANS.

    Raises:
        DataError: If a line is malformed. The message contains the line number.
    """
    return _read_separated(path, "\t", csv.QUOTE_NONE, start)


def read_jsonl(path: Path, start: RowStart = FIRST_ROW_START) -> Iterator[DataRow]:
    """Iterate over the rows of a jsonl file, starting at `start`.

    Raises:
        DataError: If a line is malformed. The message contains the line number.
    """
    decode = json.JSONDecoder(object_pairs_hook=_object).decode
    filled = ((number, text) for number, text in _lines(path, start) if text.strip())
    for row_number, (line_number, line) in enumerate(filled, start=start.row):
        location = f"{path}, line {line_number}"
        try:
            values = parse_json(line, decode)
        except json.JSONDecodeError as error:
            raise DataError(f"{location}: expected JSON, got invalid text ({error}); correct the line") from None
        except ValueError as error:
            raise DataError(f"{location}: {error}") from None
        if not isinstance(values, dict):
            raise DataError(f"{location}: expected one JSON object per line, got {type(values).__name__}; correct it")
        validate_column_count(values, location)
        yield DataRow(row_number, location, values)


def _lines(path: Path, start: RowStart = FIRST_ROW_START) -> Iterator[tuple[int, str]]:
    """Iterate over line numbers (from 1) and lines. Decodes each line separately, so that errors name the line."""
    for number, line in iter_lines(path, start=start.bytes, skipped_lines=start.lines):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}, line {number}: expected UTF-8, got the byte 0x{line[error.start]:02x} at column "
                f"{error.start + 1}; save the file as UTF-8"
            ) from None
        yield number, text


def _read_separated(path: Path, delimiter: str, quoting: Literal[0, 3], start: RowStart) -> Iterator[DataRow]:
    def reader_from(begin: RowStart) -> Any:
        texts = (line for _, line in _lines(path, begin))
        return csv.reader(texts, delimiter=delimiter, quoting=quoting, strict=True)

    reader, before = reader_from(FIRST_ROW_START), 0
    try:
        header = next(reader, None)
        if header is None:
            return
        validate_unique_columns(header, path)
        if start.row:
            reader, before = reader_from(start), start.lines
        for number, cells in enumerate((row for row in reader if row), start=start.row):
            location = f"{path}, line {before + reader.line_num}"
            if len(cells) != len(header):
                raise DataError(
                    f"{location}: expected {len(header)} cells ({', '.join(header)}), got {len(cells)}; correct it"
                )
            yield DataRow(number, location, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise DataError(f"{path}, line {before + reader.line_num}: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs) and (problem := build_repeated_names_error([name for name, _ in pairs])):
        raise ValueError(problem)
    return values


_PARQUET: Final = ".parquet"
_TEXT: Final[
    Mapping[str, tuple[Callable[[Path, RowStart], Iterator[DataRow]], Callable[[Path, int], Iterator[RowStart]]]]
] = {
    ".csv": (read_csv, partial(iter_csv_row_starts, quotes=True)),
    ".tsv": (read_tsv, partial(iter_csv_row_starts, quotes=False)),
    ".jsonl": (read_jsonl, iter_jsonl_row_starts),
}
"""Function that reads rows and function that finds their starts, by the extension of a text file."""

DATA_FILE_EXTENSIONS: Final = (*_TEXT, _PARQUET)


@dataclass(frozen=True)
class DataFile:
    """Data file in csv, tsv, jsonl or parquet format."""

    path: Path
    columns: Sequence[str]
    _starts: list[RowStart] = field(default_factory=list, repr=False, compare=False)  # filled by `split_ranges`

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[DataRow]:
        """Iterate over a range of rows.

        Reads all preceding lines of a text file, unless `split_ranges` was called before.
        """
        if get_file_extension(self.path) == _PARQUET:
            return read_parquet(self.path, start, stop)
        read, _ = _TEXT[get_file_extension(self.path)]
        nearest = bisect_right(self._starts, start, key=lambda at: at.row)
        begin = self._starts[nearest - 1] if nearest else FIRST_ROW_START
        rows = read(self.path, begin)
        return islice(rows, start - begin.row, None if stop is None else max(start, stop) - begin.row)

    def get_label_names(self, column: str) -> Sequence[str] | None:
        """Return None, because files do not store label names."""
        return None

    def split_ranges(self, size: int) -> tuple[tuple[int, int | None], ...]:
        """Split the file into ranges of about `size` rows. A `.gz` file has a single open-ended range."""
        if get_file_extension(self.path) == _PARQUET:
            return tuple(split_parquet_into_ranges(self.path, size))
        if self.path.suffix == ".gz":  # gzip has no random access
            return ((0, None),)
        _, find = _TEXT[get_file_extension(self.path)]
        self._starts[:] = find(self.path, size)
        firsts = [at.row for at in self._starts]
        return tuple(zip([0, *firsts], [*firsts, None], strict=True))

    def sha256(self) -> str:
        """Compute the SHA-256 hash of the file's content."""
        return hash_file(self.path)


def open_data_file(path: Path) -> DataFile:
    """Open a file with the reader for its extension.

    Raises:
        DataError: If the path does not exist, is not a regular file, has an unknown extension, or has no rows.
    """
    validate_file(path)
    if get_file_extension(path) not in DATA_FILE_EXTENSIONS:
        raise DataError(
            f"{path}: expected a file name ending in {', '.join(DATA_FILE_EXTENSIONS)}, optionally followed by .gz; "
            "rename it"
        )
    first = next(DataFile(path, ()).read(), None)
    if first is None:
        raise DataError(f"{path}: expected rows, got none; add rows")
    return DataFile(path, list(first.values))


def get_file_extension(path: Path) -> str:
    """Extract the extension of a file name, ignoring a final `.gz`."""
    return path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix


_BATCH = 1000


class DataTable(Protocol):
    """Interface of a table whose rows can be read repeatedly."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        ...

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[DataRow]:
        """Iterate over a range of rows."""
        ...

    def get_label_names(self, column: str) -> Sequence[str] | None:
        """Look up the label names stored for a column; None if there are none."""
        ...

    def split_ranges(self, size: int) -> tuple[tuple[int, int | None], ...]:
        """Split the table into ranges of about `size` rows. Without random access, return a single open-ended range."""
        ...


@dataclass(frozen=True)
class HubTable:
    """Split of a Hub dataset, memory-mapped from the cache or streamed."""

    name: str
    data: Any  # datasets.Dataset or IterableDataset

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.data.column_names or self.data.features or next(iter(self.data)))

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[DataRow]:
        """Iterate over a range of rows."""
        data = self.data
        if hasattr(data, "num_rows"):
            data = data.select(range(start, data.num_rows if stop is None else min(stop, data.num_rows)))
        else:
            data = data.skip(start) if stop is None else data.skip(start).take(stop - start)
        number = start
        for batch in data.iter(batch_size=_BATCH):
            for values in zip(*batch.values(), strict=True):
                yield DataRow(number, f"{self.name}, row {number}", dict(zip(batch, values, strict=True)))
                number += 1

    def get_label_names(self, column: str) -> Sequence[str] | None:
        """Look up the label names of a `ClassLabel` column; None for other columns."""
        return getattr((self.data.features or {}).get(column), "names", None)

    def split_ranges(self, size: int) -> tuple[tuple[int, int | None], ...]:
        """Split the table into ranges of `size` rows. A stream has a single open-ended range."""
        if not hasattr(self.data, "num_rows"):
            return ((0, None),)
        n = self.data.num_rows
        return tuple((start, min(start + size, n)) for start in range(0, n, size)) or ((0, 0),)

    def compute_content_hash(self, columns: Sequence[str]) -> str:
        """Compute the hash of all rows of the given columns (`unbag.utils.hashing`)."""
        return hash_columns(self.data.with_format("arrow").iter(batch_size=_BATCH), columns)


def is_hub_id(name: str) -> bool:
    """Check whether a name is a Hub id `org/name`, and neither an existing path nor the name of a data file.

    >>> is_hub_id("org/my.pairs"), is_hub_id("folder/pairs.csv"), is_hub_id("./model")
    (True, False, False)
    """
    path = Path(name)
    return (
        re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) is not None
        and not path.exists()
        and get_file_extension(path) not in DATA_FILE_EXTENSIONS
    )


def resolve_hub_commit(repo_id: str, revision: str) -> str:
    """Resolve a branch, tag or other ref of a dataset to a commit. Returns the ref unchanged if offline.

    Raises:
        DataError: If the repository or ref does not exist.
    """
    if len(revision) == 40:  # already a commit
        return revision
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        info = read_from_hub(f"the dataset {repo_id}", lambda: HfApi().dataset_info(repo_id, revision=revision))
        return str(info.sha or revision)
    except HubReadError as error:
        if has_reached_server(error):
            raise DataError(str(error)) from error
        return revision
    except HfHubHTTPError as error:
        absent = describe_missing_repo(error, "dataset", repo_id)
        raise DataError(absent or f"{repo_id} at {revision}: {extract_first_line(error)}") from error
    except OSError:  # Offline, `load_dataset` reads the cache and raises if the dataset is missing.
        return revision


def open_hub_table(
    repo_id: str, config: str | None, split: str, revision: str, *, streaming: bool = False
) -> tuple[HubTable, str]:
    """Open a split of a Hub dataset.

    Returns:
        The table, and the commit from which it is read.

    Raises:
        DataError: If the dataset or split does not exist, or the Hub cannot be reached.
    """
    with use_cache_if_unreachable() as unreachable:
        return _open_hub(repo_id, config, split, revision, streaming=streaming, unreachable=unreachable)


def _open_hub(
    repo_id: str, config: str | None, split: str, revision: str, *, streaming: bool, unreachable: str
) -> tuple[HubTable, str]:
    import datasets
    from huggingface_hub.errors import HfHubHTTPError

    commit = resolve_hub_commit(repo_id, revision)

    if datasets.config.HF_HUB_OFFLINE:
        datasets.utils.logging.set_verbosity_error()  # Otherwise, it warns for each cached split.

    def load(**how: Any) -> Any:
        data = datasets.load_dataset(repo_id, config, split=split, revision=commit, streaming=streaming, **how)
        if streaming or len(commit) < 40 or commit in str(data.cache_files):
            return data
        if datasets.config.HF_HUB_OFFLINE:
            raise DataError(
                f"{repo_id}: expected commit {commit} in the local cache, got another one; download it with a network "
                "connection (unbag prefetch)"
            )
        # If the Hub does not respond, `datasets` silently uses any cached commit. The error causes a retry.
        raise ConnectionAbortedError("the Hub does not respond, and the local cache has another commit")

    what = f"{repo_id} (config {config}, split {split}, revision {commit})"
    try:
        try:
            data = read_from_hub(what, load)
        except (datasets.exceptions.DatasetGenerationError, OSError, ValueError) as error:
            if not is_corrupted_cache_error(error) or datasets.config.HF_HUB_OFFLINE:
                raise
            data = read_from_hub(what, partial(load, download_mode="force_redownload"))
    except DataError:
        raise
    except HubReadError as error:
        raise DataError(str(error)) from error
    except (datasets.exceptions.DatasetsError, HfHubHTTPError, OSError, ValueError) as error:
        if unreachable:
            raise DataError(f"{repo_id}, split {split}: expected a local copy, got none, and {unreachable}") from error
        raise DataError(
            f"{what}: expected a readable dataset, got an error ({extract_first_line(error.__cause__ or error)})"
        ) from error
    return HubTable(repo_id, data), commit


def is_corrupted_cache_error(error: BaseException) -> bool:
    """Check whether an error of `datasets` indicates a corrupted file in its cache.

    Full disks and network failures do not count: their errors have an errno or a specific type.
    """
    import datasets
    import pyarrow as pa

    cause = error.__cause__ if isinstance(error, datasets.exceptions.DatasetGenerationError) else error
    is_truncated = type(cause) is OSError and cause.errno is None  # Arrow's error for a truncated file
    return is_truncated or isinstance(cause, pa.ArrowInvalid) or type(cause) is FileNotFoundError
