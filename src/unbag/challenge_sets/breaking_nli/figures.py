"""Metrics and figures of Breaking NLI."""

from collections.abc import Iterator
from typing import Any

from unbag.challenge_sets.views.figures import (
    Figure,
    FigurePoint,
    FigureSeries,
    ResultGroup,
    build_group_figure,
    build_point_estimate,
)
from unbag.scoring.bootstrap import Estimate


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the accuracy on all pairs, the accuracy per label and the annotator agreement."""
    yield "accuracy", "share of correct pairs", scores["accuracy"]
    yield (
        "majority",
        "accuracy of the best constant prediction",
        build_point_estimate(scores["majority"], scores["n_examples"]),
    )
    for row in scores["by_label"]:
        yield scores["labels"][row["label"]], "share of correct pairs among those of this label", row["accuracy"]
    if "human" in scores:
        yield "human", "share of pairs where one annotator gives the gold label", scores["human"]
    if "kappa" in scores:
        yield "κ", "Fleiss' κ of the annotators: agreement beyond chance", scores["kappa"]["overall"]


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build figures of the accuracy by category and, if available, by similarity and frequency."""
    order = _order(group)
    human = tuple(
        FigurePoint(row["category"], row["human"])
        for row in group.scored_models[0].result.scores["by_category"]
        if "human" in row
    )
    category = build_group_figure(
        group,
        lambda scores: sorted(_categories(scores), key=lambda point: order[point[0]]),
        references=[FigureSeries("one annotator", human, is_reference=True)] if human else [],
        title="Accuracy by category of word",
        about="Categories are sorted by the accuracy of the first model. Lines are 95 % intervals.",
        x="category",
        y="accuracy",
        kind="dots",
    )
    similarity = build_group_figure(
        group,
        lambda scores: (
            (f"{row['low']:g} to {row['high']:g}", row["accuracy"]) for row in scores.get("by_similarity", ())
        ),
        title="Contradictions by similarity of the words",
        about="Accuracy by the cosine similarity of the two words' embeddings.",
        x="similarity",
        y="accuracy",
        kind="dots",
    )
    frequency = build_group_figure(
        group,
        lambda scores: ((_times(row), row["accuracy"]) for row in scores.get("by_frequency", ())),
        title="Contradictions by frequency in the training data",
        about="Accuracy by the number of contradicting training pairs that contain both words, one in each sentence.",
        x="training pairs",
        y="accuracy",
        kind="dots",
    )
    return [category, similarity, frequency]


def _categories(scores: Any) -> Iterator[tuple[str, Estimate]]:
    for row in scores["by_category"]:
        yield row["category"], row["accuracy"]


def _order(group: ResultGroup) -> dict[str, int]:
    best = sorted(_categories(group.scored_models[0].result.scores), key=lambda point: -(point[1].value or 0))
    return {name: number for number, (name, _) in enumerate(best)}


def _times(row: Any) -> str:
    least, most = row["least"], row["most"]
    return f"{least}+" if most is None else f"{least}" if least == most else f"{least}-{most}"
