"""What tables of results are made of: numbers with intervals, headings, what was left out."""

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.table import Table

from unbag.results import Result
from unbag.scoring.bootstrap import Estimate


def headed(result: Result, *columns: str, words: int = 1) -> Table:
    """Return an empty table headed by model, set and data; all but its first `words` columns are numbers."""
    data = result.data
    table = Table(
        *columns,
        title=" · ".join([result.model["name"], result.set, f"{data['name']} {data['split']}".strip()]),
        title_justify="left",
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


def left_out(data: Mapping[str, Any]) -> str:
    """Return how many rows of the source were not used, and why."""
    parts = [f"{n:,} {reason}" for reason, n in data["left_out"].items() if n]
    return f"{data['rows']:,} rows" + (f"; left out {', '.join(parts)}" if parts else "")
