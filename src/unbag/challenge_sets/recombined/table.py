"""Document consistency as a table."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.recombined import EXCHANGED, SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import (
    create_result_table,
    format_interval,
    format_share,
    format_value,
    summarize_exclusions,
    summarize_rejections,
)

_ORDER: Final = (*EXCHANGED, "removed")
_ENOUGH: Final = 20  # claims of an operation, below which its rate says little


def build_table(result: Result) -> RenderableType:
    """Build the table of the three metrics overall, by document size, by evidence position and by operation."""
    scores = result.scores
    grid = create_result_table(SET.title, result, "rows", "balanced acc. [95 %]", "false ent.", "paired acc.")
    views: Sequence[list[tuple[str, Mapping[str, Any]]]] = (
        [("all", scores)],
        [(f"k = {row['k']}", row) for row in scores["by_k"]],
        [(f"evidence at the {row['third']}", row) for row in scores["by_position"]],
        [(row["operation"], row) for row in _by_operation(scores)],
    )
    for view in views:
        for number, (name, part) in enumerate(view, start=1):
            single = (format_value(part[key]) for key in ("false_entailment_rate", "paired_accuracy"))
            grid.add_row(name, format_interval(part["balanced_accuracy"]), *single, end_section=number == len(view))
    about = f"{scores['n_examples']:,} rows, {scores['n_groups']:,} documents, of {summarize_exclusions(result.data)}"
    reasons = summarize_rejections(result, "excluded: ")
    notes = [about, *([f"Most frequent reasons for sentences without a claim: {reasons}"] if reasons else [])]
    return Group(grid, *(Text(note, style="dim") for note in notes))


def summarize_result(result: Result) -> str:
    """Summarize the false-entailment rate on exchanged claims, and the fraction of documents without errors."""
    scores = result.scores
    worst = _worst_exchange(scores)
    most = (
        ""
        if worst is None
        else (f", most often those with another {worst['operation']} ({format_share(worst['false_entailment_rate'])})")
    )
    return (
        f"predicts entailment for {format_share(scores['false_entailment_rate'])} of the unsupported claims{most}; all "
        f"rows are correct for {format_share(scores['paired_accuracy'])} of the documents (a constant prediction, "
        "or a model that uses only the claim: 0 %)."
    )


def _worst_exchange(scores: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Find the exchange with the most false entailments; None if few rows or a tie leave that open.

    A constant prediction has the same rate for every exchange.
    """
    rates = [
        (row["false_entailment_rate"].value, row)
        for row in _by_operation(scores)
        if row["operation"] in EXCHANGED and row["false_entailment_rate"].n >= _ENOUGH
    ]
    highest = max((rate for rate, _ in rates), default=0)
    worst = [row for rate, row in rates if rate == highest]
    return worst[0] if len(rates) > 1 and len(worst) == 1 else None


def _by_operation(scores: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Sort the measures by operation: the exchanges, then the documents without evidence."""
    return sorted(scores["by_operation"], key=lambda row: _ORDER.index(row["operation"]))
