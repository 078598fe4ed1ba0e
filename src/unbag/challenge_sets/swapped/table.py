"""Terminal table of swap consistency."""

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.results import Result
from unbag.challenge_sets.swapped import SET
from unbag.challenge_sets.views.tables import (
    create_result_table,
    describe_change,
    format_interval,
    format_points,
    format_share,
    format_value,
    summarize_exclusions,
)


def build_table(result: Result) -> RenderableType:
    """Build the table of accuracy before and after the exchange, drop and agreement, by label.

    The numbers are those of the paper's Table 1.
    """
    scores = result.scores
    grid = create_result_table(SET.title, result, "accuracy", "as given", "exchanged", "drop [95 %]", "same prediction")
    grid.collapse_padding = True  # with intervals, the table fits 80 columns
    parts = {"both labels": scores, **{f"  {name}": part for name, part in scores["by_label"].items()}}
    for name, part in parts.items():
        before, after, drop = (part[key] for key in ("accuracy_before", "accuracy_after", "drop"))
        grid.add_row(
            name, format_value(before), format_value(after), format_interval(drop), format_value(part["agreement"])
        )
    whole = (format_value(scores["overall"][key]) for key in ("accuracy_before", "accuracy_after", "drop"))
    note = (
        f"{summarize_exclusions(result.data)}. Entailment pairs ({scores['n_excluded']:,}) are not exchanged. Accuracy "
        "on all pairs, with these in the original order (Table 1): {} before, {} after, drop {}.".format(*whole)
    )
    return Group(grid, Text(note, style="dim"))


def summarize_result(result: Result) -> str:
    """Summarize how the accuracy changes when premise and hypothesis are exchanged."""
    scores = result.scores
    if scores["drop"].value is None:
        return "no pair is neutral or a contradiction."
    before, after = scores["accuracy_before"], scores["accuracy_after"]
    return (
        f"correct on {format_share(before)} of {after.n:,} neutral pairs and contradictions as given, and on "
        f"{format_share(after)} "
        f"with premise and hypothesis exchanged: {describe_change(scores['drop'])}; "
        f"{format_points(scores['agreement'].value)} % have the same prediction both times."
    )
