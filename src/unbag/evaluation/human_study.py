"""Human study: annotators label permuted pairs that a model predicts correctly.

Sinha et al. (2021), section 7: two experts labelled 200 permuted pairs, to all of which RoBERTa assigns the gold label
of the original pair. Half are from examples that RoBERTa predicts correctly in the original order (D^c), half from the
other examples (D^f). Half are short, half are long (Table 4).
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from unbag.data.columns import read_numeric_column
from unbag.data.labels import LABELS, NOT_ENTAILMENT, TWO_WAY, LabelError, map_label_to_space, resolve_label
from unbag.data.predictions import SetPredictions
from unbag.data.readers import get_cell, open_data_file
from unbag.scoring.bootstrap import Estimate, estimate_ratio
from unbag.scoring.natural_logic import natural_logic
from unbag.scoring.permutation_acceptance import ORIGINAL
from unbag.utils import rng
from unbag.utils.files import atomic_write
from unbag.utils.safe_io import DataError

DEFAULT_PAIRS: Final = 200
SHEET: Final = "sheet.csv"
KEY: Final = "key.csv"
RIGHT, FLIPPED = "D^c", "D^f"
_SHORTER, _LONGER = "shorter", "longer"
_CELLS: Final = tuple((drawn_from, length) for drawn_from in (RIGHT, FLIPPED) for length in (_SHORTER, _LONGER))


class SampledPair(NamedTuple):
    """Permuted pair for annotators, who see the sentences but not the id, label, subset or length."""

    premise: str
    hypothesis: str
    id: str
    label: str
    drawn_from: str
    length: str


class AnnotatorScores(TypedDict):
    """Scores of a human annotator."""

    answered: int  # number of labelled pairs, on which the other scores are computed
    accuracy: Estimate  # with its 95 % interval over pairs
    macro_f1: Estimate  # mean F1 over the labels that occur among the gold labels or the annotator's labels
    d_c: Estimate  # accuracy on pairs from examples that the model predicts correctly in the original order
    d_f: Estimate  # accuracy on pairs from the other examples


def sample_permuted_pairs(
    rows: Any, predictions: SetPredictions, *, n_pairs: int = DEFAULT_PAIRS, seed: int = 13
) -> list[SampledPair]:
    """Sample permuted pairs that a model predicts correctly, in random order.

    Shorter and longer examples of D^c and D^f are one quarter each. Each example occurs once, in one of its accepted
    orders. The paper does not define "longer". Here an example is longer if premise and hypothesis have more words than
    the median of all examples with an accepted order.

    `rows` is the permuted set. The sample depends only on the seed and the ids of the examples. Raises `ValueError` if
    `n_pairs` is not a multiple of 4, or a quarter has too few examples.
    """
    validate_pair_count(n_pairs)
    sources: list[str] = rows["source_id"][:]
    names: list[str] = rows.features["label"].names
    predictions = predictions.align_to_gold(names)
    permutation, label = read_numeric_column(rows, "permutation"), read_numeric_column(rows, "label")
    words = read_numeric_column(rows, "premise_words") + read_numeric_column(rows, "hypothesis_words")
    right = predictions.predicted == predictions.to_label_positions(label)
    in_order = {sources[row]: bool(right[row]) for row in np.flatnonzero(permutation == ORIGINAL)}
    accepted: dict[str, list[int]] = {}
    for row in np.flatnonzero(right & (permutation != ORIGINAL)).tolist():
        accepted.setdefault(sources[row], []).append(row)
    median = float(np.median([words[orders[0]] for orders in accepted.values()])) if accepted else 0.0
    candidates: dict[tuple[str, str], list[str]] = {cell: [] for cell in _CELLS}
    for source in sorted(accepted, key=lambda source: int(rng.compute_key(seed, "people", source))):
        cell = (RIGHT if in_order[source] else FLIPPED, _LONGER if words[accepted[source][0]] > median else _SHORTER)
        candidates[cell].append(source)
    each = n_pairs // len(_CELLS)
    sampled = []
    for (drawn_from, length), sources_of_cell in candidates.items():
        if len(sources_of_cell) < each:
            raise ValueError(
                f"expected at least {each} {length} examples with an accepted permutation in the subset {drawn_from}, "
                f"got {len(sources_of_cell)}; request fewer pairs, or sample from more examples"
            )
        for source in sources_of_cell[:each]:
            orders = accepted[source]
            row = rows[orders[int(rng.compute_key(seed, "people", source, "order")) % len(orders)]]
            sampled.append(
                SampledPair(row["premise"], row["hypothesis"], row["id"], names[row["label"]], drawn_from, length)
            )
    return sorted(sampled, key=lambda one: int(rng.compute_key(seed, "people", one.id, "place")))


def validate_pair_count(n_pairs: int) -> None:
    """Validate that the number of pairs is a positive multiple of 4."""
    if n_pairs < len(_CELLS) or n_pairs % len(_CELLS):
        raise ValueError(f"--num-pairs: expected a positive multiple of {len(_CELLS)}, got {n_pairs}")


def write_annotation_sheet(pairs: Sequence[SampledPair], folder: Path) -> None:
    """Write two files to a folder: `sheet.csv`, with an empty `label` column for the annotators, and the answer key."""
    _write(folder / SHEET, ("number", "premise", "hypothesis", "label"), ((*one[:2], "") for one in pairs))
    _write(folder / KEY, ("number", "id", "label", "drawn_from", "length"), (one[2:] for one in pairs))


def score_annotation_sheet(folder: Path, sheet: Path) -> AnnotatorScores:
    """Score a completed annotation sheet against the answer key in a folder. Unlabelled pairs are ignored.

    If the key has two-way labels, neutral and contradiction count as not entailment.
    """
    key = _key(folder / KEY)
    space = TWO_WAY if any(row["label"] == NOT_ENTAILMENT for row in key.values()) else LABELS
    labels: dict[str, str | None] = {}
    for place, row in _read(sheet, ("number", "label")):
        if row["number"] not in key or row["number"] in labels:
            raise DataError(
                f"{sheet}: expected each 'number' of {folder / KEY} once, got {row['number']!r}; correct the sheet"
            )
        try:
            label = map_label_to_space(resolve_label(row["label"]), space) if row["label"].strip() else None
        except LabelError as error:
            raise DataError(f"{place}: {error}") from None
        if label not in (None, *space):
            raise DataError(f"{place}: expected 'label' to be one of {', '.join(space)}, got {row['label']!r}")
        labels[row["number"]] = label
    answered = {number: label for number, label in labels.items() if label is not None}
    if not answered:
        raise ValueError(f"{sheet}: expected labels in the column 'label', got none; fill in the column")
    gold = np.array([key[number]["label"] for number in answered])
    given = np.array(list(answered.values()))
    right: NDArray[np.bool_] = gold == given
    drawn_from = np.array([key[number]["drawn_from"] for number in answered])
    return {
        "answered": len(answered),
        "accuracy": estimate_ratio(right),
        "macro_f1": natural_logic(given, gold)["f1"],
        "d_c": estimate_ratio(right, drawn_from == RIGHT),
        "d_f": estimate_ratio(right, drawn_from == FLIPPED),
    }


def _key(path: Path) -> dict[str, dict[str, str]]:
    """Read the rows of a key, by number."""
    key: dict[str, dict[str, str]] = {}
    for place, row in _read(path, ("number", "label", "drawn_from")):
        is_valid = row["label"] in (*LABELS, NOT_ENTAILMENT) and row["drawn_from"] in (RIGHT, FLIPPED)
        if row["number"] in key or not is_valid:
            raise DataError(
                f"{place}: expected each 'number' once, 'label' to be one of {', '.join((*LABELS, NOT_ENTAILMENT))} "
                f"and 'drawn_from' to be {RIGHT} or {FLIPPED}, got {row['number']!r}, {row['label']!r} and "
                f"{row['drawn_from']!r}; use the file written by `unbag human-study sample`"
            )
        key[row["number"]] = row
    return key


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with atomic_write(path) as tmp, tmp.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows((number, *row) for number, row in enumerate(rows, start=1))


def _read(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Iterate over the rows of a file. Yields the location for messages, and the text by column."""
    file = open_data_file(path)
    if missing := set(columns) - set(file.columns):
        raise DataError(
            f"{path}: expected the columns {', '.join(map(repr, columns))}, got no "
            f"{', '.join(map(repr, sorted(missing)))}; add them"
        )
    for row in file.read():
        yield row.location, {name: "" if get_cell(row, name) is None else str(get_cell(row, name)) for name in columns}
