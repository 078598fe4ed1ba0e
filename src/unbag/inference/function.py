"""Predictor for user-defined functions, such as an API call, an ensemble or a model of another framework."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import (
    LABEL_SPACES,
    LABELS,
    LabelError,
    find_label_space,
    list_two_label_orders,
    resolve_label,
    resolve_output_labels,
)
from unbag.inference.predictor import validate_pairs, validate_probabilities
from unbag.utils.errors import build_user_code_error
from unbag.utils.hashing import hash_file, hash_texts
from unbag.utils.imports import hash_imported_modules


class CallablePredictor:
    """Predictor that calls a user-defined function.

    Args:
        fn: Function of the list of premises and the list of hypotheses. For each pair, in order, it returns one of

            - a label's name, in any spelling that `data.labels.resolve_label` accepts: text;
            - a label's id: a whole number. `label_map` defines its label; without it, ids are rejected;
            - a probability for each label: a row of numbers, in the order of `label_map` or, without it, of
              `label_space`;
            - a dict from label name to probability that names every label of the space.

            The kinds are distinguished by their types and shapes (text; whole numbers, shape (n,); numbers, shape
            (n, k); dicts), never by their values: [[1, 0, 0]] is a row of probabilities.
        label_space: Labels of the columns, one of `data.labels.LABEL_SPACES` (default: the three labels). With
            `label_map`, the label space of that map.
        identity: Everything that determines the function's outputs, e.g. `{"model": "my-ensemble", "version": "3"}`.
            The caller must change it whenever the outputs may change for another reason than a change of the source
            code, such as other weights. The order of `label_map` and the hashes of the source code are added. Without
            an identity, stored predictions are never reused.
        label_map: Label name by id as text, as `data.labels.parse_label_map` returns it.

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
        self._order = None if label_map is None else resolve_output_labels(outputs, label_map)
        self.label_space = tuple(label_space) if self._order is None else find_label_space(self._order)
        self.order = self._order or self.label_space  # label of each output
        # Hash of the source file (`sha256`), and of the user's own modules that it imports (`imported_sha256`).
        self.version = _compute_version(fn)
        ordered = {} if self._order is None else {"label_order": ",".join(self._order)}
        self.identity = None if identity is None else {"kind": "callable", **ordered, **self.version, **identity}
        # Processes that share an evaluation recognize the function by its name and version. None if the name does not
        # lead to the function, or it is not in a file.
        name = _name(fn)
        self.source: Mapping[str, str] | None = (
            {"kind": "callable", "function": name, **self.version, **ordered} if name and self.version else None
        )
        # False after the function has returned bare labels, which count as probability 1, no measure of confidence.
        self.has_probabilities = True
        self.output_kind: Literal["names", "dicts", "ids", "rows"] | None = None  # None before the first call

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict the label probabilities of n pairs, shape (n, len(label_space)).

        An error of the function becomes a `UserCodeError`.
        """
        premises, hypotheses = validate_pairs(premises, hypotheses)
        if not premises:
            return np.empty((0, len(self.label_space)), dtype=np.float32)
        answers = _convert_pipeline_output(self.call_function(premises, hypotheses))
        kinds = {"a name" if isinstance(a, str) else "a dict" if isinstance(a, Mapping) else "numbers" for a in answers}
        if len(kinds) > 1:
            raise ValueError(
                f"the function: expected outputs of one type, got {' and '.join(sorted(kinds))}; return one type "
                "for all pairs"
            )
        if kinds == {"a name"}:
            self.output_kind = "names"
            return self._one_hot([self._column(name) for name in answers])
        if kinds == {"a dict"}:
            self.output_kind = "dicts"
            return validate_probabilities([self._row(each) for each in answers], len(premises), self.label_space)
        try:
            array = np.asarray(answers)
        except ValueError:  # rows of unequal lengths
            array = np.asarray(None)
        if array.ndim == 1 and np.issubdtype(array.dtype, np.integer):
            self.output_kind = "ids"
            return self._one_hot([self._column_of_id(each) for each in array.tolist()])
        self.output_kind = "rows"
        is_table = array.ndim == 2 or (array.ndim == 1 and array.dtype.kind in "fiub")
        n_outputs = array.shape[1] if array.ndim == 2 else 1
        if is_table and n_outputs != len(self.order):
            columns = "one score per pair" if n_outputs == 1 else f"{n_outputs} columns"
            choices = " or ".join(",".join(order) for order in (LABELS, *list_two_label_orders()))
            raise LabelError(
                f"the function: expected probabilities of {len(self.order)} labels per pair ({', '.join(self.order)}), "
                f"got {columns}; return a column for each label, such as [score, 1 - score], and pass their order as "
                f"--label-map (label_map in Python): an order of {choices}"
            )
        rows = validate_probabilities(answers, len(premises), self.order)
        return rows[:, [self.order.index(label) for label in self.label_space]]

    def call_function(self, premises: list[str], hypotheses: list[str]) -> Any:
        """Call the function, and validate that it returns a list or array with one output per pair."""
        try:
            answers = _in_numpy(self._fn(premises, hypotheses))
        except Exception as error:
            name = getattr(self._fn, "__qualname__", type(self._fn).__qualname__)
            expected = f"the function {name}: expected a prediction for each of {len(premises)} pairs"
            raise build_user_code_error(expected, error, "correct the function") from error
        if not (hasattr(answers, "__len__") and hasattr(answers, "__iter__")):
            raise ValueError(
                "expected the function to return a list or an array with one prediction per pair, got a "
                f"{type(answers).__name__}; convert a generator with list() first"
            )
        if len(answers) != len(premises):
            raise ValueError(
                f"expected {len(premises)} predictions for {len(premises)} pairs, got {len(answers)}; "
                "return one prediction per pair, in order"
            )
        return answers

    def _one_hot(self, columns: Sequence[int]) -> NDArray[np.float32]:
        self.has_probabilities = False
        return np.eye(len(self.label_space), dtype=np.float32)[columns]

    def _column_of_id(self, number: int) -> int:
        if self._order is None:
            raise LabelError(
                f"the function: expected label names, got label ids such as {number}; return names, or pass the "
                "label names for ids 0, 1, 2 as label_map (--label-map), for example " + ",".join(LABELS)
            )
        if not 0 <= number < len(self._order):
            raise ValueError(
                f"expected label ids 0 to {len(self._order) - 1} ({', '.join(self._order)}), got {number}; list "
                "the label for every id in --label-map (label_map in Python)"
            )
        return self.label_space.index(self._order[number])

    def _column(self, name: Any) -> int:
        if not isinstance(name, str):
            raise ValueError(
                f"expected dicts with label names as keys ({', '.join(self.label_space)}), got the key {name!r:.100}"
            )
        label = resolve_label(name)
        if label not in self.label_space:
            spaces = " or ".join(",".join(space) for space in LABEL_SPACES if label in space)
            raise LabelError(
                f"expected one of {list(self.label_space)}, got {name!r}; pass --label-map {spaces} "
                "(label_map in Python), with every name that the function returns"
            )
        return self.label_space.index(label)

    def _row(self, answer: Mapping[Any, Any]) -> list[float]:
        by_column = {}
        for name, value in answer.items():
            column = self._column(name)
            try:
                by_column[column] = float(value)
            except (TypeError, ValueError, OverflowError):
                raise ValueError(
                    f"expected a probability from 0 to 1 for each label, got {value!r:.100} for {name!r:.100}"
                ) from None
        if len(by_column) != len(self.label_space) or len(answer) != len(self.label_space):
            raise ValueError(f"expected a probability for each of {list(self.label_space)}, got {dict(answer)}")
        return [by_column[column] for column in range(len(self.label_space))]


def _convert_pipeline_output(answers: Any) -> Any:
    """Convert the output of a text-classification pipeline to names or, with the scores of all labels, to dicts."""
    rows = [each if isinstance(each, list) else [each] for each in answers] if isinstance(answers, list) else []
    is_pipeline = all(isinstance(each, Mapping) and each.keys() == {"label", "score"} for row in rows for each in row)
    if not rows or not is_pipeline:
        return answers
    if all(len(row) == 1 for row in rows):
        return [row[0]["label"] for row in rows]
    return [{each["label"]: each["score"] for each in row} for row in rows]


def _name(fn: Callable[..., Any]) -> str | None:
    """Build the import name of a function, like `pickle`. Return None if the name imports another object."""
    module, name = str(getattr(fn, "__module__", "")), str(getattr(fn, "__qualname__", ""))
    try:
        # Closures of one factory, lambdas and methods of objects share a name, and the rest of what determines their
        # outputs is not in a file. So the name must import this very object.
        return f"{module}:{name}" if attrgetter(name)(sys.modules[module]) is fn else None
    except (KeyError, AttributeError):
        return None


def _compute_version(fn: Callable[..., Any]) -> dict[str, str]:
    """Compute hashes of the source file of a function and of the user's modules that it imports; empty if unknown."""
    fn = inspect.unwrap(fn)
    try:
        file = Path(inspect.getsourcefile(fn) or "")
        version = {"sha256": hash_file(file)}
    except TypeError:  # an object, or a function in C
        return {}
    except OSError:  # a cell of a notebook
        try:
            return {"sha256": hash_texts([inspect.getsource(fn)])}
        except OSError:
            return {}
    imported = hash_imported_modules(file, str(fn.__module__))
    return version if imported is None else {**version, "imported_sha256": imported}


def _in_numpy(answers: Any) -> Any:
    """Convert a torch tensor or a list of tensors to NumPy. Other values are returned unchanged."""
    if isinstance(answers, list) and answers and hasattr(answers[0], "detach"):
        return [_in_numpy(each) for each in answers]
    if not hasattr(answers, "detach"):
        return answers
    tensor = answers.detach().cpu()
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()  # numpy has no bfloat16
