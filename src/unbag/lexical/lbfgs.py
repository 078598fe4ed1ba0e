"""L-BFGS: minimise a smooth convex function of millions of variables (Nocedal & Wright 2006, section 7.2).

SciPy's own L-BFGS-B takes most of its time to keep books of bounds, of which there are none here. The inverse Hessian
is applied in its compact form (equation 7.24 as Byrd, Nocedal & Schnabel 1994 have it for the inverse, theorem 2.2):
two products with one matrix, where the usual two loops read and write a vector four times for each step remembered.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

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
