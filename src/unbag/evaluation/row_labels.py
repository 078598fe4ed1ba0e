"""Predicted labels of a run, one per row of a set, for row-by-row comparisons of two runs.

    <run>/samples/00-permuted.labels.parquet    labels of the first result in results.json: one row per row of the set

The file lies in the run's folder, since the prediction store may be shared, on another machine, or deleted.
"""

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from unbag.challenge_sets.results import Result
from unbag.data import parquet
from unbag.data.columns import read_column
from unbag.data.predictions import NO_ANSWER, NONE, SetPredictions
from unbag.utils import checksums

SUFFIX: Final = ".labels.parquet"
SCHEMA: Final = 1
_META: Final = b"unbag.labels"


class RowLabels(NamedTuple):
    """Predicted labels of n rows, in order. Each row requires five bytes of memory."""

    source: NDArray[np.int32]  # number of each row's source example, shape (n,); rows of one source are not independent
    label: NDArray[np.int8]  # position of each row's predicted label in `names`, shape (n,)
    names: tuple[str, ...]  # the last one, `data.predictions.NONE`, is for rows without an answer

    def find_differences(self, other: "RowLabels") -> NDArray[np.bool_]:
        """Compute a mask of the rows whose labels differ between two predictions, shape (n,)."""
        ours = np.array([self.names.index(name) if name in self.names else -1 for name in other.names])
        differs: NDArray[np.bool_] = self.label != ours[other.label]
        return differs


def collect_row_labels(rows: Any, predictions: SetPredictions) -> RowLabels:
    """Convert predictions for the n rows of a set, as they were scored, to labels."""
    names = (*predictions.label_space, NONE)
    predicted = predictions.predicted
    label = np.where(predicted == NO_ANSWER, len(names) - 1, predicted).astype(np.int8)
    return RowLabels(compute_source_indices(rows), label, names)


def compute_source_indices(rows: Any) -> NDArray[np.int32]:
    """Compute the index (0, 1, …) of each row's source example, shape (n,)."""
    codes: NDArray[np.int32] = read_column(rows, "source_id").dictionary_encode().indices.to_numpy().astype(np.int32)
    return codes


def encode_row_labels(labels: RowLabels, result: Result) -> bytes:
    """Encode the labels of a result as the content of a Parquet file."""
    table = pa.table({"source": labels.source, "label": labels.label})
    fields = {"names": labels.names, "sha256": result.data["sha256"], "checksum": _checksum(labels)}
    meta = {"schema": SCHEMA, **fields}
    buffer = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({_META: json.dumps(meta)}), buffer, compression="zstd")
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def read_row_labels(file: Path, result: Result) -> RowLabels | None:
    """Read the predicted labels of a result. Return None if the run stored none.

    Raises:
        ValueError: If the file is damaged, of another version, or of other rows.
    """
    if not file.is_file():
        return None
    try:
        table, meta = parquet.read_table_with_metadata(file, _META, SCHEMA)
        columns = [table.column(name).to_numpy() for name in ("source", "label")]
        labels = RowLabels(columns[0].astype(np.int32), columns[1].astype(np.int8), tuple(meta["names"]))
        if meta["checksum"] != _checksum(labels):
            raise ValueError("corrupted: the checksum differs")
        is_same = meta["sha256"] == result.data["sha256"]
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file}: expected readable labels, got an error ({error}); evaluate again") from error
    if not is_same:
        raise ValueError(
            f"{file}: expected labels for the results in the same folder, got labels for other rows; evaluate again"
        )
    return labels


def _checksum(labels: RowLabels) -> int:
    return checksums.compute_cells_checksum(labels.source.tobytes(), labels.label.tobytes(), *labels.names)
