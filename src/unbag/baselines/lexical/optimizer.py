"""L-BFGS on whitened variables (Nocedal & Wright 2006, section 7.2).

It minimizes smooth convex functions of millions of variables.

SciPy's own L-BFGS-B takes most of its time to keep books of bounds, of which there are none here. The inverse Hessian
is applied in its compact form (equation 7.24 as Byrd, Nocedal & Schnabel 1994 have it for the inverse, theorem 2.2):
two products with one matrix, where the usual two loops read and write a vector four times for each step remembered.

Whitening changes the variables so that columns are nearly uncorrelated.

Words come together (a word, and the word pairs it is part of), so that the loss is steep along some sums of their
weights and flat along others, the more so the more data there are: that is what makes an optimiser take many steps. In
variables that bring the second derivatives nearer to the identity (preconditioning: Nocedal & Wright 2006, section 5.1)
a fit takes fewer, though still more for more data.

Of a frequent column the data say more than the penalty. The thousand most frequent are freed from each other exactly,
each further one from the bias and from those it comes together with most (a factorised sparse approximate inverse:
Kolotilina & Yeremin 1993). Each of the other columns says little, but all together they lean on the bias: they are
freed from that, as if centred.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

Vector = NDArray[np.float64]

_MEMORY: Final = 4  # steps remembered; in variables as well conditioned as they are here more spare none
_ENOUGH_DECREASE: Final = 1e-4  # of the line search (Armijo)
_NOISE: Final = 1e-14  # rounding error of a value, as a share of it; the sum over few pairs has the largest
_PATIENCE: Final = 20  # steps without progress after which rounding errors are taken to hide any further progress
_MOST_STEPS: Final = 2000


class NotConvergedError(RuntimeError):
    """The gradient did not become small enough."""


class InverseHessian:
    """The inverse Hessian as the last steps tell it: the BFGS updates by them of a multiple of the identity."""

    def __init__(self, gradient: Vector, memory: int = _MEMORY) -> None:
        """Begin with no step known.

        Args:
            gradient: where the first step starts.
            memory: how many steps are remembered.
        """
        self._gradient = gradient
        self._memory = memory
        self._known = 0  # steps remembered; the newest is in row `_newest` of each half
        self._newest = -1
        self._steps_and_changes = np.zeros((2, memory, len(gradient)))
        self._by_gradient = np.zeros((2, memory))  # their products with the gradient
        self._step_change = np.zeros((memory, memory))  # s_i · y_j, where i is no later than j
        self._change_change = np.zeros((memory, memory))  # y_i · y_j

    def move(self, step: Vector, gradient: Vector) -> None:
        """Learn from a step and the gradient after it; of a concave stretch nothing is learnt."""
        before, self._gradient = self._gradient, gradient
        change = gradient - before
        convex = float(step @ change) > 0
        if convex:
            new = self._newest = (self._newest + 1) % self._memory
            self._known = min(self._known + 1, self._memory)
            self._steps_and_changes[:, new] = step, change
            self._by_gradient[:, new] = step @ before, change @ before
        by_before, self._by_gradient = self._by_gradient, self._products(gradient)
        if convex:
            # Products with the change of the gradient are the change of those with it: a pass over all steps less.
            self._step_change[:, new], self._change_change[:, new] = self._by_gradient - by_before
            self._step_change[new, new], self._change_change[new, new] = step @ change, change @ change
            self._change_change[new] = self._change_change[:, new]

    def times_gradient(self) -> Vector:
        """Return its product with the last gradient."""
        if not self._known:
            return self._gradient.copy()
        rows = (self._newest + 1 + np.arange(-self._known, 0)) % self._memory  # from the oldest step on
        in_order = np.ix_(rows, rows)
        later, changes = np.triu(self._step_change[in_order]), self._change_change[in_order]
        gamma = later[-1, -1] / changes[-1, -1]
        by_step, by_change = self._by_gradient[:, rows]
        of_changes = solve_triangular(later, by_step)
        of_steps = solve_triangular(
            later, later.diagonal() * of_changes + gamma * (changes @ of_changes - by_change), trans="T"
        )
        factors = np.zeros((2, self._memory))
        factors[:, rows] = of_steps, -gamma * of_changes
        result: Vector = factors.ravel() @ self._flat
        result += gamma * self._gradient
        return result

    def _products(self, vector: Vector) -> NDArray[np.float64]:
        products: NDArray[np.float64] = (self._flat @ vector).reshape(2, self._memory)
        return products

    @property
    def _flat(self) -> NDArray[np.float64]:
        return self._steps_and_changes.reshape(2 * self._memory, -1)


def minimise(objective: Callable[[Vector], tuple[float, Vector]], x: Vector, tolerance: float) -> tuple[Vector, int]:
    """Return the minimum of a convex function and the steps it took.

    Args:
        objective: returns value and gradient.
        x: where to start.
        tolerance: it is the minimum when the gradient's norm is this share of the norm at the start, or when for some
            steps neither it nor the value falls by more than rounding errors; the least norm then is the minimum's.

    Raises:
        NotConvergedError: if it takes over 2,000 steps.
    """
    value, gradient = objective(x)
    inverse = InverseHessian(gradient)
    target = tolerance * float(np.linalg.norm(gradient))
    steps = 0
    # Where the gradient was least, and the value when either was last seen to fall.
    least, least_x, last_value, last_progress = float("inf"), x, value, 0
    while (norm := float(np.linalg.norm(gradient))) > target:
        if steps == _MOST_STEPS:
            raise NotConvergedError(f"the fit has not converged after {steps} steps; a larger l2 converges sooner")
        if norm < least or value < last_value - _NOISE * abs(value):
            last_value, last_progress = min(value, last_value), steps
        if norm < least:
            least, least_x = norm, x
        if steps - last_progress >= _PATIENCE:
            return least_x, steps
        direction = inverse.times_gradient()
        np.negative(direction, out=direction)
        slope = float(gradient @ direction)
        length = 1.0 if steps else min(1.0, 1 / norm)
        while True:
            step = length * direction
            moved = x + step
            moved_value, moved_gradient = objective(moved)
            # Near the minimum the value changes by less than its rounding error: then the slope decides
            # (approximate Wolfe condition: Hager & Zhang 2005, equation 4.1).
            flat = moved_value <= value + _NOISE * abs(value)
            no_higher = float(moved_gradient @ direction) <= (2 * _ENOUGH_DECREASE - 1) * slope
            if moved_value <= value + _ENOUGH_DECREASE * length * slope or (flat and no_higher):
                break
            length /= 2
        inverse.move(step, moved_gradient)
        x, value, gradient = moved, moved_value, moved_gradient
        steps += 1
    return x, steps


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
