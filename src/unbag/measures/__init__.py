"""From a set's rows and a model's answers to scores: for each challenge set, which columns its metric reads.

One module a set, named like it, with `score(rows, answers)`. The arithmetic is in `unbag.scoring`.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.columns import numbers
from unbag.labels import LABELS, fold


class Answers(NamedTuple):
    """What a model answered, in the order of the rows.

    Attributes:
        probabilities: shape (n, len(space)).
        space: the labels of the columns, `labels.LABELS` or `labels.TWO_WAY`.
        doubts: whether the probabilities say how sure the model is; False where it gave labels only.
    """

    probabilities: NDArray[Any]
    space: Sequence[str]
    doubts: bool

    @property
    def predicted(self) -> NDArray[np.intp]:
        """The position in `space` of each row's likeliest label, shape (n,)."""
        likeliest: NDArray[np.intp] = self.probabilities.argmax(axis=1)
        return likeliest

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
