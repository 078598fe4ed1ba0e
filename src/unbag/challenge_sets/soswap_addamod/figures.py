"""Metrics and figures of SOSwap and AddAmod."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from unbag.challenge_sets.soswap_addamod import KINDS
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure
from unbag.scoring.bootstrap import Estimate


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the accuracy and the fraction of each predicted label, for each kind of pair."""
    for kind, name in KINDS.items():
        if kind in (parts := scores["by_subset"]):
            yield name, f"share of correct pairs among {parts[kind]['n_examples']:,}", parts[kind]["accuracy"]
            for label, share in parts[kind]["shares"].items():
                yield f"{name}: {label}", "share of predictions", share


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build the figures of the predicted label distribution, one figure per kind of pair."""
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
