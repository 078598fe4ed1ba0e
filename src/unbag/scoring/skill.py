"""Skill score: 0 is the best score without word order on the same rows, 1 is a perfect model.

    skill = (s - reference) / (1 - reference)
    reference = max(0, s of the lexical baseline, s of the model's shuffled control)

s is the mean over gold labels of the mean row score of the rows with this label, on a linear scale: 0 for chance and
for the best constant prediction, 1 for a perfect model. With row score 1 for a correct prediction and K gold labels, s
= (balanced accuracy - 1/K) / (1 - 1/K).

The shuffled control is the same model on the same rows, with the words of both sentences shuffled
(`challenge_sets.perturbations.shuffled`). A model that ignores word order predicts the same on both, so its skill is at
most 0 on every set. For other models, shuffling may confuse the model in addition to removing word order. The control
is therefore a lower bound on the model's score without word order, and the skill score is an upper bound on the
contribution of word order.
"""

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.scoring.accuracy import Annotations, fleiss_kappa
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, Sample, compute_bootstrap_p_value, resample_sums
from unbag.scoring.intervals import LEVEL, Floats, compute_effective_sizes, compute_widening_factor
from unbag.scoring.validation import encode_names

STATISTIC: Final = "skill"
"""Name of this statistic in `scoring.significance.STATISTICS`."""

MIN_LABEL_ROWS: Final = 50
"""Minimum number of rows of a gold label; with fewer, the mean over labels would depend on a few predictions."""

MIN_KAPPA: Final = 0.1
"""Minimum Fleiss' κ of a gold label; below it, agreement between annotators is close to chance."""

_ZERO: Final = 1e-12  # rounding errors of this size must not make a constant prediction better than chance


class RowScores(NamedTuple):
    """Per-row scores of a model on the n rows of a challenge set, such as 1 for a correct prediction."""

    score: NDArray[Any]  # shape (n,)
    label: NDArray[Any]  # as an integer, shape (n,)
    # Source of each row, n hashable values. Rows with the same source are resampled together.
    source: Sequence[Hashable] | NDArray[Any]
    is_counted: NDArray[np.bool_] | None = None  # whether each row counts, shape (n,); None if all rows count
    # Mean row score of a random prediction and of each constant prediction. None means 1/K for K gold labels, which
    # applies to row scores of 1 for correct and 0 for wrong predictions.
    chance_score: float | None = None
    perfect_score: float = 1.0  # mean row score of a perfect model
    names: Sequence[str] | None = None  # names of the gold labels, indexed by `label`; None if a label has no name


def skill_score(
    model_scores: RowScores,
    lexical_scores: RowScores | None = None,
    shuffled_scores: RowScores | None = None,
    *,
    annotators: Annotations | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any] | None:
    """Compute the skill score of a model from its per-row scores and those of the baselines.

    Args:
        lexical_scores: Row scores of the lexical baseline on the same rows (default: none).
        shuffled_scores: Row scores of the model on the same rows with shuffled words (default: none).
        annotators: Annotator labels of each row, n lists of integers as in `model_scores.label`. A label with low
            agreement between annotators is excluded (default: none).
        resamples: Number of bootstrap resamples of the sources; 0 for neither interval nor p value.

    Returns:
        None with fewer than two gold labels, because a constant prediction would then be perfect.

        - score: Skill score, at most 1; higher is better. The interval comes from resampled sources, with the
          predictions of the model, its shuffled control and the lexical baseline on the same rows.
        - p: Two-sided p value of the null hypothesis that the skill score is 0, from the same resamples.
        - model, baseline, shuffled: s of the model, the lexical baseline and the shuffled control; None if there is
          none.
        - reference: Name of the reference, which has skill 0: `baseline` or `shuffled`, whichever is better, or
          `chance`.
        - n_labels: Number of gold labels that count (K).
        - n_sources: Number of sources.
        - excluded: Excluded gold labels (`label`) with their number of rows (`rows`) and the `reason`.

    >>> right = np.array([1.0] * 75 + [0.0] * 25 + [1.0] * 100)
    >>> labels = np.repeat([0, 1], 100)
    >>> half = RowScores(right, labels, range(200))
    >>> skill_score(half)["score"].value  # balanced accuracy 0.875; chance has 0.5
    0.75
    >>> lexical = half._replace(score=np.array([1.0] * 75 + [0.0] * 25 + [1.0] * 25 + [0.0] * 75))
    >>> skill_score(half, lexical)["reference"]  # balanced accuracy 0.5: no better than chance
    'chance'
    >>> skill_score(half, lexical, shuffled_scores=half)["score"].value  # ignores word order
    0.0
    """
    labels, label_index = np.unique(model_scores.label, return_inverse=True)
    counted = np.ones(len(label_index), dtype=bool)
    if model_scores.is_counted is not None:
        counted = np.asarray(model_scores.is_counted, dtype=bool)
    excluded = _find_excluded_labels(model_scores, labels, label_index, counted, annotators)
    counts_label = np.array([label not in excluded for label in range(len(labels))], dtype=bool)
    n_labels = int(counts_label.sum())
    if n_labels < 2:
        return None
    is_counted = counted & counts_label[label_index]
    source, names = encode_names(model_scores.source)
    position = np.cumsum(counts_label)[label_index] - 1  # index of each row's label among the labels that count
    cell = source[is_counted] * n_labels + position[is_counted]

    def sum_cells(values: NDArray[Any]) -> Floats:
        """Sum values of the counted rows by source and label, shape (sources, K)."""
        sums = np.bincount(cell, weights=np.asarray(values, dtype=np.float64), minlength=len(names) * n_labels)
        return sums.astype(np.float64).reshape(len(names), n_labels)

    def scale(row_scores: RowScores | None) -> Floats:
        if row_scores is None:  # chance, which scores 0 on every row, replaces a missing baseline
            return np.zeros((len(names), n_labels))
        chance = 1 / n_labels if row_scores.chance_score is None else row_scores.chance_score
        score = np.asarray(row_scores.score, dtype=np.float64)[is_counted]
        return sum_cells((score - chance) / (row_scores.perfect_score - chance))

    counts = sum_cells(np.ones(is_counted.sum()))
    columns = np.hstack([*(scale(each) for each in (model_scores, lexical_scores, shuffled_scores)), counts])
    totals = columns.sum(axis=0, keepdims=True)
    s_model, s_lexical, s_shuffled = (float(each[0]) for each in _average_labels(totals))
    value = float(compute_skill_from_sums(totals)[0])
    sources = int((counts.sum(axis=1) > 0).sum())
    low, high, p = _compute_interval(columns, value, sources, resamples, seed)
    reference = "baseline" if s_lexical >= s_shuffled else "shuffled"
    return {
        "score": Estimate(value, low, high, int(is_counted.sum())).copy_with_sample(Sample(STATISTIC, columns)),
        "p": p,
        "model": s_model,
        "baseline": None if lexical_scores is None else s_lexical,
        "shuffled": None if shuffled_scores is None else s_shuffled,
        "reference": reference if max(s_lexical, s_shuffled) > 0 else "chance",
        "n_labels": n_labels,
        "n_sources": sources,
        "excluded": [each for each in excluded.values() if each["rows"]],
    }


def _find_excluded_labels(
    row_scores: RowScores,
    labels: NDArray[Any],
    label_index: NDArray[np.intp],
    counted: NDArray[np.bool_],
    annotators: Annotations | None,
) -> dict[int, dict[str, Any]]:
    """Find the excluded gold labels, by index in `labels`, including labels without rows."""
    rows = np.bincount(label_index[counted], minlength=len(labels))
    kappas: dict[int, float | None] = {}
    if annotators is not None:
        agreement = fleiss_kappa([annotators[row] for row in np.flatnonzero(counted).tolist()], resamples=0)
        kappas = {} if agreement is None else {each["label"]: each["kappa"].value for each in agreement["by_label"]}
    excluded: dict[int, dict[str, Any]] = {}
    for position, (label, n) in enumerate(zip(labels.tolist(), rows.tolist(), strict=True)):
        kappa = kappas.get(label)
        if n < MIN_LABEL_ROWS:
            reason = f"fewer than {MIN_LABEL_ROWS} rows"
        elif kappa is not None and kappa < MIN_KAPPA:
            reason = f"annotators' κ {kappa:.2f}"
        else:
            continue
        name = str(label) if row_scores.names is None else row_scores.names[label]
        excluded[position] = {"label": name, "rows": n, "reason": reason}
    return excluded


def compute_skill_from_sums(sums: Floats) -> Floats:
    """Compute skill scores from sums of the per-row scores, one per row of `sums`; NaN if a label has no rows.

    `sums` are those of four columns by gold label, shape (r, 4K): the scaled row scores of the model, of the lexical
    baseline and of the shuffled control, and the number of rows. Values above 1 are clipped; a model reaches them if it
    never predicts the gold label for shuffled text.
    """
    model, lexical, shuffled = _average_labels(sums)
    floor = np.maximum(0.0, np.maximum(lexical, shuffled))
    with np.errstate(invalid="ignore", divide="ignore"):
        scores: Floats = np.where(floor < 1, (model - floor) / (1 - floor), 0.0)
    scores[np.abs(scores) < _ZERO] = 0.0
    return np.minimum(scores, 1.0)


def _average_labels(sums: Floats) -> list[Floats]:
    """Compute the mean over labels of the mean row score of model and baselines, shape (r,) each, from their sums."""
    *row_scores, counts = np.split(sums, 4, axis=1)
    with np.errstate(invalid="ignore"):
        return [(each / counts).mean(axis=1) for each in row_scores]


def _compute_interval(
    columns: Floats, value: float, sources: int, resamples: int, seed: int
) -> tuple[float | None, float | None, float | None]:
    """Compute the 95 % limits of the skill score and its p value from sums by source, shape (sources, 4K)."""
    # For few sources, a bootstrap interval is too narrow, so the draws are widened by the ratio of Student's t to the
    # normal quantile. The pseudo-rows add variance that resamples of the given rows cannot show.
    if not resamples or sources < 2:
        return None, None, None
    draws = compute_skill_from_sums(resample_sums(columns, resamples, seed))
    draws = value + (draws[~np.isnan(draws)] - value) * compute_widening_factor(sources)
    if not len(draws):
        return None, None, None
    low, high = np.percentile(draws, [2.5, 97.5]).tolist()
    total = columns.sum(axis=0)
    shifts = [float(compute_skill_from_sums((total + side)[None])[0]) - value for side in _build_pseudo_rows(columns)]
    low, high = _combine_limits(value, (low, high), shifts, compute_widening_factor(sources))
    return low, min(high, 1.0), compute_bootstrap_p_value(draws)


def compute_skill_difference_limits(
    first: Floats, second: Floats, bootstrap_limits: tuple[float, float]
) -> tuple[float, float]:
    """Compute confidence limits of the difference between two skill scores (second minus first).

    The limits combine resamples of the sources with two pseudo-rows per gold label (`_build_pseudo_rows`).

    `first` and `second` are the columns of the two systems' `Sample`s, shape (sources, 4K).
    """
    totals = first.sum(axis=0), second.sum(axis=0)
    value = float(compute_skill_from_sums(totals[1][None])[0] - compute_skill_from_sums(totals[0][None])[0])
    (better_first, worse_first), (better_second, worse_second) = _build_pseudo_rows(first), _build_pseudo_rows(second)
    shifts = [
        float(
            compute_skill_from_sums((totals[1] + of_second)[None])[0]
            - compute_skill_from_sums((totals[0] + of_first)[None])[0]
        )
        - value
        for of_first, of_second in ((worse_first, better_second), (better_first, worse_second))
    ]
    sources = max(2, int((first[:, -first.shape[1] // 4 :].sum(axis=1) > 0).sum()))
    return _combine_limits(value, bootstrap_limits, shifts, compute_widening_factor(sources))


def _build_pseudo_rows(columns: Floats) -> tuple[Floats, Floats]:
    """Build two pseudo-rows per gold label, shape (4K,) each, which represent possible rows unlike the given ones."""
    # On the first pseudo-row, the model is correct and its baselines are wrong; on the second, it is the opposite.
    # `intervals.compute_contrast_limits` adds the same two examples to a difference of proportions. Each has the weight
    # of one effective row of the model's correct predictions. A missing baseline has no row score on either.
    k = columns.shape[1] // 4
    wrong = -1 / (k - 1)  # row score of a wrong prediction, if chance has row score 0 and a correct prediction 1
    counts = columns[:, 3 * k :]
    # Rounded, because `compute_effective_sizes` compares with exact zeros and ones.
    right = np.round((columns[:, :k] - wrong * counts) / (1 - wrong), 9).sum(axis=1, keepdims=True)
    rows = counts.sum(axis=1, keepdims=True)
    weights = counts.sum(axis=0) / compute_effective_sizes(np.clip(right, 0, rows), rows)
    # A missing baseline has zeros in all of its columns.
    is_given = [float(columns[:, start : start + k].any()) for start in (k, 2 * k)]
    return (
        np.concatenate([weights, *(each * wrong * weights for each in is_given), weights]),
        np.concatenate([wrong * weights, *(each * weights for each in is_given), weights]),
    )


def _combine_limits(
    value: float, resampled: tuple[float, float], shifts: Sequence[float], student: float
) -> tuple[float, float]:
    """Combine limits from resamples with the effect of two pseudo-rows on the value by adding variances."""
    centre = value + math.fsum(shifts)
    added = math.hypot(*shifts) * NormalDist().inv_cdf((1 + LEVEL) / 2) * student
    return centre - math.hypot(value - resampled[0], added), centre + math.hypot(resampled[1] - value, added)
