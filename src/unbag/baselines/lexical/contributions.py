"""What each feature of a pair does to a lexical model's answer (Nie et al. 2019, Figure 2)."""

from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unbag.baselines.lexical.features import Feature, Vocabulary
from unbag.data.labels import LABELS

LOGIT_DECIMALS: Final = 3
"""Of a contribution: features are ordered by the rounded ones, and those of equal ones by their place."""


class Contribution(NamedTuple):
    """How far a feature moves the odds of a wrong label against the gold one, as a difference of logits."""

    feature: Feature
    label: str
    logit: float


def misleading(
    vocabulary: Vocabulary,
    weights: NDArray[Any],
    matrix: sparse.csr_matrix,
    probabilities: NDArray[Any],
    gold: NDArray[np.int64],
    top: int,
) -> list[list[Contribution]]:
    """Return, for each pair, the features that most favour the likeliest wrong label over the gold one.

    Args:
        vocabulary: the features.
        weights: shape (features, labels).
        matrix: the pairs' features, shape (n, features).
        probabilities: of the labels, shape (n, labels); of equally likely wrong labels the first counts.
        gold: ids of the gold labels, shape (n,).
        top: how many, strongest first; only those that favour the wrong label at all.
    """
    of_wrong = probabilities.copy()
    of_wrong[np.arange(len(gold)), gold] = -1
    wrong = of_wrong.argmax(axis=1)
    contributions = []
    for row, (begin, end) in enumerate(pairwise(matrix.indptr)):
        columns = matrix.indices[begin:end]
        gains = np.round(weights[columns][:, wrong[row]] - weights[columns][:, gold[row]], LOGIT_DECIMALS)
        order = [i for i in np.argsort(-gains, kind="stable")[:top] if gains[i] > 0]
        names = vocabulary.names(columns[order])
        contributions.append(
            [Contribution(name, LABELS[wrong[row]], float(gains[i])) for name, i in zip(names, order, strict=True)]
        )
    return contributions
