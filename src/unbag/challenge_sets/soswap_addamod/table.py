"""Label shares on SOSwap and AddAmod as a table."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.soswap_addamod import KINDS
from unbag.labels import ENTAILMENT
from unbag.results import Result
from unbag.views.cells import headed, interval, left_out

_ENOUGH: Final = 50  # pairs of a kind: the standard error of a share is then a few hundredths
_SEES: Final = 0.8  # accuracy on either kind; the paper's people have .84 and .88
# Mean of the accuracies on both kinds, which have different labels: a model that answers both alike has no more.
_ALIKE: Final = 0.5
_MOSTLY: Final = 0.5  # of the pairs of either kind; no pair is an entailment, but its words say so


def table(result: Result) -> RenderableType:
    """Return each label's share with its interval, a column a kind, and the accuracy."""
    parts = _parts(result)
    grid = headed(result, "answers [95 %]", *(KINDS[kind] for kind in parts))
    for label in result.scores["shares"]:
        grid.add_row(label, *(interval(part["shares"][label]) for part in parts.values()))
    grid.add_row("right", *(interval(part["accuracy"]) for part in parts.values()))
    pairs = ", ".join(f"{part['n_examples']:,} {KINDS[kind]}" for kind, part in parts.items())
    return Group(grid, Text(f"{pairs} pairs, of {left_out(result.data)}", style="dim"))


def verdict(result: Result) -> str:
    """Return what the answers say of a model."""
    parts = _parts(result)
    if few := [KINDS[kind] for kind, part in parts.items() if part["n_examples"] < _ENOUGH]:
        return f"none yet; {_ENOUGH} pairs of {' and '.join(few)} are needed to judge by."
    right = {KINDS[kind]: part["accuracy"].value for kind, part in parts.items()}
    figures = " and ".join(f"{share:.0%} of {name} right" for name, share in right.items())
    entailed = [part["shares"][ENTAILMENT].value for part in parts.values() if ENTAILMENT in part["shares"]]
    if entailed and min(entailed) >= _MOSTLY:
        return f"the same words mean the same to it, whatever moved: {figures}."
    if len(right) < len(KINDS):
        return f"{figures}; only both kinds together tell that from one answer for all."
    if sum(right.values()) / len(right) <= _ALIKE:
        return f"no sign that it sees what moved: {figures}, no more than one answer for all."
    if min(right.values()) >= _SEES:
        return f"it sees what moved within the sentence: {figures}."
    return f"it sees some of what moved within the sentence: {figures}."


def _parts(result: Result) -> dict[str, Mapping[str, Any]]:
    parts = result.scores["by_subset"]
    return {kind: parts[kind] for kind in KINDS if kind in parts}
