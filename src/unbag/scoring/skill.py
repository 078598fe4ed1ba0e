"""The skill score: 0 is the best of what needs no word order on the same rows, 1 a perfect reader.

The papers' own numbers cannot be read alone: a coin has a lower P^c than any model, one answer for all is right on most
of Breaking NLI, and a bag of words is right on two thirds of SNLI. Here every set has one scale (ours), of which both
ends mean the same everywhere:

    score = (s - floor) / (1 - floor),    floor = max(0, s of the lexical baseline, s of the model's shuffled control)

where s is the mean over gold labels of the mean credit of the rows with that label, moved and stretched so that a guess
and the best constant answer have 0 and a perfect reader has 1. (A constant that no row of a set has for its label, as
entailment on swapped pairs, is below 0.) With the credit 1 for a right answer and K gold labels,
s = (balanced accuracy - 1/K) / (1 - 1/K): each label weighs alike, so that no constant answer gains by a label being
frequent.

The shuffled control is the model itself, asked the same rows with the words of both sentences shuffled
(`challenge_sets.perturbations.shuffled`). A model that is blind to word order answers these as it answers the rows,
so that no such model has a score above 0 on any set. What shuffling costs another model may be confusion rather than
reading: its control is a lower bound on what it gets without word order, and its score an upper bound on what word
order gives it.
"""

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import Any, Final, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from unbag.scoring.accuracy import Annotations, fleiss_kappa
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, Sample, resampled_sums, two_sided_p
from unbag.scoring.intervals import LEVEL, Floats, effective_sizes, widening
from unbag.scoring.validation import numbered

STATISTIC: Final = "skill"
"""The name of this statistic in `scoring.significance.STATISTICS`."""

LEAST_ROWS: Final = 50
"""Rows of a gold label below which the label is left out: the mean over labels would rest on a few answers."""

LEAST_KAPPA: Final = 0.1
"""Fleiss' κ of a gold label below which it is left out: annotators agree on it no more than by chance."""

_ZERO: Final = 1e-12  # what a constant answer has, but for rounding, must not be taken for more than a guess


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
        names: the gold labels' names, by the integers in `label`; None where a label has no other name.
    """

    credit: NDArray[Any]
    label: NDArray[Any]
    source: Sequence[Hashable] | NDArray[Any]
    counts: NDArray[np.bool_] | None = None
    guess: float | None = None
    perfect: float = 1.0
    names: Sequence[str] | None = None


class ExcludedLabel(TypedDict):
    """A gold label that does not count.

    Attributes:
        label: its name.
        rows: how many rows have it.
        reason: why it does not count.
    """

    label: str
    rows: int
    reason: str


class SkillScores(TypedDict):
    """The skill score with what it is made of; an `Estimate` is (value, low, high, n).

    Attributes:
        score: at most 1, below 0 where what needs no word order does better. Its interval draws sources, with the
            answers of the model, of its shuffled control and of the lexical baseline; `n` counts the rows.
        p: of the score being 0, two-sided, by the same draws; None without draws.
        model: s of the model.
        baseline: s of the lexical baseline; None without one.
        shuffled: s of the shuffled control; None where none was asked.
        reference: what 0 stands for, the best of these: `baseline`, `shuffled`, or else `chance`.
        n_labels: number of gold labels that count (K).
        n_sources: number of sources that the rows are made from.
        excluded: the gold labels that do not count.
    """

    score: Estimate
    p: float | None
    model: float
    baseline: float | None
    shuffled: float | None
    reference: str
    n_labels: int
    n_sources: int
    excluded: list[ExcludedLabel]


def skill_score(
    model: Credits,
    lexical: Credits | None = None,
    shuffled: Credits | None = None,
    *,
    annotators: Annotations | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> SkillScores | None:
    """Compute the skill score; None where fewer than two gold labels count, so that one answer would do.

    Args:
        model: what the model's answers are worth.
        lexical: what the lexical baseline's answers to the same rows are worth.
        shuffled: what the model's own answers to the same rows with shuffled words are worth.
        annotators: the labels that annotators gave each row, n lists of integers as in `model.label`; a label on which
            they do not agree is left out.
        resamples: bootstrap draws of the sources; 0 for neither interval nor p.
        seed: decides the draws.

    Raises:
        ValueError: if they are not of the same rows.

    >>> right = np.array([1.0] * 75 + [0.0] * 25 + [1.0] * 100)
    >>> labels = np.repeat([0, 1], 100)
    >>> half = Credits(right, labels, range(200))
    >>> skill_score(half)["score"].value  # balanced accuracy 0.875, of which a guess has 0.5
    0.75
    >>> counting = half._replace(credit=np.array([1.0] * 75 + [0.0] * 25 + [1.0] * 25 + [0.0] * 75))
    >>> skill_score(half, counting)["reference"]  # right on half: no more than a guess
    'chance'
    >>> skill_score(half, counting, shuffled=half)["score"].value  # blind to word order
    0.0
    """
    asked = [each for each in (lexical, shuffled) if each is not None]
    if not all(np.array_equal(model.label, each.label) and list(model.source) == list(each.source) for each in asked):
        raise ValueError("expected the answers of the model and of its baselines to the same rows")
    labels, of_label = np.unique(model.label, return_inverse=True)
    counted = np.ones(len(model.label), dtype=bool) if model.counts is None else np.asarray(model.counts, dtype=bool)
    excluded = _excluded_labels(model, labels, of_label, counted, annotators)
    counts_label = np.array([label not in excluded for label in range(len(labels))], dtype=bool)
    kept = counted & counts_label[of_label] if len(labels) else counted
    n_labels = int(counts_label.sum())
    if n_labels < 2:
        return None
    source, names = numbered(model.source)
    position = np.cumsum(counts_label)[of_label] - 1  # of each row's label among those that count
    cell = source[kept] * n_labels + position[kept]

    def summed(values: NDArray[Any]) -> Floats:
        sums = np.bincount(cell, weights=np.asarray(values, dtype=np.float64), minlength=len(names) * n_labels)
        by_source: Floats = sums.reshape(len(names), n_labels).astype(np.float64)
        return by_source

    def scaled(credits: Credits) -> Floats:
        guess = 1 / n_labels if credits.guess is None else credits.guess
        return summed((np.asarray(credits.credit, dtype=np.float64)[kept] - guess) / (credits.perfect - guess))

    counts = summed(np.ones(kept.sum()))
    # A guess, which has 0 everywhere, stands for a baseline that was not asked.
    baselines = [np.zeros_like(counts) if each is None else scaled(each) for each in (lexical, shuffled)]
    columns = np.concatenate([scaled(model), *baselines, counts], axis=1)
    s_model, s_lexical, s_shuffled = (_balanced_sum(part, counts) for part in (columns[:, :n_labels], *baselines))
    value = float(statistic(columns.sum(axis=0, keepdims=True))[0])
    sources = int((counts.sum(axis=1) > 0).sum())
    low, high, p = _interval(columns, value, sources, resamples, seed)
    return {
        "score": Estimate(value, low, high, int(kept.sum())).of(Sample(STATISTIC, columns)),
        "p": p,
        "model": s_model,
        "baseline": None if lexical is None else s_lexical,
        "shuffled": None if shuffled is None else s_shuffled,
        "reference": _reference(s_lexical, s_shuffled),
        "n_labels": n_labels,
        "n_sources": sources,
        "excluded": [each for each in excluded.values() if each["rows"]],
    }


def _reference(s_lexical: float, s_shuffled: float) -> str:
    """Name what a score of 0 stands for: the best of chance and the two baselines."""
    if max(s_lexical, s_shuffled) <= 0:
        return "chance"
    return "baseline" if s_lexical >= s_shuffled else "shuffled"


def _excluded_labels(
    credits: Credits,
    labels: NDArray[Any],
    of_label: NDArray[np.intp],
    counted: NDArray[np.bool_],
    annotators: Annotations | None,
) -> dict[int, ExcludedLabel]:
    """Return the gold labels that do not count, also those without a row, by their position among `labels`."""
    rows = np.bincount(of_label[counted], minlength=len(labels))
    votes = None if annotators is None else [annotators[row] for row in np.flatnonzero(counted).tolist()]
    agreement = None if votes is None else fleiss_kappa(votes, resamples=0)
    kappas = {} if agreement is None else {each["label"]: each["kappa"].value for each in agreement["by_label"]}
    excluded: dict[int, ExcludedLabel] = {}
    for position, (label, n) in enumerate(zip(labels.tolist(), rows.tolist(), strict=True)):
        kappa = kappas.get(label)
        if n < LEAST_ROWS:
            reason = f"fewer than {LEAST_ROWS} rows"
        elif kappa is not None and kappa < LEAST_KAPPA:
            reason = f"annotators' κ {kappa:.2f}"
        else:
            continue
        name = str(label) if credits.names is None else credits.names[label]
        excluded[position] = {"label": name, "rows": n, "reason": reason}
    return excluded


def statistic(sums: Floats) -> Floats:
    """Return the score from sums over sources.

    Args:
        sums: of the scaled credits by gold label of the model, of the lexical baseline and of the shuffled control, and
            of the rows, shape (r, 4K).

    Returns:
        Shape (r,); NaN where there is no row of a label. A floor of 1 leaves nothing to gain: 0. More
        credit than a perfect reader's, as never giving the gold label to scrambled text has, is 1.
    """
    *credits, counts = np.split(sums, 4, axis=1)
    model, lexical, shuffled = (_mean_of_labels(each, counts) for each in credits)
    floor = np.maximum(0.0, np.maximum(lexical, shuffled))
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
    too narrow: the draws are spread by what Student's t has over the normal (`scoring.intervals`). To the interval
    comes what no draw can have (`_opposed_rows`).
    """
    if not resamples or sources < 2:
        return None, None, None
    draws = statistic(resampled_sums(columns, resamples, seed))
    draws = value + (draws[~np.isnan(draws)] - value) * widening(sources)
    if not len(draws):
        return None, None, None
    low, high = np.percentile(draws, [2.5, 97.5]).tolist()
    total = columns.sum(axis=0)
    sides = [float(statistic((total + side)[None])[0]) - value for side in _opposed_rows(columns)]
    low, high = _reaching(value, (low, high), sides, widening(sources), LEVEL)
    return low, min(high, 1.0), two_sided_p(draws)


def difference_limits(
    first: Floats, second: Floats, drawn: tuple[float, float], *, level: float
) -> tuple[float, float]:
    """Return the limits of a difference of scores, second less first, from those of draws and what no draw can have.

    Args:
        first: the columns of the one's `Sample`, shape (sources, 4K).
        second: those of the other's.
        drawn: the limits by draws of the sources.
        level: of the interval.
    """
    totals = first.sum(axis=0), second.sum(axis=0)
    value = float(statistic(totals[1][None])[0] - statistic(totals[0][None])[0])
    (better_first, worse_first), (better_second, worse_second) = _opposed_rows(first), _opposed_rows(second)
    sides = [
        float(statistic((totals[1] + of_second)[None])[0] - statistic((totals[0] + of_first)[None])[0]) - value
        for of_first, of_second in ((worse_first, better_second), (better_first, worse_second))
    ]
    sources = max(2, int((first[:, -first.shape[1] // 4 :].sum(axis=1) > 0).sum()))
    return _reaching(value, drawn, sides, widening(sources), level)


def _opposed_rows(columns: Floats) -> tuple[Floats, Floats]:
    """Return two rows of each gold label that may be out there though no row is like them.

    The model is right on the first, where its baselines are wrong, and wrong on the second, where they are right: the
    two examples that `intervals.contrast_limits` adds to a difference of proportions. They weigh as much as a row of
    the effective size of the model's right answers. A baseline that was not asked has no credit on either.

    Returns:
        What they add to the sums over sources, shape (4K,) each.
    """
    k = columns.shape[1] // 4
    wrong = -1 / (k - 1)  # of a scale on which a guess among K labels has 0, and a right answer 1
    counts = columns[:, 3 * k :]
    right = np.round((columns[:, :k] - wrong * counts) / (1 - wrong), 9).sum(axis=1, keepdims=True)
    rows = counts.sum(axis=1, keepdims=True)
    weights = counts.sum(axis=0) / effective_sizes(np.clip(right, 0, rows), rows)
    asked = [float(columns[:, start : start + k].any()) for start in (k, 2 * k)]
    return (
        np.concatenate([weights, *(each * wrong * weights for each in asked), weights]),
        np.concatenate([wrong * weights, *(each * weights for each in asked), weights]),
    )


def _reaching(
    value: float, drawn: tuple[float, float], sides: Sequence[float], student: float, level: float
) -> tuple[float, float]:
    """Return limits by draws with what two rows more would move the value by, as variances add up."""
    centre = value + math.fsum(sides)
    added = math.hypot(*sides) * NormalDist().inv_cdf((1 + level) / 2) * student
    return centre - math.hypot(value - drawn[0], added), centre + math.hypot(drawn[1] - value, added)
