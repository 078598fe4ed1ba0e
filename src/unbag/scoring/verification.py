"""Measures of a verifier: how well scores separate entailed pairs from the others, at every threshold.

A verifier answers one question about a pair: does the premise (a document) support the hypothesis (a claim)? Its score
is the probability of entailment. The measures here need the scores, the gold labels, and the source of each pair.

- Ranking: AUROC (Hanley & McNeil 1982) with the variance of DeLong et al. (1988), and average precision.
- Decisions at a threshold: balanced accuracy, false-entailment rate and false-contradiction rate.
- Calibration: Brier score with the decomposition of Murphy (1973), and the expected calibration error.
- Selective prediction: the risk-coverage curve and the area under it (Geifman & El-Yaniv 2017).
- Thresholds that keep the false-entailment rate at or below a target, chosen on one half of the sources and confirmed
  on the other half.
"""

import math
from collections.abc import Hashable, Sequence
from hashlib import sha256
from statistics import NormalDist
from typing import Any, Final, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import ENTAILMENT, canonical_gold
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, MEAN, Estimate, Sample, ratio_estimates
from unbag.scoring.intervals import LEVEL, Floats, contrast_limits, effective_sizes, share_limits
from unbag.scoring.ranking import area_under_curve
from unbag.scoring.validation import encode_names

Flags = NDArray[np.bool_]

BALANCED: Final = "balanced_accuracy"
"""The name of balanced accuracy in `scoring.significance.STATISTICS`."""

AUROC: Final = "auroc"
"""The name of the area under the ROC curve in `scoring.significance.STATISTICS`."""

BINS: Final = 10
"""Bins of the reliability diagram, with equally many pairs each."""

TARGETS: Final = (0.01, 0.05, 0.1)
"""False-entailment rates for which a threshold is chosen."""

_POINTS: Final = 100  # points of a curve in the record, which is enough for a picture and bounds its size
_CANDIDATES: Final = 200  # thresholds that are tested: each costs a pass over the pairs
_BLOCK: Final = 16  # of them at once, which bounds memory
_ROUNDED: Final = 9  # decimals of a score: below that, float32 arithmetic of other processors differs


class ReliabilityBin(TypedDict):
    """One bin of the reliability diagram.

    Attributes:
        bin: Its number, from 1: the lowest scores.
        score: Mean score of its pairs.
        share: Share of its pairs that are entailed, with its interval and n.
    """

    bin: int
    score: float
    share: Estimate


class Calibration(TypedDict):
    """The calibration of scores as probabilities of entailment.

    Attributes:
        brier: Mean squared difference of score and label, in [0, 1]; lower is better.
        reliability: Squared distance of the scores from the shares in the bins; 0 is calibrated.
        resolution: How much the bins separate the labels. Includes the spread of scores within the bins (Stephenson,
            Coelho & Jolliffe 2008), so that Brier = reliability - resolution + uncertainty holds exactly.
        uncertainty: Variance of the labels.
        ece: Expected calibration error with bins of equally many pairs, in [0, 1]; lower is better.
        ece_corrected: The same less an estimate of its bias, which is positive even for a calibrated model.
        bins: The reliability diagram.
    """

    brier: Estimate
    reliability: float
    resolution: float
    uncertainty: float
    ece: float
    ece_corrected: float
    bins: list[ReliabilityBin]


class RiskCoverage(TypedDict):
    """The risk-coverage curve: the error rate on the pairs with the most confident decisions.

    Attributes:
        aurc: Area under the curve, in [0, 1]; lower is better.
        oracle: Area for the same errors if they had the lowest confidence.
        random: Area for a random order, which is the error rate.
        coverage: Shares of the pairs, at most 100 points.
        risk: Error rate at each coverage.
    """

    aurc: float
    oracle: float
    random: float
    coverage: list[float]
    risk: list[float]


class ThresholdRow(TypedDict):
    """One row of the threshold sweep.

    Attributes:
        threshold: A pair is called entailed if its score is at least this.
        false_entailment: Share of not-entailed pairs that are called entailed.
        recall: Share of entailed pairs that are called entailed.
        precision: Share of pairs called entailed that are entailed; None where none is.
    """

    threshold: float
    false_entailment: float
    recall: float
    precision: float | None


class SafeThreshold(TypedDict):
    """A threshold that keeps the false-entailment rate at or below a target.

    Attributes:
        target: The largest false-entailment rate that is accepted.
        threshold: The threshold; None if no threshold passes, mostly because there are too few not-entailed pairs.
        chosen: False-entailment rate on the half on which the threshold was chosen. `bound` is its upper limit.
        bound: Upper limit (one-sided, 95 %) of the false-entailment rate on that half, at most the target.
        confirmed: False-entailment rate on the other half, with its 95 % interval.
        recall: Share of entailed pairs of the other half that are still called entailed.
        needed: Smallest number of not-entailed pairs in one half with which any threshold can pass.
        available: Number of not-entailed pairs in the half on which thresholds are chosen.
    """

    target: float
    threshold: float | None
    chosen: Estimate | None
    bound: float | None
    confirmed: Estimate | None
    recall: Estimate | None
    needed: int
    available: int


class VerificationScores(TypedDict):
    """The scores of a verifier; an `Estimate` is (value, low, high, n).

    Attributes:
        n_entailed: Number of pairs labelled entailment.
        n_not_entailed: Number of the other pairs.
        auroc: Probability that an entailed pair scores above one that is not; .5 for a coin. Higher is better.
        average_precision: Mean precision over the entailed pairs; the share of entailed pairs for a coin.
        balanced_accuracy: Mean of recall and specificity at the model's own threshold; .5 for a constant answer.
        false_entailment: Share of not-entailed pairs that the model calls entailed. Lower is better.
        false_contradiction: Share of pairs not labelled contradiction that the model calls contradiction; None for
            labels or models without contradiction. Lower is better.
        calibration: See `Calibration`; None for a model without probabilities.
        risk_coverage: See `RiskCoverage`; None for a model without probabilities.
        thresholds: The threshold sweep, at most 100 rows; empty for a model without probabilities.
        safe_thresholds: One row per target false-entailment rate; empty for a model without probabilities.
    """

    n_entailed: int
    n_not_entailed: int
    auroc: Estimate | None
    average_precision: Estimate | None
    balanced_accuracy: Estimate
    false_entailment: Estimate
    false_contradiction: Estimate | None
    calibration: Calibration | None
    risk_coverage: RiskCoverage | None
    thresholds: list[ThresholdRow]
    safe_thresholds: list[SafeThreshold]


class Decisions(NamedTuple):
    """The labels and the model's decisions for n pairs.

    Attributes:
        entailed: Whether the gold label is entailment, shape (n,).
        predicted: Whether the model predicts entailment, shape (n,).
        scores: Probability of entailment, shape (n,); None for a model that gives labels only.
        contradicted: Whether the gold label is contradiction, shape (n,); None for two labels.
        predicted_contradicted: Whether the model predicts contradiction, shape (n,); None for two labels.
    """

    entailed: Flags
    predicted: Flags
    scores: Floats | None = None
    contradicted: Flags | None = None
    predicted_contradicted: Flags | None = None


def verification(
    predictions: ArrayLike,
    references: Sequence[Any],
    source_id: Sequence[Hashable] | None = None,
    *,
    threshold: float = 0.5,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> VerificationScores:
    """Compute the scores of a verifier from probabilities of entailment.

    Args:
        predictions: Probability of entailment, shape (n,).
        references: Gold labels, shape (n,): 1 (entailed) or 0, or label names, of which `entailment` is entailed. These
            numbers are no label ids.
        source_id: Source of each pair, such as its document, shape (n,); default: every pair is a source of its own.
        threshold: A pair is called entailed if its probability is at least this (default: 0.5).
        resamples: Bootstrap resamples of the Brier score's interval; 0 for no intervals.
        seed: Random seed for the resamples.

    Returns:
        The scores of `verification_scores`.

    Raises:
        ValueError: If the lengths differ, a label or a probability is unknown, or all pairs have one label.

    >>> verification([0.9, 0.4, 0.6, 0.1], ["entailment", "entailment", "neutral", "contradiction"])["auroc"].value
    0.75
    """
    scores = np.asarray(predictions, dtype=np.float64)
    entailed = np.array([_is_entailed(label) for label in references], dtype=bool)
    if scores.shape != entailed.shape or (source_id is not None and len(source_id) != len(entailed)):
        raise ValueError(
            f"verification: expected one prediction, reference and source per pair, got {scores.shape} predictions, "
            f"{len(entailed)} references and {'no' if source_id is None else len(source_id)} sources"
        )
    sources = range(len(entailed)) if source_id is None else source_id
    decisions = Decisions(entailed, _probabilities(scores) >= threshold, scores)
    found = verification_scores(decisions, sources, resamples=resamples, seed=seed)
    if found is None:
        raise ValueError("references: expected both entailed and other pairs, got one of these only")
    return found


def _is_entailed(label: Any) -> bool:
    """Read a gold label: 1, 0, a truth value or a label name."""
    if isinstance(label, str):
        return canonical_gold(label) == ENTAILMENT
    if label not in (0, 1):
        raise ValueError(
            f"references: expected 1 (entailed) or 0, or label names, got {label!r}; pass names instead of label ids"
        )
    return bool(label)


def verification_scores(
    decisions: Decisions,
    sources: Sequence[Hashable] | NDArray[np.generic],
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> VerificationScores | None:
    """Compute the scores of a verifier; None without both entailed and not-entailed pairs.

    Args:
        decisions: The labels and the model's decisions for n pairs.
        sources: Source of each pair, n hashable values. Intervals count sources, not pairs.
        resamples: Bootstrap resamples of the Brier score's interval; 0 for no intervals.
        seed: Random seed for the resamples.

    Raises:
        ValueError: If the lengths differ, or a score is outside [0, 1].

    >>> entailed = np.array([True, True, False, False])
    >>> scores = np.array([0.9, 0.4, 0.6, 0.1])
    >>> found = verification_scores(Decisions(entailed, scores >= 0.5, scores), range(4))
    >>> found["auroc"].value, found["false_entailment"].value, found["balanced_accuracy"].value
    (0.75, 0.5, 0.5)
    """
    entailed, predicted = np.asarray(decisions.entailed, dtype=bool), np.asarray(decisions.predicted, dtype=bool)
    lengths = {len(entailed), len(predicted), len(sources)}
    lengths |= {len(part) for part in decisions[2:] if part is not None}
    if len(lengths) > 1:
        raise ValueError(f"verification: expected labels, decisions and sources of one length, got {sorted(lengths)}")
    if entailed.all() or not entailed.any():
        return None
    of_row, names = encode_names(sources)
    n_sources = len(names)
    rates = _rates(decisions, entailed, predicted, of_row, n_sources, resamples)
    scores = None if decisions.scores is None else _probabilities(decisions.scores)
    return {
        "n_entailed": int(entailed.sum()),
        "n_not_entailed": int((~entailed).sum()),
        "auroc": None if scores is None else auroc(scores, entailed, of_row, n_sources),
        "average_precision": None if scores is None else average_precision(scores, entailed, of_row, n_sources),
        **rates,
        "calibration": None
        if scores is None
        else calibration(scores, entailed, of_row, resamples=resamples, seed=seed),
        "risk_coverage": None
        if scores is None
        else risk_coverage(_confidence(scores, predicted), predicted == entailed),
        "thresholds": [] if scores is None else threshold_sweep(scores, entailed),
        "safe_thresholds": []
        if scores is None
        else [safe_threshold(scores, entailed, sources, target=target) for target in TARGETS],
    }


def _probabilities(scores: ArrayLike) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("verification: expected scores from 0 to 1, got others; pass probabilities of entailment")
    rounded: Floats = np.round(values, _ROUNDED).astype(np.float64)
    return rounded


class _Rates(TypedDict):
    balanced_accuracy: Estimate
    false_entailment: Estimate
    false_contradiction: Estimate | None


def _rates(
    decisions: Decisions, entailed: Flags, predicted: Flags, of_row: NDArray[np.intp], n_sources: int, resamples: int
) -> _Rates:
    """Compute the error rates at the model's own threshold, with intervals over sources."""
    columns = [(predicted & ~entailed, ~entailed)]
    if decisions.contradicted is not None and decisions.predicted_contradicted is not None:
        columns.append((decisions.predicted_contradicted & ~decisions.contradicted, ~decisions.contradicted))
    numerators, denominators = (
        np.stack([_by_source(column[k], of_row, n_sources) for column in columns], axis=1) for k in (0, 1)
    )
    false_entailment, *more = ratio_estimates(numerators, denominators, resamples=resamples)
    n_rows = [int(of_all.sum()) for _, of_all in columns]
    rates = [each.of(each.sample, n) for each, n in zip((false_entailment, *more), n_rows, strict=True)]
    return {
        "balanced_accuracy": _balanced_accuracy(entailed, predicted, of_row, n_sources, resamples),
        "false_entailment": rates[0],
        "false_contradiction": rates[1] if len(rates) > 1 and n_rows[1] else None,
    }


def _by_source(values: ArrayLike, of_row: NDArray[np.intp], n_sources: int) -> Floats:
    """Sum a value of each row over the rows of each source, shape (n_sources,)."""
    weights = np.asarray(values, dtype=np.float64)
    return np.bincount(of_row, weights=weights, minlength=n_sources).astype(np.float64)


def _balanced_accuracy(
    entailed: Flags, predicted: Flags, of_row: NDArray[np.intp], n_sources: int, resamples: int
) -> Estimate:
    """Estimate the mean of recall and specificity; its limits are half those of their sum."""
    parts = [predicted & entailed, entailed, ~predicted & ~entailed, ~entailed]
    columns = np.stack([_by_source(part, of_row, n_sources) for part in parts], axis=1)
    value = float(balanced(columns.sum(axis=0, keepdims=True))[0])
    low = high = None
    if resamples:
        sides = contrast_limits(columns[:, ::2], columns[:, 1::2], np.ones(2))
        low, high = (min(1.0, max(0.0, side / 2)) for side in sides)
    return Estimate(value, low, high, len(entailed)).of(Sample(BALANCED, columns))


def balanced(sums: Floats) -> Floats:
    """Compute balanced accuracy from sums over sources.

    Args:
        sums: Right and all entailed pairs, right and all not-entailed pairs, shape (r, 4).

    Returns:
        Shape (r,); NaN where there is no pair of a label.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = (sums[:, 0] / sums[:, 1] + sums[:, 2] / sums[:, 3]) / 2
    return mean


def auroc(scores: Floats, entailed: Flags, of_row: NDArray[np.intp], n_sources: int) -> Estimate:
    """Estimate the area under the ROC curve, with limits by source.

    The variance is that of DeLong, DeLong & Clarke-Pearson (1988), https://doi.org/10.2307/2531595, with the placement
    values summed by source (Obuchowski 1997, https://doi.org/10.2307/2533958). The limits are symmetric on the scale of
    the logit. An area of exactly 0 or 1 has no variance; its limits are those of a proportion of as many independent
    pairs as the rarer label has sources.

    Args:
        scores: Probability of entailment, shape (n,).
        entailed: Whether a pair is entailed, shape (n,). Both values occur.
        of_row: Number of each pair's source, shape (n,).
        n_sources: Number of sources.
    """
    area = area_under_curve(scores, entailed)
    assert area is not None
    above = _placements(scores, entailed)
    positive, negative = (_by_source(flags, of_row, n_sources) for flags in (entailed, ~entailed))
    columns = np.stack(
        [
            _by_source(np.where(entailed, above, 0.0), of_row, n_sources),
            positive,
            _by_source(np.where(entailed, 0.0, above), of_row, n_sources),
            negative,
            area * (positive + negative),
            positive + negative,
        ],
        axis=1,
    )
    influence = (columns[:, 0] - area * positive) / positive.sum() + (columns[:, 2] - area * negative) / negative.sum()
    variance = math.fsum((influence**2).tolist())
    if variance < 1e-18 or not 0 < area < 1:
        size = float(min((positive > 0).sum(), (negative > 0).sum()))
        lows, highs = share_limits(np.array([area]), np.array([size]))
        low, high = float(lows[0]), float(highs[0])
    else:
        low, high = _logit_limits(area, math.sqrt(variance))
    return Estimate(area, low, high, len(scores)).of(Sample(AUROC, columns))


def auroc_of(sums: Floats) -> Floats:
    """Compute the area under the ROC curve in resamples of sources, from sums over them.

    The area is linear in the placement values to first order: the mean over entailed pairs, plus the mean over the
    others, less the area of all pairs.

    Args:
        sums: Placement values of entailed pairs and their number, those of the others and their number, and the area
            times the number of pairs with that number, shape (r, 6).

    Returns:
        Shape (r,); NaN where there is no pair of a label.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        areas: Floats = sums[:, 0] / sums[:, 1] + sums[:, 2] / sums[:, 3] - sums[:, 4] / sums[:, 5]
    return areas


def _placements(scores: Floats, entailed: Flags) -> Floats:
    """Compute for each pair the share of pairs with the other label on the right side of it; ties count half."""
    placements = np.empty(len(scores))
    for flags, sign in ((entailed, 1.0), (~entailed, -1.0)):
        others = np.sort(sign * scores[~flags])
        own = sign * scores[flags]
        below = np.searchsorted(others, own, side="left") + np.searchsorted(others, own, side="right")
        placements[flags] = below / (2 * len(others))
    return placements


def average_precision(scores: Floats, entailed: Flags, of_row: NDArray[np.intp], n_sources: int) -> Estimate:
    """Estimate average precision, the step-wise area under the precision-recall curve.

    Pairs with equal scores are one step, as in scikit-learn. The limits are the logit interval of Boyd, Eng & Page
    (2013), https://doi.org/10.1007/978-3-642-40994-3_29, for the number of sources with entailed pairs.

    Args:
        scores: Probability of entailment, shape (n,).
        entailed: Whether a pair is entailed, shape (n,). Both values occur.
        of_row: Number of each pair's source, shape (n,).
        n_sources: Number of sources.
    """
    values, group = np.unique(-scores, return_inverse=True)
    hits = np.cumsum(np.bincount(group, weights=entailed, minlength=len(values)))
    called = np.cumsum(np.bincount(group, minlength=len(values)))
    steps = np.diff(hits, prepend=0.0) / entailed.sum()
    value = min(1.0, math.fsum((steps * hits / called).tolist()))
    size = int((_by_source(entailed, of_row, n_sources) > 0).sum())
    if 0 < value < 1:
        low, high = _logit_limits(value, math.sqrt(value * (1 - value) / size))
    else:
        lows, highs = share_limits(np.array([value]), np.array([float(size)]))
        low, high = float(lows[0]), float(highs[0])
    return Estimate(value, low, high, len(scores))


def _logit_limits(value: float, error: float) -> tuple[float, float]:
    """Compute 95 % limits of a value in (0, 1) that are symmetric on the scale of the logit (the delta method)."""
    reach = NormalDist().inv_cdf((1 + LEVEL) / 2) * error / (value * (1 - value))
    centre = math.log(value / (1 - value))
    low, high = (1 / (1 + math.exp(-min(700.0, max(-700.0, centre + side)))) for side in (-reach, reach))
    return low, high


def calibration(
    scores: Floats,
    entailed: Flags,
    of_row: NDArray[np.intp],
    *,
    bins: int = BINS,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> Calibration:
    """Compute the calibration of scores as probabilities of entailment.

    The bins have equally many pairs each; pairs with equal scores are in one bin, so that there may be fewer bins. The
    correction of the expected calibration error subtracts, in each bin, how far the expected absolute difference of a
    normal sample of its size exceeds the difference that was found (Kumar, Liang & Ma 2019,
    https://arxiv.org/abs/1909.10155, section 5; here in closed form, by the mean of the folded normal distribution).

    Args:
        scores: Probability of entailment, shape (n,).
        entailed: Whether a pair is entailed, shape (n,).
        of_row: Number of each pair's source, shape (n,).
        bins: Number of bins.
        resamples: Bootstrap resamples of the interval of the Brier score; 0 for no intervals.
        seed: Random seed for the resamples.

    >>> found = calibration(np.array([0.2, 0.2, 0.8, 0.8]), np.array([False, True, True, True]), np.arange(4), bins=2)
    >>> round(found["brier"].value, 3), round(found["ece"], 3)
    (0.19, 0.25)
    """
    n, n_sources = len(scores), int(of_row.max()) + 1
    labels = entailed.astype(np.float64)
    errors = np.stack([_by_source((scores - labels) ** 2, of_row, n_sources)], axis=1)
    counts = np.stack([_by_source(np.ones(n), of_row, n_sources)], axis=1)
    [brier] = ratio_estimates(errors, counts, means=(0,), resamples=resamples, seed=seed)
    assert brier.sample is None or brier.sample.statistic == MEAN
    of_bin = _equal_mass_bins(scores, bins)
    sizes, score_sums, label_sums = (
        np.bincount(of_bin, weights=weights, minlength=int(of_bin.max()) + 1)
        for weights in (np.ones(n), scores, labels)
    )
    mean_scores, shares, base = score_sums / sizes, label_sums / sizes, float(labels.mean())
    reliability = float((sizes * (mean_scores - shares) ** 2).sum() / n)
    uncertainty = base * (1 - base)
    assert brier.value is not None
    gaps = np.abs(mean_scores - shares)
    bias = _folded_normal_mean(gaps, np.sqrt(shares * (1 - shares) / sizes)) - gaps
    ece = float((sizes * gaps).sum() / n)
    return {
        "brier": brier.of(brier.sample, n),
        "reliability": reliability,
        "resolution": reliability + uncertainty - brier.value,
        "uncertainty": uncertainty,
        "ece": ece,
        "ece_corrected": max(0.0, ece - float((sizes * bias).sum() / n)),
        "bins": [
            {"bin": k + 1, "score": float(mean_scores[k]), "share": _share_of(labels, of_bin == k, of_row, n_sources)}
            for k in range(len(sizes))
        ],
    }


def _equal_mass_bins(scores: Floats, bins: int) -> NDArray[np.intp]:
    """Assign each score to a bin, shape (n,). Equal scores share a bin; bins without scores are not numbered."""
    values, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    middle = np.cumsum(sizes) - (sizes + 1) / 2  # mean rank of each value, counted from 0
    of_value = np.minimum((middle * bins / len(scores)).astype(np.intp), bins - 1)
    _, packed = np.unique(of_value, return_inverse=True)
    numbers: NDArray[np.intp] = packed.reshape(len(values))[group]
    return numbers


def _folded_normal_mean(mean: Floats, deviation: Floats) -> Floats:
    """Compute E|X| of X ~ N(mean, deviation²), for means of at least 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(deviation > 0, mean / deviation, np.inf)
    normal = NormalDist()
    tails = np.array([1 - 2 * normal.cdf(-each) for each in z.tolist()])
    expected: Floats = deviation * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + mean * tails
    return expected


def _share_of(labels: Floats, rows: Flags, of_row: NDArray[np.intp], n_sources: int) -> Estimate:
    """Estimate the share of some rows that are entailed, with its interval over sources."""
    numerators, denominators = (
        _by_source(values, of_row, n_sources)[:, None] for values in (np.where(rows, labels, 0.0), rows)
    )
    [estimate] = ratio_estimates(numerators, denominators)
    return estimate.of(None, int(rows.sum()))


def _confidence(scores: Floats, predicted: Flags) -> Floats:
    """Compute the confidence of each decision: the probability of what was predicted."""
    confidence: Floats = np.where(predicted, scores, 1 - scores)
    return confidence


def risk_coverage(confidence: ArrayLike, right: ArrayLike) -> RiskCoverage:
    """Compute the risk-coverage curve of decisions and the area under it.

    The area is the mean over k of the error rate on the k most confident pairs (Geifman & El-Yaniv 2017,
    https://arxiv.org/abs/1705.08500; Geifman, Uziel & El-Yaniv 2019 name it AURC). Among pairs of equal confidence, the
    errors are spread evenly, which is the mean over all their orders.

    Args:
        confidence: Confidence of each decision, shape (n,); only the order matters.
        right: Whether each decision is right, shape (n,).

    >>> found = risk_coverage([0.9, 0.8, 0.7, 0.6], [True, True, True, False])
    >>> found["aurc"], found["oracle"], found["random"]
    (0.0625, 0.0625, 0.25)
    """
    values, wrong = np.asarray(confidence, dtype=np.float64), ~np.asarray(right, dtype=bool)
    n = len(values)
    if not n:
        raise ValueError("risk_coverage: expected at least one pair, got none")
    ranks = np.arange(1, n + 1)
    _, group = np.unique(-values, return_inverse=True)
    sizes, errors = (np.bincount(group, weights=weights) for weights in (np.ones(n), wrong))
    share = np.sort(group)  # group of each place, most confident first
    risks = np.cumsum((errors / sizes)[share]) / ranks
    n_wrong = int(wrong.sum())
    best = np.maximum(0, ranks - (n - n_wrong)) / ranks
    places = np.unique(np.linspace(0, n - 1, min(n, _POINTS)).round().astype(np.intp))
    return {
        "aurc": float(risks.mean()),
        "oracle": float(best.mean()),
        "random": n_wrong / n,
        "coverage": (ranks[places] / n).tolist(),
        "risk": risks[places].tolist(),
    }


def threshold_sweep(scores: Floats, entailed: Flags) -> list[ThresholdRow]:
    """Compute false-entailment rate, recall and precision at thresholds from strict to lenient, at most 100.

    Args:
        scores: Probability of entailment, shape (n,).
        entailed: Whether a pair is entailed, shape (n,). Both values occur.
    """
    values, group = np.unique(-scores, return_inverse=True)
    hits, alarms = (
        np.cumsum(np.bincount(group, weights=flags, minlength=len(values))) for flags in (entailed, ~entailed)
    )
    places = np.unique(np.linspace(0, len(values) - 1, min(len(values), _POINTS)).round().astype(np.intp))
    return [
        {
            "threshold": float(-values[place]),
            "false_entailment": float(alarms[place] / alarms[-1]),
            "recall": float(hits[place] / hits[-1]),
            "precision": float(hits[place] / (hits[place] + alarms[place])),
        }
        for place in places
    ]


def safe_threshold(
    scores: Floats,
    entailed: Flags,
    sources: Sequence[Hashable] | NDArray[np.generic],
    *,
    target: float,
    level: float = 0.95,
) -> SafeThreshold:
    """Choose the most lenient threshold that keeps the false-entailment rate at or below a target.

    The sources are split in two halves by a hash of their names. On the first half, thresholds are tested from strict
    to lenient until the upper limit of the false-entailment rate (Clopper-Pearson, one-sided, for the effective number
    of pairs; see `scoring.intervals`) exceeds the target. The order of the tests is fixed and testing stops at the
    first failure, so no correction for their number is needed (fixed-sequence testing; Angelopoulos et al. 2021, "Learn
    then Test", https://arxiv.org/abs/2110.01052). The threshold is then confirmed on the second half.

    Args:
        scores: Probability of entailment, shape (n,).
        entailed: Whether a pair is entailed, shape (n,).
        sources: Source of each pair, n hashable values.
        target: The largest false-entailment rate that is accepted, in (0, 1).
        level: Confidence of the upper limit.
    """
    of_row, names = encode_names(sources)
    first = np.array([sha256(repr(name).encode()).digest()[0] % 2 == 0 for name in names], dtype=bool)[of_row]
    # With no error among m pairs, the one-sided upper limit is 1 - (1 - level)^(1 / m).
    needed = math.ceil(math.log(1 - level) / math.log1p(-target))
    negatives = first & ~entailed
    found: SafeThreshold = {
        "target": target, "threshold": None, "chosen": None, "bound": None, "confirmed": None, "recall": None,
        "needed": needed, "available": int(negatives.sum()),
    }  # fmt: skip
    if not negatives.any():
        return found
    candidates = _candidates(scores[first], entailed[first])
    passed: tuple[float, Estimate, float] | None = None
    for start in range(0, len(candidates), _BLOCK):
        block = candidates[start : start + _BLOCK]
        tested = _upper_limits(scores, negatives, block, of_row, len(names), level)
        passing = next((k for k, (_, bound) in enumerate(tested) if bound > target), len(block))
        if passing:
            passed = block[passing - 1], *tested[passing - 1]
        if passing < len(block):
            break
    if passed is None:
        return found
    threshold, chosen, bound = passed
    called, second = scores >= threshold, ~first
    confirmed, recall = (
        _rate(called & rows, rows, of_row, len(names)) for rows in (second & ~entailed, second & entailed)
    )
    return {**found, "threshold": threshold, "chosen": chosen, "bound": bound, "confirmed": confirmed, "recall": recall}


def _candidates(scores: Floats, entailed: Flags) -> list[float]:
    """List thresholds from strict to lenient, at most 200: each the lowest score above one of the not-entailed pairs.

    Between two not-entailed pairs all thresholds have the same false-entailment rate; the lowest has the best recall.
    """
    values, negatives = np.unique(scores), np.unique(scores[~entailed])[::-1]
    places = np.unique(np.linspace(0, len(negatives) - 1, min(len(negatives), _CANDIDATES)).round().astype(np.intp))
    above = np.searchsorted(values, negatives[places], side="right")
    return list(dict.fromkeys(values[above[above < len(values)]].tolist()))


def _rate(hits: Flags, rows: Flags, of_row: NDArray[np.intp], n_sources: int) -> Estimate | None:
    """Estimate the share of some rows that are hits; None without rows."""
    if not rows.any():
        return None
    numerators, denominators = (_by_source(flags, of_row, n_sources)[:, None] for flags in (hits, rows))
    [estimate] = ratio_estimates(numerators, denominators)
    return estimate.of(None, int(rows.sum()))


def _upper_limits(
    scores: Floats, rows: Flags, thresholds: Sequence[float], of_row: NDArray[np.intp], n_sources: int, level: float
) -> list[tuple[Estimate, float]]:
    """Estimate the share of some rows at or above each threshold, with its one-sided upper limit."""
    hits = np.stack([_by_source(rows & (scores >= each), of_row, n_sources) for each in thresholds], axis=1)
    counts = np.repeat(_by_source(rows, of_row, n_sources)[:, None], len(thresholds), axis=1)
    shares, n = hits.sum(axis=0) / counts.sum(axis=0), int(rows.sum())
    # Two-sided limits at 2 · level - 1 are one-sided limits at `level`.
    lows, highs = share_limits(shares, effective_sizes(hits, counts), level=2 * level - 1)
    limits = zip(shares.tolist(), lows.tolist(), highs.tolist(), strict=True)
    return [(Estimate(share, low, high, n), high) for share, low, high in limits]
