"""Accuracy on partitions ordered by their difficulty for a bag-of-words model (ReSNLI, Figure 2)."""

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.predictions import NO_ANSWER, Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, estimate_difference, estimate_ratio
from unbag.scoring.validation import validate_columns

PARTITIONS: Final = 20
"""Number of partitions in ReSNLI (section 5.3); a set with fewer test pairs has one pair per partition."""

_TRAINING: Final = "train"  # prefix of the training splits of all corpora (`data.corpora.Corpus.train`)


def uncertainty_partitions(
    predictions: ArrayLike,
    references: ArrayLike,
    partition: ArrayLike,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute the accuracy per partition of the pairs. Partitions are ordered by difficulty for a bag-of-words model.

    ReSNLI sorts its test pairs by u' = 1 - u(X; β)_y, where u is a softmax regression on the mean word embedding, and
    splits them into twenty partitions ("Refining Models' Inference Ability Independent of Simple Bag-of-Word
    Statistics", anonymous EMNLP-IJCNLP submission, sections 4 and 5.3). Any other order of difficulty can also be used.

    Args:
        predictions: Predicted label ids, shape (n,). A negative id is a missing prediction. It counts as wrong, and in
            the easiest partition as correct in the drop, so that it never improves a score.
        references: Gold label ids, shape (n,).
        partition: Partition number of each example, from 0 (easiest) to m - 1 (hardest), shape (n,). No partition is
            empty.
        resamples: 0 disables the intervals, which have a closed form. `seed` has no effect.

    Returns:
        The scores of the card `metrics/uncertainty_partitions/README.md`. All except ρ are `Estimate`s: accuracies in
        [0, 1], where higher is better, and the drop in [-1, 1]. ρ has no interval: resampling adds noise and moves ρ
        toward 0.

    >>> scores = uncertainty_partitions([0, 1, 2, 0, 1, 1], [0, 1, 2, 1, 0, 2], [0, 0, 1, 1, 2, 2])
    >>> [row["accuracy"].value for row in scores["by_partition"]], scores["rank_correlation"]
    ([1.0, 0.5, 0.0], -1.0)
    """
    gold, predicted, numbers = validate_columns(references, predictions=predictions, partition=partition)
    if numbers.min() < 0:
        raise ValueError(
            f"partition: expected the test split, got {numbers.min()}, as in the other splits of the set; pass only "
            "the rows of the test split"
        )
    partitions = np.unique(numbers)
    # A gap would silently change which partition is the hardest.
    if (gap := partitions != np.arange(len(partitions))).any():
        raise ValueError(
            f"partition: expected examples in every partition from 0 to {partitions[-1]}, got none in partition "
            f"{gap.argmax()}; pass the whole set, or merge adjacent partitions (partition // 2)"
        )
    right = predicted == gold
    found = [estimate_ratio(right, numbers == number, resamples=resamples) for number in partitions]
    at_most = found[0]
    if len(found) > 1:
        at_most = estimate_ratio(right | (predicted < 0), numbers == 0, resamples=resamples)
    return {
        "n_examples": len(right),
        "n_partitions": len(partitions),
        "accuracy": estimate_ratio(right, resamples=resamples),
        "easiest": found[0],
        "hardest": found[-1],
        "drop": estimate_difference(at_most, found[-1]),
        "rank_correlation": _compute_trend(np.array([each.value for each in found])),
        "by_partition": [{"partition": number, "accuracy": each} for number, each in enumerate(found)],
    }


def _compute_trend(accuracies: NDArray[np.float64]) -> float | None:
    """Compute Spearman's ρ between index and value; None if all values are equal."""
    _, index, counts = np.unique(accuracies, return_inverse=True, return_counts=True)
    if len(counts) == 1:
        return None
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[index]  # ties share their mean rank
    return float(np.corrcoef(np.arange(len(ranks)), ranks)[0, 1])


def score_resnli(columns: Columns, predictions: SetPredictions, *, partial: bool = False) -> dict[str, Any]:
    """Compute the accuracy by uncertainty partition, from the columns `label`, `partition` and `source_split`.

    Most of the rearranged test pairs come from the corpus's training split, so a model fine-tuned on this split has
    seen them. `unseen` is the accuracy on the pairs from the other splits, if both kinds occur. A sample of examples
    may leave partitions empty. Neighbouring partitions are then joined (`merge_sparse_partitions`), and
    `set_partitions` is the number of partitions of the complete set.

    For a part of the rows of a set (`partial`), the scores are the accuracy on all pairs, on the easiest and on the
    hardest partition, and the drop between these two. A set of fewer than `PARTITIONS` pairs has no hardest one.
    """
    gold = predictions.to_label_positions(columns["label"])
    right, partition = predictions.predicted == gold, np.asarray(columns["partition"])
    if partial:
        return _score_ends(right, predictions.predicted == NO_ANSWER, partition)
    joined, total = merge_sparse_partitions(partition)
    scores = uncertainty_partitions(predictions.predicted, gold, joined)
    if scores["n_partitions"] < total:
        scores["set_partitions"] = total
    unseen = find_unseen_rows(columns)
    if unseen.any() and not unseen.all():
        scores["unseen"] = estimate_ratio(right, unseen)
    return scores


def merge_sparse_partitions(partition_ids: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Merge neighbouring partitions until each has at least one example.

    The partitions of a complete set do not change. For a sample, neighbours are joined in groups of two, four, and so
    on through the divisors of the number of partitions, so that all joined partitions cover equal shares of the set.

    Returns the new partition numbers, shape (n,), and the number of partitions of the complete set.

    >>> merge_sparse_partitions(np.array([0, 4, 5, 12, 19]))
    (array([0, 0, 1, 2, 3]), 20)
    """
    numbers = np.asarray(partition_ids, dtype=np.int64)
    present = np.unique(numbers)
    # A complete set of fewer than `PARTITIONS` pairs has one pair per partition (`baselines.lexical.rearrangement`).
    is_small_set = len(present) == len(numbers) == present[-1] + 1
    total = len(present) if is_small_set else max(PARTITIONS, int(present[-1]) + 1)
    fewer = next(m for m in range(total, 0, -1) if total % m == 0 and len(np.unique(present * m // total)) == m)
    return numbers * fewer // total, total


def find_unseen_rows(columns: Columns) -> NDArray[np.bool_]:
    """Compute a mask of the pairs that are known not to be from a training split, shape (n,)."""
    if "source_split" not in columns:
        return np.zeros(len(columns["partition"]), dtype=np.bool_)
    return np.array([not str(split).startswith(_TRAINING) for split in columns["source_split"]], dtype=np.bool_)


def _score_ends(right: NDArray[np.bool_], unanswered: NDArray[np.bool_], partition: NDArray[Any]) -> dict[str, Any]:
    subsets = {"accuracy": partition >= 0, "easiest": partition == 0, "hardest": partition == PARTITIONS - 1}
    scores = {name: estimate_ratio(right, rows, resamples=0) for name, rows in subsets.items() if rows.any()}
    if {"easiest", "hardest"} <= scores.keys():
        at_most = estimate_ratio(right | unanswered, subsets["easiest"], resamples=0)
        scores["drop"] = estimate_difference(at_most, scores["hardest"])
    return scores
