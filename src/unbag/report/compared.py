"""A comparison as a table: each two systems, set by set."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.comparison import Comparison, Difference
from unbag.scoring.bootstrap import Estimate

_TESTS = {
    "mcnemar": "McNemar's mid-p test",
    "bootstrap": "a paired bootstrap over source examples",
    "seeds": "a t test over training seeds",
}


_WIDTHS = (-27, 6, 6, 23, 6, 6)  # of the columns; below 0 for words. One table a set would not align them.
_LINE = sum(map(abs, _WIDTHS)) + len(_WIDTHS) - 1


def view(comparison: Comparison) -> RenderableType:
    """Return the systems by letter, a table for each two of them, and what to make of it."""
    named = [
        f"{system.letter}  {system.name}" + (f" (seeds {', '.join(system.seeds)})" if system.seeds else "")
        for system in comparison.systems
    ]
    tables = [
        _table(comparison, list(pair))
        for _, pair in groupby(comparison.differences, key=lambda each: (each.first, each.second))
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
    tested = [difference for difference in comparison.differences if difference.p_holm is not None]
    if not tested:
        return "Verdict: none; nothing could be tested."
    real = [difference for difference in tested if comparison.significant(difference)]
    if not real:
        return f"Verdict: no difference that chance would not make, of {len(tested)} tested."
    phrases = [
        f"{_at(each)} ({each.second} {'above' if (each.difference.value or 0) > 0 else 'below'} {each.first})"
        for each in real
    ]
    return f"Verdict: {len(real)} of {len(tested)} differences are more than chance: {', '.join(phrases)}."


def _table(comparison: Comparison, differences: Sequence[Difference]) -> RenderableType:
    first, second = differences[0].first, differences[0].second
    names = ("", first, second, f"{second} − {first} [95 %]", "p", "Holm")
    parts: list[RenderableType] = [Text(" ".join(map(_aligned, names, _WIDTHS)), style="bold"), Text("─" * _LINE)]
    for (name, data), group in groupby(differences, key=lambda each: (each.set, each.data)):
        parts.append(Text(f"{name} · {data}"))
        for difference in group:
            cells = (f"  {difference.label}", *_cells(difference))
            style = "bold" if comparison.significant(difference) else ""
            parts.append(Text(" ".join(map(_aligned, cells, _WIDTHS)), style=style, overflow="ellipsis", no_wrap=True))
            if any(deviation is not None for deviation in difference.deviations):
                spreads = ("    ± over seeds", *map(_deviation, difference.deviations))
                parts.append(Text(" ".join(map(_aligned, spreads, _WIDTHS)), style="dim"))
    return Group(*parts, "")


def _aligned(cell: str, width: int) -> str:
    """Return a cell of a column: words to the left and cut to the width, numbers to the right."""
    if width > 0:
        return cell.rjust(width)
    return cell.ljust(-width) if len(cell) <= -width else f"{cell[: -width - 1]}…"


def _cells(difference: Difference) -> list[str]:
    numbers = [f"{value:.3f}" if value is not None else "–" for value in difference.values]
    return [*numbers, gap(difference.difference), _p(difference.p), _p(difference.p_holm)]


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


def _at(difference: Difference) -> str:
    return f"{difference.set} {difference.label}"


def _method(comparison: Comparison) -> str:
    tests = {difference.test for difference in comparison.differences if difference.p is not None}
    count = sum(difference.p is not None for difference in comparison.differences)
    if not tests:
        return "Intervals as of independent examples; without their examples nothing is tested."
    names = " or ".join(words for name, words in _TESTS.items() if name in tests)
    return f"p by {names}; Holm: corrected for {count} tests, bold at {comparison.level:g}."
