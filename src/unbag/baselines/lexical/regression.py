"""Softmax regression with an L2 penalty on sparse indicators, in float64, converged to its last digits.

Three things make it fast and leave the solution what it is:

- Columns that are equal (words and word pairs that occur in the same examples, most of them once) have equal weights
  at the optimum. k such columns are replaced by one, times the square root of k, which has the same penalty and the
  same predictions: on SNLI three columns of four go.
- Three labels have two variables a column (`_contrasts`).
- Variables are scaled by their curvature (the diagonal of the Hessian), so that a word of ten thousand examples and
  one of two take steps of their own size; those of frequent columns by nearly all of it
  (`unbag.baselines.lexical.optimizer`).

The optimiser is L-BFGS (`unbag.baselines.lexical.optimizer`) on sparse products of SciPy. `benchmarks/lexical.py`
runs it beside scikit-learn's `LogisticRegression`.

What softmax regression minimises, on large sparse data: value and gradient, in the time of four sparse products.

The products of two contrasts, and the logits of two pieces of the rows, go to two threads side by side, each as it
would alone: SciPy and NumPy let go of the lock.
"""

from collections.abc import Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from unbag.baselines.lexical.optimizer import Vector, Whitening, minimise

# So much is gone through at a time as the caches of a processor hold: a product otherwise takes longer by the row, the
# more rows there are.
_LOGITS: Final = 2**15  # rows whose logits become probabilities at a time
_PIECE: Final = 2**17  # rows that meet the frequent columns at a time
_FREQUENT: Final = 32  # a column of more entries is frequent


class PenalisedCrossEntropy:
    """The sum of cross-entropies, and half of the weighted squares of the weights."""

    def __init__(
        self, columns: sparse.csc_matrix, labels: NDArray[np.int64], contrasts: Vector, penalty: Vector, pool: Executor
    ) -> None:
        """Prepare the sparse products.

        Args:
            columns: shape (n, columns), float64; those of most entries first.
            labels: label ids from 0, shape (n,).
            contrasts: shape (labels, contrasts); logits are its products with those of the contrasts.
            penalty: of the square of a column's weight, shape (columns,).
            pool: threads, as many as there are contrasts.
        """
        n = columns.shape[0]
        n_frequent = int(np.append(np.diff(columns.indptr) <= _FREQUENT, True).argmax())
        frequent, rest = slice(n_frequent), slice(n_frequent, None)
        rows = columns[:, frequent].tocsr()
        # Rows, columns, and the block of them, whose own rows are the columns.
        self._blocks = [(slice(None), rest, columns[:, rest].T)]
        self._blocks += [(piece, frequent, rows[piece].T.tocsr()) for piece in _slices(n, _PIECE)]
        self._contrasts = contrasts
        self._gold = np.ascontiguousarray(contrasts.T[:, labels])  # by which a row's gold logit is its contrasts' sum
        self._penalty, self._pool = penalty, pool

    def __call__(self, weights: Vector) -> tuple[float, Vector]:
        """Return value and gradient at some weights, shape (contrasts, columns)."""
        n = self._gold.shape[1]
        by_row = np.empty((len(weights), n))
        gradient = np.empty_like(weights)

        def logits_of(weights_of_contrast: Vector) -> Vector:
            logits = np.zeros(n)
            for rows, columns, block in self._blocks:
                logits[rows] += block.T @ weights_of_contrast[columns]
            return logits

        def of_rows(logits: Iterable[Vector], rows: slice) -> float:
            """Write what the rows' losses change by with their logits, and return their sum."""
            row_logits = np.stack([its[rows] for its in logits])
            gold = self._gold[:, rows]
            of_labels = self._contrasts @ row_logits
            highest = of_labels.max(axis=0)
            of_labels -= highest
            np.exp(of_labels, out=of_labels)
            sums = of_labels.sum(axis=0)
            of_labels /= sums
            np.subtract(self._contrasts.T @ of_labels, gold, out=by_row[:, rows])
            row_logits *= gold
            return float(np.sum(np.log(sums) + highest - row_logits.sum(axis=0)))

        def of_contrast(c: int) -> float:
            """Write the gradient by the weights of a contrast, and return their penalty."""
            penalised = self._penalty * weights[c]
            gradient[c] = penalised
            for rows, columns, block in self._blocks:
                gradient[c, columns] += block @ by_row[c, rows]
            return 0.5 * float(np.sum(penalised * weights[c]))

        # A product for each contrast: those with one vector at a time are the fastest of SciPy's.
        logits = list(self._pool.map(logits_of, weights))
        losses = list(self._pool.map(lambda rows: of_rows(logits, rows), _slices(n, _LOGITS)))
        return sum(chain(losses, self._pool.map(of_contrast, range(len(weights))))), gradient


def _slices(n: int, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, n, size)]


_TYPICAL_VARIANCE: Final = 0.02  # p (1 - p), for the curvature; less than most pairs have, it takes the fewest steps
DEFAULT_TOLERANCE: Final = 1e-13
"""Probabilities are then within 2e-12 of the optimum (SNLI's validation pairs, l2 from 1 to 20), whatever the matrix
kernels: far below the decimals that are stored (`columns`)."""
COARSE_TOLERANCE: Final = 1e-8
"""For comparing penalties: probabilities are then within 3e-7 of the optimum."""


@dataclass(frozen=True)
class SoftmaxRegression:
    """A fitted model: p(label | x) is the softmax of x · weights + bias.

    Attributes:
        weights: shape (features, labels).
        bias: shape (labels,).
        steps: how many steps the fit took.
    """

    weights: Vector
    bias: Vector
    steps: int

    def probabilities(self, matrix: sparse.csr_matrix) -> Vector:
        """Return the probabilities of the labels, shape (n, labels)."""
        return _softmax(matrix @ self.weights + self.bias)


def fit(
    matrix: sparse.csr_matrix, labels: NDArray[np.int64], *, l2: float, tolerance: float = DEFAULT_TOLERANCE
) -> SoftmaxRegression:
    """Minimise the sum of cross-entropies plus l2 / 2 times the squared weights; the bias is not penalised.

    Deterministic: it starts at zero and draws nothing.

    Args:
        matrix: indicators, shape (n, features).
        labels: label ids from 0, shape (n,).
        l2: the penalty's strength, above 0 (scikit-learn's 1 / C).
        tolerance: the fit has converged when the gradient's norm is this share of the norm at the start.

    Raises:
        ValueError: if the inputs do not fit each other, or l2 is not above 0.
        NotConvergedError: if it takes over 2,000 steps.
    """
    n = matrix.shape[0]
    if n == 0 or n != len(labels):
        raise ValueError(
            f"expected one label for each of the rows, of which there is one at least; found {n} and {len(labels)}"
        )
    if not l2 > 0:
        raise ValueError(f"expected a penalty above 0, found {l2}")
    merged, column_of, size = merge_equal_columns(matrix)
    # The bias is the weight of a column of ones, which has no penalty.
    columns = sparse.hstack([np.ones((n, 1)), merged], format="csc")
    strength = np.full(columns.shape[1], l2)
    strength[0] = 0
    counts = np.asarray(columns.power(2).sum(axis=0)).ravel()
    scale = 1 / np.sqrt(strength + _TYPICAL_VARIANCE * counts)
    columns.data *= np.repeat(scale, np.diff(columns.indptr))
    del merged
    penalty = strength * scale * scale
    contrasts = _contrasts(int(labels.max()) + 1)
    n_contrasts = contrasts.shape[1]
    # BLAS on one thread: sums then do not depend on how many processors there are, and vectors as short as these gain
    # nothing by more; on a busy machine threads that wait for each other take ten times as long.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_contrasts) as pool:
        loss = PenalisedCrossEntropy(columns, labels, contrasts, penalty, pool)
        whitening = Whitening(columns, penalty)
        del columns  # what is needed of them is copied

        def objective(x: Vector) -> tuple[float, Vector]:
            value, gradient = loss(whitening.weights(x.reshape(n_contrasts, -1)))
            return value, whitening.gradient(gradient).ravel()

        x, steps = minimise(objective, np.zeros(n_contrasts * len(penalty)), tolerance)
        weights: Vector = contrasts @ (whitening.weights(x.reshape(n_contrasts, -1)) * scale)
    bias, of_groups = weights[:, 0].copy(), weights[:, 1:]
    of_groups /= size
    return SoftmaxRegression(of_groups.T[column_of], bias, steps)


def _contrasts(n_labels: int) -> Vector:
    """Return k - 1 orthonormal columns that sum to zero, shape (k, k - 1): Helmert's.

    The weights of a column of the data sum to zero over the labels at the optimum, since a constant more for every
    label changes no probability but the penalty: k labels have k - 1 variables each, in which the penalty is the same.

    >>> (_contrasts(2) * 2**0.5).round().tolist()
    [[1.0], [-1.0]]
    """
    contrasts = np.zeros((n_labels, n_labels - 1))
    for c in range(n_labels - 1):
        contrasts[: c + 1, c] = 1
        contrasts[c + 1, c] = -(c + 1)
    normed: Vector = contrasts / np.sqrt((contrasts**2).sum(axis=0))
    return normed


def merge_equal_columns(matrix: sparse.csr_matrix) -> tuple[sparse.csc_matrix, NDArray[np.intp], Vector]:
    """Replace each group of k equal indicator columns by one of them, times the square root of k.

    Args:
        matrix: shape (n, features).

    Returns:
        The matrix of shape (n, groups), float64; each feature's group, shape (features,); and the square root of each
        group's size, by which a group's weight is divided to give its features'.
    """
    by_column = matrix.tocsc()
    # Columns are told apart by the sum of random numbers of their rows: two different ones agree once in 2^64.
    lots = np.random.default_rng(0).integers(0, 2**64, size=matrix.shape[0], dtype=np.uint64)
    sums = np.zeros(by_column.nnz + 1, dtype=np.uint64)
    np.cumsum(lots[by_column.indices], out=sums[1:])
    with np.errstate(over="ignore"):  # wrapping around is what makes the difference of two sums exact
        signatures = sums[by_column.indptr[1:]] - sums[by_column.indptr[:-1]]
    _, first, group, sizes = np.unique(signatures, return_index=True, return_inverse=True, return_counts=True)
    # The longest columns come first: a product with columns of like lengths, one after the other, takes half the time.
    # Those of one length come in the order of their first rows, so that a row's are beside each other.
    starts = by_column.indptr[first]
    first_rows = by_column.indices[np.minimum(starts, by_column.nnz - 1)] if by_column.nnz else starts
    order = np.lexsort((first_rows, -np.diff(by_column.indptr)[first]))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    roots = np.sqrt(sizes[order])
    merged = by_column[:, first[order]]
    merged.data = np.repeat(roots, np.diff(merged.indptr))
    return merged, rank[group], roots


def lms(probabilities: NDArray[np.floating[Any]], gold: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
    """Return the lexically misleading score: the highest probability of a wrong label (Nie et al. 2019, section 5).

    Args:
        probabilities: shape (n, labels).
        gold: gold label ids, shape (n,).

    >>> lms(np.array([[0.2, 0.7, 0.1], [0.2, 0.7, 0.1]]), np.array([0, 1])).tolist()
    [0.7, 0.2]
    """
    wrong = probabilities.copy()
    wrong[np.arange(len(gold)), gold] = -1
    highest: NDArray[np.floating[Any]] = wrong.max(axis=1)
    return highest


def _softmax(logits: Vector) -> Vector:
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities: Vector = exponentials / exponentials.sum(axis=1, keepdims=True)
    return probabilities
