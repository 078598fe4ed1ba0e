"""Samples: per-example values behind the metrics of a run, for paired comparisons of runs.

    <run>/samples/00-permuted.parquet      samples of the first result in results.json: one row per source example

The columns are the terms of the sums behind each number (right or wrong, permutations accepted, …), so that everything
a metric computes from rows and labels is done. A comparison therefore needs neither the set nor the model, and can draw
the same bootstrap resamples for both models. The folder also holds the predicted labels (`evaluation.row_labels`).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unbag.challenge_sets.results import Result
from unbag.data import parquet
from unbag.evaluation import row_labels
from unbag.evaluation.row_labels import RowLabels
from unbag.scoring.bootstrap import Sample
from unbag.scoring.nested import iter_estimates
from unbag.scoring.significance import STATISTICS, compute_sample_value
from unbag.utils import checksums
from unbag.utils.files import atomic_write

FOLDER: Final = "samples"
SCHEMA: Final = 1
_META: Final = b"unbag.sources"
_CLOSE: Final = 1e-9  # sums in another order differ only in their last bits; samples of another result differ by more


def write_samples(
    results: Sequence[Result],
    folder: Path,
    previous_indices: Mapping[int, int] = MappingProxyType({}),
    labels: Mapping[int, RowLabels] = MappingProxyType({}),
) -> None:
    """Write the samples (values per source example) and predicted labels of new results. Remove obsolete files.

    Quantities whose units are not the set's source examples (those of SICCK by modifier) are excluded.

    Args:
        results: All results of the folder.
        folder: Folder of the run.
        previous_indices: For results that were not scored now but stay in the folder, the previous index by the new
            index.
        labels: Predicted labels of the newly scored results, by index (default: none).
    """
    # All files are read before any is written, because the new name of a file may be the old name of another.
    contents: dict[Path, bytes] = {}
    for new, old in previous_indices.items():
        for file_of in (_file, get_labels_file):
            if (file := file_of(folder, old, results[new])).is_file():
                contents[file_of(folder, new, results[new])] = file.read_bytes()
    for number, result in enumerate(results):
        if number in previous_indices and _file(folder, number, result) in contents:
            continue
        if content := _encode(result):
            contents[_file(folder, number, result)] = content
        if number in labels:
            contents[get_labels_file(folder, number, result)] = row_labels.encode_row_labels(labels[number], result)
    for file, content in contents.items():
        if not file.is_file() or file.read_bytes() != content:
            with atomic_write(file) as tmp:
                tmp.write_bytes(content)
    for old_file in (folder / FOLDER).glob("*.parquet"):
        if old_file not in contents:
            old_file.unlink()


def read_samples(folder: Path, result_index: int, result: Result) -> dict[str, Sample] | None:
    """Read the samples (values per source example) of a result by metric. Return None if none are stored.

    `result_index` is the index of the result in the folder's results.json.

    Raises:
        ValueError: If the file is corrupted, has another version, or belongs to another result.
    """
    file = _file(folder, result_index, result)
    if not file.is_file():
        return None
    try:
        table, meta = parquet.read_table_with_metadata(file, _META, SCHEMA)
        columns = [column.to_numpy() for column in table.itercolumns()]
        samples = {
            path: Sample(statistic, np.stack([columns[index] for index in indices], axis=1))
            for path, (statistic, indices) in meta["quantities"].items()
            if statistic in STATISTICS
        }
        if meta.get("checksum") not in (None, _checksum(table)):  # older files have no checksum
            raise ValueError("corrupted: the checksum differs")
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{file}: expected readable samples, got an error ({error}); evaluate again, or delete the file to compare "
            "the runs without paired tests"
        ) from error
    recorded = dict(iter_estimates(result.scores))
    for path, sample in samples.items():
        value = recorded[path].value if path in recorded else None
        if path not in recorded or (value is not None and abs(compute_sample_value(sample) - value) > _CLOSE):
            raise ValueError(
                f"{file}: expected samples that match the results of the run, got another value for {path}; "
                "evaluate again"
            )
    return samples


def _checksum(table: pa.Table) -> int:
    return checksums.compute_cells_checksum(*(column.to_numpy().tobytes() for column in table.itercolumns()))


def get_labels_file(folder: Path, result_index: int, result: Result) -> Path:
    """Build the path of the file that stores the predicted labels of a result. See `evaluation.row_labels`."""
    return folder / FOLDER / f"{result_index:02}-{result.set}{row_labels.SUFFIX}"


def _file(run: Path, number: int, result: Result) -> Path:
    return run / FOLDER / f"{number:02}-{result.set}.parquet"


def _encode(result: Result) -> bytes | None:
    """Encode the samples of a new result as a Parquet file. Return None if it has none."""
    samples = [(path, e.sample) for path, e in iter_estimates(result.scores) if e.sample is not None]
    if not samples:
        return None
    n = len(samples[0][1].columns)
    same_units = {path: sample for path, sample in samples if len(sample.columns) == n}
    buffer = pa.BufferOutputStream()
    pq.write_table(_table(same_units, result), buffer, compression="zstd")
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def _table(samples: dict[str, Sample], result: Result) -> pa.Table:
    """Build the table of all samples. Columns shared by several quantities are stored once."""
    positions: dict[str, int] = {}
    columns: list[Any] = []
    quantities: dict[str, tuple[str, list[int]]] = {}
    for path, sample in samples.items():
        indices = []
        for column in np.ascontiguousarray(sample.columns.T):
            key = hashlib.sha256(column.tobytes()).hexdigest()
            if key not in positions:
                positions[key] = len(columns)
                columns.append(column)
            indices.append(positions[key])
        quantities[path] = (sample.statistic, indices)
    table = pa.table({str(position): column for position, column in enumerate(columns)})
    meta = {
        "schema": SCHEMA,
        "checksum": _checksum(table),
        "set": result.set,
        "model": result.model["name"],
        "sha256": result.data["sha256"],
        "quantities": quantities,
    }
    return table.replace_schema_metadata({_META: json.dumps(meta, ensure_ascii=False)})
