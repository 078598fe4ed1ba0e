"""Rows out of files and Hub data sets, each with its number and a name for its place in an error message."""

import csv
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, Protocol

from unbag.fingerprint import content_hash, file_hash
from unbag.retries import with_retries

_BATCH = 1000


class DataError(ValueError):
    """Data that cannot be found or read; the message names the file or data set and the row."""


class Row(NamedTuple):
    """One row: its number from 0, its place in words, its values by column."""

    number: int
    place: str
    values: Mapping[str, Any]


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
class File:
    """A csv, tsv, jsonl or parquet file."""

    path: Path
    columns: Sequence[str]

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """Yield a range of rows, from the file's start each time."""
        return islice(_READERS[_kind(self.path)](self.path), start, stop)

    def label_names(self, column: str) -> Sequence[str] | None:
        """Return None: a file does not name its label ids."""
        return None

    def spans(self, size: int) -> tuple[tuple[int, int | None], ...]:
        """Return one open range: a text file has no random access."""
        return ((0, None),)

    def sha256(self) -> str:
        """Return the hash of the file's bytes."""
        return file_hash(self.path)


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
        """Return the hash of the named columns' rows (`unbag.fingerprint`)."""
        return content_hash(self.data.with_format("arrow").iter(batch_size=_BATCH), columns)


def is_hub_id(name: str) -> bool:
    """Tell whether a name is that of a data set on the Hub: `org/name`, and no file that is there or could be.

    >>> is_hub_id("org/my.pairs"), is_hub_id("folder/pairs.csv"), is_hub_id("./model")
    (True, False, False)
    """
    path = Path(name)
    return re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) is not None and not path.exists() and _kind(path) not in _READERS


def open_file(path: Path) -> File:
    """Open a file by its ending.

    Raises:
        DataError: if it is not there, of another kind, or has no rows.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if _kind(path) not in _READERS:
        raise DataError(f"{path}: expected a file that ends in {', '.join(_READERS)} (or one of these and .gz)")
    first = next(_READERS[_kind(path)](path), None)
    if first is None:
        raise DataError(f"{path}: the file has no rows")
    return File(path, list(first.values))


def hub_commit(repo_id: str, revision: str) -> str:
    """Return the commit at which a branch, tag or other ref of a data set stands; the ref itself when offline.

    Raises:
        DataError: if there is no such repository or ref.
    """
    if len(revision) == 40:  # a commit stays where it is
        return revision
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        info = with_retries(lambda: HfApi().dataset_info(repo_id, revision=revision), unreachable=False)
        return str(info.sha or revision)
    except HfHubHTTPError as error:
        raise DataError(f"{repo_id} at {revision}: {_first_line(error)}") from error
    except (OSError, httpx2.TransportError):  # offline, or out of reach
        return revision  # what is in the cache is used; `load_dataset` says so if nothing is


def open_hub(
    repo_id: str, config: str | None, split: str, revision: str, *, streaming: bool = False
) -> tuple[HubTable, str]:
    """Open one split of a data set on the Hub, and return it with the commit it was read at.

    Raises:
        DataError: if it is not there or cannot be reached.
    """
    import datasets
    from huggingface_hub.errors import HfHubHTTPError

    commit = hub_commit(repo_id, revision)

    if datasets.config.HF_HUB_OFFLINE:
        datasets.utils.logging.set_verbosity_error()  # else it tells for each split that it uses the cache

    def load(**how: Any) -> Any:
        return datasets.load_dataset(repo_id, config, split=split, revision=commit, streaming=streaming, **how)

    try:
        try:
            data = load()
        except (datasets.exceptions.DatasetGenerationError, OSError, ValueError) as error:
            if not is_damage(error) or datasets.config.HF_HUB_OFFLINE:
                raise
            data = load(download_mode="force_redownload")
    except (datasets.exceptions.DatasetsError, HfHubHTTPError, OSError, ValueError) as error:
        raise DataError(
            f"{repo_id} (config {config}, split {split}, revision {commit}) could not be loaded: "
            f"{_first_line(error.__cause__ or error)}"
        ) from error
    if datasets.config.HF_HUB_OFFLINE and len(commit) == 40 and commit not in str(data.cache_files):
        raise DataError(
            f"{repo_id}: expected commit {commit}, found another on this machine, which is offline; fetch it while "
            "there is a network (unbag prefetch)"
        )
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


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _kind(path: Path) -> str:
    return path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line numbers from 1 and lines, decoded one by one so that a broken one can be named."""
    opened: IO[bytes] = gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[assignment]
    with opened as file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1}); "
                    "save the file as UTF-8"
                ) from None
            yield number, text


def _read_separated(path: Path, delimiter: str, quoting: Literal[0, 3]) -> Iterator[Row]:
    reader = csv.reader((line for _, line in _lines(path)), delimiter=delimiter, quoting=quoting, strict=True)
    try:
        header = next(reader, None)
        if header is None:
            return
        _once(header, path)
        for number, cells in enumerate(row for row in reader if row):
            place = f"{path}, line {reader.line_num}"
            if len(cells) != len(header):
                raise DataError(f"{place}: expected {len(header)} cells ({', '.join(header)}), found {len(cells)}")
            yield Row(number, place, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from None


def _once(names: Sequence[str], place: object) -> None:
    """Refuse columns of one name, but those without any: nobody reads them, and spreadsheets write several."""
    if twice := _twice(names):
        raise DataError(f"{place}: {twice}")


def _twice(names: Sequence[str]) -> str:
    """Return what is wrong with names of columns; nothing if each is there once."""
    repeated = [name for name, n in Counter(names).items() if name and n > 1]
    message = (
        f"expected each name once, found {' and '.join(map(repr, repeated))} again; leave out or rename all but one"
    )
    return message if repeated else ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs) and (twice := _twice([name for name, _ in pairs])):
        raise ValueError(twice)
    return values


def _read_csv(path: Path) -> Iterator[Row]:
    return _read_separated(path, ",", csv.QUOTE_MINIMAL)


def _read_tsv(path: Path) -> Iterator[Row]:
    # As NLI's tsv files are written (SNLI, HANS): a quotation mark is a character of the sentence.
    return _read_separated(path, "\t", csv.QUOTE_NONE)


def _read_jsonl(path: Path) -> Iterator[Row]:
    decode = json.JSONDecoder(object_pairs_hook=_object).decode
    for row_number, (line_number, line) in enumerate((n, text) for n, text in _lines(path) if text.strip()):
        place = f"{path}, line {line_number}"
        try:
            values = decode(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{place}: not JSON ({error})") from None
        except ValueError as error:
            raise DataError(f"{place}: {error}") from None
        if not isinstance(values, dict):
            raise DataError(f"{place}: expected one JSON object a line, found {type(values).__name__}")
        yield Row(row_number, place, values)


def _read_parquet(path: Path) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: {_first_line(error)}") from None
    _once(file.schema_arrow.names, path)
    number = 0
    for batch in file.iter_batches(batch_size=_BATCH):
        for values in batch.to_pylist():
            yield Row(number, f"{path}, row {number}", values)
            number += 1


_READERS = {".csv": _read_csv, ".tsv": _read_tsv, ".jsonl": _read_jsonl, ".parquet": _read_parquet}
