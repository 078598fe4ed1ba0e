"""A change of variables after which frequent columns no longer lean on each other.

Frequent words come together (a word, and the word pairs it is part of), so that the loss is steep along some sums of
their weights and flat along others, the more so the more data there are: that is what makes an optimiser take many
steps. The second derivatives by a thousand columns or two fit a small matrix. In variables that make it the identity
(preconditioning: Nocedal & Wright 2006, section 5.1) a fit takes half the steps.
"""

from typing import Final

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

from unbag.lexical.lbfgs import Vector

_WORK: Final = 200  # cubed columns an entry of the data: a factor then costs as much as a few steps, at any size
_LEAST: Final = 1e-6  # beside about 1: keeps the matrix regular, however small the penalty


class Whitening:
    """The change of variables for the most frequent columns, of which the data say more than the penalty."""

    def __init__(self, rows: sparse.csr_matrix, penalty: Vector, curvature: float) -> None:
        """Factor the second derivatives by the frequent columns.

        Args:
            rows: shape (n, columns); the most frequent columns first.
            penalty: second derivatives of the penalty, shape (columns,).
            curvature: the typical second derivative of a row's loss by its logit.
        """
        by_data = curvature * np.asarray(rows.power(2).sum(axis=0)).ravel()
        rare = np.append(by_data <= penalty, True)
        self._size = min(int(rare.argmax()), round((_WORK * rows.nnz) ** (1 / 3)))
        common = rows[:, : self._size].astype(np.float64)  # in float32 sums over a million rows lose too much
        hessian = curvature * (common.T @ common).toarray()
        hessian[np.diag_indices(self._size)] += np.maximum(penalty[: self._size], _LEAST)
        lower = cholesky(hessian, lower=True, overwrite_a=True)
        self._inverse = solve_triangular(lower, np.eye(self._size), lower=True).astype(np.float32)

    def weights(self, variables: Vector) -> Vector:
        """Return the weights of some variables, shape (contrasts, columns) both."""
        weights = variables.copy()
        weights[:, : self._size] = variables[:, : self._size] @ self._inverse
        return weights

    def gradient(self, by_weights: Vector) -> Vector:
        """Return the gradient by the variables of one by the weights, in its place; shape (contrasts, columns)."""
        by_weights[:, : self._size] = by_weights[:, : self._size] @ self._inverse.T
        return by_weights
