"""Groups of pairs by how far their words mislead, and weights by which all groups count alike.

The lexically misleading score (LMS, Nie et al. 2019, section 5.3) of a pair is the highest probability that a bag of
words gives a wrong label. Pairs whose words mislead are few, as the minority groups are of Sagawa et al. 2020
("Distributionally Robust Neural Networks for Group Shifts", https://arxiv.org/abs/1911.08731), and the error set of a
first model that Liu et al. 2021 ("Just Train Twice", https://arxiv.org/abs/2107.09044) give a larger weight. Here a
bag of words is that first model, there are several groups and not two, and their weights are the inverse of their
sizes, fixed before the training, so that the groups weigh the same:

    w_i = n / (G · n_g(i))      of n pairs in G groups, pair i in one of n_g(i): the mean of the weights is 1
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.lexical.regression import lms

EDGES: Final = (0.3, 0.5, 0.7)
"""Where a group of LMS ends and the next begins: words tell, hardly tell, mislead, and mislead as in CS_0.7."""


def groups(probabilities: NDArray[np.floating[Any]], gold: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the group of each pair, 0 where words tell most, shape (n,).

    Args:
        probabilities: of the labels by a bag of words, shape (n, labels).
        gold: ids of the gold labels, shape (n,).
    """
    found: NDArray[np.int64] = np.digitize(lms(probabilities, gold), EDGES).astype(np.int64)
    return found


def group_weights(probabilities: NDArray[np.floating[Any]], gold: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the weight of each pair, shape (n,); a group without pairs counts for none.

    >>> three_and_one = np.array([[0.8, 0.1, 0.1]] * 3 + [[0.1, 0.8, 0.1]])
    >>> [round(weight, 3) for weight in group_weights(three_and_one, np.zeros(4, np.int64)).tolist()]
    [0.667, 0.667, 0.667, 2.0]
    """
    group = groups(probabilities, gold)
    sizes = np.bincount(group, minlength=len(EDGES) + 1)
    weights: NDArray[np.float32] = (len(gold) / ((sizes > 0).sum() * sizes[group])).astype(np.float32)
    return weights
