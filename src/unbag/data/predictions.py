"""Predictions of a model on the rows of a challenge set, as input of metrics. Requires only numpy."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import (
    CONTRADICTION_OR_NOT,
    LABELS,
    NOT_CONTRADICTION,
    NOT_ENTAILMENT,
    TWO_WAY,
    map_label_to_space,
)

NO_ANSWER: Final = -1
"""Value of `SetPredictions.predicted` for a row without a prediction, which counts as wrong for any gold label."""

NONE: Final = "none"
"""Label name for `NO_ANSWER`."""

Columns: TypeAlias = Mapping[str, Any]
"""Columns of n rows by name, each a list or an array, shape (n,); `label` contains the gold ids."""


class SetPredictions(NamedTuple):
    """Predictions of a model on n rows, in row order."""

    probabilities: NDArray[Any]  # probability of each label, shape (n, len(label_space))
    label_space: Sequence[str]  # labels of the columns, one of `data.labels.LABEL_SPACES`
    has_probabilities: bool  # whether the probabilities express the model's confidence; False for bare labels
    # Mask of rows without a prediction, shape (n,); None for models that never abstain.
    unanswered: NDArray[np.bool_] | None = None
    # Index in `label_space` of each row's predicted label, shape (n,), if a threshold decides; None if the most
    # probable label is predicted.
    decisions: NDArray[np.intp] | None = None
    # Names of the gold ids of the rows, `data.labels.LABELS` or `CONTRADICTION_OR_NOT`. The ids of `TWO_WAY` are those
    # of the first two labels.
    gold_labels: Sequence[str] = LABELS

    @property
    def has_confidence(self) -> bool:
        """Whether the largest probability is the confidence of the prediction. It is not if a threshold decides."""
        return self.has_probabilities and self.decisions is None

    @property
    def predicted(self) -> NDArray[np.intp]:
        """Index in `label_space` of each row's predicted label, shape (n,).

        Rows without a prediction get `NO_ANSWER`.
        """
        likeliest: NDArray[np.intp] = self.probabilities.argmax(axis=1) if self.decisions is None else self.decisions
        return likeliest if self.unanswered is None else np.where(self.unanswered, NO_ANSWER, likeliest)

    @property
    def label_names(self) -> NDArray[np.str_]:
        """Name of each row's predicted label, shape (n,). Rows without a prediction get `NONE`."""
        names: NDArray[np.str_] = np.array([*self.label_space, NONE])[self.predicted]  # -1, `NO_ANSWER`, is the last
        return names

    def to_label_positions(self, labels: ArrayLike) -> NDArray[np.intp]:
        """Convert gold label ids to indices in `label_space`, shape (n,)."""
        gold: NDArray[np.intp] = self.label_positions[np.asarray(labels, dtype=np.intp)]
        return gold

    def to_vote_positions(self, columns: Columns) -> list[list[int]] | None:
        """Convert the column `annotator_labels`, gold label ids, to indices in `label_space`; None without any."""
        positions = self.label_positions.tolist()
        votes = [[positions[vote] for vote in labels] for labels in columns.get("annotator_labels", ())]
        return votes if any(votes) else None

    def to_label_space(self, label_space: Sequence[str]) -> "SetPredictions":
        """Convert the predictions to the same or a smaller label space. Adds the probabilities of merged labels."""
        if tuple(label_space) == tuple(self.label_space):
            return self
        assert self.decisions is None  # a threshold decides between two labels, which are not merged
        columns = [list(label_space).index(map_label_to_space(label, label_space)) for label in self.label_space]
        probabilities = np.zeros((len(self.probabilities), len(label_space)), dtype=self.probabilities.dtype)
        for column, values in zip(columns, self.probabilities.T, strict=True):
            probabilities[:, column] += values
        return self._replace(probabilities=probabilities, label_space=tuple(label_space))

    def select(self, rows: slice | NDArray[np.bool_]) -> "SetPredictions":
        """Select the predictions of some rows."""
        return self._replace(
            probabilities=self.probabilities[rows],
            unanswered=None if self.unanswered is None else self.unanswered[rows],
            decisions=None if self.decisions is None else self.decisions[rows],
        )

    def align_to_gold(self, names: Sequence[str]) -> "SetPredictions":
        """Merge labels so that the label space matches the gold labels, if these have two labels.

        Raises:
            labels.LabelError: If the gold labels separate entailment and the predictions separate contradiction, or the
                other way round.
        """
        validate_label_space(names, self.label_space)
        if NOT_CONTRADICTION in names:
            return self.to_label_space(CONTRADICTION_OR_NOT)._replace(gold_labels=CONTRADICTION_OR_NOT)
        return self.to_label_space(TWO_WAY) if NOT_ENTAILMENT in names else self

    def count_unanswered_as_correct(self, labels: ArrayLike) -> "SetPredictions":
        """Replace missing predictions by the gold labels, given as ids, shape (n,).

        The shuffled control then bounds the skill score from below.
        """
        if self.unanswered is None:
            return self
        gold = self.to_label_positions(labels)
        one_hot = np.eye(len(self.label_space), dtype=self.probabilities.dtype)[gold]
        probabilities = np.where(self.unanswered[:, np.newaxis], one_hot, self.probabilities)
        decisions = None if self.decisions is None else np.where(self.unanswered, gold, self.decisions)
        return self._replace(probabilities=probabilities, unanswered=None, decisions=decisions)

    @property
    def label_positions(self) -> NDArray[np.intp]:
        """Index of each of `gold_labels` in `label_space`, by gold id."""
        space = self.label_space
        return np.array([space.index(map_label_to_space(label, space)) for label in self.gold_labels])


def validate_label_space(gold: Sequence[str], label_space: Sequence[str]) -> None:
    """Validate that a model's label space can express a set's gold labels; raises as `SetPredictions.align_to_gold`."""
    for name in (NOT_ENTAILMENT, NOT_CONTRADICTION):
        if name in gold and len(label_space) == len(TWO_WAY):
            map_label_to_space(name, label_space)


def build_predictions_from_labels(label_ids: Sequence[int]) -> "SetPredictions":
    """Build predictions from label ids, without probabilities. `NO_ANSWER` marks rows without a prediction."""
    ids = np.asarray(label_ids, dtype=np.intp)
    unanswered = ids == NO_ANSWER
    probabilities = np.eye(len(LABELS))[np.where(unanswered, 0, ids)]
    probabilities[unanswered] = 1 / len(LABELS)  # uniform probabilities
    return SetPredictions(probabilities, LABELS, has_probabilities=False, unanswered=unanswered)


def select_rows(
    mask: NDArray[np.bool_], columns: Columns, predictions: SetPredictions
) -> tuple[Columns, SetPredictions]:
    """Select the rows of columns and predictions for which `mask`, shape (n,), is true."""
    rows = np.flatnonzero(mask).tolist()
    selected = {name: [values[row] for row in rows] for name, values in columns.items()}
    return selected, predictions.select(mask)


def scatter_predictions(predictions: SetPredictions, mask: NDArray[np.bool_]) -> "SetPredictions":
    """Expand predictions on the m rows that `mask`, shape (n,), selects to all n rows. Other rows get `NO_ANSWER`."""
    probabilities = np.zeros((len(mask), len(predictions.label_space)), dtype=predictions.probabilities.dtype)
    probabilities[mask] = predictions.probabilities
    unanswered = ~mask
    if predictions.unanswered is not None:
        unanswered[mask] = predictions.unanswered
    decisions = None
    if predictions.decisions is not None:
        decisions = np.zeros(len(mask), dtype=np.intp)
        decisions[mask] = predictions.decisions
    return predictions._replace(probabilities=probabilities, unanswered=unanswered, decisions=decisions)
