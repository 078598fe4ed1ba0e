"""ReSNLI's rearrangement, and the model of words alone behind it.

The model is softmax regression on the mean embedding of a pair's tokens.

u(X; β) = softmax(W^β · mean of the embeddings), fitted by plain cross-entropy on all pairs of a corpus; the uncertainty
of a pair is u' = 1 - u(X; β)_gold ("Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics",
anonymous EMNLP-IJCNLP submission, section 4). As there, W has no bias: a pair without a known token gets 1 / labels.

No penalty means that the fitted probabilities are the same for embeddings multiplied by any invertible matrix. So the
means are multiplied by one that makes their second moments the identity. That takes L-BFGS from thousands of steps to
some tens, and lets it converge to the last digits of float64: the same on any processor and any number of threads.

The pairs whose labels words give away least become the test set (section 4 of the paper).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unbag.baselines.lexical.embeddings import mean_embeddings
from unbag.baselines.lexical.optimizer import minimise
from unbag.scoring.uncertainty_partitions import PARTITIONS
from unbag.utils import rng

_TOLERANCE: Final = 1e-13  # of the gradient at the start; probabilities are then within some 1e-13 of the optimum
_NEGLIGIBLE: Final = 1e-13  # share of the largest second moment; below lies little but the rounding of float32
_AT_ONCE: Final = 16_384  # rows of means: 50 MB at 384 dimensions


@dataclass(frozen=True)
class AveragedModel:
    """A fitted u(X; β).

    Attributes:
        weights: W^β, shape (dimensions, labels).
        vectors: the embeddings, shape (rows, dimensions).
        steps: how many steps the fit took.
    """

    weights: NDArray[np.float64]
    vectors: NDArray[np.float32]
    steps: int

    def probabilities(self, counts: sparse.csr_matrix) -> NDArray[np.float64]:
        """Return u for texts whose tokens are counted (`embeddings.Table.counts`), shape (n, labels)."""
        # Each token's logits first, and then their mean: the sums depend on a text's tokens, not on its position.
        logits = mean_embeddings(counts, self.vectors.astype(np.float64) @ self.weights)
        logits -= logits.max(axis=1, keepdims=True)
        exponentials = np.exp(logits, out=logits)
        exponentials /= exponentials.sum(axis=1, keepdims=True)
        return exponentials

    def uncertainty(self, counts: sparse.csr_matrix, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return u', shape (n,), in [0, 1].

        Args:
            counts: shape (n, rows).
            labels: gold label ids, shape (n,).
        """
        certain: NDArray[np.float64] = self.probabilities(counts)[np.arange(len(labels)), labels]
        return 1 - certain


def fit(counts: sparse.csr_matrix, vectors: NDArray[np.float32], labels: NDArray[np.int64]) -> AveragedModel:
    """Fit u(X; β) (equation 2 with the cross-entropy of the probabilities, as the arg max has no gradient).

    Deterministic. The most memory is taken by the means in float64, n × dimensions × 8 bytes (1.75 GB for SNLI's
    569,033 pairs at 384 dimensions), of which there is one copy.

    Args:
        counts: how often each embedding occurs in each text, shape (n, rows).
        vectors: the embeddings, shape (rows, dimensions).
        labels: gold label ids 0, 1, … of which each occurs, shape (n,).

    Raises:
        ValueError: if there is not one label a text, a label does not occur, no text has a known token, or the means
            tell the label of every text, so that no weights are the best.
        NotConvergedError: if it takes over 2,000 steps.
    """
    n = counts.shape[0]
    label_ids = np.unique(labels)
    if n != len(labels) or len(label_ids) < 2 or (label_ids != np.arange(len(label_ids))).any():
        raise ValueError(
            f"expected one label for each text, and texts of all labels; found {n:,} texts, {len(labels):,} labels, "
            f"the label ids {label_ids.tolist()}"
        )
    used = np.unique(counts.indices)
    # Of a large table a corpus uses little.
    used_counts, used_vectors = counts[:, used], vectors[used].astype(np.float64)
    to_white = _whitening(used_counts, used_vectors)
    if not to_white.shape[1]:
        raise ValueError("expected texts with tokens that the embeddings have, found none; is it the right language?")
    weights, steps = _regress(_means(used_counts, used_vectors @ to_white), labels)
    model = AveragedModel(to_white @ weights, vectors, steps)
    if (model.probabilities(counts).argmax(axis=1) == labels).all():
        raise ValueError(
            f"the mean embedding of {to_white.shape[1]} dimensions tells the label of each of the {n:,} pairs, so how "
            "hard they are cannot be told; take more pairs, or embeddings of fewer dimensions"
        )
    return model


def _regress(means: NDArray[np.float64], labels: NDArray[np.int64]) -> tuple[NDArray[np.float64], int]:
    """Return the weights of the best softmax regression without bias or penalty, shape (dimensions, labels)."""
    n, n_labels = len(labels), int(labels.max()) + 1
    rows = np.arange(n)

    def objective(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the mean cross-entropy and its gradient."""
        logits = means @ flat.reshape(-1, n_labels)
        logits -= logits.max(axis=1, keepdims=True)
        of_gold = logits[rows, labels]
        exponentials = np.exp(logits, out=logits)
        sums = exponentials.sum(axis=1, keepdims=True)
        value = float((np.log(sums[:, 0]) - of_gold).mean())
        exponentials /= sums
        exponentials[rows, labels] -= 1
        return value, (means.T @ exponentials).ravel() / n

    # The weights of a dimension sum to zero over the labels all along: each gradient does, and the start.
    weights, steps = minimise(objective, np.zeros(means.shape[1] * n_labels), _TOLERANCE)
    return weights.reshape(-1, n_labels), steps


def _whitening(counts: sparse.csr_matrix, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix that makes the means' second moments the identity, shape (dimensions, rank)."""
    dimensions = vectors.shape[1]
    moments = np.zeros((dimensions, dimensions))
    for start in range(0, counts.shape[0], _AT_ONCE):
        means = mean_embeddings(counts[start : start + _AT_ONCE], vectors)
        moments += means.T @ means
    values, directions = np.linalg.eigh(moments / counts.shape[0])
    kept = values > _NEGLIGIBLE * max(values[-1], 0)
    white: NDArray[np.float64] = directions[:, kept] / np.sqrt(values[kept])
    return white


def _means(counts: sparse.csr_matrix, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean embeddings, made in parts for the temporary copies to be small."""
    means = np.empty((counts.shape[0], vectors.shape[1]))
    for start in range(0, len(means), _AT_ONCE):
        means[start : start + _AT_ONCE] = mean_embeddings(counts[start : start + _AT_ONCE], vectors)
    return means


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
