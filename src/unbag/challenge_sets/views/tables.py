"""Components of result tables: values with intervals, headings, exclusion counts, and accuracy changes in words."""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, Final

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from unbag.challenge_sets.result import Result
from unbag.scoring.bootstrap import Estimate


def create_result_table(title: str, result: Result, *columns: str, n_text_columns: int = 1) -> Table:
    """Build an empty table whose heading names the model, the set and the corpus. `title` is that of the set."""
    return create_table(
        " · ".join([result.model["name"], title, result.corpus]), *columns, n_text_columns=n_text_columns
    )


class _TitledTable(Table):
    """Table whose title may use the width of the terminal, not only that of the columns."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        title, table = str(self.title), copy(self)
        if cell_len(title) > Measurement.get(console, options, self).maximum:
            yield Text(title, style="table.title")
            table.title = None
        yield from Table.__rich_console__(table, console, options)


def create_table(title: str, *columns: str, n_text_columns: int = 1, caption: str | None = None) -> Table:
    """Build an empty table of `n_text_columns` left-aligned text columns and further, right-aligned number columns."""
    table = _TitledTable(
        *columns,
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for column in table.columns[n_text_columns:]:
        column.justify = "right"
    return table


def add_notes(*parts: RenderableType) -> Group:
    """Put tables and dim notes, given as text, below each other."""
    return Group(*(Text(part, style="dim") if isinstance(part, str) else part for part in parts))


def find_extreme_row(
    rows: Iterable[Mapping[str, Any]], metric: str, pick: Callable[..., Any], min_count: int
) -> Mapping[str, Any] | None:
    """Find the row with the extreme value of a metric by `pick` (`min` or `max`), of those with enough examples.

    None for a tie, and for fewer than two such rows.
    """
    large = [row for row in rows if row[metric].n >= min_count]
    extreme = pick((row[metric].value for row in large), default=None)
    found = [row for row in large if row[metric].value == extreme]
    return found[0] if len(large) > 1 and len(found) == 1 else None


def format_interval(estimate: Estimate) -> str:
    """Format a value with its interval, or a dash if there are no examples."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return format_value(estimate)
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def format_value(estimate: Estimate | None) -> str:
    """Format a value. Return a dash if there are no examples, and an empty string for None."""
    # An empty cell means that the value does not apply, and a dash that there are no examples.
    return "" if estimate is None else "–" if estimate.value is None else f"{estimate.value:.3f}"


def format_count(estimate: Estimate) -> str:
    """Format the number of examples of an estimate, or a dash if the estimate has no value.

    >>> format_count(Estimate(0.5, None, None, 1200)), format_count(Estimate(None, None, None, 0))
    ('1,200', '–')
    """
    return "–" if estimate.value is None else f"{estimate.n:,}"


def add_direction_arrow(label: str, higher_is_better: bool | None) -> str:
    """Append an arrow to a label: up if higher is better, down if lower is better, none if unspecified.

    >>> add_direction_arrow("P^c", higher_is_better=False)
    'P^c ↓'
    """
    return label if higher_is_better is None else f"{label} {'↑' if higher_is_better else '↓'}"


def summarize_exclusions(data_record: Mapping[str, Any]) -> str:
    """Summarize the number of source rows, the excluded rows by reason and, if known, the accuracy of one annotator.

    >>> summarize_exclusions({"rows": 9, "excluded": {"repeated": 2}, "load_options": {"text": ["a.md"]}})
    '9 sentences; excluded 2 repeated'
    """
    parts = [f"{n:,} {reason}" for reason, n in data_record["excluded"].items() if n]
    unit = "sentences" if "text" in data_record.get("load_options", {}) else "rows"
    rows = f"{data_record['rows']:,} {unit}" + (f"; excluded {', '.join(parts)}" if parts else "")
    if "human" not in data_record:
        return rows
    human = Estimate(*(data_record["human"][name] for name in ("share", "low", "high", "pairs")))
    return f"{rows}. One annotator gives the gold label of {format_interval(human)} of the {human.n:,} unchanged pairs"


_MOST_REASONS: Final = 3


def format_top_reasons(counts: Mapping[str, int]) -> str:
    """Format the three most frequent reasons for exclusions, with their counts. Ties are sorted alphabetically.

    >>> format_top_reasons({"a question": 1, "a negation": 24, "a passive": 1271, "a copula": 24})
    'a passive (1,271), a copula (24), a negation (24)'
    """
    # Descending by number and ascending by name in one sort, hence the sign.
    sorted_counts = sorted((-n, reason) for reason, n in counts.items())
    return ", ".join(f"{reason} ({-n:,})" for n, reason in sorted_counts[:_MOST_REASONS])


def summarize_rejections(result: Result, prefix: str) -> str:
    """Summarize the three most frequent reasons why sentences of a text yield no pair, with their counts.

    The reasons have a prefix in these counts, such as `addamod: `. The summary is empty if the set was built from
    pairs, whose premises the cards of the sets describe.
    """
    if "text" not in result.data.get("load_options", {}):
        return ""
    counts: Mapping[str, int] = result.config.get("counts", {})
    return format_top_reasons({name.removeprefix(prefix): n for name, n in counts.items() if name.startswith(prefix)})


MARGIN: Final = 0.05
"""Margin of accuracy: a change counts as negligible only if its whole interval is within ± this margin."""


def describe_accuracy_drop(drop: Estimate) -> str:
    """Describe a drop in accuracy in words, with its interval.

    >>> describe_accuracy_drop(Estimate(0.178, 0.14, 0.2, 900))
    'a fall of 17.8 points [14.0, 20.0]'
    >>> describe_accuracy_drop(Estimate(-0.1, -0.2, -0.06, 900))
    'a rise of 10.0 points [6.0, 20.0]'
    >>> describe_accuracy_drop(Estimate(0.045, -0.08, 0.17, 90))
    'a change of −4.5 points [−17.0, +8.0], inconclusive: too few pairs'
    >>> describe_accuracy_drop(Estimate(0.01, -0.01, 0.03, 9000))
    'a change of −1.0 points [−3.0, +1.0], at most 5 points in either direction'
    >>> describe_accuracy_drop(Estimate(0.0, 0.0, 0.0, 9000))
    'a change of 0.0 points [0.0, 0.0], at most 5 points in either direction'
    """
    if drop.value is None:
        return "no pairs to measure a change"
    if drop.low is None or drop.high is None:
        return f"a change of {_signed(-drop.value)} points"
    if drop.low > 0:
        return f"a fall of {format_points(drop.value)} points [{format_points(drop.low)}, {format_points(drop.high)}]"
    if drop.high < 0:
        return (
            f"a rise of {format_points(-drop.value)} points [{format_points(-drop.high)}, {format_points(-drop.low)}]"
        )
    size = f"a change of {_signed(-drop.value)} points [{_signed(-drop.high)}, {_signed(-drop.low)}]"
    # An equivalence test: an interval that contains 0 shows no change only if it is narrow.
    if max(-drop.low, drop.high) <= MARGIN:
        return f"{size}, at most {100 * MARGIN:g} points in either direction"
    return f"{size}, inconclusive: too few pairs"


def format_percentage(estimate: Estimate) -> str:
    """Format a fraction as a percentage with its interval.

    >>> format_percentage(Estimate(0.909, 0.902, 0.915, 3697)), format_percentage(Estimate(None, None, None, 0))
    ('90.9 % [90.2, 91.5]', 'none')
    """
    if estimate.value is None:
        return "none"
    if estimate.low is None or estimate.high is None:
        return f"{format_points(estimate.value)} %"
    return f"{format_points(estimate.value)} % [{format_points(estimate.low)}, {format_points(estimate.high)}]"


def format_points(value: float) -> str:
    """Format a fraction in percentage points with one decimal.

    >>> format_points(-0.0804), format_points(0.3225)
    ('−8.0', '32.3')
    """
    # Rounded to three decimals first, as tables show the share: both then agree at halves. `+ 0.0` turns -0.0 into 0.0.
    return f"{100 * float(f'{value:.3f}') + 0.0:.1f}".replace("-", "−")


def _signed(value: float) -> str:
    return format_points(value) if value <= 0 else f"+{format_points(value)}"
