"""L-BFGS optimizer with whitened variables (Nocedal & Wright 2006, section 7.2), for smooth convex functions.

SciPy's L-BFGS-B does not reach the required precision. Its line search compares values, so it stops at a relative
gradient norm of about 5e-9, where the probabilities have an error of 2e-8 (22,588 pairs of SNLI, l2 = 5). This
implementation applies the inverse Hessian in its compact form (equation 7.24, for the inverse in Byrd, Nocedal &
Schnabel 1994, theorem 2.2): two products with one matrix.

Whitening changes the variables so that columns are nearly uncorrelated (preconditioning: Nocedal & Wright 2006, section
5.1). A word and the word pairs that contain it occur together. The loss is therefore steep along some combinations of
their weights and flat along others, which would require many steps. The thousand most frequent columns are decorrelated
exactly. Each other frequent column is decorrelated from the bias and from the columns with which it occurs most often
(a factorized sparse approximate inverse: Kolotilina & Yeremin 1993), and rare columns from the bias only.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_MEMORY: Final = 4  # stored steps; with whitened variables, a longer memory does not reduce the number of steps
_ENOUGH_DECREASE: Final = 1e-4  # constant of the Armijo condition in the line search
_NOISE: Final = 1e-14  # relative rounding error of a value; it is largest for sums over few pairs
_PATIENCE: Final = 20  # steps without progress after which the search stops, because rounding errors dominate
_MOST_STEPS: Final = 2000


class NotConvergedError(RuntimeError):
    """Raised if an optimization reaches the maximum number of steps before it converges."""


class InverseHessian:
    """L-BFGS approximation of the inverse Hessian."""

    def __init__(self, gradient: Vector) -> None:
        """Initialize the approximation without steps, from the gradient at the starting point, shape (variables,)."""
        self._gradient = gradient
        self._n_stored = 0  # stored steps; the newest is in row `_newest` of each half
        self._newest = -1
        self._steps_and_changes = np.zeros((2, _MEMORY, len(gradient)))
        self._flat = self._steps_and_changes.reshape(2 * _MEMORY, -1)  # a view
        self._by_gradient = np.zeros((2, _MEMORY))  # products of the rows with the gradient
        self._step_change = np.zeros((_MEMORY, _MEMORY))  # s_i · y_j, where i is no later than j
        self._change_change = np.zeros((_MEMORY, _MEMORY))  # y_i · y_j

    def update(self, step: Vector, gradient: Vector) -> None:
        """Update the approximation with a step and the new gradient. Steps with negative curvature are skipped."""
        before, self._gradient = self._gradient, gradient
        change = gradient - before
        convex = float(step @ change) > 0
        if convex:
            new = self._newest = (self._newest + 1) % _MEMORY
            self._n_stored = min(self._n_stored + 1, _MEMORY)
            self._steps_and_changes[:, new] = step, change
            self._by_gradient[:, new] = step @ before, change @ before
        by_before, self._by_gradient = self._by_gradient, (self._flat @ gradient).reshape(2, _MEMORY)
        if convex:
            # A product with the change of the gradient is the change of the products; this saves a pass over all steps.
            self._step_change[:, new], self._change_change[:, new] = self._by_gradient - by_before
            self._step_change[new, new], self._change_change[new, new] = step @ change, change @ change
            self._change_change[new] = self._change_change[:, new]

    def multiply_gradient(self) -> Vector:
        """Multiply the approximate inverse Hessian by the last gradient. Return an array of shape (variables,)."""
        if not self._n_stored:
            return self._gradient.copy()
        rows = (self._newest + 1 + np.arange(-self._n_stored, 0)) % _MEMORY  # oldest step first
        in_order = np.ix_(rows, rows)
        later, changes = np.triu(self._step_change[in_order]), self._change_change[in_order]
        gamma = later[-1, -1] / changes[-1, -1]
        by_step, by_change = self._by_gradient[:, rows]
        of_changes = scipy.linalg.solve_triangular(later, by_step)
        of_steps = scipy.linalg.solve_triangular(
            later, later.diagonal() * of_changes + gamma * (changes @ of_changes - by_change), trans="T"
        )
        factors = np.zeros((2, _MEMORY))
        factors[:, rows] = of_steps, -gamma * of_changes
        result: Vector = factors.ravel() @ self._flat
        result += gamma * self._gradient
        return result


def minimize(objective: Callable[[Vector], tuple[float, Vector]], x: Vector, tolerance: float) -> tuple[Vector, int]:
    """Minimize a smooth convex function with L-BFGS. Return the minimum, shape (variables,), and the number of steps.

    `objective` computes value and gradient, and `x` is the starting point. The search stops at a gradient norm of
    `tolerance`, relative to that at the start, or if neither norm nor value decreases by more than rounding errors for
    20 steps. The result is then the point with the smallest norm.
    """
    value, gradient = objective(x)
    inverse = InverseHessian(gradient)
    target = tolerance * float(np.linalg.norm(gradient))
    steps = 0
    # Smallest gradient norm and its point, and value and step of the last decrease of norm or value.
    least, least_x, last_value, last_progress = float("inf"), x, value, 0
    while (norm := float(np.linalg.norm(gradient))) > target:
        if steps == _MOST_STEPS:
            raise NotConvergedError(
                f"optimizer: expected convergence within {steps} steps, got no convergence; use a larger l2"
            )
        if norm < least or value < last_value - _NOISE * abs(value):
            last_value, last_progress = min(value, last_value), steps
        if norm < least:
            least, least_x = norm, x
        if steps - last_progress >= _PATIENCE:
            return least_x, steps
        direction = inverse.multiply_gradient()
        np.negative(direction, out=direction)
        slope = float(gradient @ direction)
        # A quasi-Newton step has length 1. The first direction is the gradient, whose scale is arbitrary, so it is
        # normalized.
        length = 1.0 if steps else min(1.0, 1 / norm)
        while True:
            step = length * direction
            moved = x + step
            moved_value, moved_gradient = objective(moved)
            # Near the minimum, the value changes by less than its rounding error, so the slope decides
            # (approximate Wolfe condition: Hager & Zhang 2005, equation 4.1).
            flat = moved_value <= value + _NOISE * abs(value)
            no_higher = float(moved_gradient @ direction) <= (2 * _ENOUGH_DECREASE - 1) * slope
            if moved_value <= value + _ENOUGH_DECREASE * length * slope or (flat and no_higher):
                break
            length /= 2
        inverse.update(step, moved_gradient)
        x, value, gradient = moved, moved_value, moved_gradient
        steps += 1
    return x, steps


_EXACT: Final = 1000  # columns whose Hessian is factored exactly
_NEAR: Final = 16  # correlated columns per other column; with 8 or 24, a fit takes the same number of steps
_ROWS: Final = 2**16  # sample size: enough rows to estimate how often frequent columns occur together
_LEAST: Final = 1e-6  # added to a diagonal of about 1, so that the matrix is positive definite for any penalty


class Whitening:
    """Linear change of variables that approximately decorrelates the columns."""

    def __init__(self, columns: "scipy.sparse.csc_matrix", penalty: Vector) -> None:
        """Factor the inverse Hessian of the frequent columns.

        Args:
            columns: Columns, shape (n, columns): the bias first, then in descending order of frequency. They are scaled
                so that the diagonal of the Hessian is about 1.
            penalty: Share of the penalty in this diagonal, shape (columns,). The rest is the share of the data.
        """
        # The frequent columns are those before the first column whose penalty outweighs the data.
        self._size = int(np.append(penalty > 0.5, True).argmax())
        hessian = _hessian(columns[:, : self._size].tocsr(), penalty[: self._size])
        self._factor = _inverse_factor(hessian)
        self._transposed = self._factor.T.tocsr()
        bias = columns[:, 0].toarray().ravel()
        self._shares = columns[:, self._size :].T @ bias / (bias @ bias)  # regression of each rare column on the bias

    def to_weights(self, variables: Vector) -> Vector:
        """Convert the optimization variables to weights. Both have shape (contrasts, columns)."""
        weights = variables.copy()
        weights[:, : self._size] = (self._transposed @ variables[:, : self._size].T).T
        weights[:, 0] -= variables[:, self._size :] @ self._shares
        return weights

    def to_variable_gradient(self, by_weights: Vector) -> Vector:
        """Convert the gradient with respect to the weights into the gradient with respect to the variables.

        The conversion is in place.
        """
        by_weights[:, self._size :] -= by_weights[:, :1] * self._shares
        by_weights[:, : self._size] = (self._factor @ by_weights[:, : self._size].T).T
        return by_weights


def _hessian(rows: "scipy.sparse.csr_matrix", penalty: NDArray[np.float64]) -> "scipy.sparse.csr_matrix":
    """Estimate the Hessian of the given columns from a sample of the rows."""
    n = rows.shape[0]
    if n > _ROWS:
        rows = rows[np.sort(np.random.default_rng(0).choice(n, _ROWS, replace=False))]
    together = rows.T @ rows
    alone = together.diagonal()
    scale = scipy.sparse.diags(np.sqrt((1 - penalty) / np.where(alone > 0, alone, 1)))
    # The matrix is symmetric. Converting its transpose sorts the indices of each row, which lookups require.
    by_data = (scale @ together @ scale).T.tocsr()
    return (by_data + scipy.sparse.diags(penalty + _LEAST)).tocsr()


def _inverse_factor(hessian: "scipy.sparse.csr_matrix") -> "scipy.sparse.csr_matrix":
    """Compute a lower triangular L for which L H Lᵀ is approximately the identity, exact in the first columns."""
    size = hessian.shape[0]
    exact = min(size, _EXACT)
    lower = scipy.linalg.cholesky(hessian[:exact, :exact].toarray(), lower=True, overwrite_a=True)
    first = scipy.sparse.csr_matrix(scipy.linalg.solve_triangular(lower, np.eye(exact), lower=True))
    first.resize(exact, size)
    if size == exact:
        return first
    near = np.array([[*_nearest(hessian, column), column] for column in range(exact, size)])
    shape = (*near.shape, _NEAR + 1)
    one, other = (np.broadcast_to(side, shape).ravel() for side in (near[:, :, None], near[:, None, :]))
    among = np.asarray(hessian[one, other]).reshape(shape)
    # A row of L is the last row of the inverse Cholesky factor of the Hessian of its column and the correlated columns.
    entries = np.linalg.solve(among, np.broadcast_to(np.eye(_NEAR + 1)[:, -1:], (*near.shape, 1)))[:, :, 0]
    entries /= np.sqrt(entries[:, -1:])
    rest = scipy.sparse.csr_matrix(
        (entries.ravel(), near.ravel(), np.arange(0, near.size + 1, _NEAR + 1)), (len(near), size)
    )
    return scipy.sparse.vstack([first, rest], format="csr")


def _nearest(hessian: "scipy.sparse.csr_matrix", column: int) -> NDArray[np.intp]:
    """Select the more frequent columns that co-occur most often with a column, and the bias."""
    span = slice(hessian.indptr[column], hessian.indptr[column + 1])
    together = np.zeros(hessian.shape[0])
    together[hessian.indices[span]] = hessian.data[span]
    together[0] = np.inf  # always select the bias: single columns correlate little with it, but together they do
    # Most columns never co-occur with this one, and a search over all columns takes ten times as long.
    candidates = np.union1d(np.arange(_NEAR), hessian.indices[span])
    candidates = candidates[candidates < column]
    return candidates[np.argpartition(together[candidates], -_NEAR)[-_NEAR:]]
