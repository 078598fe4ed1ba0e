"""Uncertainty partitions of ReSNLI."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, named_estimates
from unbag.scoring.skill import Credits
from unbag.scoring.uncertainty_partitions import PARTITIONS, uncertainty_partitions

_TRAINING: Final = "train"  # what the names of all corpora's training splits begin with (`data.corpora.Corpus.train`)


def resnli_scores(
    columns: Columns, answers: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Score answers with `scoring.uncertainty_partitions`.

    Most of the rearranged test pairs come from the corpus's training split, and a model that was fine-tuned on that has
    seen them. So beside the accuracy on all there is `unseen`: that on the pairs from the corpus's other splits. It is
    missing where there is no such pair, or none from a training split, as with data whose splits are not known.

    Of a part of the rows there are the accuracy on all pairs and on the two ends, and the drop between these. A set of
    fewer than `PARTITIONS` pairs has fewer partitions. No row says so, and what looks like its last one may be any of a
    larger set: it has no `hardest`.

    Examples that were drawn may leave a partition empty. Neighbouring partitions are then joined (`join_partitions`),
    and `set_partitions` is how many the whole set has.
    """
    gold = answers.gold(columns["label"])
    right, partition = answers.predicted == gold, np.asarray(columns["partition"])
    if partial:
        return _of_ends(right, partition)
    joined, total = join_partitions(partition)
    scores: dict[str, Any] = {**uncertainty_partitions(answers.predicted, gold, joined, resamples=resamples)}
    if scores["n_partitions"] < total:
        scores["set_partitions"] = total
    unseen = _unseen(columns)
    if unseen.any() and not unseen.all():
        ratio = (right & unseen, unseen.astype(np.float64))
        scores["unseen"] = named_estimates({"unseen": ratio}, {}, resamples=resamples)["unseen"]
    return scores


def resnli_credits(columns: Columns, answers: SetPredictions) -> Credits:
    """Return for `scoring.skill` which pairs are answered right, of those not from a training split.

    Where the splits are not known, or none but a training split, all pairs count.
    """
    gold = answers.gold(columns["label"])
    return Credits(answers.predicted == gold, gold, range(len(gold)), counts=resnli_decisive(columns))


def resnli_decisive(columns: Columns) -> NDArray[np.bool_]:
    """Return which rows are not from a training split, shape (n,); all where that is not known, or none is."""
    unseen = _unseen(columns)
    return unseen if unseen.any() else np.ones(len(unseen), dtype=np.bool_)


def join_partitions(partition: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Join neighbouring partitions until each has an example.

    The partitions of a whole set stay as they are. Those of drawn examples are joined two by two, four by four and so
    on through the divisors of their number, so that each joined partition covers the same share of the whole set.

    Args:
        partition: number of each drawn example's partition in the whole set, shape (n,).

    Returns:
        The numbers after joining, shape (n,), and how many partitions the whole set has.

    >>> join_partitions(np.array([0, 4, 5, 12, 19]))
    (array([0, 0, 1, 2, 3]), 20)
    """
    numbers = np.asarray(partition, dtype=np.int64)
    present = np.unique(numbers)
    # A set of fewer than `PARTITIONS` pairs has one pair in each partition (`baselines.lexical.rearrangement`).
    is_small_set = len(present) == len(numbers) == present[-1] + 1
    total = len(present) if is_small_set else max(PARTITIONS, int(present[-1]) + 1)
    fewer = next(m for m in range(total, 0, -1) if total % m == 0 and len(np.unique(present * m // total)) == m)
    return numbers * fewer // total, total


def unseen_pairs(splits: Iterable[Any]) -> NDArray[np.bool_]:
    """Return which pairs are not from a training split, by the names of their splits, shape (n,)."""
    return np.array([not str(split).startswith(_TRAINING) for split in splits], dtype=bool)


def _unseen(columns: Columns) -> NDArray[np.bool_]:
    """Return the same of the column; of length 0 where the splits are not known."""
    return unseen_pairs(columns.get("source_split", ()))


def _of_ends(right: NDArray[np.bool_], partition: NDArray[Any]) -> dict[str, Any]:
    subsets = {"accuracy": partition >= 0, "easiest": partition == 0, "hardest": partition == PARTITIONS - 1}
    ratios = {name: (right & subset, subset.astype(np.float64)) for name, subset in subsets.items() if subset.any()}
    drop = {"drop": ("easiest", "hardest")} if {"easiest", "hardest"} <= ratios.keys() else {}
    return dict(named_estimates(ratios, drop, resamples=0))
