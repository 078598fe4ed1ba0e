"""Rearrangement of a corpus as in ReSNLI, and the bag-of-words model whose uncertainty determines the order.

The model is softmax regression on the mean token embedding of a pair: u(X; β) = softmax(W^β · mean embedding), fitted
with unpenalized cross-entropy on all pairs of a corpus. The uncertainty of a pair is u' = 1 - u(X; β)_gold ("Refining
Models' Inference Ability Independent of Simple Bag-of-Word Statistics", anonymous EMNLP-IJCNLP submission, section 4).
As in the paper, W has no bias.

The mean embeddings are whitened, so that their second moments are the identity. This does not change the fitted
probabilities, but L-BFGS takes tens of steps instead of thousands, and converges to the last digits of float64.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from unbag.baselines.lexical.embeddings import compute_mean_embeddings
from unbag.baselines.lexical.optimizer import minimize
from unbag.scoring.uncertainty_partitions import PARTITIONS
from unbag.utils import rng

_TOLERANCE: Final = 1e-13  # relative to the initial gradient; probabilities are then about 1e-13 from the optimum
_NEGLIGIBLE: Final = 1e-13  # relative to the largest second moment; smaller moments are rounding errors of float32


@dataclass(frozen=True)
class MeanEmbeddingModel:
    """Fitted softmax regression u(X; β) on mean token embeddings."""

    weights: NDArray[np.float64]  # W^β, shape (dimensions, labels)
    vectors: NDArray[np.float32]  # embeddings, shape (rows, dimensions)
    steps: int  # of the optimizer

    def probabilities(self, counts: "scipy.sparse.csr_matrix") -> NDArray[np.float64]:
        """Predict the label probabilities u of n texts from their token counts, shape (n, labels)."""
        # The mean of the token logits instead of the logits of the mean: the order of the floating-point sum then
        # depends only on the tokens of a text, not on its position among the texts.
        logits = compute_mean_embeddings(counts, self.vectors.astype(np.float64) @ self.weights)
        probabilities: NDArray[np.float64] = scipy.special.softmax(logits, axis=1)
        return probabilities

    def compute_uncertainty(self, counts: "scipy.sparse.csr_matrix", labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Compute the uncertainty u' = 1 − u(gold label) of each text, shape (n,).

        Token counts have shape (n, rows), gold label ids shape (n,).
        """
        gold_probabilities: NDArray[np.float64] = self.probabilities(counts)[np.arange(len(labels)), labels]
        return 1 - gold_probabilities


class SeparablePairsError(ValueError):
    """Raised if a bag of words predicts all labels correctly, for example if there are fewer pairs than dimensions."""


def fit_mean_embedding_model(
    counts: "scipy.sparse.csr_matrix", vectors: NDArray[np.float32], labels: NDArray[np.int64]
) -> MeanEmbeddingModel:
    """Fit the softmax regression u(X; β) on mean token embeddings to labeled texts.

    The loss is equation 2 of the paper with the cross-entropy of the probabilities, because the arg max has no
    gradient. The fit needs memory for one float64 copy of the mean embeddings, n × dimensions × 8 bytes.

    Args:
        counts: Count of each embedding in each text, shape (n, rows).
        vectors: Embeddings, shape (rows, dimensions).
        labels: Gold label ids 0, 1, …, shape (n,). Each id must occur.

    Raises:
        ValueError: If a label does not occur, or no text has a known token.
        SeparablePairsError: If the mean embeddings separate the labels perfectly, so that no optimum exists.
        NotConvergedError: If the fit takes more than 2,000 steps.
    """
    n = counts.shape[0]
    label_ids = np.unique(labels)
    if n != len(labels) or len(label_ids) < 2 or (label_ids != np.arange(len(label_ids))).any():
        raise ValueError(
            f"labels: expected one label per text, and at least one text per label, got {n:,} texts, {len(labels):,} "
            f"labels and the label ids {label_ids.tolist()}"
        )
    # A corpus uses a small part of a large table; the other rows are dropped to save memory.
    used = np.unique(counts.indices)
    used_counts, used_vectors = counts[:, used], vectors[used].astype(np.float64)
    means = compute_mean_embeddings(used_counts, used_vectors)
    values, directions = np.linalg.eigh(means.T @ means / n)
    del means  # frees memory before the fit
    is_large = values > _NEGLIGIBLE * max(values[-1], 0)
    to_white = directions[:, is_large] / np.sqrt(values[is_large])
    if not to_white.shape[1]:
        raise ValueError(
            "embeddings: expected texts with tokens in the embedding table, got none; check the language of the "
            "embeddings"
        )
    weights, steps = _regress(compute_mean_embeddings(used_counts, used_vectors @ to_white), labels)
    model = MeanEmbeddingModel(to_white @ weights, vectors, steps)
    if (model.probabilities(counts).argmax(axis=1) == labels).all():
        raise SeparablePairsError(
            f"pairs: expected pairs that a bag of words cannot classify perfectly, got {n:,} pairs that a linear model "
            f"on mean embeddings of {vectors.shape[1]} dimensions classifies without error; use more pairs, or "
            "embeddings with fewer dimensions"
        )
    return model


def _regress(means: NDArray[np.float64], labels: NDArray[np.int64]) -> tuple[NDArray[np.float64], int]:
    """Fit a softmax regression without bias or penalty. Returns weights, shape (dimensions, labels), and steps."""
    n, n_labels = len(labels), int(labels.max()) + 1
    rows = np.arange(n)

    def objective(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Compute the mean cross-entropy and its gradient."""
        logits = means @ flat.reshape(-1, n_labels)
        logits -= logits.max(axis=1, keepdims=True)
        gold_logits = logits[rows, labels]
        exponentials = np.exp(logits, out=logits)
        sums = exponentials.sum(axis=1, keepdims=True)
        value = float((np.log(sums[:, 0]) - gold_logits).mean())
        exponentials /= sums
        exponentials[rows, labels] -= 1
        return value, (means.T @ exponentials).ravel() / n

    # Without a penalty, the optimum is not unique: adding a constant to all labels changes no probability. Here the
    # weights of a dimension always sum to zero over the labels, because the start and all gradients do.
    weights, steps = minimize(objective, np.zeros(means.shape[1] * n_labels), _TOLERANCE)
    return weights.reshape(-1, n_labels), steps


SPLITS: Final = ("train", "validation", "test")
NO_PARTITION: Final = -1


class Rearrangement(NamedTuple):
    """Split of each example and, for test examples, a partition number that increases with the uncertainty."""

    split: NDArray[np.int8]  # indices in `SPLITS`, shape (n,)
    # From 0 (least uncertain) to at most `PARTITIONS` - 1, shape (n,); `NO_PARTITION` for examples of other splits.
    partition: NDArray[np.int8]


def rearrange_examples(
    uncertainty: NDArray[np.float64], ids: Sequence[str], n_test: int, n_validation: int, *, seed: int
) -> Rearrangement:
    """Split examples into training, validation and test sets by the uncertainty of a bag-of-words model.

    The most uncertain examples are the test set. A random sample of other examples is the validation set, and the rest
    is the training set (section 4 of the paper). The test set is divided by uncertainty into twenty partitions whose
    sizes differ by at most one (section 5.3), or into one partition per example if it is smaller.

    Args:
        uncertainty: u' of each example, rounded so that all machines agree, shape (n,).
        ids: Ids of the examples, shape (n,). Among equally uncertain examples, a smaller id counts as more uncertain.
        seed: Random seed for the validation set, which also depends on the positions of the examples.

    >>> result = rearrange_examples(np.array([0.1, 0.9, 0.5, 0.7]), ["a", "b", "c", "d"], 2, 1, seed=13)
    >>> (result.split == SPLITS.index("test")).tolist(), result.partition.tolist()
    ([False, True, False, True], [-1, 1, -1, 0])
    """
    n = len(uncertainty)
    if n_test < 1 or n_validation < 0 or n_test + n_validation > n:
        raise ValueError(
            f"k_te, k_dv: expected k_te of at least 1 and k_te + k_dv of at most the number of examples ({n:,}), got "
            f"k_te={n_test:,} and k_dv={n_validation:,}"
        )
    hardest_first = np.array(sorted(range(n), key=lambda i: (-uncertainty[i], ids[i])), dtype=np.int64)
    test, rest = hardest_first[:n_test], np.sort(hardest_first[n_test:])
    keys = rng.generate_random_numbers(rng.compute_key(seed, "validation"), rest)
    split = np.full(n, SPLITS.index("train"), dtype=np.int8)
    split[test] = SPLITS.index("test")
    split[rest[np.argsort(keys, kind="stable")[:n_validation]]] = SPLITS.index("validation")
    partition = np.full(n, NO_PARTITION, dtype=np.int8)
    partition[test[::-1]] = np.arange(n_test) * min(PARTITIONS, n_test) // n_test
    return Rearrangement(split, partition)
