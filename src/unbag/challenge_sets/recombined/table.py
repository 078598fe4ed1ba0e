"""Document consistency as a table."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.recombined import SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import headed, interval, left_out, share, value


def table(result: Result) -> RenderableType:
    """Build a table of the three measures, overall, by size of the document, by position and by operation."""
    scores = result.scores
    grid = headed(SET.title, result, "rows", "balanced acc. [95 %]", "false ent.", "paired acc.")
    parts = list(_parts(scores))
    for number, (name, part) in enumerate(parts):
        is_last = number + 1 < len(parts) and _view(parts[number + 1][0]) != _view(name)
        cells = (interval(part["balanced_accuracy"]), *(value(part[key]) for key in _SINGLE))
        grid.add_row(name, *cells, end_section=is_last)
    about = f"{scores['n_examples']:,} rows, {scores['n_groups']:,} documents, of {left_out(result.data)}"
    return Group(grid, Text(about, style="dim"))


def reading(result: Result) -> str:
    """Describe how often the model takes exchanged claims for supported, and how many documents it gets right."""
    scores = result.scores
    wrong = share(scores["false_entailment_rate"])
    worst = max(
        scores["by_operation"], key=lambda row: row["false_entailment_rate"].value or 0.0, default={"operation": ""}
    )
    most = (
        f", most of those with another {worst['operation']} ({share(worst['false_entailment_rate'])})"
        if worst["operation"] not in ("", "removed")
        else ""
    )
    return (
        f"calls {wrong} of the claims entailed that their document does not support{most}; it is right on every row of "
        f"{share(scores['paired_accuracy'])} of the documents (a bag of words and one answer for all: 0 %)."
    )


_SINGLE = ("false_entailment_rate", "paired_accuracy")


def _parts(scores: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the parts of the rows with their measures, all rows first."""
    yield "all", scores
    for row in scores["by_k"]:
        yield f"k = {row['k']}", row
    for row in scores["by_position"]:
        yield f"evidence at the {row['third']}", row
    for row in scores["by_operation"]:
        yield row["operation"], row


def _view(name: str) -> str:
    return name.split()[0] if name.startswith(("k =", "evidence")) or name == "all" else "operation"
