"""How much wider an interval must be where it rests on few sources."""

import math
from typing import Final

_NORMAL: Final = 1.959963984540054  # the 97.5 % point of the normal distribution


def widening(n: int) -> float:
    """Return by what a 95 % bootstrap interval over n examples is too narrow: 1 for many.

    The bootstrap's variance lacks the factor n / (n - 1), and its spread is taken for known where Student's t takes it
    for estimated with n - 1 degrees of freedom (Efron & Tibshirani 1993, sections 5.3 and 12.2; Hesterberg 2015, "What
    Teachers Should Know About the Bootstrap", section 5.3). The t quantile is Hill's expansion (Abramowitz & Stegun
    1964, 26.7.5), right to a hundredth from five examples.

    >>> [round(widening(n), 3) for n in (5, 15, 1000)]
    [1.583, 1.133, 1.002]
    """
    if n < 2:
        raise ValueError(f"expected two examples or more, found {n}")
    z, v = _NORMAL, n - 1
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    t: float = z + sum(term / v**power for power, term in enumerate(terms, start=1))
    return float(math.sqrt(n / (n - 1)) * t / z)
