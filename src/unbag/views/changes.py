"""A fall or rise between two accuracies in words, which say no more than its interval does."""

from typing import Final

from unbag.scoring.bootstrap import Estimate

MARGIN: Final = 0.05
"""Of an accuracy: a change is called none only where its whole interval is less than that."""


def change(drop: Estimate) -> str:
    """Return what a drop comes to.

    >>> change(Estimate(0.178, 0.14, 0.2, 900)), change(Estimate(-0.1, -0.2, -0.06, 900))
    ('a fall of 17.8 points [14.0, 20.0]', 'a rise of 10.0 points [6.0, 20.0]')
    >>> change(Estimate(0.045, -0.08, 0.17, 90))
    'a change of −4.5 points [−17.0, +8.0], too few pairs to tell from none'
    >>> change(Estimate(0.01, -0.01, 0.03, 9000))
    'a change of −1.0 points [−3.0, +1.0], less than 5 either way'
    >>> change(Estimate(0.0, 0.0, 0.0, 9000))
    'a change of 0.0 points [0.0, 0.0], less than 5 either way'
    """
    if drop.value is None:
        return "no pair to see a change by"
    if drop.low is None or drop.high is None:
        return f"a change of {_signed(-drop.value)} points"
    if drop.low > 0:
        return f"a fall of {points(drop.value)} points [{points(drop.low)}, {points(drop.high)}]"
    if drop.high < 0:
        return f"a rise of {points(-drop.value)} points [{points(-drop.high)}, {points(-drop.low)}]"
    by = f"a change of {_signed(-drop.value)} points [{_signed(-drop.high)}, {_signed(-drop.low)}]"
    if max(-drop.low, drop.high) <= MARGIN:
        return f"{by}, less than {100 * MARGIN:g} either way"
    return f"{by}, too few pairs to tell from none"


def share(estimate: Estimate) -> str:
    """Return a share in per cent with its interval.

    >>> share(Estimate(0.909, 0.902, 0.915, 3697)), share(Estimate(None, None, None, 0))
    ('90.9 % [90.2, 91.5]', 'none')
    """
    if estimate.value is None:
        return "none"
    if estimate.low is None or estimate.high is None:
        return f"{points(estimate.value)} %"
    return f"{points(estimate.value)} % [{points(estimate.low)}, {points(estimate.high)}]"


def points(value: float) -> str:
    """Return a share in points, one decimal: the three that tables show of it, so that no half is rounded otherwise.

    >>> points(-0.0804), points(0.3225)
    ('−8.0', '32.3')
    """
    return f"{100 * float(f'{value:.3f}') + 0.0:.1f}".replace("-", "−")


def _signed(value: float) -> str:
    return points(value) if value <= 0 else f"+{points(value)}"
