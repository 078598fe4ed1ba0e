"""What a model answered on the rows of a challenge set, as metrics read it; numpy alone is needed."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import LABELS, NOT_ENTAILMENT, TWO_WAY, fold

NO_ANSWER: Final = -1
"""What `Answers.predicted` says where a model gave no answer: wrong, whatever the label."""

NONE: Final = "none"
"""Its name, where labels are counted by name."""

Columns: TypeAlias = Mapping[str, Any]
"""Columns of n rows by name, each a list or an array, shape (n,); `label` has the gold ids."""


class SetPredictions(NamedTuple):
    """What a model answered, in the order of the rows.

    Attributes:
        probabilities: shape (n, len(label_space)).
        label_space: the labels of the columns, one of `data.labels.LABEL_SPACES`.
        has_probabilities: whether the probabilities say how sure the model is; False where it gave labels only.
        unanswered: where the model gave no answer at all, shape (n,); None where every model of its kind answers.
    """

    probabilities: NDArray[Any]
    label_space: Sequence[str]
    has_probabilities: bool
    unanswered: NDArray[np.bool_] | None = None

    @property
    def predicted(self) -> NDArray[np.intp]:
        """The position in `label_space` of each row's likeliest label, shape (n,); `NO_ANSWER` where there is none."""
        likeliest: NDArray[np.intp] = self.probabilities.argmax(axis=1)
        return likeliest if self.unanswered is None else np.where(self.unanswered, NO_ANSWER, likeliest)

    @property
    def names(self) -> NDArray[np.str_]:
        """The name of each row's likeliest label, shape (n,); `NONE` where there is none."""
        named: NDArray[np.str_] = np.array([*self.label_space, NONE])[self.predicted]  # `NO_ANSWER` is the last
        return named

    def gold(self, labels: ArrayLike) -> NDArray[np.intp]:
        """Return the position in `label_space` of each gold label, shape (n,), from their ids."""
        gold: NDArray[np.intp] = self.folded[np.asarray(labels, dtype=np.intp)]
        return gold

    def in_space(self, label_space: Sequence[str]) -> "SetPredictions":
        """Return the same answers in a label space of as many labels or fewer: what is folded together is summed."""
        if tuple(label_space) == tuple(self.label_space):
            return self
        columns = [list(label_space).index(fold(label, label_space)) for label in self.label_space]
        probabilities = np.zeros((len(self.probabilities), len(label_space)), dtype=self.probabilities.dtype)
        for column, values in zip(columns, self.probabilities.T, strict=True):
            probabilities[:, column] += values
        return self._replace(probabilities=probabilities, label_space=tuple(label_space))

    def for_gold(self, names: Sequence[str]) -> "SetPredictions":
        """Return the answers in the label space of gold labels.

        Args:
            names: of the gold ids; where `not_entailment` is one, nobody knows which other label is right.

        Raises:
            labels.LabelError: if that is one, and the answers tell contradictions from the rest alone.
        """
        validate_label_space(names, self.label_space)
        return self.in_space(TWO_WAY) if NOT_ENTAILMENT in names else self

    @property
    def folded(self) -> NDArray[np.intp]:
        """The position in `label_space` of each of `data.labels.LABELS`, shape (3,)."""
        return np.array([self.label_space.index(fold(label, self.label_space)) for label in LABELS])


def validate_label_space(gold: Sequence[str], label_space: Sequence[str]) -> None:
    """Refuse gold labels that a model's label space cannot say.

    Args:
        gold: the names of the gold ids of a set.
        label_space: the model's.

    Raises:
        labels.LabelError: if the pairs tell entailment from the rest alone, and the model contradictions.
    """
    if NOT_ENTAILMENT in gold:
        fold(NOT_ENTAILMENT, label_space)


def of_labels(predicted: Sequence[int]) -> "SetPredictions":
    """Return answers that are bare label ids; `NO_ANSWER` for none."""
    ids = np.asarray(predicted, dtype=np.intp)
    unanswered = ids == NO_ANSWER
    probabilities = np.eye(len(LABELS))[np.where(unanswered, 0, ids)]
    probabilities[unanswered] = 1 / len(LABELS)  # no label is likelier than another
    return SetPredictions(probabilities, LABELS, has_probabilities=False, unanswered=unanswered)


def rows_where(kept: NDArray[np.bool_], columns: Columns, answers: SetPredictions) -> tuple[Columns, SetPredictions]:
    """Return the columns and answers of some rows, those where `kept`, shape (n,), is true."""
    rows = np.flatnonzero(kept).tolist()
    taken = {name: [values[row] for row in rows] for name, values in columns.items()}
    unanswered = None if answers.unanswered is None else answers.unanswered[kept]
    return taken, answers._replace(probabilities=answers.probabilities[kept], unanswered=unanswered)


def placed(answers: SetPredictions, asked: NDArray[np.bool_]) -> "SetPredictions":
    """Return answers to all rows where only some were asked: `NO_ANSWER` to the others.

    Args:
        answers: to the rows that were asked, in their order, m of them.
        asked: which of all rows these are, shape (n,).
    """
    probabilities = np.zeros((len(asked), len(answers.label_space)), dtype=answers.probabilities.dtype)
    probabilities[asked] = answers.probabilities
    unanswered = ~asked
    if answers.unanswered is not None:
        unanswered[asked] = answers.unanswered
    return answers._replace(probabilities=probabilities, unanswered=unanswered)


def flags(values: Any) -> NDArray[np.bool_]:
    """Return a column of truth values as an array, shape (n,)."""
    return np.asarray(values, dtype=np.bool_)
