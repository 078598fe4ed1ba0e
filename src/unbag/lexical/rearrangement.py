"""ReSNLI's rearrangement: the pairs that words give away least become the test set (section 4 of the paper)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.scoring.uncertainty_partitions import PARTITIONS
from unbag.utils import rng

SPLITS: Final = ("train", "validation", "test")
NO_PARTITION: Final = -1


class Rearrangement(NamedTuple):
    """Where each example goes.

    Attributes:
        split: positions in `SPLITS`, shape (n,).
        partition: of the test examples, 0 (least uncertain) … `PARTITIONS` - 1; `NO_PARTITION` elsewhere, shape (n,).
    """

    split: NDArray[np.int8]
    partition: NDArray[np.int8]


def rearrange(
    uncertainty: NDArray[np.float64], ids: Sequence[str], k_te: int, k_dv: int, *, seed: int
) -> Rearrangement:
    """Split examples by how uncertain a model of words alone is about them.

    The k_te most uncertain ones are the test set, k_dv drawn at random from the rest the validation set, the others the
    training set ("Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics", anonymous
    EMNLP-IJCNLP submission, section 4). The test set is cut by uncertainty into twenty partitions whose sizes differ by
    one at most (section 5.3); one of fewer examples into that many.

    Args:
        uncertainty: u' of each example, shape (n,), rounded to what every machine agrees on.
        ids: the examples' ids, shape (n,). Among equally uncertain examples the one with the first id counts as the
            more uncertain.
        k_te: test examples.
        k_dv: validation examples.
        seed: decides, with the examples' positions, which are for validation.

    Raises:
        ValueError: if there are not so many examples, or an uncertainty is no number.

    >>> result = rearrange(np.array([0.1, 0.9, 0.5, 0.7]), ["a", "b", "c", "d"], 2, 1, seed=13)
    >>> (result.split == SPLITS.index("test")).tolist(), result.partition.tolist()
    ([False, True, False, True], [-1, 1, -1, 0])
    """
    n = len(uncertainty)
    if k_te < 1 or k_dv < 0 or k_te + k_dv > n:
        raise ValueError(
            f"expected at least one test example, and as many examples as the splits take; found {n:,} examples for "
            f"k_te = {k_te:,} and k_dv = {k_dv:,}"
        )
    if np.isnan(uncertainty).any():
        raise ValueError("expected an uncertainty of each example, found NaN")
    hardest_first = np.array(sorted(range(n), key=lambda i: (-uncertainty[i], ids[i])), dtype=np.int64)
    test, rest = hardest_first[:k_te], np.sort(hardest_first[k_te:])
    lots = rng.numbers(rng.key(seed, "validation"), rest)
    split = np.full(n, SPLITS.index("train"), dtype=np.int8)
    split[test] = SPLITS.index("test")
    split[rest[np.argsort(lots, kind="stable")[:k_dv]]] = SPLITS.index("validation")
    partition = np.full(n, NO_PARTITION, dtype=np.int8)
    partition[test[::-1]] = np.arange(k_te) * min(PARTITIONS, k_te) // k_te
    return Rearrangement(split, partition)
