"""Report of swapped pairs: terminal table, metrics, figures and examples."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.results import Result
from unbag.challenge_sets.swapped import SET
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    PredictedPairs,
    ReportExample,
    build_pair_lines,
    round_probability,
    select_top_rows,
)
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure, iter_metrics
from unbag.challenge_sets.views.tables import (
    create_result_table,
    describe_accuracy_drop,
    format_interval,
    format_percentage,
    format_points,
    format_value,
    summarize_exclusions,
)
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate


def build_table(result: Result) -> RenderableType:
    """Build the table of accuracy by label, before and after premise and hypothesis are exchanged.

    The table also contains accuracy drop and prediction agreement. The numbers are those of the paper's Table 1.
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
        f"correct on {format_percentage(before)} of {after.n:,} neutral pairs and contradictions as given, and on "
        f"{format_percentage(after)} "
        f"with premise and hypothesis exchanged: {describe_accuracy_drop(scores['drop'])}; "
        f"{format_points(scores['agreement'].value)} % have the same prediction both times."
    )


_MEANINGS: Final = {
    "accuracy_before": "of neutral pairs and contradictions",
    "accuracy_after": "of the same pairs",
    "drop": "accuracy as given minus accuracy exchanged",
    "agreement": "share of the same pairs",
    "accuracy_after_whole": "these pairs exchanged, entailment pairs as given",
}


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the metrics of the set, as tuples (label, meaning, value)."""
    return iter_metrics(SET, _MEANINGS, scores)


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build the figure of accuracy by label, before and after premise and hypothesis are exchanged."""
    return [
        build_group_figure(
            group,
            _points,
            title="Accuracy as given and exchanged",
            about="The closer the two dots of a label, the less the model depends on the order of the two sentences.",
            x="gold label",
            y="accuracy",
            kind="dots",
        )
    ]


def _points(scores: Any) -> Iterator[tuple[float | str, Estimate]]:
    for label, accuracies in scores["by_label"].items():
        yield f"{label}, as given", accuracies["accuracy_before"]
        yield f"{label}, exchanged", accuracies["accuracy_after"]


EXAMPLE_RULE: Final = (
    f"Up to {PER_KIND} examples of each kind, sorted by the mean probability of the two predictions. The exchanged "
    "pair is shown with both predictions."
)
MARK_MEANINGS: Final[Mapping[str, str]] = {}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select pairs whose prediction became wrong, became correct, or stayed wrong after swapping the sentences."""
    pairs = PredictedPairs(rows, predictions)
    after, before = _exchanged(rows)
    key = np.zeros(len(pairs.right))
    key[after] = round_probability((pairs.confidence[after] + pairs.confidence[before]) / 2)
    was = dict(zip(after.tolist(), before.tolist(), strict=True))
    kinds = (
        ("right, then wrong", pairs.right[before] & ~pairs.right[after]),
        ("wrong, then right", ~pairs.right[before] & pairs.right[after]),
        ("wrong both times", ~pairs.right[before] & ~pairs.right[after]),
    )
    for kind, wanted in kinds:
        for index in select_top_rows(after[wanted], key):
            yield _example(pairs, kind, index, was[index])


def select_short_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Iterate over the shortest pairs with premise and hypothesis exchanged."""
    pairs = PredictedPairs(rows, predictions)
    after, before = _exchanged(rows)
    was = dict(zip(after.tolist(), before.tolist(), strict=True))
    for index in pairs.select_shortest(after):
        yield _example(pairs, "exchanged", index, was[index])


def _exchanged(rows: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the indices of the exchanged rows, and those of the same pairs as given, shape (m,) each."""
    names, swapped = read_column(rows, "source_id").to_pylist(), read_numeric_column(rows, "swapped").astype(bool)
    originals = {names[index]: index for index in np.flatnonzero(~swapped).tolist()}
    after = np.flatnonzero(swapped)
    return after, np.array([originals[names[index]] for index in after.tolist()], dtype=np.int64)


def _example(pairs: PredictedPairs, kind: str, index: int, was: int) -> ReportExample:
    lines = build_pair_lines(pairs.get_row(index))
    return pairs.build_example(kind, index, lines, before=pairs.get_prediction(was, "as given"), where="exchanged")
