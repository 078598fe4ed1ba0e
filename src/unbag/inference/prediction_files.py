"""Files of predictions from another tool, with one row per row of a challenge set."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from unbag.data.labels import LABEL_SPACES, LABELS, LabelError, resolve_label
from unbag.data.readers import DataRow, get_cell, open_data_file
from unbag.inference.predictor import validate_probabilities
from unbag.utils.safe_io import DataError

_BATCH: Final = 10_000  # ids at a time


class FilePredictions(NamedTuple):
    """Predictions from a file, in the order of a set's rows."""

    probabilities: NDArray[np.float32]  # (n, labels)
    label_space: tuple[str, ...]
    has_probabilities: bool  # whether the probabilities measure confidence; False for bare labels
    sha256: str


def read_prediction_file(path: Path, ids: Any) -> FilePredictions:
    """Read a predictions file, and arrange the predictions in the order of a set's row ids.

    Args:
        path: A csv, tsv, jsonl or parquet file with the column `id`, and either `prediction` (a label's name) or a
            column of probabilities for each label, named as the label.
        ids: Ids of the set's rows, texts or an Arrow array of them.

    Raises:
        DataError: If columns are missing, an id is unknown, duplicate or missing, or a value is not a prediction.
    """
    label_space = detect_label_space(path)
    file = open_data_file(path)
    ids = ids if isinstance(ids, pa.Array) else pa.array(ids, type=pa.string())
    positions = _Positions(ids)
    probabilities = np.full((len(ids), len(label_space or LABELS)), np.nan, dtype=np.float32)
    for row in file.read():
        name = get_cell(row, "id")
        number = positions.find(str(name))
        if number is None:
            raise DataError(
                f"{row.location}: expected an id that occurs in the set, got {name!r:.100}; build the set with the "
                "options that were used for the predictions"
            )
        if not np.isnan(probabilities[number, 0]):
            raise DataError(f"{row.location}: expected each id once, got {name!r:.100} again; remove one of the rows")
        probabilities[number] = _one_hot(row) if label_space is None else _distribution(row, label_space)
    missing = np.flatnonzero(np.isnan(probabilities[:, 0]))
    if len(missing):
        first = ids[int(missing[0])].as_py()
        raise DataError(
            f"{path}: expected a prediction for each of {len(ids):,} rows, got none for {len(missing):,}, such as "
            f"{first!r}; add them"
        )
    return FilePredictions(probabilities, tuple(label_space or LABELS), label_space is not None, file.sha256())


class _Positions:
    """Index from the id of a row to its position.

    A dict would take more than a hundred bytes per id. Most files have the order of the set, so the next position is
    tried first. For other files, the index holds 16 bytes per id: its hash and its position.
    """

    def __init__(self, ids: Any) -> None:
        self._ids = ids
        self._next = 0

    def find(self, name: str) -> int | None:
        """Find the row position of an id. Return None if the set has no such row."""
        position = self._next if self._is_at(self._next, name) else self._look_up(name)
        if position is not None:
            self._next = position + 1
        return position

    def _is_at(self, position: int, name: str) -> bool:
        return position < len(self._ids) and self._ids[position].as_py() == name

    def _look_up(self, name: str) -> int | None:
        hashes, order = self._index
        digest = np.uint64(_hash(name))
        place = int(np.searchsorted(hashes, digest))
        while place < len(hashes) and hashes[place] == digest:  # different ids may have the same hash
            if self._is_at(int(order[place]), name):
                return int(order[place])
            place += 1
        return None

    @cached_property
    def _index(self) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
        """Hashes of all ids, sorted, and the position of each."""
        batches = (self._ids[start : start + _BATCH].to_pylist() for start in range(0, len(self._ids), _BATCH))
        hashes = np.fromiter((_hash(name) for names in batches for name in names), np.uint64, count=len(self._ids))
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order


def _hash(name: str) -> int:
    return xxhash.xxh3_64_intdigest(name.encode("utf-8", "surrogatepass"))


def detect_label_space(path: Path) -> tuple[str, ...] | None:
    """Find the label space of the probability columns in a file. Return None if the file has label names instead.

    Raises:
        DataError: If it is not a file of predictions.
    """
    file = open_data_file(path)
    columns = list(file.columns)
    label_space = next((labels for labels in LABEL_SPACES if set(labels) <= set(columns)), None)
    if "id" not in columns or (label_space is None and "prediction" not in columns):
        raise DataError(
            f"{path}: expected the columns id and either prediction or "
            f"{', or '.join(', '.join(labels) for labels in LABEL_SPACES)}, got {columns}"
        )
    if label_space is None:
        _one_hot(next(file.read()))
    return label_space


def _one_hot(row: DataRow) -> NDArray[np.float32]:
    try:
        label = resolve_label(str(get_cell(row, "prediction")))
        if label not in LABELS:
            raise LabelError(label)
        return np.array([label == name for name in LABELS], dtype=np.float32)
    except LabelError:
        value = str(get_cell(row, "prediction"))
        hint = "; replace label ids with names" if value.strip().isdigit() else ""
        raise DataError(
            f"{row.location}: expected a prediction of {', '.join(LABELS)}, got {value!r:.100}{hint}"
        ) from None


def _distribution(row: DataRow, label_space: Sequence[str]) -> NDArray[np.float32]:
    values = [[_number(row, label) for label in label_space]]
    try:
        return validate_probabilities(values, 1, label_space).reshape(-1)
    except ValueError as error:
        raise DataError(f"{row.location}: {error!s:.300}") from None


def _number(row: DataRow, label: str) -> float:
    value = get_cell(row, label)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):  # an integer in JSON may be too large for a float
        raise DataError(
            f"{row.location}: expected a probability from 0 to 1 for {label}, got {value!r:.60}; correct that cell"
        ) from None
