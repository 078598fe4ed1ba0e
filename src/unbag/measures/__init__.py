"""From a set's rows and a model's answers to scores: for each challenge set, which columns its metric reads.

One module a set, named like it, with `score(rows, answers)`. The arithmetic is in `unbag.scoring`.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.columns import numbers
from unbag.labels import LABELS, fold

NO_ANSWER: Final = -1
"""What `Answers.predicted` says where a model gave no answer: wrong, whatever the label."""

NONE: Final = "none"
"""Its name, where labels are counted by name."""


class Answers(NamedTuple):
    """What a model answered, in the order of the rows.

    Attributes:
        probabilities: shape (n, len(space)).
        space: the labels of the columns, `labels.LABELS` or `labels.TWO_WAY`.
        has_probabilities: whether the probabilities say how sure the model is; False where it gave labels only.
        unanswered: where the model gave no answer at all, shape (n,); None where every model of its kind answers.
    """

    probabilities: NDArray[Any]
    space: Sequence[str]
    has_probabilities: bool
    unanswered: NDArray[np.bool_] | None = None

    @property
    def predicted(self) -> NDArray[np.intp]:
        """The position in `space` of each row's likeliest label, shape (n,); `NO_ANSWER` where there is none."""
        likeliest: NDArray[np.intp] = self.probabilities.argmax(axis=1)
        return likeliest if self.unanswered is None else np.where(self.unanswered, NO_ANSWER, likeliest)

    @property
    def said(self) -> NDArray[np.str_]:
        """The name of each row's likeliest label, shape (n,); `NONE` where there is none."""
        names: NDArray[np.str_] = np.array([*self.space, NONE])[self.predicted]  # `NO_ANSWER` is the last
        return names

    def gold(self, rows: Any) -> NDArray[np.intp]:
        """Return the position in `space` of each row's gold label, shape (n,)."""
        gold: NDArray[np.intp] = self.folded[numbers(rows, "label")]
        return gold

    @property
    def folded(self) -> NDArray[np.intp]:
        """The position in `space` of each of `labels.LABELS`, shape (3,)."""
        return np.array([self.space.index(fold(label, self.space)) for label in LABELS])


def score(name: str, rows: Any, answers: Answers) -> dict[str, Any]:
    """Score answers on rows of the challenge set of that name."""
    scores: dict[str, Any] = import_module(f"unbag.measures.{name}").score(rows, answers)
    return scores
