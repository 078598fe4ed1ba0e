"""Uncertainty partitions and row scores of ReSNLI."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.predictions import NO_ANSWER, Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, estimate_named_ratios
from unbag.scoring.skill import RowScores
from unbag.scoring.uncertainty_partitions import PARTITIONS, uncertainty_partitions

_TRAINING: Final = "train"  # prefix of the training splits of all corpora (`data.corpora.Corpus.train`)


def compute_resnli_scores(
    columns: Columns, predictions: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Compute the accuracy overall and by uncertainty partition.

    Most of the rearranged test pairs come from the corpus's training split, so a model fine-tuned on this split has
    seen them. The score `unseen` is therefore the accuracy on the pairs from the other splits. It is missing if there
    are no such pairs, or none from a training split, e.g. for data with unknown splits.

    A sample of examples may leave partitions empty. Neighbouring partitions are then joined
    (`merge_sparse_partitions`), and `set_partitions` is the number of partitions of the complete set.

    Args:
        columns: Columns of n rows.
        predictions: Predictions, n rows.
        resamples: Number of bootstrap resamples.
        partial: Whether the rows are a part of the set. The scores are then the accuracy on all pairs, on the easiest
            and on the hardest partition, and the drop between these two. A set of fewer than `PARTITIONS` pairs has
            fewer partitions. A part of its rows does not show this, so `hardest` is missing for such a set.
    """
    gold = predictions.to_label_positions(columns["label"])
    right, partition = predictions.predicted == gold, np.asarray(columns["partition"])
    if partial:
        return _of_ends(right, predictions.predicted == NO_ANSWER, partition)
    joined, total = merge_sparse_partitions(partition)
    scores: dict[str, Any] = {**uncertainty_partitions(predictions.predicted, gold, joined, resamples=resamples)}
    if scores["n_partitions"] < total:
        scores["set_partitions"] = total
    unseen = _unseen(columns)
    if unseen.any() and not unseen.all():
        ratio = (right & unseen, unseen.astype(np.float64))
        scores["unseen"] = estimate_named_ratios({"unseen": ratio}, {}, resamples=resamples)["unseen"]
    return scores


def compute_resnli_row_scores(columns: Columns, predictions: SetPredictions) -> RowScores:
    """Compute the per-example scores that enter the skill score: 1 if the prediction is correct, else 0.

    Pairs from a training split do not count. If the splits are unknown, or all pairs come from a training split, all
    pairs count.
    """
    gold = predictions.to_label_positions(columns["label"])
    return RowScores(
        predictions.predicted == gold, gold, range(len(gold)), is_counted=compute_resnli_skill_score_mask(columns)
    )


def compute_resnli_skill_score_mask(columns: Columns) -> NDArray[np.bool_]:
    """Compute a mask of the rows outside the training splits, shape (n,). If there are none, select all rows."""
    unseen = _unseen(columns)
    return unseen if unseen.any() else np.ones(len(unseen), dtype=np.bool_)


def merge_sparse_partitions(partition_ids: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Merge neighbouring partitions until each has at least one example.

    The partitions of a complete set do not change. For a sample, neighbours are joined in groups of two, four, and so
    on through the divisors of the number of partitions, so that each joined partition covers the same share of the
    complete set.

    Args:
        partition_ids: Partition of each sampled example in the complete set, shape (n,).

    Returns:
        The partition numbers after joining, shape (n,), and the number of partitions of the complete set.

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


def _unseen(columns: Columns) -> NDArray[np.bool_]:
    """Compute a mask of the pairs that are known not to be from a training split, shape (n,)."""
    if "source_split" not in columns:
        return np.zeros(len(columns["partition"]), dtype=np.bool_)
    return np.array([not str(split).startswith(_TRAINING) for split in columns["source_split"]], dtype=np.bool_)


def _of_ends(right: NDArray[np.bool_], unanswered: NDArray[np.bool_], partition: NDArray[Any]) -> dict[str, Any]:
    subsets = {"accuracy": partition >= 0, "easiest": partition == 0, "hardest": partition == PARTITIONS - 1}
    ratios = {name: (right & subset, subset.astype(np.float64)) for name, subset in subsets.items() if subset.any()}
    drop = {}
    if {"easiest", "hardest"} <= ratios.keys():
        ratios["at_most"] = ((right | unanswered) & subsets["easiest"], subsets["easiest"].astype(np.float64))
        drop = {"drop": ("at_most", "hardest")}
    estimates = dict(estimate_named_ratios(ratios, drop, resamples=0))
    return {name: estimates[name] for name in (*subsets, *drop) if name in estimates}
