"""Predicted labels of a run, one per row of a set, so that two runs can be compared row by row.

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
from unbag.data.columns import column
from unbag.data.predictions import SetPredictions
from unbag.utils import checksums

SUFFIX: Final = ".labels.parquet"
SCHEMA: Final = 1
_META: Final = b"unbag.labels"


class RowLabels(NamedTuple):
    """The predicted labels of n rows, in their order.

    Attributes:
        source: Number of each row's source example, shape (n,); rows of one source are not independent.
        label: Name of each row's predicted label, shape (n,); `data.predictions.NONE` without an answer.
    """

    source: NDArray[np.int64]
    label: NDArray[np.str_]


def collect(rows: Any, answers: SetPredictions) -> RowLabels:
    """Collect the predicted labels of the n rows of a set.

    Args:
        rows: Rows of the set, a `datasets.Dataset`.
        answers: Predictions of the rows, as they were scored.
    """
    return RowLabels(source_codes(rows), answers.names)


def source_codes(rows: Any) -> NDArray[np.int64]:
    """Build the number of each row's source example, from 0, shape (n,).

    Args:
        rows: Rows of the set, a `datasets.Dataset`.
    """
    codes: NDArray[np.int64] = column(rows, "source_id").dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes


def encode(labels: RowLabels, result: Result) -> bytes:
    """Encode the labels of a result as a Parquet file."""
    label = pa.array(labels.label.tolist(), pa.string()).dictionary_encode()
    table = pa.table({"source": pa.array(labels.source, pa.int64()), "label": label})
    meta = {"schema": SCHEMA, "sha256": result.data["sha256"], "checksum": _checksum(table)}
    buffer = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({_META: json.dumps(meta)}), buffer, compression="zstd")
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def read(file: Path, result: Result) -> RowLabels | None:
    """Read the labels of a result; None if the run stored none.

    Args:
        file: File of the labels (`evaluation.samples.labels_file`).
        result: The result.

    Raises:
        ValueError: If the file is damaged, of another version, or of other rows.
    """
    if not file.is_file():
        return None
    try:
        parquet.validate_unpacked_size(file, "the file", file.stat().st_size)
        table = pq.read_table(file, partitioning=None)
        meta = json.loads(table.schema.metadata[_META])
        if meta["schema"] != SCHEMA:
            raise ValueError(f"version {meta['schema']}, this package reads {SCHEMA}")
        if meta["checksum"] != _checksum(table):
            raise ValueError("damaged: the checksum differs")
        is_same = meta["sha256"] == result.data["sha256"]
        labels = RowLabels(
            table.column("source").to_numpy(), np.array(table.column("label").to_pylist(), dtype=np.str_)
        )
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} cannot be read ({error}); evaluate again") from error
    if not is_same:
        raise ValueError(f"{file} does not belong to the results beside it (the rows differ); evaluate again")
    return labels


def _checksum(table: pa.Table) -> int:
    label = table.column("label").cast(pa.string()).to_pylist()
    return checksums.cells_checksum(table.column("source").to_numpy().tobytes(), "\n".join(label).encode())
