"""Breaking NLI."""

from collections.abc import Iterator
from typing import Any

from unbag.challenge_sets.views.figures import Figure, Group, Point, Series, bare, figure_of
from unbag.scoring.bootstrap import Estimate


def measures(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Yield accuracy on all pairs and on those of each label."""
    yield "accuracy", "share of pairs right", scores["accuracy"]
    yield "majority", "what one constant answer gets", bare(scores["majority"], scores["n_examples"])
    for row in scores["by_label"]:
        yield scores["labels"][row["label"]], "share of the pairs of this label right", row["accuracy"]
    if "human" in scores:
        yield "human", "how often one annotator gives the gold label", scores["human"]
    if "kappa" in scores:
        yield "κ", "Fleiss' κ of the annotators: agreement beyond chance", scores["kappa"]["overall"]


def figures(group: Group) -> list[Figure | None]:
    """Return accuracy by category, and by similarity and frequency where they were measured."""
    order = _order(group)
    people = tuple(
        Point(row["category"], row["human"]) for row in group.scored[0].result.scores["by_category"] if "human" in row
    )
    category = figure_of(
        group,
        lambda scores: sorted(_categories(scores), key=lambda point: order[point[0]]),
        references=[Series("one annotator", people, is_reference=True)] if people else [],
        title="Accuracy by category of word",
        about="Categories from the best to the worst of the first model; lines are 95 % intervals.",
        x="category",
        y="accuracy",
        kind="dots",
    )
    similarity = figure_of(
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
    frequency = figure_of(
        group,
        lambda scores: ((_times(row), row["accuracy"]) for row in scores.get("by_frequency", ())),
        title="Contradictions by what training showed",
        about="Accuracy by how many contradicting training pairs have the one word and the other.",
        x="training pairs",
        y="accuracy",
        kind="dots",
    )
    return [category, similarity, frequency]


def _categories(scores: Any) -> Iterator[tuple[str, Estimate]]:
    for row in scores["by_category"]:
        yield row["category"], row["accuracy"]


def _order(group: Group) -> dict[str, int]:
    best = sorted(_categories(group.scored[0].result.scores), key=lambda point: -(point[1].value or 0))
    return {name: number for number, (name, _) in enumerate(best)}


def _times(row: Any) -> str:
    least, most = row["least"], row["most"]
    return f"{least}+" if most is None else f"{least}" if least == most else f"{least}-{most}"
