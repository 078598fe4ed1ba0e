"""Report of SOSwap/AddAmod: terminal table, metrics, figures and examples."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.results import Result
from unbag.challenge_sets.soswap_addamod import KINDS, SET
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    PredictedPairs,
    ReportExample,
    build_pair_lines,
    mark_phrases,
    select_top_rows,
)
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure
from unbag.challenge_sets.views.tables import (
    create_result_table,
    format_interval,
    format_percentage,
    summarize_exclusions,
    summarize_rejections,
)
from unbag.data.columns import read_column
from unbag.data.labels import ENTAILMENT
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.skill import MIN_LABEL_ROWS


def build_table(result: Result) -> RenderableType:
    """Build the table of accuracy and predicted label fractions with intervals, for SOSwap and for AddAmod pairs."""
    parts = _parts(result)
    grid = create_result_table(SET.title, result, "predicted [95 %]", *(KINDS[kind] for kind in parts))
    for label in result.scores["shares"]:
        grid.add_row(label, *(format_interval(part["shares"][label]) for part in parts.values()))
    grid.add_row("right", *(format_interval(part["accuracy"]) for part in parts.values()))
    pairs = ", ".join(f"{part['n_examples']:,} {KINDS[kind]}" for kind, part in parts.items())
    notes = [f"{pairs} pairs, of {summarize_exclusions(result.data)}", *_explain_few_pairs(result)]
    return Group(grid, *(Text(note, style="dim") for note in notes))


def summarize_result(result: Result) -> str:
    """Summarize the accuracy and the fraction of entailment predictions on SOSwap and on AddAmod pairs."""
    parts = _parts(result)
    right = " and ".join(
        f"{format_percentage(part['accuracy'])} of {part['n_examples']:,} {KINDS[kind]} pairs"
        for kind, part in parts.items()
    )
    # A single kind has a single gold label, so a constant prediction is perfect on it.
    alone = "" if len(parts) > 1 else " (a constant prediction can reach 100 % on one kind)"
    entailed = result.scores["shares"].get(ENTAILMENT)
    wrong = (
        f"; entailment, never the gold label, is predicted for {format_percentage(entailed)}"
        if entailed is not None
        else ""
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


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the accuracy and the fraction of each predicted label, for SOSwap and for AddAmod pairs."""
    for kind, name in KINDS.items():
        if kind in (parts := scores["by_subset"]):
            yield name, f"share of correct pairs among {parts[kind]['n_examples']:,}", parts[kind]["accuracy"]
            for label, share in parts[kind]["shares"].items():
                yield f"{name}: {label}", "share of predictions", share


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build two figures of the distribution of predicted labels: one for SOSwap, one for AddAmod."""
    right = {"soswap": "contradiction", "addamod": "neutral"}
    return [
        build_group_figure(
            group,
            _shares(kind),
            title=f"Predictions for {name}",
            about=f"Share of the pairs by predicted label. The correct label is {right[kind]}. For a bag of words, "
            "premise and hypothesis are identical.",
            x="predicted label",
            y="share of pairs",
            kind="dots",
        )
        for kind, name in KINDS.items()
    ]


def _shares(kind: str) -> Callable[[Any], Iterable[tuple[float | str, Estimate]]]:
    def points(scores: Any) -> Iterable[tuple[float | str, Estimate]]:
        shares: Iterable[tuple[str, Estimate]] = scores["by_subset"].get(kind, {}).get("shares", {}).items()
        return shares

    return points


EXAMPLE_RULE: Final = (
    f"Up to {PER_KIND} pairs of each kind, sorted by the probability of the prediction. Marks show the phrases that "
    "changed places, or the adjective and its noun."
)
MARK_MEANINGS: Final[Mapping[str, str]] = {"moved": "moved words"}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most confident wrong and correct predictions for SOSwap and for AddAmod pairs."""
    pairs = PredictedPairs(rows, predictions)
    kinds = np.array(read_column(rows, "kind").to_pylist(), dtype=np.str_)
    for name, words in KINDS.items():
        for outcome, wanted in (("wrong", ~pairs.right), ("right", pairs.right)):
            for index in select_top_rows(np.flatnonzero(wanted & (kinds == name)), pairs.confidence):
                yield _example(pairs, f"{words}, most confident {outcome}", index)


def select_short_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Iterate over the shortest pairs."""
    pairs = PredictedPairs(rows, predictions)
    for index in pairs.select_shortest(np.arange(len(pairs.gold))):
        yield _example(pairs, KINDS[pairs.get_row(index)["kind"]], index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    row = pairs.get_row(index)
    lines = build_pair_lines(row, lambda side: mark_phrases(row[side], _moved(row, side), "moved"))
    return pairs.build_example(kind, index, lines)


def _moved(row: dict[str, Any], side: str) -> list[str | None]:
    return [row["subject"], row["object"], row["adjective"], row[f"{side}_noun"]]
