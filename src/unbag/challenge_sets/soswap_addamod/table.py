"""Terminal table of the label distribution on SOSwap and AddAmod."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.results import Result
from unbag.challenge_sets.soswap_addamod import KINDS, SET
from unbag.challenge_sets.views.tables import (
    create_result_table,
    format_interval,
    format_share,
    summarize_exclusions,
    summarize_rejections,
)
from unbag.data.labels import ENTAILMENT
from unbag.scoring.skill import MIN_LABEL_ROWS


def build_table(result: Result) -> RenderableType:
    """Build the table of predicted label fractions and accuracy with intervals, one column per kind of pair."""
    parts = _parts(result)
    grid = create_result_table(SET.title, result, "predicted [95 %]", *(KINDS[kind] for kind in parts))
    for label in result.scores["shares"]:
        grid.add_row(label, *(format_interval(part["shares"][label]) for part in parts.values()))
    grid.add_row("right", *(format_interval(part["accuracy"]) for part in parts.values()))
    pairs = ", ".join(f"{part['n_examples']:,} {KINDS[kind]}" for kind, part in parts.items())
    notes = [f"{pairs} pairs, of {summarize_exclusions(result.data)}", *_explain_few_pairs(result)]
    return Group(grid, *(Text(note, style="dim") for note in notes))


def summarize_result(result: Result) -> str:
    """Summarize the accuracy per kind of pair, and the fraction of pairs predicted as entailment."""
    parts = _parts(result)
    right = " and ".join(
        f"{format_share(part['accuracy'])} of {part['n_examples']:,} {KINDS[kind]} pairs"
        for kind, part in parts.items()
    )
    # A single kind has a single gold label, so a constant prediction is perfect on it.
    alone = "" if len(parts) > 1 else " (a constant prediction can reach 100 % on one kind)"
    entailed = result.scores["shares"].get(ENTAILMENT)
    wrong = (
        f"; entailment, never the gold label, is predicted for {format_share(entailed)}" if entailed is not None else ""
    )
    return f"correct on {right}{alone}{wrong}."


def _parts(result: Result) -> dict[str, Mapping[str, Any]]:
    parts = result.scores["by_subset"]
    return {kind: parts[kind] for kind in KINDS if kind in parts}


def _explain_few_pairs(result: Result) -> Iterator[str]:
    """Iterate over the kinds for which a text yields too few pairs for a skill score, with the reasons."""
    parts = _parts(result)
    for kind, name in KINDS.items():
        n = parts[kind]["n_examples"] if kind in parts else 0
        reasons = summarize_rejections(result, f"{kind}: ")
        if n < MIN_LABEL_ROWS and reasons:
            yield f"Few {name} pairs ({n:,}). Most frequent reasons: {reasons}"
