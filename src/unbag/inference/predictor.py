"""Interface of predictors, which map pairs to label probabilities, and validation of the probabilities."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import LABELS
from unbag.utils.redaction import extract_first_line

_SUM_TOLERANCE = 1e-3  # the sum of float16 probabilities, or of three printed decimals, is no more precise


LabelSource = Literal["function", "config", "generated", "fitted"]
"""Origin of a predictor's label order: the user's function, the config of a model, label words that a language model
generates, or unbag, which fitted the model to named labels."""


@runtime_checkable
class Predictor(Protocol):
    """Interface of an NLI model.

    A predictor may also have these attributes:

    - `iter_batches` (a method; default: all pairs are one batch): predictions in batches, so that progress can be
      displayed (`BatchingPredictor`).
    - `has_probabilities` (default: True): whether the probabilities measure confidence. False for bare labels.
    - `threshold` (default: None): minimum probability of entailment (`inference.single_output`). `predict` ignores it.
    - `n_outputs` (default: more than one): number of outputs. The label probe ranks the scores of a single output.
    - `may_abstain` (default: False): whether equal probabilities of all labels mean that there is no prediction.
    - `unanswered` (default: none): mapping of the pairs without an answer so far to text "reason: excerpt".
    - `is_order_invariant` (default: False): whether the predictor ignores word order by construction, so that its
      predictions on shuffled sentences equal those on the originals.
    - `pop_answer_dates` (a function; default: none): dates of the answers since its last call
      (`prediction_store.Chunk.answered`).
    - `label_source` (default: `function`): origin of the label order, which determines how it is checked.
    """

    @property
    def label_space(self) -> tuple[str, ...]:
        """Label of each column of the probabilities, one of `labels.LABEL_SPACES`."""
        ...

    @property
    def identity(self) -> Mapping[str, str] | None:
        """All settings that determine the probabilities (weights, dtype, maximum length, …). None if unknown.

        Two predictors with equal identities give the same probabilities, so they share stored predictions. Predictions
        of a predictor without an identity are never reused.
        """
        ...

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict the label probabilities of n pairs, in input order, shape (n, len(label_space)). Rows sum to 1."""
        ...


class BatchingPredictor(ABC):
    """Base class of predictors that compute batches."""

    label_space: tuple[str, ...]

    @abstractmethod
    def iter_batches(
        self, premises: Sequence[str], hypotheses: Sequence[str]
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield each batch as row positions, shape (b,), and probabilities, shape (b, len(label_space)).

        Every row is in one batch. The split depends on the pairs alone, so that a resumed or distributed run gives the
        same predictions to the last bit.
        """

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict the label probabilities of n pairs, in input order, shape (n, len(label_space)).

        NaN or infinite values (for example after an overflow in float16) raise a `ValueError`, and a request that fails
        after all retries an `EndpointError`; the answers so far stay in the cache.
        """
        probabilities = np.empty((len(premises), len(self.label_space)), dtype=np.float32)
        for rows, values in self.iter_batches(premises, hypotheses):
            probabilities[rows] = values
        return validate_probabilities(probabilities, len(premises), self.label_space)


def validate_pairs(premises: Sequence[str], hypotheses: Sequence[str]) -> tuple[list[str], list[str]]:
    """Validate pairs, and return the premises and hypotheses as lists."""
    if len(premises) != len(hypotheses):
        raise ValueError(
            f"expected one hypothesis per premise, got {len(premises)} premises and {len(hypotheses)} hypotheses; "
            "pass lists of equal length"
        )
    sides = {"premise": list(premises), "hypothesis": list(hypotheses)}
    for name, side in sides.items():
        for row, text in enumerate(side):
            if not isinstance(text, str):
                raise ValueError(f"expected text in column {name!r}, got {text!r} in row {row}; drop or fill that row")
    return sides["premise"], sides["hypothesis"]


def group_equal_pairs(premises: Sequence[str], hypotheses: Sequence[str]) -> dict[tuple[str, str], list[int]]:
    """Map each distinct pair to its row positions, in order of first occurrence.

    >>> group_equal_pairs(["a", "b", "a"], ["c", "c", "c"])
    {('a', 'c'): [0, 2], ('b', 'c'): [1]}
    """
    rows_of: dict[tuple[str, str], list[int]] = {}
    for row, pair in enumerate(zip(*validate_pairs(premises, hypotheses), strict=True)):
        rows_of.setdefault(pair, []).append(row)
    return rows_of


def build_one_hot_probabilities(label: str | None, label_space: Sequence[str] = LABELS) -> list[float]:
    """Build the probabilities for a predicted label: 1 for this label, 0 for the others. For None, all are equal.

    >>> build_one_hot_probabilities("neutral")
    [0.0, 1.0, 0.0]
    """
    if label is None:
        return [1 / len(label_space)] * len(label_space)
    return [float(name == label) for name in label_space]


def validate_probabilities(values: Any, rows: int, label_space: Sequence[str]) -> NDArray[np.float32]:
    """Validate probabilities and convert them to float32, shape (rows, len(label_space))."""
    try:
        with np.errstate(over="ignore"):  # a value too large for float32 becomes infinite, and is rejected below
            array = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        first = f" of {type(values[0]).__name__}" if isinstance(values, list | tuple) and values else ""
        raise ValueError(
            f"expected a table of numbers, {rows} rows (one per pair) by {len(label_space)} columns "
            f"({', '.join(label_space)}), got {type(values).__name__}{first} ({extract_first_line(error)}); return one "
            "probability per label"
        ) from None
    if array.shape != (rows, len(label_space)):
        raise ValueError(
            f"expected probabilities of shape {(rows, len(label_space))}, with one row per pair and one column for "
            f"each of {list(label_space)}, got shape {array.shape}; return this shape"
        )
    inside = (array >= 0) & (array <= 1 + _SUM_TOLERANCE)  # False for NaN
    good = inside.all(axis=1) & (np.abs(array.sum(axis=1) - 1) <= _SUM_TOLERANCE)
    if not good.all():
        row = int(np.argmin(good))  # the first invalid row
        raise ValueError(
            f"expected probabilities that sum to 1 in every row, got {array[row].tolist()} in row {row} "
            f"({int((~good).sum())} of {rows} rows are invalid); apply a softmax to logits, and run a model that "
            "overflows in float16 in bfloat16 or float32"
        )
    return array


class ModelError(ValueError):
    """Error for a model that cannot be loaded or is not a trained classifier."""


class EndpointError(ValueError):
    """Error for an endpoint that is unreachable, rejects a request, or returns an unexpected format."""
