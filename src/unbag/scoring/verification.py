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

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import ENTAILMENT, resolve_gold_label
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, Sample, named_estimates, sum_by_source
from unbag.scoring.calibration import Calibration, calibration
from unbag.scoring.intervals import Flags, Floats, contrast_limits
from unbag.scoring.ranking import auroc, average_precision
from unbag.scoring.thresholds import SafeThreshold, ThresholdRow, safe_thresholds, threshold_sweep
from unbag.scoring.validation import encode_names

BALANCED: Final = "balanced_accuracy"
"""The name of balanced accuracy in `scoring.significance.STATISTICS`."""

_CURVE_POINTS: Final = 100  # points of the curve in the record, which bounds its size
_DECIMALS: Final = 9  # of a probability, which drops what float64 arithmetic adds to float32 values


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
        return resolve_gold_label(label) == ENTAILMENT
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
    source, names = encode_names(sources)
    n_sources = len(names)
    measures: VerificationScores = {
        "n_entailed": int(entailed.sum()),
        "n_not_entailed": int((~entailed).sum()),
        "auroc": None,
        "average_precision": None,
        **_rates(decisions, entailed, predicted, source, n_sources, resamples),
        "calibration": None,
        "risk_coverage": None,
        "thresholds": [],
        "safe_thresholds": [],
    }
    if decisions.scores is None:
        return measures
    scores = _probabilities(decisions.scores)
    return {
        **measures,
        "auroc": auroc(scores, entailed, source, n_sources),
        "average_precision": average_precision(scores, entailed, source, n_sources),
        "calibration": calibration(scores, entailed, source, resamples=resamples, seed=seed),
        "risk_coverage": risk_coverage(_confidence(scores, predicted), predicted == entailed),
        "thresholds": threshold_sweep(scores, entailed),
        "safe_thresholds": safe_thresholds(scores, entailed, source, names),
    }


def _probabilities(scores: ArrayLike) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("verification: expected scores from 0 to 1, got others; pass probabilities of entailment")
    rounded: Floats = np.round(values, _DECIMALS).astype(np.float64)
    return rounded


class _Rates(TypedDict):
    balanced_accuracy: Estimate
    false_entailment: Estimate
    false_contradiction: Estimate | None


def _rates(
    decisions: Decisions, entailed: Flags, predicted: Flags, source: NDArray[np.int64], n_sources: int, resamples: int
) -> _Rates:
    """Compute the error rates at the model's own threshold, with intervals over sources."""
    rows = {"false_entailment": (predicted & ~entailed, ~entailed)}
    if decisions.contradicted is not None and decisions.predicted_contradicted is not None:
        others = ~decisions.contradicted
        if others.any():
            rows["false_contradiction"] = (decisions.predicted_contradicted & others, others)
    sums = {
        name: (sum_by_source(hits, source, n_sources), sum_by_source(of_all, source, n_sources))
        for name, (hits, of_all) in rows.items()
    }
    rates = {
        name: estimate.of(estimate.sample, int(rows[name][1].sum()))
        for name, estimate in named_estimates(sums, resamples=resamples).items()
    }
    return {
        "balanced_accuracy": _balanced_accuracy(entailed, predicted, source, n_sources, resamples),
        "false_entailment": rates["false_entailment"],
        "false_contradiction": rates.get("false_contradiction"),
    }


def _balanced_accuracy(
    entailed: Flags, predicted: Flags, source: NDArray[np.int64], n_sources: int, resamples: int
) -> Estimate:
    """Estimate the mean of recall and specificity; its limits are half those of their sum."""
    parts = [predicted & entailed, entailed, ~predicted & ~entailed, ~entailed]
    columns = np.stack([sum_by_source(part, source, n_sources) for part in parts], axis=1)
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
    places = np.unique(np.linspace(0, n - 1, min(n, _CURVE_POINTS)).round().astype(np.intp))
    return {
        "aurc": float(risks.mean()),
        "oracle": float(best.mean()),
        "random": n_wrong / n,
        "coverage": (ranks[places] / n).tolist(),
        "risk": risks[places].tolist(),
    }
