"""Predictions made elsewhere: a file with a row for each row of a challenge set."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.inference.predictor import checked_probabilities
from unbag.labels import LABELS, TWO_WAY, LabelError, canonical
from unbag.rows import DataError, Row, open_file


class FilePredictions(NamedTuple):
    """Predictions in the order of a set's rows."""

    probabilities: NDArray[np.float32]  # (n, labels)
    label_space: tuple[str, ...]
    has_probabilities: bool  # whether the probabilities say how sure the model is; False for bare labels
    sha256: str


def read_predictions(path: Path, ids: Sequence[str]) -> FilePredictions:
    """Read the prediction of each row of a set, whatever order the file has them in.

    Args:
        path: a csv, tsv, jsonl or parquet file with the column `id`, and either `prediction` (a label's name) or a
            column of probabilities for each label, named as the label.
        ids: the ids of the set's rows.

    Raises:
        DataError: if columns are missing, an id is unknown, comes twice or is missing, or a value is no prediction.
    """
    file = open_file(path)
    columns = list(file.columns)
    label_space = next((labels for labels in (LABELS, TWO_WAY) if set(labels) <= set(columns)), None)
    if "id" not in columns or (label_space is None and "prediction" not in columns):
        raise DataError(
            f"{path}: expected the columns id and either prediction or {', '.join(LABELS)} "
            f"(or {', '.join(TWO_WAY)}); found {columns}"
        )
    position = {name: number for number, name in enumerate(ids)}
    probabilities = np.full((len(ids), len(label_space or LABELS)), np.nan, dtype=np.float32)
    for row in file.read():
        number = position.get(str(row.values["id"]))
        if number is None:
            raise DataError(
                f"{row.place}: the set has no row with the id {row.values['id']!r}; was it built otherwise?"
            )
        if not np.isnan(probabilities[number, 0]):
            raise DataError(f"{row.place}: the id {row.values['id']!r} was met before")
        probabilities[number] = _one_hot(row) if label_space is None else _distribution(row, label_space)
    missing = np.flatnonzero(np.isnan(probabilities[:, 0]))
    if len(missing):
        raise DataError(
            f"{path}: {len(missing):,} of the set's {len(ids):,} rows have no prediction, first {ids[missing[0]]!r}"
        )
    return FilePredictions(probabilities, tuple(label_space or LABELS), label_space is not None, file.sha256())


def _one_hot(row: Row) -> NDArray[np.float32]:
    try:
        label = canonical(str(row.values["prediction"]))
        if label not in LABELS:
            raise LabelError(label)
        return np.array([label == name for name in LABELS], dtype=np.float32)
    except LabelError:
        expected = ", ".join(LABELS)
        raise DataError(
            f"{row.place}: expected a prediction of {expected}; found {row.values['prediction']!r}"
        ) from None


def _distribution(row: Row, label_space: Sequence[str]) -> NDArray[np.float32]:
    try:
        return checked_probabilities([[float(row.values[label]) for label in label_space]], 1, label_space).reshape(-1)
    except (TypeError, ValueError) as error:
        raise DataError(f"{row.place}: {error}") from None
