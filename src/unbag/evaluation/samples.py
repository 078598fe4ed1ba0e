"""Samples and predicted labels of a run, for paired comparisons of runs.

    <run>/samples/00-permuted.parquet           samples of the first result in results.json: one row per source example
    <run>/samples/00-permuted.labels.parquet    its predicted labels: one row per row of the set

The columns of samples are the terms of the sums behind each number (right or wrong, permutations accepted, …), so that
everything a metric computes from rows and labels is done. A comparison therefore needs neither the set nor the model,
and can draw the same bootstrap resamples for both models. The files lie in the run's folder, since the prediction store
may be shared, on another machine, or deleted.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from unbag.challenge_sets.results import Result
from unbag.data import parquet
from unbag.data.columns import read_column
from unbag.data.predictions import NO_ANSWER, NONE, SetPredictions
from unbag.scoring.bootstrap import Sample
from unbag.scoring.nested import iter_estimates
from unbag.scoring.significance import STATISTICS, compute_sample_value
from unbag.utils.files import atomic_write

FOLDER: Final = "samples"
SCHEMA: Final = 1
_META: Final = b"unbag.sources"
_LABELS_META: Final = b"unbag.labels"
_SAMPLES: Final = ".parquet"
_LABELS: Final = ".labels.parquet"
_CLOSE: Final = 1e-9  # sums in another order differ only in their last bits; samples of another result differ by more


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


def write_samples(
    results: Sequence[Result],
    folder: Path,
    previous_indices: Mapping[int, int] = MappingProxyType({}),
    labels: Mapping[int, RowLabels] = MappingProxyType({}),
) -> None:
    """Write the samples (values per source example) and predicted labels of new results. Remove obsolete files.

    Args:
        previous_indices: For results that were not scored now but stay in the folder, the previous index by the new
            index.
        labels: Predicted labels of the newly scored results, by index (default: none).
    """
    # All files are read before any is written, because the new name of a file may be the old name of another.
    contents: dict[Path, bytes] = {}
    for number, result in enumerate(results):
        for kind in (_SAMPLES, _LABELS):
            old = _file(folder, previous_indices.get(number, number), result, kind)
            if number in previous_indices and old.is_file():
                contents[_file(folder, number, result, kind)] = old.read_bytes()
        if (file := _file(folder, number, result, _SAMPLES)) in contents:
            continue
        if content := _encode_samples(result):
            contents[file] = content
        if number in labels:
            source, label, names = labels[number]
            contents[_file(folder, number, result, _LABELS)] = _encode_table(
                pa.table({"source": source, "label": label}), _LABELS_META, {"names": names}, result
            )
    for file, content in contents.items():
        if not file.is_file() or file.read_bytes() != content:
            with atomic_write(file) as tmp:
                tmp.write_bytes(content)
    for file in (folder / FOLDER).glob("*.parquet"):
        if file not in contents:
            file.unlink()


def read_samples(folder: Path, result_index: int, result: Result) -> dict[str, Sample] | None:
    """Read the samples (values per source example) of a result by metric. Return None if none are stored.

    `result_index` is the index of the result in the folder's results.json.
    """
    file = _file(folder, result_index, result, _SAMPLES)
    if not file.is_file():
        return None
    recorded = dict(iter_estimates(result.scores))
    try:
        table, meta = parquet.read_table_with_metadata(file, _META, SCHEMA)
        columns = [column.to_numpy() for column in table.itercolumns()]
        samples = {
            path: Sample(statistic, np.stack([columns[index] for index in indices], axis=1))
            for path, (statistic, indices) in meta["quantities"].items()
            if statistic in STATISTICS
        }
        for path, sample in samples.items():
            value = recorded[path].value
            if value is not None and abs(compute_sample_value(sample) - value) > _CLOSE:
                raise ValueError(f"another value of {path} than in the results of the run")
    except (OSError, pa.ArrowException, LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"{file}: expected readable samples, got an error ({error}); evaluate again, or delete the file to compare "
            "the runs without paired tests"
        ) from error
    return samples


def read_row_labels(folder: Path, result_index: int, result: Result) -> RowLabels | None:
    """Read the predicted labels of a result, as `read_samples`. Return None if the run stored none."""
    file = _file(folder, result_index, result, _LABELS)
    if not file.is_file():
        return None
    try:
        table, meta = parquet.read_table_with_metadata(file, _LABELS_META, SCHEMA)
        source, label = (table.column(name).to_numpy() for name in ("source", "label"))
        if meta["sha256"] != result.data["sha256"]:
            raise ValueError("labels of other rows")
        return RowLabels(source.astype(np.int32), label.astype(np.int8), tuple(meta["names"]))
    except (OSError, pa.ArrowException, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{file}: expected readable labels, got an error ({error}); evaluate again") from error


def _file(run: Path, number: int, result: Result, kind: str) -> Path:
    return run / FOLDER / f"{number:02}-{result.set}{kind}"


def _encode_table(table: pa.Table, key: bytes, meta: Mapping[str, Any], result: Result) -> bytes:
    record = {"schema": SCHEMA, "set": result.set, "model": result.model["name"], "sha256": result.data["sha256"]}
    text = json.dumps({**record, **meta}, ensure_ascii=False)
    buffer = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({key: text}), buffer, compression="zstd", write_page_checksum=True)
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def _encode_samples(result: Result) -> bytes | None:
    """Encode the samples of a new result as a Parquet file. Return None if it has none.

    Quantities whose units are not the set's source examples (those of SICCK by modifier) are excluded. Columns shared
    by several quantities are stored once.
    """
    samples = {path: e.sample for path, e in iter_estimates(result.scores) if e.sample is not None}
    if not samples:
        return None
    n = len(next(iter(samples.values())).columns)
    positions: dict[bytes, int] = {}
    columns: dict[str, NDArray[Any]] = {}
    quantities = {}
    for path, sample in samples.items():
        if len(sample.columns) != n:
            continue
        indices = []
        for column in np.ascontiguousarray(sample.columns.T):
            index = positions.setdefault(column.tobytes(), len(positions))
            columns.setdefault(str(index), column)
            indices.append(index)
        quantities[path] = (sample.statistic, indices)
    return _encode_table(pa.table(columns), _META, {"quantities": quantities}, result)
