"""SOSwap and AddAmod."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from unbag.challenge_sets.soswap_addamod import KINDS
from unbag.challenge_sets.views.figures import Figure, Group, figure_of
from unbag.scoring.bootstrap import Estimate


def measures(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Yield the accuracy on either kind, and the share of each answer."""
    for kind, name in KINDS.items():
        if kind in (parts := scores["by_subset"]):
            yield name, f"share of {parts[kind]['n_examples']:,} pairs right", parts[kind]["accuracy"]
            for label, share in parts[kind]["shares"].items():
                yield f"{name}: {label}", "share of answers", share


def figures(group: Group) -> list[Figure | None]:
    """Return the share of each answer, a figure a kind."""
    right = {"soswap": "contradiction", "addamod": "neutral"}
    return [
        figure_of(
            group,
            _shares(kind),
            title=f"Answers to {name}",
            about=f"Share of the pairs that get each label. The right one is {right[kind]}; to a bag of words premise "
            "and hypothesis are the same.",
            x="answer",
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
