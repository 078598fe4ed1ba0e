"""Parts of tables of results: numbers with intervals, headings, excluded rows, and changes of accuracy in words."""

from collections.abc import Mapping
from typing import Any, Final

from rich import box
from rich.table import Table

from unbag.challenge_sets.results import Result
from unbag.scoring.bootstrap import Estimate


def headed(title: str, result: Result, *columns: str, words: int = 1) -> Table:
    """Build an empty table headed by the model, the display name of the set (`ChallengeSet.title`) and the data.

    All but its first `words` columns are numbers.
    """
    return titled(" · ".join([result.model["name"], title, result.corpus]), *columns, words=words)


def titled(title: str, *columns: str, words: int = 1, caption: str | None = None) -> Table:
    """Return an empty table; all but its first `words` columns are numbers."""
    table = Table(
        *columns,
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for column in table.columns[words:]:
        column.justify = "right"
    return table


def interval(estimate: Estimate) -> str:
    """Return a value with its interval; a dash where there is no example."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return value(estimate)
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def value(estimate: Estimate | None) -> str:
    """Return a value; a dash where there is no example, nothing where there is no estimate."""
    return "" if estimate is None else "–" if estimate.value is None else f"{estimate.value:.3f}"


def count(estimate: Estimate) -> str:
    """Return the number of examples behind a value; a dash where there is no value.

    >>> count(Estimate(0.5, None, None, 1200)), count(Estimate(None, None, None, 0))
    ('1,200', '–')
    """
    return "–" if estimate.value is None else f"{estimate.n:,}"


def directed(label: str, higher_is_better: bool | None) -> str:
    """Return a label with an arrow to where it is better; none where nobody says that.

    >>> directed("P^c", higher_is_better=False)
    'P^c ↓'
    """
    return label if higher_is_better is None else f"{label} {'↑' if higher_is_better else '↓'}"


def exclusions(data: Mapping[str, Any]) -> str:
    """Return how many rows of the source were not used, and why; and what people get on the others, where known."""
    parts = [f"{n:,} {reason}" for reason, n in data["excluded"].items() if n]
    rows = f"{data['rows']:,} rows" + (f"; left out {', '.join(parts)}" if parts else "")
    if "human" not in data:
        return rows
    people = Estimate(*(data["human"][name] for name in ("share", "low", "high", "pairs")))
    return f"{rows}. One annotator gives the gold label of {interval(people)} of the {people.n:,} pairs as they were"


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
