"""The interface of every predictor: pairs in, one probability for each label out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import LABELS
from unbag.utils.redaction import first_line

_SUM_TOLERANCE = 1e-3  # float16 probabilities, or three printed decimals, sum to 1 no better than this


@runtime_checkable
class Predictor(Protocol):
    """A model of natural language inference, whatever it is made of.

    A predictor whose answers are bare labels says so with an attribute `has_probabilities = False`; without the
    attribute the probabilities are taken as meant.
    """

    @property
    def label_space(self) -> tuple[str, ...]:
        """The labels of the columns that `predict` returns: one of `labels.LABEL_SPACES`."""
        ...

    @property
    def identity(self) -> Mapping[str, str] | None:
        """All that decides the numbers (weights, dtype, lengths, …), by name; None where unknown.

        Two predictors of equal identity give the same numbers, so one's stored predictions are taken for the other's.
        Predictions of an unknown one are never reused.
        """
        ...

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of n pairs in their order, shape (n, len(label_space)); each row sums to 1."""
        ...


@runtime_checkable
class BatchPredictor(Predictor, Protocol):
    """A predictor that gives its answers batch by batch, in an order of its own: progress can be shown and kept."""

    def batches(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        done: NDArray[np.bool_] | None = None,
        share: tuple[int, int] | None = None,
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield the positions of a batch's b pairs, shape (b,), and their probabilities, (b, len(label_space)).

        Args:
            premises: of n pairs.
            hypotheses: theirs.
            done: which pairs were answered before, shape (n,). A batch all of whose pairs were is left out. How pairs
                are cut into batches does not depend on it, so that no answer does, to the last bit.
            share: (j, s) for the jth of s shares of the batches, from 0; other batches are left out. How pairs are cut
                into batches does not depend on it either. Given only where there are several.
        """
        ...


def from_batches(predictor: BatchPredictor, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
    """Return what `predictor.batches` gives in the order of the n pairs, shape (n, len(label_space)): its `predict`."""
    probabilities = np.empty((len(premises), len(predictor.label_space)), dtype=np.float32)
    for rows, values in predictor.batches(premises, hypotheses):
        probabilities[rows] = values
    return probabilities


def checked_pairs(premises: Sequence[str], hypotheses: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return both sides as lists.

    Raises:
        ValueError: if their lengths differ, or one of them holds what is not text.
    """
    if len(premises) != len(hypotheses):
        raise ValueError(f"expected one hypothesis a premise, found {len(premises)} and {len(hypotheses)}")
    sides = {"premise": list(premises), "hypothesis": list(hypotheses)}
    for name, side in sides.items():
        for row, text in enumerate(side):
            if not isinstance(text, str):
                raise ValueError(
                    f"expected every {name} to be text, found {text!r} in row {row}; drop or fill that row"
                )
    return sides["premise"], sides["hypothesis"]


def probabilities_of_label(label: str | None) -> list[float]:
    """Return 1 for one of `labels.LABELS` and 0 for the others; for None all equal: no label is likelier than another.

    >>> probabilities_of_label("neutral")
    [0.0, 1.0, 0.0]
    """
    if label is None:
        return [1 / len(LABELS)] * len(LABELS)
    return [float(name == label) for name in LABELS]


def checked_probabilities(values: Any, rows: int, label_space: Sequence[str]) -> NDArray[np.float32]:
    """Return `values` as float32 probabilities, or say what they are instead.

    Args:
        values: anything NumPy reads as numbers.
        rows: n, the number of pairs asked about.
        label_space: the label of each column.

    Returns:
        Shape (n, len(label_space)), the values untouched but for their type.

    Raises:
        ValueError: if it is no table of numbers, the shape differs, a value is not in [0, 1] (NaN is not), or a row
            sums to 1 no nearer than 1e-3.
    """
    try:
        with np.errstate(over="ignore"):  # what is too large for float32 is infinite, and refused below
            array = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"expected a table of numbers, {rows} rows (one per pair) by {len(label_space)} columns "
            f"({', '.join(label_space)}), got {_kind_of(values)} ({first_line(error)}); give one probability per label"
        ) from None
    if array.shape != (rows, len(label_space)):
        raise ValueError(
            f"expected probabilities of shape {(rows, len(label_space))}, a row for each pair and a column for each of "
            f"{list(label_space)}, found shape {array.shape}"
        )
    inside = (array >= 0) & (array <= 1 + _SUM_TOLERANCE)  # false for NaN
    good = inside.all(axis=1) & (np.abs(array.sum(axis=1) - 1) <= _SUM_TOLERANCE)
    if not good.all():
        row = int(np.argmin(good))
        raise ValueError(
            f"expected probabilities that sum to 1 in every row, found {array[row].tolist()} in row {row} "
            f"({int((~good).sum())} of {rows} rows are like that); logits go through a softmax first, and "
            "a model that overflows in float16 is run in bfloat16 or float32"
        )
    return array


def _kind_of(values: Any) -> str:
    """Return the type of some values, with that of the first where they are a list."""
    first = f" of {type(values[0]).__name__}" if isinstance(values, list | tuple) and values else ""
    return type(values).__name__ + first


class ModelError(ValueError):
    """A model that cannot be had, or that is no trained classifier."""
