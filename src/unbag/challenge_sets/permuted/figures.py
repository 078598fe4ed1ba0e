"""Permuted pairs."""

from collections.abc import Callable, Iterator
from math import log
from typing import Any, Final

from unbag.challenge_sets.permuted.table import MEANINGS
from unbag.challenge_sets.perturbations.permutation import CLUMPS
from unbag.challenge_sets.views.figures import Figure, Group, bare, figure_of
from unbag.scoring.bootstrap import Estimate

_ENOUGH: Final = 10  # examples' worth of orders in a bin: with fewer it is the luck of an example or two
_OF_CLUMPS: Final = frozenset({"by_bleu_3", "by_bleu_4"})  # near 0 for all where every word moves alone
_BOXES: Final = {"c": "D^c: right in order", "f": "D^f: wrong in order"}
_BINS: Final = {
    "by_bleu": ("Acceptance by BLEU-2", "how many pairs of neighbours survive the permutation", "BLEU-2, from"),
    "by_bleu_3": ("Acceptance by BLEU-3", "how many runs of three words survive the permutation", "BLEU-3, from"),
    "by_bleu_4": ("Acceptance by BLEU-4", "how many runs of four words survive the permutation", "BLEU-4, from"),
    "by_length": ("Acceptance by length", "the words of premise and hypothesis together", "words, from"),
    "by_minitree": ("Acceptance by POS mini-tree", "how usual the neighbours' parts of speech are", "ratio, from"),
}


def measures(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Yield the quantities of Permutation Acceptance, and two of them at higher confidence."""
    for name, (symbol, meaning) in MEANINGS.items():
        if name in scores:
            yield symbol, meaning.replace("…", "accepted"), scores[name]
    for tau, estimates in scores.get("confident", {}).items():
        for name in ("omega_max", "p_c"):
            symbol, meaning = MEANINGS[name]
            yield f"{symbol}, p ≥ {tau}", f"{meaning}, with probability {tau} or more", estimates[name]


def figures(group: Group) -> list[Figure | None]:
    """Return the Ω_x curve, how sure a model is of what it accepts, and acceptance by BLEU, length and mini-tree."""
    curve = figure_of(
        group,
        lambda scores: ((x, bare(share, scores["n_examples"])) for x, share in scores.get("curve", ())),
        title="The Ω_x curve",
        about="Share of examples of which more than a share x of the orders get the gold label. A model to which order "
        "matters falls early; a bag of words stays level at its accuracy.",
        x="x, share of orders accepted",
        y="Ω_x, share of examples",
        kind="curve",
    )
    boxes = figure_of(
        group,
        _quartiles,
        title="How sure it is of orders it accepts",
        about="The entropy of the answers to an example's accepted orders, as a share of the greatest there is: 0 is "
        "sure, 100 % has no opinion. A dot is the median example; the bar goes from the first quartile to the third.",
        x="examples",
        y="entropy",
        kind="dots",
    )
    clumped = group.scored[0].result.config.get("mode") in CLUMPS
    names = [name for name in _BINS if clumped or name not in _OF_CLUMPS]
    return [curve, boxes, *(_bins(group, name) for name in names)]


def _quartiles(scores: Any) -> Iterator[tuple[str, Estimate]]:
    """Yield the boxes of the paper's Figure 2, by the greatest entropy, so that two and three labels compare."""
    for name, place in _BOXES.items():
        if quartiles := scores.get(f"entropy_quartiles_{name}"):
            low, median, high = (share / log(scores["n_labels"]) for share in quartiles)
            yield place, Estimate(median, low, high, scores[f"n_{name}"])


def _bins(group: Group, name: str) -> Figure | None:
    title, about, x = _BINS[name]
    return figure_of(
        group,
        _points(name),
        title=title,
        about=f"Share of all orders that get the gold label, by {about}; bins of less than {_ENOUGH} "
        "examples' worth of orders are left out.",
        x=x,
        y="share of orders accepted",
        kind="curve",
    )


def _points(name: str) -> Callable[[Any], Iterator[tuple[float | str, Estimate]]]:
    def points(scores: Any) -> Iterator[tuple[float | str, Estimate]]:
        for row in scores.get(name, ()):
            if row["n"] >= _ENOUGH * scores["q"]:
                yield row["low"], bare(row["acceptance"], row["n"])

    return points
