"""Accuracy from the easiest examples to the hardest, as a model of words alone finds them (ReSNLI, Figure 2)."""

from typing import Final, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, named_estimates
from unbag.scoring.validation import labelled

PARTITIONS: Final = 20
"""How many partitions ReSNLI has (section 5.3): all that are made of 20 test pairs or more."""


class PartitionRow(TypedDict):
    """The accuracy on one partition, by its number."""

    partition: int
    accuracy: Estimate


class UncertaintyPartitionsScores(TypedDict):
    """How often predictions are right, from the easiest examples to the hardest.

    All but ρ are `Estimate`s (value, low, high, n): accuracies from 0 to 1, higher is better, the drop from -1 to 1.

    Attributes:
        n_examples: how many examples there are.
        n_partitions: how many partitions.
        accuracy: share of all examples predicted right (Table 3).
        easiest: the accuracy on the first partition.
        hardest: that on the last.
        drop: the one less the other, each on examples of its own.
        rank_correlation: Spearman's ρ between the number of a partition and the accuracy on it, ranks averaged among
            equals. (Ours: one number for "worse as uncertainty grows".) -1 is a fall at every step, 0 no trend. None
            with one partition, or where all partitions have the same accuracy. A plain number: resampling adds noise to
            every partition and so moves ρ towards 0, so that a percentile interval need not even hold it.
        by_partition: the accuracy by partition, from the easiest to the hardest (Figure 2).
    """

    n_examples: int
    n_partitions: int
    accuracy: Estimate
    easiest: Estimate
    hardest: Estimate
    drop: Estimate
    rank_correlation: float | None
    by_partition: list[PartitionRow]


def uncertainty_partitions(
    predictions: ArrayLike,
    references: ArrayLike,
    partition: ArrayLike,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> UncertaintyPartitionsScores:
    """Score predictions on a set cut into partitions by how little its words give the label away.

    ReSNLI orders its test pairs by u' = 1 - u(X; β)_y, where u is a softmax regression on the mean word embedding, and
    cuts them into twenty partitions ("Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics",
    anonymous EMNLP-IJCNLP submission, sections 4 and 5.3). The partitions come with the data set; any other order of
    difficulty does as well.

    A model that is always right has accuracy 1 everywhere, drop 0, and no rank correlation.

    Args:
        predictions: predicted label ids, shape (n,). An id that is no label (-1, say) is wrong.
        references: gold label ids, shape (n,).
        partition: number of each example's partition, 0 (easiest) … m - 1 (hardest), shape (n,).
        resamples: 0 for no intervals; any other number gives the same ones, which are in closed form.
        seed: without effect on intervals in closed form; every metric takes it.

    Raises:
        ValueError: if lengths differ, there is no example, a partition is negative, or one of 0 … m - 1 has no example.

    >>> scores = uncertainty_partitions([0, 1, 2, 0, 1, 1], [0, 1, 2, 1, 0, 2], [0, 0, 1, 1, 2, 2])
    >>> [row["accuracy"].value for row in scores["by_partition"]], scores["rank_correlation"]
    ([1.0, 0.5, 0.0], -1.0)
    """
    gold, predicted, numbers = labelled(references, predictions=predictions, partition=partition)
    m = _count(numbers)
    right = predicted == gold
    ratios = {"accuracy": (right, np.ones(len(right)))}
    names = [f"partition {number}" for number in range(m)]
    for number, name in enumerate(names):
        inside = numbers == number
        ratios[name] = (right & inside, inside.astype(np.float64))
    estimates = named_estimates(ratios, {"drop": (names[0], names[-1])}, resamples=resamples, seed=seed)
    return {
        "n_examples": len(right),
        "n_partitions": m,
        "accuracy": estimates["accuracy"],
        "easiest": estimates[names[0]],
        "hardest": estimates[names[-1]],
        "drop": estimates["drop"],
        "rank_correlation": _trend(np.array([estimates[name].value for name in names])),
        "by_partition": [{"partition": number, "accuracy": estimates[name]} for number, name in enumerate(names)],
    }


def _count(numbers: NDArray[np.int64]) -> int:
    """Return how many partitions there are, having seen that none is missing."""
    if numbers.min() < 0:
        raise ValueError(f"expected partitions from 0 (the easiest) up, found {numbers.min()}")
    partitions = np.unique(numbers)
    if (gap := partitions != np.arange(len(partitions))).any():
        raise ValueError(
            f"expected examples in every partition from 0 to {partitions[-1]}, found none in partition {gap.argmax()}; "
            "score the whole set, or join neighbouring partitions (partition // 2)"
        )
    return len(partitions)


def _trend(accuracies: NDArray[np.float64]) -> float | None:
    """Return Spearman's ρ between index and value: the correlation of their ranks, None if all values are equal."""
    _, index, counts = np.unique(accuracies, return_inverse=True, return_counts=True)
    if len(counts) == 1:
        return None
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[index]  # equal ones have the mean of their ranks
    return float(np.corrcoef(np.arange(len(ranks)), ranks)[0, 1])
