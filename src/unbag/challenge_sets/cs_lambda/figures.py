"""Metrics and figures of CS_λ."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from unbag.challenge_sets.views.figures import Figure, FigurePoint, FigureSeries, ResultGroup, build_group_figure
from unbag.scoring.bootstrap import Estimate

_REFERENCES: Final = {"human": "one annotator", "majority": "best constant"}


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the accuracy, its drop, the best constant prediction and the human accuracy for each λ."""
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
