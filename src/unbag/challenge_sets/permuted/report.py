"""Report of permuted pairs: terminal table, metrics, figures and examples."""

from collections.abc import Callable, Iterator, Mapping
from math import log
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.permuted import SET
from unbag.challenge_sets.perturbations.permutation import CLUMPS
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    ExampleLine,
    PredictedPairs,
    ReportExample,
    build_pair_lines,
    mark_unchanged_sequences,
    round_probability,
    select_top_rows,
)
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure, build_point_estimate
from unbag.challenge_sets.views.tables import (
    create_result_table,
    format_interval,
    format_percentage,
    format_points,
    format_value,
    summarize_exclusions,
)
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.permutation_acceptance import ORIGINAL

MEANINGS: Final = {
    "accuracy": ("A", "correct in order"),
    "omega_max": ("Ω_max", "accepted in some order"),
    "omega_rand": ("Ω_rand", "… above chance"),
    "omega_all": ("Ω_1.0", "… in every order"),
    "acceptance": ("P", "accepted orders"),
    "p_c": ("P^c", "accepted, pair is correct"),
    "p_c_accepted": ("P^c′", "… if ever accepted"),
    "p_f": ("P^f", "accepted, pair is flipped"),
    "entropy_c": ("H^c", "entropy, pair is correct"),
    "entropy_f": ("H^f", "entropy, pair is flipped"),
}
_MIN_ORDERS: Final = 50  # from 50 permutations in a bin the standard error of their share is below 0.1


def build_table(result: Result) -> RenderableType:
    """Build the table of all metrics. Additional columns show the values at higher confidence thresholds."""
    scores = result.scores
    confident: Mapping[str, Any] = scores.get("confident", {})
    grid = create_result_table(
        SET.title, result, "", "", "value [95 %]", *(f"p ≥ {tau}" for tau in confident), n_text_columns=2
    )
    for name, (symbol, meaning) in MEANINGS.items():
        if name in scores:
            cells = [confident[tau].get(name) for tau in confident]
            grid.add_row(symbol, meaning, format_interval(scores[name]), *map(format_value, cells))
    notes = []
    if bins := [row for row in scores.get("by_minitree", ()) if row["n"] >= _MIN_ORDERS]:
        ratios = ", ".join(f"{row['low']:g} {row['acceptance']:.3f}" for row in bins)
        notes.append(f"accepted by POS mini-tree ratio, from: {ratios}")
    orders = f"{scores['n_examples']:,} examples × {scores['q']} orders (mode {result.config['mode']})"
    notes.append(f"{orders}, of {summarize_exclusions(result.data)}")
    return Group(grid, *(Text(note, style="dim") for note in notes))


def summarize_result(result: Result) -> str:
    """Summarize Permutation Acceptance and compare it with a bag of words and with chance."""
    scores = result.scores
    if scores["p_c"].value is None:
        return "no pair is correct in order, so no acceptance of correct pairs can be computed."
    return (
        f"on the {scores['n_c']:,} pairs that are correct in order, "
        f"{format_percentage(scores['p_c'])} of the {scores['q']} "
        "permutations per pair keep their label (a bag of words or a constant prediction: 100 %; chance: "
        f"{format_points(1 / scores['n_labels'])} %)."
    )


_MIN_EXAMPLES: Final = 10  # per bin, times q permutations: smaller bins depend on one or two examples
_CLUMP_BINS: Final = frozenset({"by_bleu_3", "by_bleu_4"})  # close to 0 for all pairs if every word moves alone
_BOXES: Final = {"c": "correct in order", "f": "wrong in order, but accepted"}
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
    """Iterate over the Permutation Acceptance metrics, as tuples (name, symbol in the paper, value).

    Ω_max and P^c are repeated for higher confidence thresholds.
    """
    for name, (symbol, meaning) in MEANINGS.items():
        if name in scores:
            yield meaning.replace("…", "accepted"), _in_paper(symbol), scores[name]
    for tau, estimates in scores.get("confident", {}).items():
        for name in ("omega_max", "p_c"):
            symbol, meaning = MEANINGS[name]
            yield f"{meaning}, p ≥ {tau}", f"{_in_paper(symbol)}, with this probability or more", estimates[name]


def _in_paper(symbol: str) -> str:
    return f"{symbol.replace('^c', 'ᶜ').replace('^f', 'ᶠ')} in the paper"


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


EXAMPLE_RULE: Final = (
    f"Up to {PER_KIND} examples of each kind. Most accepted: right in order, sorted by the share of accepted "
    "permutations, then by the mean probability of the gold label. The accepted permutation with the most confident "
    "prediction is shown. Flipped: wrong in order and accepted in some permutation, with the same sorting. Most "
    "refused: right in order, sorted by the share of refused permutations. The permutation refused with the highest "
    "probability is shown. Words that are still adjacent are marked."
)
MARK_MEANINGS: Final[Mapping[str, str]] = {"together": "words that are still adjacent"}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select example pairs. Each is shown with one of its permutations."""
    orders = _Orders(rows, predictions)
    pairs, share = orders.pairs, orders.accepted
    gold = predictions.probabilities[np.arange(len(pairs.gold)), pairs.gold].astype(np.float64)
    confidence = round_probability(orders.mean(gold))
    correct = pairs.right[orders.original_of]
    kinds = (
        ("most accepted", correct & (share > 0), (share, confidence), True),
        ("flipped", ~correct & (share > 0), (share, confidence), True),
        ("most refused", correct & (share < 1), (-share, -confidence), False),
    )
    for kind, wanted, keys, accepted in kinds:
        for source in select_top_rows(np.flatnonzero(wanted), *keys):
            candidates = orders.permutations_of(source)
            candidates = candidates[pairs.right[candidates] == accepted]
            yield orders.example(kind, source, int(candidates[pairs.confidence[candidates].argmax()]))


def select_short_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Iterate over the shortest pairs. Each is shown with its first permutation."""
    orders = _Orders(rows, predictions)
    for index in orders.pairs.select_shortest(orders.original_of):
        source = int(orders.source[index])
        yield orders.example("permuted", source, int(orders.permutations_of(source)[0]))


class _Orders:
    """The original pairs, numbered by first occurrence, and the permutations of each."""

    def __init__(self, rows: Any, predictions: SetPredictions) -> None:
        self.pairs = PredictedPairs(rows, predictions)
        self.source: NDArray[Any] = pc.dictionary_encode(read_column(rows, "source_id")).indices.to_numpy()
        is_original = read_numeric_column(rows, "permutation") == ORIGINAL
        originals, self._permuted = np.flatnonzero(is_original), np.flatnonzero(~is_original)
        self.original_of = np.empty(len(originals), dtype=np.int64)
        self.original_of[self.source[originals]] = originals
        self._source_of_permuted = self.source[self._permuted]
        self._q = np.bincount(self._source_of_permuted, minlength=len(originals))
        self.accepted = self.mean(self.pairs.right)

    def mean(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Compute the mean of `values` over the permutations of each pair, shape (pairs,)."""
        total = np.bincount(self._source_of_permuted, weights=values[self._permuted], minlength=len(self._q))
        means: NDArray[np.float64] = total / self._q
        return means

    def permutations_of(self, source: int) -> NDArray[np.int64]:
        """Find the row indices of the permutations of a pair."""
        rows: NDArray[np.int64] = self._permuted[self._source_of_permuted == source]
        return rows

    def example(self, kind: str, source: int, index: int) -> ReportExample:
        """Build an example that shows the original pair and one of its permutations."""
        original = int(self.original_of[source])
        first, row = self.pairs.get_row(original), self.pairs.get_row(index)
        lines = build_pair_lines(first)
        for name in ("premise", "hypothesis"):
            if row[name] != first[name]:
                lines.append(
                    ExampleLine(f"{name} permuted", row[name], mark_unchanged_sequences(first[name], row[name]))
                )
        note = f"{round(self.accepted[source] * self._q[source])} of {self._q[source]} permutations accepted"
        before = self.pairs.get_prediction(original, "in order")
        return self.pairs.build_example(kind, index, lines, note, before=before, where="permuted", has_order=False)
