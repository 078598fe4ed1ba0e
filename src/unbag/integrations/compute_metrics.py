"""The numbers of a challenge set as a `compute_metrics` function of transformers' `Trainer`."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.data.columns import numbers
from unbag.data.labels import LABELS, fold, label_space_of
from unbag.data.predictions import SetPredictions
from unbag.integrations.asked import BuiltChallengeSet, named_order

Evaluated = Any  # a `transformers.EvalPrediction`, or any pair of predictions and label ids


def compute_metrics(name: str, rows: Any, id2label: Mapping[int, str]) -> Callable[[Evaluated], dict[str, float]]:
    """Return a function that scores predictions on a built challenge set, for `Trainer(compute_metrics=…)`.

    For example::

        rows = unbag.load("permuted", "snli", q=10)
        trainer = Trainer(model, args, eval_dataset=rows.map(tokenize, batched=True), processing_class=tokenizer,
                          compute_metrics=unbag.compute_metrics("permuted", rows, model.config.id2label))
        trainer.evaluate()["eval_p_c"]

    The `label` of the rows that the Trainer evaluates must be the output that the model has for it, as the model's loss
    wants it too: `rows.map(lambda row: {"label": model.config.label2id[…]})` where the model counts labels
    otherwise.

    Args:
        name: the set.
        rows: its rows as they are built (`unbag.load`), in the order in which they are evaluated.
        id2label: the model's own names by output: `model.config.id2label`.

    Returns:
        A function of predictions, logits of shape (n, labels) or the likeliest outputs, (n,), and of label ids, (n,);
        it returns the numbers that a model card quotes by name, each with `…_low` and `…_high`, its 95 % interval.
        `beyond_guessing` is 0 for a guess and for the best constant answer, 1 for a perfect reader.

    Raises:
        ValueError: if there is no such set or the rows are another's; `data.labels.LabelError` if the names say
        nothing.
            Of the function: if the predictions are not of these rows.
    """
    asked = BuiltChallengeSet(challenge_sets.get(name), rows)
    if missing := [column for column in ("label", *asked.described.columns) if column not in rows.column_names]:
        raise ValueError(f"expected rows of the {name} set, missing the columns {missing}, got {rows.column_names}")
    order = named_order(id2label)
    space = label_space_of(order)
    expected = np.array([order.index(fold(label, space)) for label in LABELS])[numbers(rows, "label")]

    def metrics(evaluated: Evaluated) -> dict[str, float]:
        predictions, label_ids = evaluated[0], evaluated[1]
        outputs = np.asarray(predictions[0] if isinstance(predictions, tuple) else predictions)
        _check(outputs, label_ids, expected, order)
        has_probabilities = outputs.ndim == 2
        by_output = _softmax(outputs) if has_probabilities else np.eye(len(order))[outputs.astype(np.intp)]
        probabilities = by_output[:, [order.index(label) for label in space]]
        return asked.numbers(SetPredictions(probabilities, space, has_probabilities))

    return metrics


def _check(outputs: NDArray[Any], label_ids: Any, expected: NDArray[np.intp], order: tuple[str, ...]) -> None:
    """Refuse predictions that are not of the rows whose gold outputs are expected, shape (n,)."""
    n = len(expected)
    if outputs.shape not in ((n, len(order)), (n,)):
        raise ValueError(
            f"expected a prediction for each of the {n} rows of the set, shape {(n, len(order))} or {(n,)}, got "
            f"shape {outputs.shape}; evaluate the rows that compute_metrics was made with"
        )
    if not np.isfinite(outputs).all():
        raise ValueError("expected predictions that are numbers, got NaN or infinity; the training has diverged")
    if label_ids is not None and not np.array_equal(label_ids, expected):
        row = int(np.argmax(np.asarray(label_ids) != expected))
        raise ValueError(
            f"expected the labels of the set's rows in their order, as the model's outputs ({', '.join(order)}), got "
            f"{np.asarray(label_ids)[row]} for {expected[row]} in row {row}; evaluate the same rows, with labels as "
            "the model counts them"
        )


def _softmax(logits: NDArray[Any]) -> NDArray[np.float64]:
    shifted = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    probabilities: NDArray[np.float64] = shifted / shifted.sum(axis=1, keepdims=True)
    return probabilities
