"""Swap consistency as a table."""

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.results import Result
from unbag.challenge_sets.swapped import SET
from unbag.challenge_sets.views.tables import change, exclusions, headed, interval, points, share, value


def table(result: Result) -> RenderableType:
    """Return accuracy as given and exchanged, the drop and the agreement, by label; below it the paper's Table 1."""
    scores = result.scores
    grid = headed(SET.title, result, "accuracy", "as given", "exchanged", "drop [95 %]", "same answer")
    kept = {"both labels": scores, **{f"  {name}": part for name, part in scores["by_label"].items()}}
    for name, part in kept.items():
        before, after, drop = (part[key] for key in ("accuracy_before", "accuracy_after", "drop"))
        grid.add_row(name, value(before), value(after), interval(drop), value(part["agreement"]))
    whole = (value(scores["overall"][key]) for key in ("accuracy_before", "accuracy_after", "drop"))
    about = (
        f"{exclusions(result.data)}. Entailment pairs ({scores['n_excluded']:,}) are not exchanged; accuracy on the "
        "whole set, these as given both times (Table 1): {} before, {} after, drop {}.".format(*whole)
    )
    return Group(grid, Text(about, style="dim"))


def reading(result: Result) -> str:
    """Return how the accuracy changes when the sentences change places."""
    scores = result.scores
    if scores["drop"].value is None:
        return "no pair is neutral or a contradiction."
    before, after = scores["accuracy_before"], scores["accuracy_after"]
    return (
        f"of {after.n:,} neutral pairs and contradictions {share(before)} right as given, {share(after)} when premise "
        f"and hypothesis change places: {change(scores['drop'])}; {points(scores['agreement'].value)} % get the same "
        "answer both times."
    )
