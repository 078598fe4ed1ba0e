"""Metrics and figures of the permuted set."""

from collections.abc import Callable, Iterator
from math import log
from typing import Any, Final

from unbag.challenge_sets.permuted.table import MEANINGS
from unbag.challenge_sets.perturbations.permutation import CLUMPS
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure, build_point_estimate
from unbag.scoring.bootstrap import Estimate

_MIN_EXAMPLES: Final = 10  # per bin, times q permutations: smaller bins depend on one or two examples
_CLUMP_BINS: Final = frozenset({"by_bleu_3", "by_bleu_4"})  # close to 0 for all pairs if every word moves alone
_BOXES: Final = {"c": "D^c: right in order", "f": "D^f: wrong in order"}
_BINS: Final = {
    "by_bleu": ("Acceptance by BLEU-2", "the share of adjacent word pairs that the permutation keeps", "BLEU-2, from"),
    "by_bleu_3": ("Acceptance by BLEU-3", "the share of three-word runs that the permutation keeps", "BLEU-3, from"),
    "by_bleu_4": ("Acceptance by BLEU-4", "the share of four-word runs that the permutation keeps", "BLEU-4, from"),
    "by_length": ("Acceptance by length", "the number of words in premise and hypothesis together", "words, from"),
    "by_minitree": (
        "Acceptance by POS mini-tree",
        "how usual the parts of speech of adjacent words are",
        "ratio, from",
    ),
}


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the metrics of Permutation Acceptance, and over Ω_max and P^c at higher confidence thresholds."""
    for name, (symbol, meaning) in MEANINGS.items():
        if name in scores:
            yield symbol, meaning.replace("…", "accepted"), scores[name]
    for tau, estimates in scores.get("confident", {}).items():
        for name in ("omega_max", "p_c"):
            symbol, meaning = MEANINGS[name]
            yield f"{symbol}, p ≥ {tau}", f"{meaning}, with a probability of at least {tau}", estimates[name]


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build figures of the Ω_x curve, the entropies, and the acceptance by BLEU, length and mini-tree ratio."""
    curve = build_group_figure(
        group,
        lambda scores: ((x, build_point_estimate(share, scores["n_examples"])) for x, share in scores.get("curve", ())),
        title="The Ω_x curve",
        about="Share of examples for which more than a share x of the permutations get the gold label. For a model "
        "that uses word order, the curve falls early. For a bag of words, the curve is constant at the "
        "accuracy.",
        x="x, share of permutations accepted",
        y="Ω_x, share of examples",
        kind="curve",
    )
    boxes = build_group_figure(
        group,
        _quartiles,
        title="Entropy of accepted permutations",
        about="Mean entropy of the predictions for an example's accepted permutations, as a share of the maximum. 0 is "
        "fully confident, 100 % is uniform. A dot is the median example. The bar spans the first to third quartile.",
        x="examples",
        y="entropy",
        kind="dots",
    )
    clumped = group.scored_models[0].result.config.get("mode") in CLUMPS
    names = [name for name in _BINS if clumped or name not in _CLUMP_BINS]
    return [curve, boxes, *(_bins(group, name) for name in names)]


def _quartiles(scores: Any) -> Iterator[tuple[str, Estimate]]:
    """Iterate over the boxes of the paper's Figure 2, as shares of the maximum entropy for any number of labels."""
    for name, place in _BOXES.items():
        if quartiles := scores.get(f"entropy_quartiles_{name}"):
            low, median, high = (share / log(scores["n_labels"]) for share in quartiles)
            yield place, Estimate(median, low, high, scores[f"n_{name}"])


def _bins(group: ResultGroup, name: str) -> Figure | None:
    title, about, x = _BINS[name]
    return build_group_figure(
        group,
        _points(name),
        title=title,
        about=f"Share of all permutations that get the gold label, by {about}. Bins with fewer permutations than "
        f"{_MIN_EXAMPLES} examples have are omitted.",
        x=x,
        y="share of permutations accepted",
        kind="curve",
    )


def _points(name: str) -> Callable[[Any], Iterator[tuple[float | str, Estimate]]]:
    def points(scores: Any) -> Iterator[tuple[float | str, Estimate]]:
        for row in scores.get(name, ()):
            if row["n"] >= _MIN_EXAMPLES * scores["q"]:
                yield row["low"], build_point_estimate(row["acceptance"], row["n"])

    return points
