"""A comparison as a table: each two systems, set by set."""

from collections.abc import Sequence
from itertools import groupby

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag.comparison import Comparison, Difference
from unbag.scoring.bootstrap import Estimate

_TESTS = {
    "mcnemar": "McNemar's mid-p test",
    "bootstrap": "a paired bootstrap over source examples",
    "seeds": "Welch's t test over training seeds",
}


def view(comparison: Comparison) -> RenderableType:
    """Return the systems by letter, a table for each two of them, and what to make of it."""
    named = [
        f"{system.letter}  {system.name}" + (f" (seeds {', '.join(system.seeds)})" if system.seeds else "")
        for system in comparison.systems
    ]
    tables = [
        _table(comparison, list(found))
        for _, found in groupby(comparison.differences, key=lambda each: (each.first, each.second))
    ]
    return Group(
        Text("\n".join(named) + "\n"),
        *tables,
        *(Text(f"{note}.", style="dim") for note in comparison.notes),
        Text(_method(comparison), style="dim"),
        Text(verdict(comparison), style="bold"),
    )


def verdict(comparison: Comparison) -> str:
    """Return what differs, in a sentence."""
    tested = [found for found in comparison.differences if found.p_holm is not None]
    if not tested:
        return "Verdict: none; nothing could be tested."
    real = [found for found in tested if comparison.significant(found)]
    if not real:
        return f"Verdict: no difference that chance would not make, of {len(tested)} tested."
    said = [
        f"{_at(found)} ({found.second} {'above' if (found.difference.value or 0) > 0 else 'below'} {found.first})"
        for found in real
    ]
    return f"Verdict: {len(real)} of {len(tested)} differences are more than chance: {', '.join(said)}."


def _table(comparison: Comparison, differences: Sequence[Difference]) -> Table:
    first, second = differences[0].first, differences[0].second
    shown = Table("", first, second, f"{second} − {first} [95 %]", "p", "Holm", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in shown.columns[1:]:
        column.justify, column.no_wrap = "right", True
    for (name, data), group in groupby(differences, key=lambda each: (each.set, each.data)):
        rows = list(group)
        shown.add_row(Text(f"{name} · {data}", style="bold"))
        for found in rows:
            style = "bold" if comparison.significant(found) else None
            shown.add_row(f"  {found.label}", *_cells(found), style=style)
            if any(deviation is not None for deviation in found.deviations):
                shown.add_row("    ± over seeds", *map(_deviation, found.deviations), style="dim")
    return shown


def _cells(found: Difference) -> list[str]:
    numbers = [f"{value:.3f}" if value is not None else "–" for value in found.values]
    return [*numbers, gap(found.difference), _p(found.p), _p(found.p_holm)]


def gap(estimate: Estimate) -> str:
    """Return a difference with its sign and its interval."""
    if estimate.value is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:+.3f}"
    return f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"


def _deviation(value: float | None) -> str:
    return "" if value is None else f"±{value:.3f}".replace("±0.", "±.")


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _at(found: Difference) -> str:
    return f"{found.set} {found.label}"


def _method(comparison: Comparison) -> str:
    tests = {found.test for found in comparison.differences if found.p is not None}
    count = sum(found.p is not None for found in comparison.differences)
    if not tests:
        return "Intervals as of independent examples; without their examples nothing is tested."
    told = " or ".join(words for name, words in _TESTS.items() if name in tests)
    return f"p by {told}; Holm: corrected for {count} tests, bold at {comparison.level:g}."
