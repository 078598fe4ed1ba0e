"""CSV table of all predicted pairs, with gold labels, predictions and probabilities."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from unbag.data.columns import ROWS_PER_TABLE, read_column
from unbag.data.labels import LABELS, NOT_CONTRADICTION, NOT_ENTAILMENT
from unbag.evaluation.scoring import ScoredResult
from unbag.utils.files import atomic_write

_COLUMNS: Final = ("model", "set", "data", "id", "premise", "hypothesis", "gold", "prediction")
_DIGITS: Final = 6  # significant digits, so that probabilities near 0 differ


def write_prediction_table(scored_results: Sequence[ScoredResult], path: Path) -> None:
    """Write the predictions of a run as a UTF-8 CSV file (RFC 4180).

    Columns: `model`, `set`, `data` (corpus and split), `id`, `premise`, `hypothesis`, `gold`,
    `prediction`, and the probability of each label, with six significant digits. Gold label and prediction are in the
    label space in which the model was scored. If the model abstained, the prediction is `none` and the probabilities
    are empty. Probabilities are also empty for a model that predicts only labels. If all models do, these columns are
    absent.
    """
    spaces = [each.predictions.label_space for each in scored_results if each.predictions.has_probabilities]
    labels = [
        label for label in (*LABELS, NOT_ENTAILMENT, NOT_CONTRADICTION) if any(label in space for space in spaces)
    ]
    with atomic_write(path) as tmp, tmp.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*_COLUMNS, *labels])
        for each in scored_results:
            writer.writerows(_lines(each, labels))


def _lines(scored: ScoredResult, labels: list[str]) -> Iterator[list[Any]]:
    """Iterate over the rows of cells, with one batch in memory at a time."""
    result, rows, answers = scored.result, scored.rows, scored.predictions
    space = list(answers.label_space)
    fields = [result.model["name"], result.set, result.corpus]
    texts = [read_column(rows, name) for name in ("id", "premise", "hypothesis")]
    gold = answers.to_label_positions(read_column(rows, "label").to_numpy())
    predicted = answers.label_names
    values = answers.probabilities.astype(np.float64)
    unanswered = np.zeros(len(rows), dtype=bool) if answers.unanswered is None else answers.unanswered
    has_none = unanswered | (not answers.has_probabilities)
    for start in range(0, len(rows), ROWS_PER_TABLE):
        cells = zip(*(each[start : start + ROWS_PER_TABLE].to_pylist() for each in texts), strict=True)
        for row, cell in enumerate(cells, start):
            probabilities = {} if has_none[row] else dict(zip(space, values[row].tolist(), strict=True))
            shown = [float(f"{probabilities[each]:.{_DIGITS}g}") if each in probabilities else "" for each in labels]
            yield [*fields, *cell, space[gold[row]], str(predicted[row]), *shown]
