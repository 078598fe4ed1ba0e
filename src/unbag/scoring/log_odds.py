"""Log odds of a label: the scores that rank pairs, and the decimal thresholds that reproduce a decision.

Near 0 and 1, different probabilities round to the same number: in float32, the sigmoid of every logit above 17 is 1.
The log odds ln(p / q), with the probability q of all other labels, keep the order up to logits of 87 in float32, and of
708 in float64.
"""

import math
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from unbag.scoring.intervals import Floats

DECIMALS: Final = 6
"""Decimals of log odds. Rounding makes scores equal that differ by the arithmetic of a processor. It is finer than the
distance of two float32 logits above 16."""

_SLACK: Final = 1.5e-7  # each float32 probability has a relative error of up to 6e-8, so that 0.7 reaches 0.7
_CERTAIN: Final = 0.999  # above it, 1 - p in float64 loses digits of p as it was written
_MIN_DECIMALS: Final = 6  # a rounding error of the model changes such a threshold by 1e-6 at most
_DIGITS: Final = 30  # of a threshold, beyond the leading zeros or nines that its log odds determine


def compute_log_odds(probabilities: ArrayLike, complements: ArrayLike | None = None) -> Floats:
    """Compute the log odds of a label in float64, rounded to six decimals, shape (n,).

    `complements` is the probability of all other labels (default: 1 - p, which is exact in decimals). The log odds are
    infinite for probabilities of exactly 0 and 1.

    >>> compute_log_odds([0.5, 1.0, 1.0], [0.5, 1e-12, 0.0]).tolist()
    [0.0, 27.631021, inf]
    """
    label: Floats = np.asarray(probabilities, dtype=np.float64)
    rest: Floats = np.array(1 - label if complements is None else complements, dtype=np.float64)
    if complements is None:
        for place in np.flatnonzero(label > _CERTAIN).tolist():
            rest[place] = float(1 - Decimal(repr(float(label[place]))))
    with np.errstate(divide="ignore", invalid="ignore"):
        odds: Floats = np.log(label) - np.log(rest)
    # NaN is -inf minus -inf: neither the label nor the rest has a probability.
    odds[np.isnan(odds)] = -np.inf
    rounded: Floats = np.round(odds, DECIMALS) + 0.0  # without negative zeros
    return rounded


def compute_cutoff(threshold: float | str | Decimal) -> float:
    """Compute the lowest log odds, as `compute_log_odds` rounds them, that reach a threshold of the probability.

    Close to 1, text has more digits than a float.

    >>> compute_cutoff(0.5), compute_cutoff("0.99999999999999999999"), compute_cutoff(1)
    (0.0, 46.051702, inf)
    """
    share = Decimal(str(threshold))
    if not 0 < share < 1:
        return math.inf if share >= 1 else -math.inf
    with localcontext(prec=28):
        odds = float((share / (1 - share)).ln())
    return float(np.round(odds - _SLACK, DECIMALS)) + 0.0


def express_threshold(score: float, next_lower: float) -> float | str:
    """Express log odds as the shortest threshold of the probability that separates them from the next lower score.

    The threshold has at least six decimals, unless fewer are exact. A pair reaches it if, and only if, the log odds of
    the pair are above `next_lower`, among the scores that both come from.

    Args:
        score: Lowest log odds of the pairs that reach the threshold.
        next_lower: Highest log odds of the other pairs; -inf without other pairs.

    Returns:
        A number, or text if a float has too few digits: 1 - 1e-20 is "0.99999999999999999999".

    >>> express_threshold(1.6, 0.2), express_threshold(27.63, 20), express_threshold(46.051702, 46)
    (0.832018, 0.999999999, '0.99999999999999999999')
    """
    if math.isinf(score):
        return 1.0 if score > 0 else 0.0
    digits = _DIGITS + math.ceil(abs(score) / math.log(10))
    with localcontext(prec=digits):
        exact = 1 / (1 + Decimal(-score).exp())
        first = max(_MIN_DECIMALS, -exact.adjusted())
        for decimals in range(first, first + digits):
            # The nearest value may exceed the score; rounding down then finds one below it.
            for rounding in (ROUND_HALF_EVEN, ROUND_FLOOR):
                share = exact.quantize(Decimal(1).scaleb(-decimals), rounding).normalize()
                if 0 < share < 1 and next_lower < compute_cutoff(share) <= score:
                    return float(share) if Decimal(repr(float(share))) == share else f"{share:f}"
    raise AssertionError(f"no threshold between {next_lower} and {score}")


def format_threshold(threshold: float | str) -> str:
    """Format a threshold with all of its digits, as `--threshold` takes it.

    >>> format_threshold(0.8313), format_threshold(1.0), format_threshold(1e-06), format_threshold(2.5e-12)
    ('0.8313', '1', '0.000001', '2.5e-12')
    """
    share = Decimal(str(threshold))
    if share == share.to_integral_value():
        return f"{share:.0f}"
    return f"{share:f}" if share >= Decimal("1e-6") else f"{share:e}"
