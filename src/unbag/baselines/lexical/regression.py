"""Softmax regression with an L2 penalty on sparse indicators, converged to the last digits of float64.

Three measures accelerate the fit without changing the solution:

- Equal columns (words and word pairs that occur in the same examples, usually in one) have equal weights at the
  optimum. A single column, multiplied by the square root of k, replaces k equal columns. On SNLI this removes three
  quarters of the columns.
- Three labels need only two variables per column (Helmert contrasts).
- Variables are scaled by their curvature (the diagonal of the Hessian), so that the step size suits both rare and
  frequent words. For frequent columns, nearly the whole Hessian is used (`unbag.baselines.lexical.optimizer`).

`benchmarks/lexical.py` compares the fit with scikit-learn's `LogisticRegression`.
"""

from collections.abc import Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from unbag.baselines.lexical.optimizer import Vector, Whitening, minimize

# The blocks fit into the processor caches: on larger blocks, a product takes more time per row.
_LOGITS: Final = 2**15  # rows per block for the conversion of logits to probabilities
_PIECE: Final = 2**17  # rows per block for the products with the frequent columns
_FREQUENT: Final = 32  # a column with more entries is frequent


class PenalizedCrossEntropy:
    """Objective function of the fit: the sum of cross-entropies plus an L2 penalty."""

    def __init__(
        self,
        columns: "scipy.sparse.csc_matrix",
        labels: NDArray[np.int64],
        contrasts: Vector,
        penalty: Vector,
        pool: Executor,
    ) -> None:
        """Prepare the sparse products.

        Args:
            columns: Columns in descending order of their number of entries, float64, shape (n, columns).
            contrasts: Contrasts, shape (labels, contrasts). Their product with contrast logits is the label logits.
            pool: Thread pool with one thread per contrast.
        """
        n = columns.shape[0]
        n_frequent = int(np.append(np.diff(columns.indptr) <= _FREQUENT, True).argmax())
        frequent, rest = slice(n_frequent), slice(n_frequent, None)
        rows = columns[:, frequent].tocsr()
        # Each block has its rows, its columns, and the transposed submatrix. Rare columns form one block with all rows,
        # because the transpose of a CSC matrix is a CSR matrix without a copy.
        self._blocks = [(slice(None), rest, columns[:, rest].T)]
        self._blocks += [(piece, frequent, rows[piece].T.tocsr()) for piece in _slices(n, _PIECE)]
        self._contrasts = contrasts
        # The gold logit of a row is the sum of its contrast logits times these factors.
        self._gold = np.ascontiguousarray(contrasts.T[:, labels])
        self._penalty, self._pool = penalty, pool

    def __call__(self, weights: Vector) -> tuple[float, Vector]:
        """Compute value and gradient for the given weights, shape (contrasts, columns)."""
        n = self._gold.shape[1]
        by_row = np.empty((len(weights), n))
        gradient = np.empty_like(weights)

        def logits_of(weights_of_contrast: Vector) -> Vector:
            logits = np.zeros(n)
            for rows, columns, block in self._blocks:
                logits[rows] += block.T @ weights_of_contrast[columns]
            return logits

        def of_rows(logits: Iterable[Vector], rows: slice) -> float:
            """Compute the total loss of the rows, and store its gradient with respect to their logits."""
            row_logits = np.stack([its[rows] for its in logits])
            gold = self._gold[:, rows]
            label_values = self._contrasts @ row_logits  # logits, then exponentials, then probabilities, in place
            highest = label_values.max(axis=0)
            label_values -= highest
            np.exp(label_values, out=label_values)
            sums = label_values.sum(axis=0)
            label_values /= sums
            np.subtract(self._contrasts.T @ label_values, gold, out=by_row[:, rows])
            row_logits *= gold
            return float(np.sum(np.log(sums) + highest - row_logits.sum(axis=0)))

        def of_contrast(c: int) -> float:
            """Compute the L2 penalty of the weights of one label contrast, and store the gradient of the objective."""
            penalised = self._penalty * weights[c]
            gradient[c] = penalised
            for rows, columns, block in self._blocks:
                gradient[c, columns] += block @ by_row[c, rows]
            return 0.5 * float(np.sum(penalised * weights[c]))

        # One product per contrast, because SciPy is fastest for products of a sparse matrix and a single vector.
        logits = list(self._pool.map(logits_of, weights))
        losses = list(self._pool.map(lambda rows: of_rows(logits, rows), _slices(n, _LOGITS)))
        return sum(chain(losses, self._pool.map(of_contrast, range(len(weights))))), gradient


def _slices(n: int, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, n, size)]


_TYPICAL_VARIANCE: Final = 0.02  # p (1 - p) for the curvature; below that of most pairs, but with the fewest steps
DEFAULT_TOLERANCE: Final = 1e-13
"""Default tolerance. Probabilities are within 2e-12 of the optimum with any BLAS kernels (SNLI validation pairs, l2
from 1 to 20), which is far below the stored decimals (`columns`)."""
COARSE_TOLERANCE: Final = 1e-8
"""Tolerance for the comparison of penalties. Probabilities are within 3e-7 of the optimum."""


@dataclass(frozen=True)
class SoftmaxRegression:
    """Fitted softmax regression: p(label | x) is the softmax of x · weights + bias."""

    weights: Vector  # shape (features, labels)
    bias: Vector  # shape (labels,)
    steps: int  # of the optimizer

    def probabilities(self, matrix: "scipy.sparse.csr_matrix") -> Vector:
        """Predict the label probabilities of n rows, shape (n, labels)."""
        probabilities: Vector = scipy.special.softmax(matrix @ self.weights + self.bias, axis=1)
        return probabilities


def fit_softmax_regression(
    matrix: "scipy.sparse.csr_matrix", labels: NDArray[np.int64], *, l2: float, tolerance: float = DEFAULT_TOLERANCE
) -> SoftmaxRegression:
    """Fit a softmax regression with L2 penalty: minimize Σ cross-entropy + l2 / 2 · Σ weight².

    The bias is not penalized. The fit is deterministic: it starts at zero and uses no random numbers.

    Args:
        matrix: Indicators, shape (n, features).
        l2: Strength of the penalty, above 0 (1 / C in scikit-learn).
        tolerance: Gradient norm at convergence, relative to the initial norm (default: 1e-13).
    """
    n = matrix.shape[0]
    if n == 0 or n != len(labels):
        raise ValueError(f"labels: expected at least one row and one label per row, got {n} rows, {len(labels)} labels")
    if not l2 > 0:
        raise ValueError(f"l2: expected a positive number, got {l2}")
    merged, column_of, size = merge_equal_columns(matrix)
    # The bias is the weight of an unpenalized column of ones.
    columns = scipy.sparse.hstack([np.ones((n, 1)), merged], format="csc")
    strength = np.full(columns.shape[1], l2)
    strength[0] = 0
    counts = np.asarray(columns.power(2).sum(axis=0)).ravel()
    scale = 1 / np.sqrt(strength + _TYPICAL_VARIANCE * counts)
    columns.data *= np.repeat(scale, np.diff(columns.indptr))
    del merged
    penalty = strength * scale * scale
    # At the optimum, the weights of a column sum to zero over the labels, because adding a constant to all labels
    # changes the penalty but no probability. Therefore k labels need only k - 1 variables per column. The contrasts are
    # orthonormal, so the penalty has the same form in these variables.
    contrasts = np.ascontiguousarray(scipy.linalg.helmert(int(labels.max()) + 1).T)
    n_contrasts = contrasts.shape[1]
    # BLAS on one thread, so that the order of floating-point sums does not depend on the number of processors. Threads
    # do not accelerate products of such short vectors, and on a busy machine they take ten times as long.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_contrasts) as pool:
        loss = PenalizedCrossEntropy(columns, labels, contrasts, penalty, pool)
        whitening = Whitening(columns, penalty)
        del columns  # frees memory before the fit, because loss and whitening have copies

        def objective(x: Vector) -> tuple[float, Vector]:
            value, gradient = loss(whitening.to_weights(x.reshape(n_contrasts, -1)))
            return value, whitening.to_variable_gradient(gradient).ravel()

        x, steps = minimize(objective, np.zeros(n_contrasts * len(penalty)), tolerance)
        weights: Vector = contrasts @ (whitening.to_weights(x.reshape(n_contrasts, -1)) * scale)
    bias, group_weights = weights[:, 0].copy(), weights[:, 1:]
    group_weights /= size
    return SoftmaxRegression(group_weights.T[column_of], bias, steps)


def merge_equal_columns(
    matrix: "scipy.sparse.csr_matrix",
) -> tuple["scipy.sparse.csc_matrix", NDArray[np.intp], Vector]:
    """Merge each group of k equal indicator columns into one column, multiplied by √k.

    Returns the merged matrix, float64, shape (n, groups); the group of each feature, shape (features,); and the square
    root of the size of each group, by which the weight of a feature is divided.
    """
    by_column = matrix.tocsc()
    # The signature of a column is the sum of the random keys of its rows. Two different columns collide with
    # probability 2^-64.
    row_keys = np.random.default_rng(0).integers(0, 2**64, size=matrix.shape[0], dtype=np.uint64)
    sums = np.zeros(by_column.nnz + 1, dtype=np.uint64)
    np.cumsum(row_keys[by_column.indices], out=sums[1:])
    with np.errstate(over="ignore"):  # modulo 2^64, the difference of two wrapped sums is exact
        signatures = sums[by_column.indptr[1:]] - sums[by_column.indptr[:-1]]
    _, first, group, sizes = np.unique(signatures, return_index=True, return_inverse=True, return_counts=True)
    # Longest columns first: a product takes half the time if consecutive columns have similar lengths. Columns with the
    # same length are sorted by their first row, so that the columns of a row are close in memory.
    starts = by_column.indptr[first]
    first_rows = by_column.indices[np.minimum(starts, by_column.nnz - 1)] if by_column.nnz else starts
    order = np.lexsort((first_rows, -np.diff(by_column.indptr)[first]))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    roots = np.sqrt(sizes[order])
    merged = by_column[:, first[order]]
    merged.data = np.repeat(roots, np.diff(merged.indptr))
    return merged, rank[group], roots
