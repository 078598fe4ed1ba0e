"""A function of the user's as a predictor: an API, an ensemble, a rule, a model of another framework."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import (
    LABEL_SPACES,
    LABELS,
    LabelError,
    canonical,
    label_space_of,
    resolve_order,
    two_label_orders,
)
from unbag.inference.predictor import checked_pairs, checked_probabilities
from unbag.utils.hashing import file_hash
from unbag.utils.user_code import user_code_error

Kind = Literal["names", "dicts", "ids", "rows"]
"""What a function answers with; see `CallablePredictor`."""

NAMES: Final = "names"
DICTS: Final = "dicts"
IDS: Final = "ids"
ROWS: Final = "rows"


class OutputCountError(LabelError):
    """Answers of a function with another number of outputs than it has labels.

    Attributes:
        found: how many outputs: the columns of its rows; 1 where it returns a score for each pair.
    """

    def __init__(self, order: Sequence[str], found: int, fitting: Sequence[str] | None = None) -> None:
        self._order, self.found = order, found
        columns = "one score per pair" if found == 1 else f"{found} columns"
        expected = f"expected probabilities of {len(order)} labels per pair ({', '.join(order)}), got {columns}"
        super().__init__(f"the function: {expected}; {self._remedy(fitting)}")

    def __reduce__(self) -> tuple[Any, ...]:  # processes send it to each other
        return type(self), (self._order, self.found)

    def with_order(self, fitting: Sequence[str] | None) -> "OutputCountError":
        """Return the error with the order of labels that fits the outputs; None where none fits."""
        return OutputCountError(self._order, self.found, fitting)

    def _remedy(self, fitting: Sequence[str] | None) -> str:
        of_three = [tuple(LABELS)] if self.found == len(LABELS) else []
        orders = of_three or two_label_orders() if self.found <= len(LABELS) else []
        choices = " or ".join(",".join(order) for order in orders)
        if not orders:
            return f"return a column for each of {', '.join(LABELS)}"
        named = f'{choices} (label_map="…" in Python), whichever its outputs mean'
        if of_three:
            named = f'an order of {choices} (label_map="…" in Python), that of its columns'
        if fitting is not None:
            both = ",".join(fitting)
            named = f'{both} (label_map="{both}" in Python), by which it answers the obvious pairs right'
        if self.found > 1:
            return f"pass --label-map {named}"
        return f"return the columns [score, 1 - score], the score from 0 to 1, and pass --label-map {named}"


class CallablePredictor:
    """Ask a function about the pairs.

    Args:
        fn: takes the list of premises and the list of hypotheses and returns, for each pair in order, one of

            - a label's name, in any known spelling: text;
            - a label's id: a whole number. Which label it is, `label_map` says; without one ids are refused;
            - a probability for each label: a row of numbers, in the order of `label_map`, or without one of
              `label_space`;
            - a dict from label name to probability that names every label of the space.

            The kinds are told apart by their types and shapes (text; whole numbers, shape (n,); numbers, shape (n, k);
            dicts), and never by their values: [[1, 0, 0]] is a row of probabilities.
        label_space: the labels of the columns, one of `data.labels.LABEL_SPACES`; that of `label_map` where there is
            one.
        identity: what decides the function's answers, e.g. `{"model": "my-ensemble", "version": "3"}`. Whoever gives
            one promises to change it whenever the answers may change. What the outputs mean, by `label_map`, is added.
            Without one nothing stored is reused.
        label_map: our name of each label by its id as text, as `data.labels.parse_label_map` returns it.

    Attributes:
        order: the label of each output, by `label_map`; without one `label_space`.
        answered_with: what the function has answered with: "names", "dicts", "ids" or "rows"; None before it is asked.
        source: where the function is, by the hash of its file, and what its outputs mean: what processes know it by
            that share an evaluation; None where its name does not lead to it alone, or it is in no file.
        has_probabilities: False once the function has answered with bare labels. They count as probability 1, which
            says which label was chosen and nothing of how surely: no entropy or confidence should be read from it.

    Raises:
        labels.LabelError: if the label map is none.

    >>> CallablePredictor(lambda premises, hypotheses: ["neutral"] * len(premises)).predict(["A man."], ["A dog."])
    array([[0., 1., 0.]], dtype=float32)
    >>> order = {"0": "contradiction", "1": "neutral", "2": "entailment"}
    >>> CallablePredictor(lambda premises, hypotheses: [2] * len(premises), label_map=order).predict(["A."], ["B."])
    array([[1., 0., 0.]], dtype=float32)
    """

    def __init__(
        self,
        fn: Callable[[list[str], list[str]], Any],
        label_space: Sequence[str] = LABELS,
        identity: Mapping[str, str] | None = None,
        *,
        label_map: Mapping[str, str] | None = None,
    ) -> None:
        self._fn = fn
        outputs = {number: f"LABEL_{number}" for number in range(len(label_map or ()))}
        self._order = None if label_map is None else resolve_order(outputs, label_map)
        self.label_space = tuple(label_space) if self._order is None else label_space_of(self._order)
        self.order = self._order or self.label_space
        self.identity = None if identity is None else {"kind": "callable", **self._outputs, **identity}
        self.has_probabilities = True
        self.answered_with: Kind | None = None

    @property
    def source(self) -> Mapping[str, str] | None:
        """See the class."""
        name = _name(self._fn)
        try:
            file = inspect.getsourcefile(inspect.unwrap(self._fn))
            if name is None or file is None:
                return None
            return {"kind": "callable", "function": name, "sha256": file_hash(Path(file)), **self._outputs}
        except (OSError, TypeError):
            return None

    @property
    def _outputs(self) -> dict[str, str]:
        return {} if self._order is None else {"label_order": ",".join(self._order)}

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of n pairs, shape (n, len(label_space)).

        Raises:
            ValueError: if the function's answer is not one valid answer a pair; `UserCodeError` if it raises something
                itself; `data.labels.LabelError` if it answers with ids and nothing says which labels they are, or
                (`OutputCountError`) with another number of outputs than there are labels.
        """
        premises, hypotheses = checked_pairs(premises, hypotheses)
        if not premises:
            return np.empty((0, len(self.label_space)), dtype=np.float32)
        answers = self.answers(premises, hypotheses)
        kinds = {"a name" if isinstance(a, str) else "a dict" if isinstance(a, Mapping) else "numbers" for a in answers}
        if len(kinds) > 1:
            raise ValueError(f"expected answers of one kind, the function returned {' and '.join(sorted(kinds))}")
        if kinds == {"a name"}:
            self.answered_with = NAMES
            return self._one_hot([self._column(name) for name in answers])
        if kinds == {"a dict"}:
            self.answered_with = DICTS
            return checked_probabilities([self._row(each) for each in answers], len(premises), self.label_space)
        ids = _ids(answers)
        if ids is not None:
            self.answered_with = IDS
            return self._one_hot([self._column_of_id(each) for each in ids.tolist()])
        self.answered_with = ROWS
        if (found := _outputs_of(answers)) not in (None, len(self.order)):
            raise OutputCountError(self.order, found)
        rows = checked_probabilities(answers, len(premises), self.order)
        return rows[:, [self.order.index(label) for label in self.label_space]]

    def answers(self, premises: list[str], hypotheses: list[str]) -> Any:
        """Return what the function returns for some pairs: a list or an array with an answer for each.

        Raises:
            ValueError: if it is none, or `UserCodeError` if the function raises something itself.
        """
        try:
            answers = _in_numpy(self._fn(premises, hypotheses))
        except Exception as error:
            if isinstance(error, TypeError):
                _require_two_lists(self._fn)
            expected = f"the function {_shown(self._fn)}: expected an answer for each of {len(premises)} pairs"
            raise user_code_error(expected, error, "correct the function") from error
        if not (hasattr(answers, "__len__") and hasattr(answers, "__iter__")):
            raise ValueError(
                f"expected the function to return a list or an array with an answer for each pair, found a "
                f"{type(answers).__name__}; a generator goes through list() first"
            )
        if isinstance(answers, list | tuple) and len(answers) == 1 and getattr(answers[0], "ndim", 0) == 2:
            raise ValueError(
                f"expected an answer for each pair, the function returned a list of one array of shape "
                f"{tuple(answers[0].shape)}; return that array (of an ONNX session: run(…)[0])"
            )
        if len(answers) != len(premises):
            raise ValueError(
                f"expected {len(premises)} answers for {len(premises)} pairs, the function returned {len(answers)}; "
                "it takes a list of premises and a list of hypotheses and answers every pair, in order"
            )
        return answers

    def _one_hot(self, columns: Sequence[int]) -> NDArray[np.float32]:
        self.has_probabilities = False
        return np.eye(len(self.label_space), dtype=np.float32)[columns]

    def _column_of_id(self, number: int) -> int:
        if self._order is None:
            raise LabelError(
                f"the function returned label ids, the first {number}, and nothing says which label an id is; return "
                "names, or name the labels 0, 1, 2 in their order: label_map (--label-map), e.g. " + ",".join(LABELS)
            )
        if not 0 <= number < len(self._order):
            raise ValueError(
                f"expected label ids 0 to {len(self._order) - 1} ({', '.join(self._order)}), the function returned "
                f"{number}; name every id in --label-map (label_map in Python)"
            )
        return self.label_space.index(self._order[number])

    def _column(self, name: Any) -> int:
        if not isinstance(name, str):
            raise ValueError(
                f"expected dicts with labels' names as keys ({', '.join(self.label_space)}), the function returned the "
                f"key {name!r:.100}"
            )
        label = canonical(name)
        if label not in self.label_space:
            spaces = " or ".join(",".join(space) for space in LABEL_SPACES if label in space)
            raise LabelError(
                f"expected one of {list(self.label_space)}, the function returned {name!r}; pass --label-map {spaces} "
                "(label_map in Python), with all the names that it returns"
            )
        return self.label_space.index(label)

    def _row(self, answer: Mapping[Any, Any]) -> list[float]:
        by_column = {self._column(name): _number(name, value) for name, value in answer.items()}
        if len(by_column) != len(self.label_space) or len(answer) != len(self.label_space):
            raise ValueError(
                f"expected a probability for each of {list(self.label_space)}, the function returned {dict(answer)}"
            )
        return [by_column[column] for column in range(len(self.label_space))]


def _require_two_lists(fn: Callable[..., Any]) -> None:
    """Refuse a function of other arguments.

    Raises:
        ValueError: with its signature.
    """
    try:
        signature = inspect.signature(fn, follow_wrapped=False)  # a decorator may add arguments of its own
    except (TypeError, ValueError):  # of some that are written in C; calling one says the rest
        return
    try:
        signature.bind([], [])
    except TypeError as error:
        raise ValueError(
            f"expected a function of a list of premises and a list of hypotheses, got {_shown(fn)}{signature} "
            f"({error}); wrap it: lambda premises, hypotheses: …"
        ) from None


def _shown(fn: Callable[..., Any]) -> str:
    return str(getattr(fn, "__qualname__", type(fn).__qualname__))


def _number(name: Any, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"expected a probability from 0 to 1 for each label, the function returned {value!r:.100} for {name!r:.100}"
        ) from None


def _name(fn: Callable[..., Any]) -> str | None:
    """Return the name by which a function is found, as `pickle` finds it; None where that leads to nothing or another.

    Closures of one factory, lambdas and the methods of objects share a name, and what else decides their answers is in
    no file.
    """
    module, name = str(getattr(fn, "__module__", "")), str(getattr(fn, "__qualname__", ""))
    try:
        return f"{module}:{name}" if attrgetter(name)(sys.modules[module]) is fn else None
    except (KeyError, AttributeError):
        return None


def _in_numpy(answers: Any) -> Any:
    """Return a tensor of torch as an array, wherever it is and whatever its type, and a list of some as a list."""
    if isinstance(answers, list) and answers and hasattr(answers[0], "detach"):
        return [_in_numpy(each) for each in answers]
    if not hasattr(answers, "detach"):
        return answers
    tensor = answers.detach().cpu()
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()  # numpy has no bfloat16


def _outputs_of(answers: Any) -> int | None:
    """Return how many numbers there are for each pair; None where they are no table of numbers."""
    try:
        array = np.asarray(answers, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        return None
    return 1 if array.ndim == 1 else array.shape[1] if array.ndim == 2 else None


def _ids(answers: Any) -> NDArray[np.int64] | None:
    """Return a function's answers as label ids, shape (n,), if that is what they are."""
    try:
        array = np.asarray(answers)
    except ValueError:  # rows of unequal lengths
        return None
    return array.astype(np.int64) if array.ndim == 1 and np.issubdtype(array.dtype, np.integer) else None
