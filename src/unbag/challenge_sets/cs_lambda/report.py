"""Report of CS_λ: terminal table, metrics, figures and examples."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.cs_lambda import SET
from unbag.challenge_sets.cs_lambda.scores import MISLED
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    PredictedPairs,
    ReportExample,
    TextMark,
    build_pair_lines,
    mark_phrases,
    select_top_rows,
)
from unbag.challenge_sets.views.figures import Figure, FigurePoint, FigureSeries, ResultGroup, build_group_figure
from unbag.challenge_sets.views.tables import (
    create_result_table,
    describe_accuracy_drop,
    format_interval,
    format_percentage,
    format_points,
    format_value,
    summarize_exclusions,
)
from unbag.data.columns import read_numeric_column
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate

_MIN_PAIRS: Final = 50  # from 50 pairs the standard error of an accuracy is below 0.1


def build_table(result: Result) -> RenderableType:
    """Build the table of metrics for each λ.

    The metrics are the accuracy, the drop compared with all pairs, the accuracy of the best constant prediction and the
    human accuracy.
    """
    subsets = result.scores["subsets"]
    has_human = any("human" in subset for subset in subsets)
    grid = create_result_table(
        SET.title, result, "", "n", "accuracy [95 %]", "drop [95 %]", "constant", *(["human"] if has_human else [])
    )
    grid.collapse_padding = True  # with intervals, the table fits 80 columns
    for subset in subsets:
        cells = [format_interval(subset["accuracy"]), format_interval(subset["drop"]) if subset["lambda"] else ""]
        human = [format_value(subset.get("human"))] if has_human else []
        name = f"CS_{subset['lambda']:g}" if subset["lambda"] else "all"
        grid.add_row(name, f"{subset['n']:,}", *cells, format_value(subset["majority"]), *human)
    models = result.config.get("lexical_models", [])
    return Group(grid, Text(f"{summarize_exclusions(result.data)}. {_lexical(models)}", style="dim"))


def summarize_result(result: Result) -> str:
    """Summarize the accuracy on CS_0.7, compared with the best constant prediction and the accuracy on all pairs."""
    subsets = result.scores["subsets"]
    hardest = next((subset for subset in subsets if subset["lambda"] == MISLED), None)
    if hardest is None or hardest["n"] < _MIN_PAIRS:
        pairs = 0 if hardest is None else hardest["n"]
        return (
            f"too few misleading pairs: {pairs:,} of {subsets[0]['n']:,} pairs are in CS_{MISLED:g}, {_MIN_PAIRS} "
            "are needed."
        )
    accuracy, majority = hardest["accuracy"], hardest["majority"]
    label = result.scores["labels"][hardest["majority_label"]]
    return (
        f"with misleading lexical cues (λ = {hardest['lambda']:g}), correct on {format_percentage(accuracy)} of "
        f"{accuracy.n:,} pairs "
        f"(always {label}: {format_points(majority.value)} %); compared with all pairs, "
        f"{describe_accuracy_drop(hardest['drop'])}."
    )


def _lexical(models: list[dict[str, Any]]) -> str:
    """Describe the training data of the lexical model; empty without a lexical model."""
    if not models:
        return ""
    names = ", ".join(f"{part['origin']} {part['split']}".strip() for part in models[0]["training"])
    folds = f", in {len(models)} folds" if len(models) > 1 else ""
    return f"Lexical model: {models[0]['pairs']:,} pairs of {names}{folds}."


_REFERENCES: Final = {"human": "one annotator", "majority": "best constant"}


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the metrics for each λ, as tuples (label, meaning, value).

    The metrics are the accuracy, the drop compared with all pairs, the accuracy of the best constant prediction and the
    human accuracy.
    """
    for subset in scores["subsets"]:
        name = f"CS_{subset['lambda']:g}" if subset["lambda"] else "all"
        yield name, f"accuracy on {subset['n']:,} pairs", subset["accuracy"]
        if subset["lambda"]:
            yield f"{name} drop", f"accuracy on all pairs minus accuracy on {name}", subset["drop"]
        yield f"{name} majority", "accuracy of always predicting the most frequent label", subset["majority"]
        if "human" in subset:
            yield f"{name} human", "accuracy of one annotator, drawn at random", subset["human"]


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build the figure of accuracy by λ, with human accuracy and the best constant prediction as references."""
    scores = group.scored_models[0].result.scores
    references = [
        FigureSeries(
            name,
            tuple(FigurePoint(*point) for point in _points(key)(scores)),
            is_reference=True,
            reference_index=number,
        )
        for number, (key, name) in enumerate(_REFERENCES.items())
        if key in scores["subsets"][0]
    ]
    return [
        build_group_figure(
            group,
            _points("accuracy"),
            references=references,
            title="Accuracy by λ",
            about="λ is the lowest LMS of a pair: the lexical model's probability of a wrong label. λ = 0 includes all "
            "pairs, λ = 0.7 the most misleading ones.",
            x="λ",
            y="accuracy",
            kind="curve",
        )
    ]


def _points(key: str) -> Callable[[Any], Iterator[tuple[float | str, Estimate]]]:
    def points(scores: Any) -> Iterator[tuple[float | str, Estimate]]:
        for subset in scores["subsets"]:
            if subset["n"]:
                yield subset["lambda"], subset[key]

    return points


EXAMPLE_RULE: Final = (
    f"Up to {PER_KIND} examples of each kind, sorted by the lexical model's probability of a wrong label (LMS), for "
    "wrong and for right predictions. The words of the most misleading features are marked."
)
MARK_MEANINGS: Final[Mapping[str, str]] = {"misleads": "misleading words"}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most misleading pairs: first those predicted wrongly, then those predicted correctly."""
    pairs = PredictedPairs(rows, predictions)
    lms = read_numeric_column(rows, "lms").astype(np.float64)
    for kind, wanted in (("most misleading, wrong", ~pairs.right), ("most misleading, right", pairs.right)):
        for index in select_top_rows(np.flatnonzero(wanted), lms):
            yield _example(pairs, kind, index)


def select_short_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Iterate over the shortest pairs of the subset CS_0.7."""
    pairs = PredictedPairs(rows, predictions)
    for index in pairs.select_shortest(np.flatnonzero(read_numeric_column(rows, "lms").astype(np.float64) >= MISLED)):
        yield _example(pairs, "words mislead", index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    row = pairs.get_row(index)

    def mark(side: str) -> tuple[TextMark, ...]:
        return mark_phrases(row[side], [feature[side] for feature in row["misleading"]], "misleads")

    lines = build_pair_lines(row, mark)
    return pairs.build_example(kind, index, lines, _note(row))


def _note(row: dict[str, Any]) -> str:
    probabilities = {label: row[f"lexical_{label}"] for label in LABELS}
    likeliest = max(probabilities, key=probabilities.__getitem__)
    features = ", ".join(_feature(feature) for feature in row["misleading"])
    return f"lexical model: {likeliest} ({probabilities[likeliest]:.2f}); most misleading: {features}"


def _feature(feature: dict[str, Any]) -> str:
    sides = [f"{feature[side]} ({side})" for side in ("premise", "hypothesis") if feature[side]]
    name = f"{feature['premise']} → {feature['hypothesis']}" if len(sides) > 1 else sides[0]
    return f"{name} {feature['logit']:+.1f}"
