"""A change of variables after which columns hardly lean on each other.

Words come together (a word, and the word pairs it is part of), so that the loss is steep along some sums of their
weights and flat along others, the more so the more data there are: that is what makes an optimiser take many steps. In
variables that bring the second derivatives nearer to the identity (preconditioning: Nocedal & Wright 2006, section 5.1)
a fit takes fewer, though still more for more data.

Of a frequent column the data say more than the penalty. The thousand most frequent are freed from each other exactly,
each further one from the bias and from those it comes together with most (a factorised sparse approximate inverse:
Kolotilina & Yeremin 1993). Each of the other columns says little, but all together they lean on the bias: they are
freed from that, as if centred.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

from unbag.lexical.lbfgs import Vector

_EXACT: Final = 1000  # columns whose matrix is factored as a whole
_NEAR: Final = 16  # that each further one is freed from; with 8 or 24 a fit takes as many steps
_ROWS: Final = 2**16  # tell well enough how often frequent columns come together: of more, a sample
_LEAST: Final = 1e-6  # beside 1: keeps the matrix regular, however small the penalty


class Whitening:
    """The change of variables."""

    def __init__(self, columns: sparse.csc_matrix, penalty: Vector) -> None:
        """Factor the inverse of the second derivatives by the frequent columns.

        Args:
            columns: shape (n, columns), the bias's first, then the most frequent ones; scaled for second derivatives
                of 1.
            penalty: its part of these, shape (columns,); the data's is the rest.
        """
        self._size = int(np.append(penalty > 0.5, True).argmax())
        hessian = _hessian(columns[:, : self._size].tocsr(), penalty[: self._size])
        self._factor = _inverse_factor(hessian)
        self._transposed = self._factor.T.tocsr()
        bias = columns[:, 0].toarray().ravel()
        self._shares = columns[:, self._size :].T @ bias / (bias @ bias)  # of the bias, in each of the other columns

    def weights(self, variables: Vector) -> Vector:
        """Return the weights of some variables, shape (contrasts, columns) both."""
        weights = variables.copy()
        weights[:, : self._size] = (self._transposed @ variables[:, : self._size].T).T
        weights[:, 0] -= variables[:, self._size :] @ self._shares
        return weights

    def gradient(self, by_weights: Vector) -> Vector:
        """Return the gradient by the variables of one by the weights, in place; shape (contrasts, columns)."""
        by_weights[:, self._size :] -= by_weights[:, :1] * self._shares
        by_weights[:, : self._size] = (self._factor @ by_weights[:, : self._size].T).T
        return by_weights


def _hessian(rows: sparse.csr_matrix, penalty: NDArray[np.float64]) -> sparse.csr_matrix:
    """Return the second derivatives by some columns, as a sample of the rows tells them."""
    n = rows.shape[0]
    if n > _ROWS:
        rows = rows[np.sort(np.random.default_rng(0).choice(n, _ROWS, replace=False))]
    together = rows.T @ rows
    alone = together.diagonal()
    scale = sparse.diags(np.sqrt((1 - penalty) / np.where(alone > 0, alone, 1)))
    # The transpose of a symmetric matrix is itself; taking it puts a row's entries in order, for looking them up.
    by_data = (scale @ together @ scale).T.tocsr()
    return (by_data + sparse.diags(penalty + _LEAST)).tocsr()


def _inverse_factor(hessian: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return a lower triangular matrix L for which L H Lᵀ is nearly the identity, and is it in the first columns."""
    size = hessian.shape[0]
    exact = min(size, _EXACT)
    lower = cholesky(hessian[:exact, :exact].toarray(), lower=True, overwrite_a=True)
    first = sparse.csr_matrix(solve_triangular(lower, np.eye(exact), lower=True))
    first.resize(exact, size)
    if size == exact:
        return first
    near = np.array([[*_nearest(hessian, column), column] for column in range(exact, size)])
    shape = (*near.shape, _NEAR + 1)
    one, other = (np.broadcast_to(side, shape).ravel() for side in (near[:, :, None], near[:, None, :]))
    among = np.asarray(hessian[one, other]).reshape(shape)
    # A row of L is the last of the inverse Cholesky factor of the matrix of its column and the nearest.
    entries = np.linalg.solve(among, np.broadcast_to(np.eye(_NEAR + 1)[:, -1:], (*near.shape, 1)))[:, :, 0]
    entries /= np.sqrt(entries[:, -1:])
    rest = sparse.csr_matrix((entries.ravel(), near.ravel(), np.arange(0, near.size + 1, _NEAR + 1)), (len(near), size))
    return sparse.vstack([first, rest], format="csr")


def _nearest(hessian: sparse.csr_matrix, column: int) -> NDArray[np.intp]:
    """Return the more frequent columns that one comes together with most, and the bias."""
    span = slice(hessian.indptr[column], hessian.indptr[column + 1])
    together = np.zeros(hessian.shape[0])
    together[hessian.indices[span]] = hessian.data[span]
    together[0] = np.inf  # each column leans little on the bias, all of them much
    # Most columns never come with this one; among all of them the search takes ten times as long.
    some = np.union1d(np.arange(_NEAR), hessian.indices[span])
    some = some[some < column]
    return some[np.argpartition(together[some], -_NEAR)[-_NEAR:]]
