"""Many comparisons at once: p values that hold for all of them together."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return p values corrected for all tests made together.

    Holm (1979), "A simple sequentially rejective multiple test procedure": the smallest p value is multiplied by the
    number of tests m, the next by m - 1, …; none is less than one before it, or more than 1. Whatever the tests have to
    do with each other, the chance of any false alarm is then at most the level. Never less powerful than Bonferroni's.

    Args:
        p_values: of the m tests, shape (m,).

    Returns:
        The corrected p values in the same order, shape (m,).

    Raises:
        ValueError: if a p value is not from 0 to 1.

    >>> holm([0.01, 0.04, 0.03, 0.005]).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():  # NaN is neither
        raise ValueError(f"expected p values from 0 to 1, one a test, found {p.tolist()}")
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(raised, 1.0)
    return corrected
