"""Metrics of a verifier: ranking, decisions, calibration, selective prediction and safe thresholds.

A verifier predicts whether the premise (a document) supports the hypothesis (a claim). Its score is the probability of
entailment. The metrics rank pairs by the log odds of the scores (`scoring.log_odds`).
"""

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import CONTRADICTION, CONTRADICTION_OR_NOT, ENTAILMENT, resolve_gold_label
from unbag.data.predictions import NO_ANSWER, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, Sample, estimate_ratio, sum_by_source
from unbag.scoring.calibration import compute_calibration
from unbag.scoring.intervals import Flags, Floats, compute_contrast_limits
from unbag.scoring.log_odds import compute_cutoff, compute_log_odds
from unbag.scoring.ranking import estimate_auroc, estimate_average_precision
from unbag.scoring.thresholds import find_safe_thresholds, sweep_thresholds
from unbag.scoring.validation import encode_names

BALANCED: Final = "balanced_accuracy"
"""Name of balanced accuracy in `scoring.significance.STATISTICS`."""

_CURVE_POINTS: Final = 100  # maximum number of points of the curve, which limits the size of the results file
_DECIMALS: Final = 9  # of a probability

SCORE_NAMES: Final = {
    ENTAILMENT: ("n_entailed", "n_not_entailed", "false_entailment"),
    CONTRADICTION: ("n_positive", "n_negative", "false_positive"),
}
"""Names of the numbers of positive and of negative pairs and of the rate of false positives, by label."""


class BinaryPredictions(NamedTuple):
    """Gold labels and predictions of one label, such as entailment, against the rest, for n pairs."""

    positive: Flags  # whether the gold label is the label, shape (n,)
    predicted: Flags  # whether the model predicts the label, shape (n,)
    # Probability of the label, shape (n,); None for a model that predicts labels only.
    probabilities: Floats | None = None
    # Probability of all other labels, shape (n,), which distinguishes probabilities that round to 1 (default: 1 - p).
    complements: Floats | None = None
    # Whether the model gave no answer, shape (n,); None if it answered every pair. Such a pair counts as a confident
    # error in each measure: as the label if the gold label differs, and as not the label otherwise. So it never
    # improves a measure.
    unanswered: Flags | None = None

    def with_errors(self) -> "BinaryPredictions":
        """Copy the predictions with a confident error for each unanswered pair."""
        if self.unanswered is None:
            return self
        wrong = ~self.positive
        predicted = np.where(self.unanswered, wrong, self.predicted)
        if self.probabilities is None:
            return self._replace(predicted=predicted)
        rest = 1 - self.probabilities if self.complements is None else self.complements
        return self._replace(
            predicted=predicted,
            probabilities=np.where(self.unanswered, wrong, self.probabilities).astype(np.float64),
            complements=np.where(self.unanswered, self.positive, rest).astype(np.float64),
        )


def verification(
    predictions: ArrayLike,
    references: Sequence[Any],
    source_id: Sequence[Hashable] | None = None,
    *,
    threshold: float | str = 0.5,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute the scores of a verifier from predicted probabilities of entailment.

    Args:
        predictions: Probability of entailment, shape (n,).
        references: Gold labels, shape (n,): 1 (entailed) or 0 (not entailed), or label names, where only `entailment`
            means entailed. The numbers 0 and 1 are not label ids.
        source_id: Source of each pair, such as its document, shape (n,) (default: one source per pair).
        threshold: Minimum probability of pairs that are predicted as entailed, a number or its text (default: 0.5).
        resamples: Number of bootstrap resamples for the interval of the Brier score; 0 for no intervals.

    Returns:
        The scores of the card `metrics/verification/README.md`, as `Estimate`s in [0, 1]. For a model without
        probabilities, ranking and calibration are None, and there are no thresholds.

    >>> verification([0.9, 0.4, 0.6, 0.1], ["entailment", "entailment", "neutral", "contradiction"])["auroc"].value
    0.75
    """
    scores = np.asarray(predictions, dtype=np.float64)
    entailed = np.array([_is_entailed(label) for label in references], dtype=bool)
    if scores.shape != entailed.shape or (source_id is not None and len(source_id) != len(entailed)):
        raise ValueError(
            f"verification: expected one prediction, reference and source per pair, got predictions of shape "
            f"{scores.shape}, {len(entailed)} references and {'no' if source_id is None else len(source_id)} sources; "
            "pass one value per pair"
        )
    sources = range(len(entailed)) if source_id is None else source_id
    called = compute_log_odds(_validate_probabilities(scores)) >= compute_cutoff(threshold)
    decisions = BinaryPredictions(entailed, called, scores)
    found = compute_verification_scores(decisions, sources, resamples=resamples, seed=seed)
    if found is None:
        raise ValueError(
            "references: expected both entailed and not-entailed pairs, got pairs with one label; pass pairs with "
            "both labels"
        )
    return found


def _is_entailed(label: Any) -> bool:
    """Check whether a gold label (1, 0, a bool or a label name) means entailed."""
    if isinstance(label, str):
        return resolve_gold_label(label) == ENTAILMENT
    if label not in (0, 1):
        raise ValueError(
            f"references: expected 1 (entailed), 0 (not entailed) or label names, got {label!r}; pass label names "
            "instead of label ids"
        )
    return bool(label)


def compute_verification_scores(
    predictions: BinaryPredictions,
    sources: Sequence[Hashable] | NDArray[np.generic],
    *,
    label: str = ENTAILMENT,
    contradictions: BinaryPredictions | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any] | None:
    """Compute the scores of a verifier from gold labels, predictions and, if available, probabilities.

    Return None if all pairs have the label or none has. The scores are those of `verification`, for contradiction as
    the label with the names in `SCORE_NAMES`. `sources` are the sources of the pairs, n hashable values, which
    intervals treat as independent. `contradictions` are None for labels or models without contradiction.

    >>> entailed = np.array([True, True, False, False])
    >>> scores = np.array([0.9, 0.4, 0.6, 0.1])
    >>> found = compute_verification_scores(BinaryPredictions(entailed, scores >= 0.5, scores), range(4))
    >>> found["auroc"].value, found["false_entailment"].value, found["balanced_accuracy"].value
    (0.75, 0.5, 0.5)
    """
    n_positive, n_negative, false_positive = SCORE_NAMES[label]
    positive = np.asarray(predictions.positive, dtype=bool)
    if positive.all() or not positive.any():
        return None
    predictions = predictions.with_errors()
    predicted = np.asarray(predictions.predicted, dtype=bool)
    source, names = encode_names(sources)

    def share(called: Flags, rows: Flags) -> Estimate:
        return estimate_ratio(called, rows, source, is_count_of_rows=True, resamples=resamples)

    false_contradiction: dict[str, Estimate | None] = {"false_contradiction": None} if label == ENTAILMENT else {}
    if contradictions is not None and not contradictions.positive.all():
        decisions = contradictions.with_errors()
        false_contradiction["false_contradiction"] = share(decisions.predicted, ~decisions.positive)
    decision_scores: dict[str, Any] = {
        n_positive: int(positive.sum()),
        n_negative: int((~positive).sum()),
        "n_sources": len(names),
        "auroc": None,
        "average_precision": None,
        "balanced_accuracy": _estimate_balanced_accuracy(positive, predicted, source, resamples),
        "recall": share(predicted, positive),
        false_positive: share(predicted, ~positive),
        **false_contradiction,
        "calibration": None,
        "risk_coverage": None,
        "thresholds": [],
        "safe_thresholds": [],
    }
    if predictions.probabilities is None:
        return decision_scores
    probabilities = _validate_probabilities(predictions.probabilities)
    scores = compute_log_odds(probabilities, predictions.complements)
    unanswered = np.zeros(len(scores), dtype=bool) if predictions.unanswered is None else predictions.unanswered
    # Ranks among the distinct scores are finite, unlike log odds. Unanswered pairs rank worst. The positive ones have
    # distinct ranks, since a tie would raise the average precision.
    positions, certainty = (
        np.unique(each, return_inverse=True)[1] for each in (scores, np.where(predicted, scores, -scores))
    )
    ranks: Floats = np.where(unanswered, np.where(positive, -np.cumsum(unanswered), np.inf), positions)
    confidence: Floats = np.where(unanswered, np.inf, certainty)
    # Rounding removes the errors of float64 arithmetic on float32 values. Nothing is ranked by it.
    rounded = np.round(probabilities, _DECIMALS)
    return {
        **decision_scores,
        "auroc": estimate_auroc(ranks, positive, source),
        "average_precision": estimate_average_precision(ranks, positive, source),
        "calibration": compute_calibration(rounded, positive, source, log_odds=scores, resamples=resamples, seed=seed),
        "risk_coverage": compute_risk_coverage(confidence, predicted == positive),
        "thresholds": sweep_thresholds(scores, positive, false_positive),
        "safe_thresholds": find_safe_thresholds(scores, positive, source, names),
    }


def _validate_probabilities(probabilities: ArrayLike) -> Floats:
    values = np.asarray(probabilities, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(
            "verification: expected probabilities from 0 to 1, got values outside this range; pass probabilities of "
            "entailment"
        )
    return values


def _estimate_balanced_accuracy(
    positive: Flags, predicted: Flags, source: NDArray[np.int64], resamples: int
) -> Estimate:
    """Estimate the mean of recall and specificity; its limits are half the limits of their sum."""
    parts = [predicted & positive, positive, ~predicted & ~positive, ~positive]
    columns = np.stack([sum_by_source(part, source) for part in parts], axis=1)
    value = float(compute_balanced_accuracy(columns.sum(axis=0, keepdims=True))[0])
    low = high = None
    if resamples:
        sides = compute_contrast_limits(columns[:, ::2], columns[:, 1::2], np.ones(2))
        low, high = (min(1.0, max(0.0, side / 2)) for side in sides)
    return Estimate(value, low, high, len(positive)).copy_with_sample(Sample(BALANCED, columns))


def compute_balanced_accuracy(sums: Floats) -> Floats:
    """Compute balanced accuracy from sums, shape (r, 4); NaN if one of the labels has no pairs.

    The sums are the numbers of correctly predicted positives, of positives, of correctly predicted negatives, and of
    negatives.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = (sums[:, 0] / sums[:, 1] + sums[:, 2] / sums[:, 3]) / 2
    return mean


def compute_risk_coverage(confidence: ArrayLike, is_correct: ArrayLike) -> dict[str, Any]:
    """Compute the risk-coverage curve of predictions and the area under it.

    The area is the mean over k of the error rate on the k most confident pairs (Geifman & El-Yaniv 2017,
    https://arxiv.org/abs/1705.08500; named AURC by Geifman, Uziel & El-Yaniv 2019). Errors are distributed evenly among
    pairs with equal confidence. Only the order of the confidence matters.

    Returns:
        The curve (`coverage`, `risk`) at up to 100 points, the area under it (`aurc`, lower is better), and the areas
        if all errors had the lowest confidence (`oracle`) and for a random order (`random`, the error rate).

    >>> found = compute_risk_coverage([0.9, 0.8, 0.7, 0.6], [True, True, True, False])
    >>> found["aurc"], found["oracle"], found["random"]
    (0.0625, 0.0625, 0.25)
    """
    values, wrong = np.asarray(confidence, dtype=np.float64), ~np.asarray(is_correct, dtype=bool)
    n = len(values)
    if not n:
        raise ValueError("risk_coverage: expected at least one pair, got none; pass scored pairs")
    ranks = np.arange(1, n + 1)
    _, group = np.unique(-values, return_inverse=True)
    sizes, errors = (np.bincount(group, weights=weights) for weights in (np.ones(n), wrong))
    share = np.sort(group)  # group at each rank, most confident first
    # Pairs with equal confidence share their errors, so that the order of the rows has no effect.
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


def compute_verifier_scores(
    labels: ArrayLike,
    predictions: SetPredictions,
    sources: Sequence[Hashable] | NDArray[Any],
    *,
    resamples: int = DEFAULT_RESAMPLES,
) -> dict[str, Any] | None:
    """Compute the scores of a model as a verifier on n rows, by its own decisions. Return None if they are undefined.

    They are undefined if the rows are all entailed or all not entailed, or if the model detects only contradictions.
    `labels` are gold label ids, shape (n,), and `sources` the sources of the rows, n hashable values.
    """
    if ENTAILMENT not in predictions.label_space:
        return None
    contradictions = None
    if CONTRADICTION in predictions.label_space:
        contradictions = _select_label(predictions, labels, CONTRADICTION)
    entailments = _select_label(predictions, labels, ENTAILMENT)
    return compute_verification_scores(entailments, sources, contradictions=contradictions, resamples=resamples)


def compute_detection_scores(
    labels: ArrayLike, predictions: SetPredictions, sources: Sequence[Hashable] | NDArray[Any]
) -> dict[str, Any] | None:
    """Compute the scores of a contradiction detector, the mirror image of `compute_verifier_scores`.

    Return None if the rows are all contradictions or none is, or if the predictions separate entailment.
    """
    if tuple(predictions.label_space) != CONTRADICTION_OR_NOT:
        return None
    return compute_verification_scores(_select_label(predictions, labels, CONTRADICTION), sources, label=CONTRADICTION)


def _select_label(predictions: SetPredictions, labels: ArrayLike, label: str) -> BinaryPredictions:
    """Select the gold labels and predictions of one label of the predictions' space against the rest."""
    column = list(predictions.label_space).index(label)
    probabilities = complements = None
    if predictions.has_probabilities:
        values = predictions.probabilities.astype(np.float64)
        # A softmax in float32 may exceed 1 by its last digit.
        probabilities = np.clip(values[:, column], 0.0, 1.0)
        # The sum of the others and not 1 - p, which loses all digits for p close to 1.
        complements = np.delete(values, column, axis=1).sum(axis=1)
    return BinaryPredictions(
        predictions.to_label_positions(labels) == column,
        predictions.predicted == column,
        probabilities,
        complements,
        predictions.predicted == NO_ANSWER,
    )
