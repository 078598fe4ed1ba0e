"""Swap consistency as a table."""

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.results import Result
from unbag.views.cells import headed, interval, left_out, value


def table(result: Result) -> RenderableType:
    """Return accuracy before and after, the drop and the agreement, by label."""
    scores = result.scores
    grid = headed(result, "pairs", "before", "after", "drop [95 %]", "same answer")
    kept = {"neutral, contradiction": scores, **{f"  {name}": part for name, part in scores["by_label"].items()}}
    for name, part in (kept | {"all (Table 1)": scores["whole"]}).items():
        before, after, drop = (part[key] for key in ("accuracy_before", "accuracy_after", "drop"))
        same = part.get("agreement")
        grid.add_row(name, value(before), value(after), interval(drop), value(same))
    about = f"{left_out(result.data)}. Entailment pairs ({scores['n_left_out']:,}) are not exchanged."
    return Group(grid, Text(about, style="dim"))


def verdict(result: Result) -> str:
    """Return whether the answers stay when the sentences change places."""
    drop, same = result.scores["drop"], result.scores["agreement"]
    if drop.value is None:
        return "none; no pair is neutral or a contradiction."
    kept = f"{same.value:.0%} of its answers stay when premise and hypothesis change places"
    if drop.low is not None and drop.low <= 0:
        return f"{kept}, and it is right no less often."
    return f"{kept}, and it is right {100 * drop.value:.1f} points less often."
