"""Terminal table of negation consistency."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.negation import OPERATIONS, SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import (
    create_result_table,
    format_interval,
    format_share,
    format_value,
    summarize_exclusions,
)

_ENOUGH: Final = 20  # premises of an operation, below which its accuracy says little


def build_table(result: Result) -> RenderableType:
    """Build the table of accuracy, false-entailment rate and mirror consistency, overall and by operation."""
    scores = result.scores
    grid = create_result_table(SET.title, result, "rows", "accuracy [95 %]", "false ent.", "mirrors right")
    parts = [("all", scores), *((part["operation"], part) for part in list_operation_scores(scores))]
    for number, (name, part) in enumerate(parts):
        single = (format_value(part[key]) for key in ("false_entailment_rate", "mirror_consistency"))
        grid.add_row(name, format_interval(part["accuracy"]), *single, end_section=number == 0)
    about = f"{scores['n_examples']:,} rows, {scores['n_mirrors']:,} mirrors, of {summarize_exclusions(result.data)}"
    return Group(grid, Text(about, style="dim"))


def summarize_result(result: Result) -> str:
    """Summarize the accuracy, the mirror consistency, and the operation with the lowest accuracy."""
    scores = result.scores
    lowest = _lowest_operation(scores)
    hardest = "" if lowest is None else f", least on {lowest['operation']} ({format_share(lowest['accuracy'])})"
    return (
        f"correct on {format_share(scores['accuracy'])} of the pairs{hardest}, and on both pairs of "
        f"{format_share(scores['mirror_consistency'])} of the mirrors: a hypothesis with two premises of the same "
        "words. A model that ignores word order has 50 % and 0 %."
    )


def list_operation_scores(scores: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List the scores of each operation, in the order of `OPERATIONS`."""
    return sorted(scores["by_operation"], key=lambda part: OPERATIONS.index(part["operation"]))


def _lowest_operation(scores: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Find the operation with the lowest accuracy; None if few premises or a tie leave that open."""
    parts = [part for part in scores["by_operation"] if part["accuracy"].n >= _ENOUGH]
    lowest = min((part["accuracy"].value for part in parts), default=None)
    found = [part for part in parts if part["accuracy"].value == lowest]
    return found[0] if len(parts) > 1 and len(found) == 1 else None
