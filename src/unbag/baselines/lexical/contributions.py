"""Feature contributions to the prediction of a lexical model (Nie et al. 2019, Figure 2)."""

from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from unbag.baselines.lexical.features import FeatureVocabulary, LexicalFeature
from unbag.data.labels import LABELS

LOGIT_DECIMALS: Final = 3
"""Number of decimals of a contribution. Features are sorted by rounded contribution, with ties by position."""


class FeatureContribution(NamedTuple):
    """Contribution of a feature to the log-odds of a wrong label versus the gold label."""

    feature: LexicalFeature
    label: str
    logit: float


def rank_misleading_features(
    vocabulary: FeatureVocabulary,
    weights: NDArray[Any],
    matrix: "scipy.sparse.csr_matrix",
    probabilities: NDArray[Any],
    gold: NDArray[np.int64],
    max_features: int,
) -> list[list[FeatureContribution]]:
    """Rank the features of each pair that favor the most likely wrong label over the gold label.

    Args:
        weights: Weights of the model, shape (features, labels).
        matrix: Features of the pairs, shape (n, features).
        probabilities: Label probabilities, shape (n, labels). Among equally likely wrong labels, the first one counts.
        gold: Gold label ids, shape (n,).

    Returns:
        For each pair, the features that favor the wrong label, in descending order of contribution.
    """
    wrong_probabilities = probabilities.copy()
    wrong_probabilities[np.arange(len(gold)), gold] = -1  # below all probabilities: never the argmax
    wrong = wrong_probabilities.argmax(axis=1)
    contributions = []
    for row, (begin, end) in enumerate(pairwise(matrix.indptr)):
        columns = matrix.indices[begin:end]
        gains = np.round(weights[columns][:, wrong[row]] - weights[columns][:, gold[row]], LOGIT_DECIMALS)
        # The sort is stable, so that features with equal rounded gains have the same order on all machines.
        order = [i for i in np.argsort(-gains, kind="stable")[:max_features] if gains[i] > 0]
        names = vocabulary.get_features(columns[order])
        contributions.append(
            [
                FeatureContribution(name, LABELS[wrong[row]], float(gains[i]))
                for name, i in zip(names, order, strict=True)
            ]
        )
    return contributions
