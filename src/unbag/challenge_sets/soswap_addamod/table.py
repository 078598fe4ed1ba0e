"""Label shares on SOSwap and AddAmod as a table."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.results import Result
from unbag.challenge_sets.soswap_addamod import KINDS, SET
from unbag.challenge_sets.views.tables import exclusions, headed, interval, share
from unbag.data.labels import ENTAILMENT


def table(result: Result) -> RenderableType:
    """Return each label's share with its interval, a column a kind, and the accuracy."""
    parts = _parts(result)
    grid = headed(SET.title, result, "answers [95 %]", *(KINDS[kind] for kind in parts))
    for label in result.scores["shares"]:
        grid.add_row(label, *(interval(part["shares"][label]) for part in parts.values()))
    grid.add_row("right", *(interval(part["accuracy"]) for part in parts.values()))
    pairs = ", ".join(f"{part['n_examples']:,} {KINDS[kind]}" for kind, part in parts.items())
    return Group(grid, Text(f"{pairs} pairs, of {exclusions(result.data)}", style="dim"))


def reading(result: Result) -> str:
    """Return how often it is right of either kind, and how often it says that the same words entail each other."""
    parts = _parts(result)
    right = " and ".join(
        f"{share(part['accuracy'])} of {part['n_examples']:,} {KINDS[kind]} pairs" for kind, part in parts.items()
    )
    alone = "" if len(parts) > 1 else ", which one answer for all would be too"
    entailed = result.scores["shares"].get(ENTAILMENT)
    says = f"; it says entailment, which none is, to {share(entailed)}" if entailed is not None else ""
    return f"right on {right}{alone}{says}."


def _parts(result: Result) -> dict[str, Mapping[str, Any]]:
    parts = result.scores["by_subset"]
    return {kind: parts[kind] for kind in KINDS if kind in parts}
