"""Comparison tables for the terminal and for export, with one table per pair of systems."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag import challenge_sets
from unbag.challenge_sets.base import SCORE
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import add_direction_arrow, format_interval
from unbag.evaluation.comparison import Comparison, MetricDifference
from unbag.reports.formats import ExportedTable, GroupedTable
from unbag.scoring.bootstrap import Estimate

_TESTS = {
    "mcnemar": "McNemar's mid-p test",
    "bootstrap": "a paired bootstrap over source examples",
    "seeds": "a t test over training seeds",
}

_UNTESTED: Final = (
    "Intervals assume independent examples; differences are not tested, because the runs contain no examples."
)
LOWER: Final = (
    f"↓ Lower is better. Random predictions also lower some of these metrics; only the {SCORE.label} corrects for "
    "chance."
)
"""Note on the metrics with this arrow."""

_WIDTHS = (-27, 6, 6, 23, 6, 6)  # characters; negative for text. Fixed, so that the tables of all sets align.
_LINE = sum(map(abs, _WIDTHS)) + len(_WIDTHS) - 1


def build_comparison_view(comparison: Comparison) -> RenderableType:
    """Build the terminal view of a comparison: the systems, one table per pair of systems, notes, and the verdict."""
    system_lines = [
        f"{system.letter}  {system.name}" + (f" (seeds {', '.join(system.seeds)})" if system.seeds else "")
        for system in comparison.systems
    ]
    return Group(
        Text("\n".join(system_lines) + "\n"),
        *(_table(comparison, pair) for pair in _group_by_systems(comparison)),
        *(Text(f"{note}.", style="dim") for note in comparison.notes),
        *(Text(remark, style="dim") for remark in _remarks(comparison)),
        Text(format_comparison_verdict(comparison), style="bold"),
    )


def _group_by_systems(comparison: Comparison) -> list[list[MetricDifference]]:
    return [list(pair) for _, pair in groupby(comparison.differences, key=lambda each: (each.first, each.second))]


def _group_by_set(differences: Sequence[MetricDifference]) -> Iterator[tuple[str, list[MetricDifference]]]:
    """Iterate over the differences of each set and corpus, as tuples (title, differences)."""
    for (name, data), group in groupby(differences, key=lambda each: (each.set, each.data)):
        yield f"{challenge_sets.get_display_name(name)} · {data}", list(group)


_MOST_LETTERS: Final = 6


def build_model_table(results: Sequence[Result], comparison: Comparison) -> RenderableType:
    """Build one table per set with a row per model: rows, compared metrics, and the models that it is better than."""
    letters = {system.name: system.letter for system in comparison.systems}
    parts: list[RenderableType] = [Text("\n".join(f"{letter}  {name}" for name, letter in letters.items()) + "\n")]
    for title in dict.fromkeys((result.set, result.corpus) for result in results):
        of_set = [result for result in results if (result.set, result.corpus) == title]
        metrics = challenge_sets.get_challenge_set(title[0]).list_metrics_with_role("compared")
        table = Table(
            f"{challenge_sets.get_display_name(title[0])} · {title[1]}",
            "rows",
            *(add_direction_arrow(each.label, each.higher_is_better) for each in metrics),
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
        )
        for column in table.columns[1:]:
            column.justify = "right"
        for result in of_set:
            letter = letters[str(result.model["name"])]
            matched = result.model["matched"]
            cells = []
            for metric in metrics:
                estimate = metric.get_estimate(result.scores)
                value = "" if estimate is None or estimate.value is None else format_interval(estimate)
                n = "" if not value or estimate is None or estimate.n == matched["rows"] else f"\nof {estimate.n:,}"
                cells.append(f"{value}{n}{_list_worse(comparison, letter, title, metric.path)}")
            table.add_row(letter, f"{matched['rows']:,}", *cells)
        parts += [table, Text()]
    notes = [
        "> lists the models that are significantly worse on the common rows of both models "
        f"(p ≤ {comparison.level:g} after Holm's correction for {len(comparison.differences):,} tests).",
        *(f"{note}." for note in comparison.notes),
    ]
    return Group(*parts, *(Text(note, style="dim") for note in notes))


def _list_worse(comparison: Comparison, letter: str, title: tuple[str, str], path: str) -> str:
    """List the letters of the models that are significantly worse than a model on a metric, as `> B C` on a line."""
    worse = [
        each.second if each.first == letter else each.first
        for each in comparison.differences
        if (each.set, each.data, each.quantity) == (*title, path) and comparison.find_better(each) == letter
    ]
    if not worse:
        return ""
    return f"\n> {' '.join(worse)}" if len(worse) <= _MOST_LETTERS else f"\n> {len(worse)} models"


def export_comparison(comparison: Comparison) -> ExportedTable:
    """Build the tables of a comparison for export. The tables show which system is better on each metric."""
    pairs = _group_by_systems(comparison)
    sentences = (
        *(f"{note}." for note in comparison.notes),
        *_remarks(comparison),
        format_comparison_verdict(comparison, use_names=True),
    )
    tables = [_build_grouped_table(comparison, pair, notes=sentences if pair is pairs[-1] else ()) for pair in pairs]
    return ExportedTable(tables, [_record(comparison, each) for each in comparison.differences], comparison.to_json())


def format_comparison_verdict(comparison: Comparison, *, use_names: bool = False) -> str:
    """Format the verdict of a comparison as a sentence that lists the significant differences."""
    tested = [difference for difference in comparison.differences if difference.p_holm is not None]
    if not tested:
        return "Verdict: none, because no difference was tested."
    significant = [difference for difference in tested if comparison.is_significant(difference)]
    if not significant:
        one, many = "the only difference is not significant", f"none of {len(tested)} differences is significant"
        return f"Verdict: {one if len(tested) == 1 else many}."
    phrases = [
        f"{title} " + ", ".join(f"{each.label} ({_direction(comparison, each, use_names=use_names)})" for each in group)
        for title, group in _group_by_set(significant)
    ]
    counts = f"{len(significant)} of {len(tested)} differences {'is' if len(significant) == 1 else 'are'} significant"
    return f"Verdict: {counts}: {'; '.join(phrases)}."


def _direction(comparison: Comparison, difference: MetricDifference, *, use_names: bool) -> str:
    """Describe which system is better, or which one has the higher value if the metric has no direction."""
    name = comparison.get_system_name if use_names else str
    first, second = difference.first, difference.second
    better = comparison.find_better(difference)
    if better is not None:
        return f"{name(better)} better than {name(first if better == second else second)}"
    above = (difference.difference.value or 0) > 0
    return f"{name(second)} {'above' if above else 'below'} {name(first)}"


def _remarks(comparison: Comparison) -> list[str]:
    """List the remarks on the tests, and on metrics for which lower is better."""
    lower = any(each.higher_is_better is False for each in comparison.differences)
    tests = [difference.test for difference in comparison.differences if difference.p is not None]
    names = " or ".join(words for name, words in _TESTS.items() if name in tests)
    method = f"p by {names}; Holm: corrected for {len(tests)} tests, significant at {comparison.level:g}."
    return [method if tests else _UNTESTED, *([LOWER] if lower else [])]


def _build_grouped_table(
    comparison: Comparison, differences: Sequence[MetricDifference], *, notes: Sequence[str]
) -> GroupedTable:
    first, second = (comparison.get_system_name(letter) for letter in (differences[0].first, differences[0].second))
    groups = [
        [
            (
                "" if number else title,
                add_direction_arrow(each.label, each.higher_is_better),
                *_values(each),
                format_difference(each.difference),
                f"{each.difference.n:,}",
                format_p_value(each.p),
                format_p_value(each.p_holm),
                _describe_better(comparison, each),
            )
            for number, each in enumerate(group)
        ]
        for title, group in _group_by_set(differences)
    ]
    return GroupedTable(
        f"{second} against {first}",
        ("set", "metric", first, second, "difference [95 %]", "n", "p", "p (Holm)", "better"),
        groups,
        n_text_columns=2,
        n_last_text_columns=1,
        names=frozenset({0, 8}),
        notes=tuple(notes),
    )


def _describe_better(comparison: Comparison, difference: MetricDifference) -> str:
    better, significant = comparison.find_better(difference), comparison.is_significant(difference)
    if better is not None:
        return comparison.get_system_name(better)
    return "not tested" if significant is None else "no direction" if significant else "not significant"


def _record(comparison: Comparison, difference: MetricDifference) -> dict[str, Any]:
    better = comparison.find_better(difference)
    return {
        "set": difference.set,
        "data": difference.data,
        "number": difference.quantity,
        "label": difference.label,
        "higher_is_better": difference.higher_is_better,
        "first": comparison.get_system_name(difference.first),
        "second": comparison.get_system_name(difference.second),
        "first_value": difference.values[0],
        "second_value": difference.values[1],
        "first_deviation": difference.deviations[0],
        "second_deviation": difference.deviations[1],
        **dict(zip(("difference", "low", "high", "n"), difference.difference, strict=True)),
        "sources": difference.sources,
        "test": difference.test,
        "p": difference.p,
        "p_holm": difference.p_holm,
        "significant": comparison.is_significant(difference),
        "better": None if better is None else comparison.get_system_name(better),
    }


def _table(comparison: Comparison, differences: Sequence[MetricDifference]) -> RenderableType:
    first, second = differences[0].first, differences[0].second
    names = ("", first, second, f"{second} − {first} [95 %]", "p", "Holm")
    parts: list[RenderableType] = [Text(" ".join(map(_aligned, names, _WIDTHS)), style="bold"), Text("─" * _LINE)]
    for title, group in _group_by_set(differences):
        parts.append(Text(title))
        for difference in group:
            mark = "↓" if difference.higher_is_better is False else " "
            label = f"{mark} {difference.label}"
            style = "bold" if comparison.is_significant(difference) else ""
            if len(label) > -_WIDTHS[0]:  # a long path is not cut, because paths differ in their last part
                parts.append(Text(label, style=style))
                label = ""
            p_values = map(format_p_value, (difference.p, difference.p_holm))
            cells = (label, *_values(difference), format_difference(difference.difference), *p_values)
            parts.append(Text(" ".join(map(_aligned, cells, _WIDTHS)), style=style, overflow="ellipsis", no_wrap=True))
            if any(deviation is not None for deviation in difference.deviations):
                deviations = ("" if each is None else f"±{each:.3f}" for each in difference.deviations)
                spreads = ("    ± over seeds", *(each.replace("±0.", "±.") for each in deviations))
                parts.append(Text(" ".join(map(_aligned, spreads, _WIDTHS)), style="dim"))
    return Group(*parts, "")


def _aligned(cell: str, width: int) -> str:
    """Align a cell: text to the left and truncated to the width, numbers to the right."""
    if width > 0:
        return cell.rjust(width)
    return cell.ljust(-width) if len(cell) <= -width else f"{cell[: -width - 1]}…"


def _values(difference: MetricDifference) -> list[str]:
    return [f"{value:.3f}" if value is not None else "–" for value in difference.values]


def format_difference(estimate: Estimate) -> str:
    """Format a difference with its sign and interval."""
    if estimate.value is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:+.3f}"
    return f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"


def format_p_value(value: float | None) -> str:
    """Format a p value. None becomes a dash."""
    if value is None:
        return "–"
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
