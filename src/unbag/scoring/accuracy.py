"""Accuracy, overall and by gold label."""

from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, named_estimates
from unbag.scoring.checks import labelled


class AccuracyScores(TypedDict):
    """How often predictions are right; an `Estimate` is (value, low, high, n), from 0 to 1.

    Attributes:
        accuracy: the share of examples predicted right.
        by_label: the same among the examples of each gold label, by its id (its recall).
        majority: the share of the most frequent gold label.
    """

    accuracy: Estimate
    by_label: list[Estimate]
    majority: float


def accuracy(
    predictions: ArrayLike,
    references: ArrayLike,
    *,
    n_labels: int = 3,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> AccuracyScores:
    """Score predictions by the share that is right.

    Args:
        predictions: predicted label ids, shape (n,). An id that is no label (-1, say) is wrong.
        references: gold label ids, 0 … n_labels - 1, shape (n,).
        n_labels: how many labels there are.
        resamples: 0 for no intervals; any other number gives the same ones, which are in closed form.
        seed: without effect on intervals in closed form; every metric takes it.

    Raises:
        ValueError: if the lengths differ or there is no example.

    >>> scores = accuracy([0, 1, 1, 2], [0, 1, 2, 2])
    >>> scores["accuracy"].value, [recall.value for recall in scores["by_label"]]
    (0.75, [1.0, 1.0, 0.5])
    """
    gold, predicted = labelled(references, predictions=predictions)
    right = predicted == gold
    ratios = {"all": (right, np.ones(len(gold)))}
    ratios |= {str(label): (right & (gold == label), gold == label) for label in range(n_labels)}
    estimates = named_estimates(ratios, resamples=resamples, seed=seed)
    return {
        "accuracy": estimates["all"],
        "by_label": [estimates[str(label)] for label in range(n_labels)],
        "majority": float(np.bincount(gold).max() / len(gold)),
    }
