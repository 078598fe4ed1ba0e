"""The score beyond words: 0 is the best that guessing or counting words gets on the same rows, 1 a perfect reader.

The papers' own numbers cannot be read alone: a coin has a lower P^c than any model, one answer for all is right on most
of Breaking NLI, and a bag of words is right on two thirds of SNLI. Here every set has one scale (ours), of which both
ends mean the same everywhere:

    score = (s - floor) / (1 - floor),    floor = max(0, s of the best that only counts words, on the same rows)

where s is the mean over gold labels of the mean credit of the rows with that label, moved and stretched so that a guess
and the best constant answer have 0 and a perfect reader has 1. (A constant that no row of a set has for its label, as
entailment on swapped pairs, is below 0.) With the credit 1 for a right answer and K gold labels,
s = (balanced accuracy - 1/K) / (1 - 1/K): each label weighs alike, so that no constant answer gains by a label being
frequent.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, Sample, resampled_sums, two_sided_p
from unbag.scoring.numbering import numbered
from unbag.scoring.student import widening

STATISTIC: Final = "beyond_words"
"""The name of this statistic in `scoring.paired.STATISTICS`."""

LEAST_ROWS: Final = 10
"""Rows of a gold label below which the label is left out: the mean over labels would rest on a few answers."""

_ZERO: Final = 1e-12  # what a constant answer has, but for rounding, must not be taken for more than a guess

Floats = NDArray[np.float64]


class Credits(NamedTuple):
    """What a model's answers to the rows of a set are worth, n rows.

    Attributes:
        credit: of each row, shape (n,).
        label: the gold label of each row, as an integer, shape (n,).
        source: what each row was made of, n hashable values; rows of one source are drawn together.
        counts: whether a row counts, shape (n,); None where all do.
        guess: the mean credit that a guess and each constant answer gets; None for 1/K of K gold labels, where the
            credit is 1 for a right answer and 0 for a wrong one.
        perfect: the mean credit of a perfect reader.
    """

    credit: NDArray[Any]
    label: NDArray[Any]
    source: Sequence[Hashable] | NDArray[Any]
    counts: NDArray[np.bool_] | None = None
    guess: float | None = None
    perfect: float = 1.0


class BeyondWordsScores(TypedDict):
    """The score beyond words with what it is made of; an `Estimate` is (value, low, high, n).

    Attributes:
        score: at most 1, below 0 where guessing or counting words does better. Its interval draws sources, with
            the model's answers and those of who counts words; `n` counts the rows.
        p: of the score being 0, two-sided, by the same draws; None without draws.
        model: s of the model.
        words: s of the best that counts words; None where none was asked.
        floor: what 0 stands for: `words` where that does better than a guess, else `guess`.
        labels: how many gold labels there are (K).
        sources: how many sources the rows are of.
        left_out: how many rows do not count since fewer than ten have their gold label.
    """

    score: Estimate
    p: float | None
    model: float
    words: float | None
    floor: str
    labels: int
    sources: int
    left_out: int


def beyond_words(
    model: Credits, words: Sequence[Credits] = (), *, resamples: int = DEFAULT_RESAMPLES, seed: int = 0
) -> BeyondWordsScores | None:
    """Return the score beyond words; None where fewer than two gold labels are left, so that one answer would do.

    Args:
        model: what the model's answers are worth.
        words: what the answers of those are worth who only count words, on the same rows; the best is the floor.
        resamples: bootstrap draws of the sources; 0 for neither interval nor p.
        seed: decides the draws.

    Raises:
        ValueError: if the two are not of the same rows.

    >>> right = np.array([1.0] * 15 + [0.0] * 5 + [1.0] * 20)
    >>> labels = np.repeat([0, 1], 20)
    >>> half = Credits(right, labels, range(40))
    >>> beyond_words(half)["score"].value  # balanced accuracy 0.875, of which a guess has 0.5
    0.75
    >>> counting = half._replace(credit=np.array([1.0] * 15 + [0.0] * 5 + [1.0] * 5 + [0.0] * 15))
    >>> beyond_words(half, [counting])["floor"]  # right on half: no more than a guess
    'guess'
    """
    if not all(np.array_equal(model.label, each.label) and list(model.source) == list(each.source) for each in words):
        raise ValueError("expected the answers of the model and of those who count words to the same rows")
    labels, of_label = np.unique(model.label, return_inverse=True)
    counted = np.ones(len(model.label), dtype=bool) if model.counts is None else np.asarray(model.counts, dtype=bool)
    enough = np.bincount(of_label[counted], minlength=len(labels)) >= LEAST_ROWS
    kept = counted & enough[of_label] if len(labels) else counted
    n_labels = int(enough.sum())
    if n_labels < 2:
        return None
    source, names = numbered(model.source)
    position = np.cumsum(enough)[of_label] - 1  # of each row's label among those that are left
    cell = source[kept] * n_labels + position[kept]

    def summed(values: NDArray[Any]) -> Floats:
        sums = np.bincount(cell, weights=np.asarray(values, dtype=np.float64), minlength=len(names) * n_labels)
        by_source: Floats = sums.reshape(len(names), n_labels).astype(np.float64)
        return by_source

    def scaled(credits: Credits) -> Floats:
        guess = 1 / n_labels if credits.guess is None else credits.guess
        return summed((np.asarray(credits.credit, dtype=np.float64)[kept] - guess) / (credits.perfect - guess))

    counts = summed(np.ones(kept.sum()))
    guessing = np.zeros_like(counts)  # a guess has 0 everywhere
    of_words = [scaled(each) for each in words]
    of_lexical = max(of_words, key=lambda each: _balanced_sum(each, counts), default=guessing)
    columns = np.concatenate([scaled(model), of_lexical, counts], axis=1)
    total = columns.sum(axis=0, keepdims=True)
    s_model, s_lexical = (_balanced_sum(part, counts) for part in (columns[:, :n_labels], of_lexical))
    value = float(statistic(total)[0])
    sources = int((counts.sum(axis=1) > 0).sum())
    low, high, p = _interval(columns, value, sources, resamples, seed)
    return {
        "score": Estimate(value, low, high, int(kept.sum())).of(Sample(STATISTIC, columns)),
        "p": p,
        "model": s_model,
        "words": s_lexical if words else None,
        "floor": "words" if s_lexical > 0 else "guess",
        "labels": n_labels,
        "sources": sources,
        "left_out": int((counted & ~kept).sum()),
    }


def statistic(sums: Floats) -> Floats:
    """Return the score from sums over sources.

    Args:
        sums: of the model's scaled credits by gold label, of those of who counts words, and of the rows, shape (r, 3K).

    Returns:
        Shape (r,); NaN where there is no row of a label. A floor of 1 leaves nothing to gain: 0. More
        credit than a perfect reader's, as never giving the gold label to scrambled text has, is 1.
    """
    of_model, of_words, counts = np.split(sums, 3, axis=1)
    model, words = _mean_of_labels(of_model, counts), _mean_of_labels(of_words, counts)
    floor = np.maximum(0.0, words)
    with np.errstate(invalid="ignore", divide="ignore"):
        scores: Floats = np.where(floor < 1, (model - floor) / (1 - floor), 0.0)
    scores[np.abs(scores) < _ZERO] = 0.0
    return np.minimum(scores, 1.0)


def _balanced_sum(credits: Floats, counts: Floats) -> float:
    """Return the mean over labels of the mean credit, from those of each source and label, shape (sources, K) both."""
    return float(_mean_of_labels(credits.sum(axis=0, keepdims=True), counts.sum(axis=0, keepdims=True))[0])


def _mean_of_labels(credits: Floats, counts: Floats) -> Floats:
    """Return the mean over labels of the mean credit, shape (r,), from sums of shape (r, K) both."""
    with np.errstate(invalid="ignore"):
        mean: Floats = (credits / counts).mean(axis=1)
    return mean


def _interval(
    columns: Floats, value: float, sources: int, resamples: int, seed: int
) -> tuple[float | None, float | None, float | None]:
    """Return the 95 % limits and the two-sided p of 0, by draws of the sources, so many of which have rows.

    The percentile bootstrap, and the p value that inverts it (`bootstrap.two_sided_p`). Of few sources a bootstrap is
    too narrow: the draws are spread by what Student's t has over the normal (`scoring.student`).
    """
    if not resamples or sources < 2:
        return None, None, None
    draws = statistic(resampled_sums(columns, resamples, seed))
    draws = value + (draws[~np.isnan(draws)] - value) * widening(sources)
    if not len(draws):
        return None, None, None
    low, high = np.percentile(draws, [2.5, 97.5])
    return float(low), float(min(high, 1.0)), two_sided_p(draws)
