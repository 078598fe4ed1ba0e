"""Changed labels between two runs: the proportion of rows on which the predicted label changed.

Two models can have equal scores and different predictions. A quantized, pruned or exported model should predict what
the original predicts, right or wrong, so its labels are compared row by row.

The run's folder contains the predicted labels, one per row of a set, because the prediction store may be shared, on
another machine, or deleted:

    <run>/samples/00-permuted.labels.parquet    labels of the first result in results.json
"""

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.data import parquet
from unbag.data.columns import read_column
from unbag.data.predictions import NO_ANSWER, NONE, SetPredictions
from unbag.evaluation import samples
from unbag.evaluation.systems import LocatedResult, load_single_system
from unbag.scoring.bootstrap import Estimate, estimate_proportion, to_json
from unbag.utils import checksums

SUFFIX: Final = ".labels.parquet"
SCHEMA: Final = 1
_META: Final = b"unbag.labels"


class RowLabels(NamedTuple):
    """Predicted labels of n rows, in order. Each row takes five bytes.

    Attributes:
        source: Number of each row's source example, shape (n,); rows of one source are not independent.
        label: Position of each row's predicted label in `names`, shape (n,).
        names: Names of the labels; the last one, `data.predictions.NONE`, is for rows without an answer.
    """

    source: NDArray[np.int32]
    label: NDArray[np.int8]
    names: tuple[str, ...]

    def find_differences(self, other: "RowLabels") -> NDArray[np.bool_]:
        """Compute a mask of the rows whose labels differ between two predictions, shape (n,)."""
        ours = np.array([self.names.index(name) if name in self.names else -1 for name in other.names])
        differs: NDArray[np.bool_] = self.label != ours[other.label]
        return differs


def collect_row_labels(rows: Any, predictions: SetPredictions) -> RowLabels:
    """Convert predictions for the n rows of a set to labels.

    Args:
        rows: Rows of the set, a `datasets.Dataset`.
        predictions: Predictions of the rows, as they were scored.
    """
    names = (*predictions.label_space, NONE)
    predicted = predictions.predicted
    label = np.where(predicted == NO_ANSWER, len(names) - 1, predicted).astype(np.int8)
    return RowLabels(compute_source_codes(rows), label, names)


def compute_source_codes(rows: Any) -> NDArray[np.int32]:
    """Compute the index of each row's source example, counted from 0, shape (n,).

    Args:
        rows: Rows of the set, a `datasets.Dataset`.
    """
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

    Args:
        file: File of the labels (`evaluation.samples.get_labels_file`).
        result: The result.

    Raises:
        ValueError: If the file is damaged, of another version, or of other rows.
    """
    if not file.is_file():
        return None
    try:
        table, meta = parquet.read_with_metadata(file, _META, SCHEMA)
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


class ChangedLabels(NamedTuple):
    """Proportion of predictions that differ between two models on one set.

    Attributes:
        set: Name of the challenge set.
        data: Corpus that the set is made from.
        against: Name of the earlier model.
        changed: Number of rows whose label changed.
        estimate: Share of these rows, with its interval; `n` is the number of rows.
        sources: Number of source examples that the rows are made from.
    """

    set: str
    data: str
    against: str
    changed: int
    estimate: Estimate
    sources: int

    def to_json(self) -> dict[str, Any]:
        """Convert the result to a JSON object."""
        return to_json(self._asdict())  # type: ignore[no-any-return]


def compare_labels(run: Path, earlier_run: Path) -> tuple[list[ChangedLabels], list[str]]:
    """Compare the predicted labels of two runs on the same rows.

    The interval is that of Clopper & Pearson (1934) at the effective number of independent rows
    (`scoring.intervals.compute_effective_sizes`), since permutations of one example are not independent.

    Args:
        run: Folder or results file of the model.
        earlier_run: Folder or results file of the earlier model.

    Returns:
        One entry per set and corpus that both runs evaluated on the same rows, and notes on results without labels.

    Raises:
        ValueError: If a path has no results, results of several models, or damaged labels.
    """
    after, earlier = (load_single_system(path)[1] for path in (run, earlier_run))
    ours, theirs = after.group_by_task(), earlier.group_by_task()
    compared, notes = [], []
    for task in ours:
        if task not in theirs:
            continue
        one, other = ours[task][0], theirs[task][0]
        title = f"{challenge_sets.get_display_name(one.result.set)} · {one.result.corpus}"
        if len(ours[task]) > 1 or len(theirs[task]) > 1:
            notes.append(f"{title}: labels not compared, because one run has several training seeds")
            continue
        labels = [_read(each) for each in (one, other)]
        if labels[0] is None or labels[1] is None:
            notes.append(f"{title}: labels not compared, because one run contains no labels; evaluate again")
            continue
        counts = _count_changes(labels[0], labels[1])
        compared.append(ChangedLabels(one.result.set, one.result.corpus, earlier.name, *counts))
    return compared, notes


def _read(run: LocatedResult) -> RowLabels | None:
    return read_row_labels(samples.get_labels_file(run.file.parent, run.number, run.result), run.result)


def _count_changes(ours: RowLabels, theirs: RowLabels) -> tuple[int, Estimate, int]:
    """Count the labels that changed on the same n rows. Returns the count, the fraction and the number of sources."""
    changed = ours.find_differences(theirs)
    n_sources = len(np.unique(ours.source))
    everything = np.ones(len(changed), dtype=np.bool_)
    share = estimate_proportion(changed, everything, ours.source.astype(np.int64), n_sources)
    return int(changed.sum()), share, n_sources
