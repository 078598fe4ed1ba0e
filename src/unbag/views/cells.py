"""What tables of results are made of: numbers with intervals, headings, what was left out."""

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.table import Table

from unbag.results import Result
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


def left_out(data: Mapping[str, Any]) -> str:
    """Return how many rows of the source were not used, and why; and what people get on the others, where known."""
    parts = [f"{n:,} {reason}" for reason, n in data["left_out"].items() if n]
    rows = f"{data['rows']:,} rows" + (f"; left out {', '.join(parts)}" if parts else "")
    if "people" not in data:
        return rows
    people = Estimate(*(data["people"][name] for name in ("share", "low", "high", "pairs")))
    return f"{rows}. One annotator gives the gold label of {interval(people)} of the {people.n:,} pairs as they were"
