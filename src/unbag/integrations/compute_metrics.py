"""Metrics of a challenge set as a `compute_metrics` function for the transformers `Trainer`."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from unbag import challenge_sets
from unbag.data.columns import read_numeric_column
from unbag.data.labels import LABELS, find_label_space, map_label_to_space
from unbag.data.predictions import SetPredictions
from unbag.integrations.built_sets import compute_set_metrics, resolve_label_names

Evaluated = Any  # a `transformers.EvalPrediction`, or another pair of predictions and label ids


def compute_metrics(name: str, rows: Any, id2label: Mapping[int, str]) -> Callable[[Evaluated], dict[str, float]]:
    """Build a function for the argument `compute_metrics` of a `Trainer`. It scores predictions on a challenge set.

    For example::

        rows = unbag.load("permuted", "snli", q=10)
        trainer = Trainer(model, args, eval_dataset=rows.map(tokenize, batched=True), processing_class=tokenizer,
                          compute_metrics=unbag.compute_metrics("permuted", rows, model.config.id2label))
        trainer.evaluate()["eval_p_c"]

    The `label` of the evaluated rows must be the output index of the label, as required by the loss. If the model uses
    other label ids, map the rows: `rows.map(lambda row: {"label": model.config.label2id[…]})`.

    Args:
        name: Name of the set.
        rows: Rows as built by `unbag.load`, in the order of the evaluation.
        id2label: The model's label names by output, `model.config.id2label`.

    Returns:
        A function of predictions (logits, shape (n, labels), or most probable outputs, shape (n,)) and label ids, shape
        (n,). It returns the metrics quoted in model cards by name, with the ends of their 95 % intervals (`…_low`,
        `…_high`). `skill_no_lexical` is 0 for chance or the best constant prediction, and 1 for perfect predictions.

    Raises:
        ValueError: If the set is unknown or the rows belong to another set. `data.labels.LabelError` if the names are
            not NLI labels. The returned function raises ValueError if the predictions do not match the rows.
    """
    required = ("label", *challenge_sets.get_challenge_set(name).columns)
    if missing := [column for column in required if column not in rows.column_names]:
        raise ValueError(
            f"rows: expected the columns {missing} of the {name} set, got {rows.column_names}; pass the rows of "
            "unbag.load"
        )
    order = resolve_label_names(id2label)
    space = find_label_space(order)
    expected = np.array([order.index(map_label_to_space(label, space)) for label in LABELS])[
        read_numeric_column(rows, "label")
    ]

    def metrics(evaluated: Evaluated) -> dict[str, float]:
        predictions, label_ids = evaluated[0], evaluated[1]
        outputs = np.asarray(predictions[0] if isinstance(predictions, tuple) else predictions)
        _check(outputs, label_ids, expected, order)
        has_probabilities = outputs.ndim == 2
        by_output = (
            softmax(outputs.astype(np.float64), axis=1)
            if has_probabilities
            else np.eye(len(order))[outputs.astype(np.intp)]
        )
        probabilities = by_output[:, [order.index(label) for label in space]]
        return compute_set_metrics(name, rows, SetPredictions(probabilities, space, has_probabilities))

    return metrics


def _check(outputs: NDArray[Any], label_ids: Any, expected: NDArray[np.intp], order: tuple[str, ...]) -> None:
    """Validate predictions against the rows, whose gold outputs are `expected`, shape (n,)."""
    n = len(expected)
    if outputs.shape not in ((n, len(order)), (n,)):
        raise ValueError(
            f"predictions: expected one for each of the {n} rows of the set, shape {(n, len(order))} or {(n,)}, got "
            f"shape {outputs.shape}; evaluate the rows passed to compute_metrics"
        )
    if not np.isfinite(outputs).all():
        raise ValueError("predictions: expected finite numbers, got NaN or infinity; check whether training diverged")
    if label_ids is not None and not np.array_equal(label_ids, expected):
        row = int(np.argmax(np.asarray(label_ids) != expected))
        raise ValueError(
            f"labels: expected {expected[row]} in row {row} (label ids: {', '.join(order)}), got "
            f"{np.asarray(label_ids)[row]}; pass the rows of the set in order, with the model's label ids"
        )
