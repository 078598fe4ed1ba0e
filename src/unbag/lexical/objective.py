"""What softmax regression minimises, on large sparse data: value and gradient, in the time of four sparse products.

The products of two contrasts, and the logits of two pieces of the rows, go to two threads side by side, each as it
would alone: SciPy and NumPy let go of the lock.
"""

from collections.abc import Iterable
from concurrent.futures import Executor
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unbag.lexical.lbfgs import Vector

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
