"""Readers for csv, tsv, jsonl, json, Parquet and Arrow files, for folders of `datasets`, and for Hub datasets.

Each row has its number and, for error messages, its location. Malformed or unreadable data raises `DataError` with the
location. Several processes can read different ranges of a Parquet file or a Hub dataset. A text file is one range, read
from its start.
"""

import csv
import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import pyarrow as pa

from unbag.data import parquet
from unbag.data.downloads import MissingFileError
from unbag.data.text_layout import (
    DEFAULT_LAYOUT,
    TextLayout,
    decode_text,
    detect_text_layout,
    fit_cells,
    iter_decoded_lines,
    normalise_column_name,
)
from unbag.utils.hashing import hash_columns, hash_file, hash_texts
from unbag.utils.hub import HubReadError, describe_missing_repo, read_from_hub
from unbag.utils.redaction import extract_first_line
from unbag.utils.retries import has_reached_server
from unbag.utils.safe_io import DataError, parse_json, read_limited_bytes, validate_column_count, validate_file


class DataRow(NamedTuple):
    """Row of a file or dataset: number from 0, location for error messages (file and line), and values by column."""

    number: int
    location: str
    values: Mapping[str, Any]


def get_cell(row: DataRow, name: str) -> Any:
    """Look up the value of a column in a row. Raises `DataError` if a line of a jsonl file lacks the key."""
    if name not in row.values:
        raise DataError(
            f"{row.location}: expected the key {name!r} as in the first row, got {list(row.values)[:20]}; add it"
        )
    return row.values[name]


def validate_unique_columns(names: Sequence[str], location: object) -> None:
    """Validate the number of columns and that names are unique. Empty names may repeat, as in exported spreadsheets."""
    validate_column_count(len(names), location)
    if problem := build_repeated_names_error(names):
        raise DataError(f"{location}: {problem}")


def build_repeated_names_error(names: Sequence[str]) -> str:
    """Build the error message for repeated column names. Return an empty string if there are none."""
    repeated = [name for name, n in Counter(names).items() if name and n > 1]
    message = f"expected unique column names, got {' and '.join(map(repr, repeated))} repeatedly; rename all but one"
    return message if repeated else ""


def _read_table(path: Path, start: int, stop: int | None) -> Iterator[DataRow]:
    """Iterate over a range of the rows of a Parquet or Arrow file. Preceding rows are not converted to Python."""
    number = start  # of the next row
    try:
        for first, batch in parquet.iter_row_batches(path, path, start):
            validate_unique_columns(batch.schema.names, path)
            end = first + batch.num_rows if stop is None else min(first + batch.num_rows, stop)
            if number < end:
                names, wanted = batch.schema.names, batch.slice(number - first, end - number)
                columns = [_values(column, name, path) for name, column in zip(names, wanted.columns, strict=True)]
                for row, cells in enumerate(zip(*columns, strict=True), start=number):
                    yield DataRow(row, f"{path}, row {row}", dict(zip(names, cells, strict=True)))
                number = end
            if stop is not None and number >= stop:
                return  # without reading the next batch
    except (pa.ArrowException, OSError, UnicodeError) as error:  # column names may be any bytes
        raise DataError(
            f"{path}, after {number:,} rows: expected a readable row, got an error ({extract_first_line(error)})"
        ) from None


def _values(column: Any, name: str, path: Path) -> Sequence[Any]:
    """Convert a column to Python values. Some Arrow types have values that Python cannot represent."""
    try:
        values: Sequence[Any] = column.to_pylist()
    except (ValueError, ArithmeticError, LookupError, ImportError, NotImplementedError) as error:
        raise DataError(
            f"{path}: expected a readable column {name!r}, got an error ({column.type}: {extract_first_line(error)})"
        ) from None
    return values


def _read_jsonl(path: Path, layout: TextLayout) -> Iterator[DataRow]:
    """Iterate over the rows of a jsonl file."""
    filled = ((number, text) for number, text in iter_decoded_lines(path, layout) if text.strip())
    for row_number, (line_number, line) in enumerate(filled):
        location = f"{path}, line {line_number}"
        yield _build_row(row_number, location, _parse_json(line, location))


def _read_json(path: Path, layout: TextLayout) -> Iterator[DataRow]:
    """Iterate over the rows of a json file: an array of objects, or columns, or one object per line."""
    # Not line by line, since programs write an array as one line of any length.
    if (content := read_limited_bytes(path, _LARGEST_JSON)) is None:
        raise DataError(
            f"{path}: expected a json file of at most {_LARGEST_JSON:,} bytes, got more; convert it to jsonl, with one "
            "object per line"
        )
    text = decode_text(path, content, layout)
    try:
        parsed = _parse_json(text, path)
    except DataError as error:
        if not (text.lstrip().startswith("{") and "Extra data" in str(error)):
            raise
        yield from _read_jsonl(path, layout)
        return
    records = _find_records(parsed)
    if records is None:
        raise DataError(
            f"{path}: expected an array of objects, one per pair, got {type(parsed).__name__}; write an array, such "
            "as [{…}, {…}], or a jsonl file"
        )
    for number, values in enumerate(records):
        yield _build_row(number, f"{path}, record {number}", values)


def _parse_json(text: str, location: object) -> Any:
    try:
        return parse_json(text, _DECODER.decode)
    except json.JSONDecodeError as error:
        raise DataError(f"{location}: expected JSON, got invalid text ({error}); correct it") from None
    except ValueError as error:
        raise DataError(f"{location}: {error}") from None


def _build_row(number: int, location: str, values: Any) -> DataRow:
    if not isinstance(values, dict):
        raise DataError(f"{location}: expected a JSON object, got {type(values).__name__}; correct it")
    validate_column_count(len(values), location)
    return DataRow(number, location, _add_nested_columns(values))


def _add_nested_columns(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the fields of nested objects, with names such as `input.premise`."""
    for name, value in values.items():
        if isinstance(value, dict):
            nested = {f"{name}.{inner}": cell for inner, cell in _add_nested_columns(value).items()}
            values = {**values, **{column: cell for column, cell in nested.items() if column not in values}}
    return values


def _find_records(content: Any) -> Sequence[Any] | None:
    """Find the records in parsed JSON: an array, the only array of objects in an object, or columns (as in pandas)."""
    if isinstance(content, list):
        return content
    if not isinstance(content, dict) or not content:
        return None
    columns = list(content.values())
    # `DataFrame.to_json` of pandas: the cells of each column by row.
    if all(isinstance(column, dict) and column.keys() == columns[0].keys() for column in columns) and columns[0]:
        return [{name: content[name][row] for name in content} for row in columns[0]]
    if len(columns) > 1 and all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns):
        return [dict(zip(content, row, strict=True)) for row in zip(*columns, strict=True)]
    arrays = [each for each in columns if isinstance(each, list) and each and all(isinstance(x, dict) for x in each)]
    return arrays[0] if len(arrays) == 1 else None


def _read_separated(path: Path, layout: TextLayout) -> Iterator[DataRow]:
    """Iterate over the rows of a csv or tsv file. The first row that is not empty is the header."""
    lines = (line for _, line in iter_decoded_lines(path, layout))
    if layout.has_separator_line:
        next(lines, None)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if layout.is_quoted else csv.QUOTE_NONE
    # Without `strict`, the csv module accepts text after a closing quotation mark.
    reader = csv.reader(lines, delimiter=layout.delimiter, quoting=quoting, strict=True)

    def location() -> str:
        return f"{path}, line {layout.has_separator_line + reader.line_num}"

    rows = filter(None, reader)
    try:
        header = [normalise_column_name(name) for name in next(rows, [])]
        validate_unique_columns(header, path)
        for number, row in enumerate(rows):
            cells = row if len(row) == len(header) else fit_cells(row, header)
            if len(cells) != len(header):
                raise DataError(
                    f"{location()}: expected {len(header)} cells ({', '.join(header)}), got {len(cells)}; correct it"
                )
            yield DataRow(number, location(), dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise DataError(f"{location()}: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs) and (problem := build_repeated_names_error([name for name, _ in pairs])):
        raise ValueError(problem)
    return values


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object)  # by default, the last of several equal keys is kept
_LARGEST_JSON: Final = 256 << 20  # bytes; a json file is parsed as a whole
_BATCH: Final = 1000  # rows
_RANGES_PER_GROUP: Final = 16
"""Maximum number of ranges of a row group, whose preceding rows are decoded to reach the start of each range."""
_PARQUET: Final = ".parquet"
_ARROW: Final = (".arrow", ".feather")
_TEXT: Final[Mapping[str, Callable[[Path, TextLayout], Iterator[DataRow]]]] = {
    ".csv": _read_separated,
    ".tsv": _read_separated,
    ".jsonl": _read_jsonl,
    ".json": _read_json,
}

DATA_FILE_EXTENSIONS: Final = (*_TEXT, _PARQUET, *_ARROW)
DATASET_FOLDER_FILES: Final = ("dataset_dict.json", "dataset_info.json")
"""Files of which one is in every folder that `save_to_disk` of `datasets` writes."""


RowRanges = tuple[tuple[int, int | None], ...]
"""Row ranges (start, stop). A stop of None means the end of the table."""


class DataTable(ABC):
    """Table whose rows can be read repeatedly."""

    revision: str  # commit of a Hub dataset, or SHA-256 of the files

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """Names of the columns."""

    @abstractmethod
    def read(self, start: int = 0, stop: int | None = None) -> Iterator[DataRow]:
        """Iterate over a range of rows. Without random access, this reads all preceding rows."""

    def get_label_names(self, column: str) -> Sequence[str] | None:
        """Look up the names that the table stores for the values of a `ClassLabel` column; None if there are none."""
        return None

    def split_ranges(self, size: int) -> RowRanges:
        """Split the table into ranges of about `size` rows. Without random access, return one open-ended range."""
        return ((0, None),)


@dataclass(frozen=True)
class DataFile(DataTable):
    """Data file in csv, tsv, jsonl, json, Parquet or Arrow format."""

    path: Path
    layout: TextLayout = DEFAULT_LAYOUT  # of a text file

    @cached_property
    def columns(self) -> Sequence[str]:
        """Names of the columns, from the first row."""
        if (first := next(self.read(), None)) is None:
            raise DataError(f"{self.path}: expected rows, got none; add rows")
        return list(first.values)

    @cached_property
    def revision(self) -> str:  # type: ignore[override]  # computed on first use, since the file may be large
        """SHA-256 of the file."""
        return hash_file(self.path)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[DataRow]:
        """Iterate over a range of rows. Reads all preceding lines of a text file."""
        read = _TEXT.get(get_file_extension(self.path))
        if read is None:
            return _read_table(self.path, start, stop)
        return islice(read(self.path, self.layout), start, None if stop is None else max(start, stop))

    def get_label_names(self, column: str) -> Sequence[str] | None:
        """Look up the names of a `ClassLabel` column, which `datasets` stores in Parquet and Arrow files."""
        is_text = get_file_extension(self.path) in _TEXT
        return None if is_text else parquet.find_class_label_names(self.path, column)

    def split_ranges(self, size: int) -> RowRanges:
        """Split a Parquet file into ranges of `size` rows, or of more rows if its row groups are large.

        Another file has a single open-ended range.
        """
        if get_file_extension(self.path) != _PARQUET:
            return super().split_ranges(size)
        groups = parquet.read_row_group_sizes(self.path)
        return _split_rows(sum(groups), max(size, ceil(max(groups, default=0) / _RANGES_PER_GROUP)))


def open_data_file(path: Path, encoding: str | None = None, *, has_option: bool = False) -> DataFile:
    """Open a file with the reader for its extension.

    `encoding` is that of a text file without a byte-order mark (default: UTF-8). `has_option` is whether the user can
    set it, so that errors suggest `--encoding`.
    """
    if path.is_dir():
        raise DataError(
            f"{path}: expected a file, or a folder written by save_to_disk, got another folder; pass a file in it"
        )
    validate_file(path)
    if (ending := get_file_extension(path)) not in DATA_FILE_EXTENSIONS:
        remedy = "save the sheet as csv" if ending in _SPREADSHEETS else "rename it"
        raise DataError(
            f"{path}: expected a file name ending in {', '.join(DATA_FILE_EXTENSIONS)}, optionally followed by .gz; "
            + ("extract the file in it" if ending in _ARCHIVES else remedy)
        )
    layout = DEFAULT_LAYOUT
    if ending in _TEXT:
        layout = detect_text_layout(path, ending, encoding, has_option=has_option)
    file = DataFile(path, layout)
    _ = file.columns  # raises if the first row is unreadable
    return file


def open_local_table(
    path: Path, split: str | None = None, encoding: str | None = None, *, has_option: bool = False
) -> DataTable:
    """Open a data file (`open_data_file`), or a folder that `save_to_disk` of `datasets` wrote."""
    if is_dataset_folder(path):
        return _open_dataset_folder(path, split)
    return open_data_file(path, encoding, has_option=has_option)


_ARCHIVES: Final = (".zip", ".7z", ".tar", ".tgz", ".rar")
_SPREADSHEETS: Final = (".xlsx", ".xls", ".ods", ".numbers")


def is_dataset_folder(path: Path) -> bool:
    """Check whether a path is a folder that `save_to_disk` of `datasets` wrote."""
    return any((path / name).is_file() for name in DATASET_FOLDER_FILES)


def _open_dataset_folder(path: Path, split: str | None) -> "HubTable":
    """Open a folder of `datasets`. `split` may be None for a folder with a single split, or without splits."""
    import datasets

    try:
        data = datasets.load_from_disk(str(path))
    except Exception as error:  # corrupted files raise errors of many types
        raise DataError(
            f"{path}: expected a folder written by save_to_disk, got an error ({extract_first_line(error)}); write it "
            "again, or pass a Parquet file"
        ) from None
    if isinstance(data, dict):
        splits = list(data)
        if split not in splits and (split is not None or len(splits) != 1):
            got = "none" if split is None else repr(split)
            raise DataError(
                f"{path}: expected one of the splits {', '.join(splits)}, got {got}; pass one, such as --split "
                f"{splits[0]}, or the folder of one split, such as {path / splits[0]}"
            )
        data = data[split or splits[0]]
    elif split is not None and (data.split is None or split != str(data.split)):
        raise DataError(f"{path}: expected no split, since the folder has a single table, got {split!r}; omit it")
    if not data.num_rows:
        raise DataError(f"{path}: expected rows, got none; add rows")
    files = sorted(file for file in path.rglob("*") if file.is_file())
    sha256 = hash_texts((str(file.relative_to(path)), hash_file(file)) for file in files)
    return HubTable(str(path), data, sha256)


def get_file_extension(path: Path) -> str:
    """Extract the extension of a file name, ignoring a final `.gz`."""
    return path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix


def _split_rows(n: int, size: int) -> RowRanges:
    return tuple((start, min(start + size, n)) for start in range(0, n, size)) or ((0, 0),)


@dataclass(frozen=True)
class HubTable(DataTable):
    """Split of a dataset, memory-mapped from the cache or a folder."""

    name: str
    data: Any  # a `datasets.Dataset`
    revision: str

    @cached_property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.data.column_names)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[DataRow]:
        """Iterate over a range of rows."""
        number, n = start, self.data.num_rows
        data = self.data.select(range(start, n if stop is None else min(stop, n)))
        for batch in data.iter(batch_size=_BATCH):
            for values in zip(*batch.values(), strict=True):
                yield DataRow(number, f"{self.name}, row {number}", dict(zip(batch, values, strict=True)))
                number += 1

    def get_label_names(self, column: str) -> Sequence[str] | None:
        """Look up the label names of a `ClassLabel` column; None for other columns."""
        return getattr((self.data.features or {}).get(column), "names", None)

    def split_ranges(self, size: int) -> RowRanges:
        """Split the table into ranges of `size` rows."""
        return _split_rows(self.data.num_rows, size)

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
    """Resolve a branch, tag or other ref of a dataset to a commit. Returns the ref unchanged if offline."""
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


def open_hub_table(repo_id: str, config: str | None, split: str, revision: str) -> HubTable:
    """Open a split of a Hub dataset. The revision of the table is the commit from which it is read.

    Raises:
        MissingFileError: If the Hub cannot be reached, and the cache has no copy.
        DataError: If the dataset or split does not exist, or cannot be read.
    """
    import datasets
    from huggingface_hub.errors import HfHubHTTPError

    commit = resolve_hub_commit(repo_id, revision)
    if datasets.config.HF_HUB_OFFLINE:
        datasets.utils.logging.set_verbosity_error()  # Otherwise, it warns for each cached split.

    def load(**how: Any) -> Any:
        data = datasets.load_dataset(repo_id, config, split=split, revision=commit, **how)
        if len(commit) < 40 or commit in str(data.cache_files):
            return data
        if datasets.config.HF_HUB_OFFLINE:
            raise DataError(
                f"{repo_id}: expected commit {commit} in the local cache, got another one; download it with a "
                "network connection (unbag prefetch)"
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
        raise MissingFileError(str(error)) from error
    except (datasets.exceptions.DatasetsError, HfHubHTTPError, OSError, ValueError) as error:
        # A data set that does not exist is a mistake of the user, a data set that cannot be reached is not.
        is_unreachable = isinstance(error, ConnectionError)
        raise (MissingFileError if is_unreachable else DataError)(
            f"{what}: expected a readable dataset, got an error ({extract_first_line(error.__cause__ or error)})"
        ) from error
    return HubTable(repo_id, data, commit)


def is_corrupted_cache_error(error: BaseException) -> bool:
    """Check whether an error of `datasets` indicates a corrupted file in its cache.

    Full disks and network failures do not count: their errors have an errno or a specific type.
    """
    import datasets

    cause = error.__cause__ if isinstance(error, datasets.exceptions.DatasetGenerationError) else error
    is_truncated = type(cause) is OSError and cause.errno is None  # Arrow's error for a truncated file
    return is_truncated or isinstance(cause, pa.ArrowInvalid) or type(cause) is FileNotFoundError
