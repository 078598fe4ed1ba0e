"""A function of the user's as a predictor: an API, an ensemble, a rule, a model of another framework."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbag.inference.predictor import checked_pairs, checked_probabilities
from unbag.labels import LABELS, canonical


class CallablePredictor:
    """Ask a function about the pairs.

    Args:
        fn: takes the list of premises and the list of hypotheses and returns, for each pair in order, one of: a label
            name in any known spelling; a row of probabilities in the order of `label_space`; a dict from label name to
            probability that names every label of it.
        label_space: the labels of the columns, `labels.LABELS` or `labels.TWO_WAY`.
        identity: what decides the function's answers, e.g. `{"model": "my-ensemble", "version": "3"}`. Whoever gives
            one promises to change it whenever the answers may change. Without one nothing stored is reused.

    Attributes:
        has_probabilities: False once the function has answered with bare names. They count as probability 1, which
            says which label was chosen and nothing of how surely: no entropy or confidence should be read from it.

    >>> CallablePredictor(lambda premises, hypotheses: ["neutral"] * len(premises)).predict(["A man."], ["A dog."])
    array([[0., 1., 0.]], dtype=float32)
    """

    def __init__(
        self,
        fn: Callable[[list[str], list[str]], Any],
        label_space: Sequence[str] = LABELS,
        identity: Mapping[str, str] | None = None,
    ) -> None:
        self._fn = fn
        self.label_space = tuple(label_space)
        self.identity = None if identity is None else {"kind": "callable", **identity}
        self.has_probabilities = True

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of n pairs, shape (n, len(label_space)).

        Raises:
            ValueError: if the function's answer is not one valid answer a pair.
        """
        premises, hypotheses = checked_pairs(premises, hypotheses)
        if not premises:
            return np.empty((0, len(self.label_space)), dtype=np.float32)
        answers = self._fn(premises, hypotheses)
        if not hasattr(answers, "__len__"):
            raise ValueError(
                f"expected the function to return a list or an array with an answer for each pair, found a "
                f"{type(answers).__name__}; a generator goes through list() first"
            )
        if len(answers) != len(premises):
            raise ValueError(
                f"expected {len(premises)} answers for {len(premises)} pairs, the function returned {len(answers)}; "
                "it takes a list of premises and a list of hypotheses and answers every pair, in order"
            )
        kinds = {"a name" if isinstance(a, str) else "a dict" if isinstance(a, Mapping) else "numbers" for a in answers}
        if len(kinds) > 1:
            raise ValueError(f"expected answers of one kind, the function returned {' and '.join(sorted(kinds))}")
        if kinds == {"a name"}:
            self.has_probabilities = False
            return self._one_hot(answers)
        if kinds == {"a dict"}:
            answers = [self._row(answer) for answer in answers]
        return checked_probabilities(answers, len(premises), self.label_space)

    def _one_hot(self, names: Sequence[str]) -> NDArray[np.float32]:
        return np.eye(len(self.label_space), dtype=np.float32)[[self._column(name) for name in names]]

    def _column(self, name: str) -> int:
        label = canonical(name)
        if label not in self.label_space:
            raise ValueError(f"expected one of {list(self.label_space)}, the function returned {name!r}")
        return self.label_space.index(label)

    def _row(self, answer: Mapping[str, float]) -> list[float]:
        by_column = {self._column(name): float(value) for name, value in answer.items()}
        if len(by_column) != len(self.label_space) or len(answer) != len(self.label_space):
            raise ValueError(
                f"expected a probability for each of {list(self.label_space)}, the function returned {dict(answer)}"
            )
        return [by_column[column] for column in range(len(self.label_space))]
