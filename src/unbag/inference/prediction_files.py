"""Predictions made elsewhere: a file with a row for each row of a challenge set."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from unbag.data.labels import LABEL_SPACES, LABELS, LabelError, canonical
from unbag.data.readers import Row, cell, open_file
from unbag.inference.predictor import checked_probabilities
from unbag.utils.safe_io import DataError

_BATCH: Final = 10_000  # ids at a time


class FilePredictions(NamedTuple):
    """Predictions in the order of a set's rows."""

    probabilities: NDArray[np.float32]  # (n, labels)
    label_space: tuple[str, ...]
    has_probabilities: bool  # whether the probabilities say how sure the model is; False for bare labels
    sha256: str


def read_predictions(path: Path, ids: Any) -> FilePredictions:
    """Read the prediction of each row of a set, whatever order the file has them in.

    Args:
        path: a csv, tsv, jsonl or parquet file with the column `id`, and either `prediction` (a label's name) or a
            column of probabilities for each label, named as the label.
        ids: the ids of the set's rows: texts, or an Arrow array of them.

    Raises:
        DataError: if columns are missing, an id is unknown, comes twice or is missing, or a value is no prediction.
    """
    label_space = label_space_of_file(path)
    file = open_file(path)
    ids = ids if isinstance(ids, pa.Array) else pa.array(ids, type=pa.string())
    positions = _Positions(ids)
    probabilities = np.full((len(ids), len(label_space or LABELS)), np.nan, dtype=np.float32)
    for row in file.read():
        name = cell(row, "id")
        number = positions.of(str(name))
        if number is None:
            raise DataError(f"{row.place}: the set has no row with the id {name!r:.100}; was it built otherwise?")
        if not np.isnan(probabilities[number, 0]):
            raise DataError(f"{row.place}: the id {name!r:.100} was met before")
        probabilities[number] = _one_hot(row) if label_space is None else _distribution(row, label_space)
    missing = np.flatnonzero(np.isnan(probabilities[:, 0]))
    if len(missing):
        first = ids[int(missing[0])].as_py()
        raise DataError(f"{path}: {len(missing):,} of the set's {len(ids):,} rows have no prediction, first {first!r}")
    return FilePredictions(probabilities, tuple(label_space or LABELS), label_space is not None, file.sha256())


class _Positions:
    """Which row of a set has an id, without a table of all ids as Python has it: a hundred bytes and more each.

    A file mostly has the set's order. For one that has not, 16 bytes an id are kept: its hash, and where it stands.
    """

    def __init__(self, ids: Any) -> None:
        self._ids = ids
        self._next = 0

    def of(self, name: str) -> int | None:
        """Return the position of an id; None where there is none."""
        found = self._next if self._is_at(self._next, name) else self._looked_up(name)
        if found is not None:
            self._next = found + 1
        return found

    def _is_at(self, position: int, name: str) -> bool:
        return position < len(self._ids) and self._ids[position].as_py() == name

    def _looked_up(self, name: str) -> int | None:
        hashes, order = self._index
        wanted = np.uint64(_hash(name))
        place = int(np.searchsorted(hashes, wanted))
        while place < len(hashes) and hashes[place] == wanted:  # two ids may have one hash
            if self._is_at(int(order[place]), name):
                return int(order[place])
            place += 1
        return None

    @cached_property
    def _index(self) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
        """The hashes of all ids, sorted, and the position of each."""
        some = (self._ids[start : start + _BATCH].to_pylist() for start in range(0, len(self._ids), _BATCH))
        hashes = np.fromiter((_hash(name) for names in some for name in names), np.uint64, count=len(self._ids))
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order


def _hash(name: str) -> int:
    return xxhash.xxh3_64_intdigest(name.encode("utf-8", "surrogatepass"))


def label_space_of_file(path: Path) -> tuple[str, ...] | None:
    """Return the labels that a file has probabilities for; None if it names labels.

    Raises:
        DataError: if it is no file of predictions.
    """
    file = open_file(path)
    columns = list(file.columns)
    label_space = next((labels for labels in LABEL_SPACES if set(labels) <= set(columns)), None)
    if "id" not in columns or (label_space is None and "prediction" not in columns):
        raise DataError(
            f"{path}: expected the columns id and either prediction or "
            f"{', or '.join(', '.join(labels) for labels in LABEL_SPACES)}; found {columns}"
        )
    if label_space is None:
        _one_hot(next(file.read()))
    return label_space


def _one_hot(row: Row) -> NDArray[np.float32]:
    try:
        label = canonical(str(cell(row, "prediction")))
        if label not in LABELS:
            raise LabelError(label)
        return np.array([label == name for name in LABELS], dtype=np.float32)
    except LabelError:
        found = str(cell(row, "prediction"))
        hint = "; nothing says which label an id is, write its name" if found.strip().isdigit() else ""
        raise DataError(
            f"{row.place}: expected a prediction of {', '.join(LABELS)}; found {found!r:.100}{hint}"
        ) from None


def _distribution(row: Row, label_space: Sequence[str]) -> NDArray[np.float32]:
    values = [[_number(row, label) for label in label_space]]
    try:
        return checked_probabilities(values, 1, label_space).reshape(-1)
    except ValueError as error:
        raise DataError(f"{row.place}: {error!s:.300}") from None


def _number(row: Row, label: str) -> float:
    found = cell(row, label)
    try:
        return float(found)
    except (TypeError, ValueError, OverflowError):  # a whole number of JSON may have any number of digits
        raise DataError(
            f"{row.place}: expected a probability from 0 to 1 for {label}, got {found!r:.60}; correct that cell"
        ) from None
