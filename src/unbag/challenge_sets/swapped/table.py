"""Terminal table of swap consistency."""

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.results import Result
from unbag.challenge_sets.swapped import SET
from unbag.challenge_sets.views.tables import change, exclusion_summary, interval, points, result_table, share, value


def table(result: Result) -> RenderableType:
    """Build the table of accuracy as given and exchanged, drop and agreement by label, with the numbers of Table 1."""
    scores = result.scores
    grid = result_table(SET.title, result, "accuracy", "as given", "exchanged", "drop [95 %]", "same prediction")
    grid.collapse_padding = True  # with intervals, the table fits 80 columns
    parts = {"both labels": scores, **{f"  {name}": part for name, part in scores["by_label"].items()}}
    for name, part in parts.items():
        before, after, drop = (part[key] for key in ("accuracy_before", "accuracy_after", "drop"))
        grid.add_row(name, value(before), value(after), interval(drop), value(part["agreement"]))
    whole = (value(scores["overall"][key]) for key in ("accuracy_before", "accuracy_after", "drop"))
    note = (
        f"{exclusion_summary(result.data)}. Entailment pairs ({scores['n_excluded']:,}) are not exchanged. Accuracy on "
        "the whole set, with these as given both times (Table 1): {} before, {} after, drop {}.".format(*whole)
    )
    return Group(grid, Text(note, style="dim"))


def reading(result: Result) -> str:
    """Summarize how the accuracy changes when premise and hypothesis are exchanged."""
    scores = result.scores
    if scores["drop"].value is None:
        return "no pair is neutral or a contradiction."
    before, after = scores["accuracy_before"], scores["accuracy_after"]
    return (
        f"correct on {share(before)} of {after.n:,} neutral pairs and contradictions as given, and on {share(after)} "
        f"with premise and hypothesis exchanged: {change(scores['drop'])}; {points(scores['agreement'].value)} % get "
        "the same prediction both times."
    )
