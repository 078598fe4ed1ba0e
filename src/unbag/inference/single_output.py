"""Models with one output (rerankers, fact checkers, hallucination detectors), and the thresholds that they require.

The score counts as entailment against the rest (`data.labels.TWO_WAY`), or, for a model that finds contradictions, as
contradiction against the rest (`data.labels.CONTRADICTION_OR_NOT`). The user passes the threshold for that label,
from 0 to 1, of the sigmoid of the logit, as on the cards of such models. If it is unknown, the user passes
`break-even`: on each set, the pairs with the highest scores are predicted as the label, as many as have it as their
gold label.

A threshold applies to the probabilities of any model: with it, a model of several outputs is evaluated like a model of
one output, whose sigmoid is the probability of entailment. Predictions are stored without the threshold, and are
compared with it by their log odds.
"""

import math
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypedDict  # pydantic reads records by it

from unbag.data.labels import ENTAILMENT, TWO_WAY, find_label_space, get_positive_label
from unbag.data.predictions import SetPredictions
from unbag.inference.predictor import LabelSource
from unbag.scoring.log_odds import compute_cutoff, compute_log_odds, express_threshold, format_threshold
from unbag.scoring.ranking import compute_auroc, compute_break_even_threshold

BREAK_EVEN: Final = "break-even"

Threshold = float | str
"""Minimum probability of entailment, or `break-even`. Text also for a number with more digits than a float."""


class RankingResult(TypedDict):
    """Ranking metrics of a model's scores on one set.

    The label is entailment, or contradiction for a model that finds contradictions.
    """

    # Probability that a pair with the label scores above a pair without it, ties counting half; None if the set has
    # only one of the two kinds.
    auc: float | None
    # Lowest probability at which a pair is predicted as the label on this set; None if no pair is.
    threshold: float | str | None
    n_predicted_entailed: int  # number of pairs predicted as the label
    pairs: int


class ThresholdedPredictor:
    """Base class of classifiers, which may have a single output."""

    label_source: ClassVar[LabelSource] = "config"
    # Labels of the model's outputs, in the model's own order. For one output, the label above the threshold, then the
    # label below it.
    order: tuple[str, ...]
    label_space: tuple[str, ...]
    # Minimum probability of entailment, without effect on `predict`; None for the most probable label.
    threshold: Threshold | None
    n_outputs: int
    _columns: list[int]

    def _set_outputs(self, order: tuple[str, ...], n_outputs: int, threshold: Threshold | None) -> None:
        """Set the attributes, and the columns of `label_space` in the outputs."""
        self.order, self.threshold, self.n_outputs = order, threshold, n_outputs
        self.label_space = find_label_space(order)
        self._columns = [order.index(label) for label in self.label_space]


def parse_threshold(threshold: Any) -> Threshold:
    """Parse and validate a threshold between 0 and 1, as a number or text, or `break-even`.

    A number that is too close to 1 for a float is returned as its text.

    >>> parse_threshold("0.5"), parse_threshold("0.99999999999999999999"), parse_threshold("break-even")
    (0.5, '0.99999999999999999999', 'break-even')
    """
    if threshold == BREAK_EVEN:
        return BREAK_EVEN
    try:
        share = Decimal(str(threshold).strip())
    except InvalidOperation:
        share = Decimal("nan")
    if not (share.is_finite() and 0 <= share <= 1):
        raise ValueError(
            f"--threshold: expected a probability of entailment from 0 to 1, or {BREAK_EVEN}, got {threshold!r}; pass "
            "a number such as 0.5"
        )
    return float(share) if Decimal(repr(float(share))) == share else str(share)


def build_labels_only_message(threshold: Threshold) -> str:
    """Build the error message for a threshold of a model that predicts labels without probabilities."""
    return f"--threshold {threshold}: expected probabilities of the labels, got labels only; omit --threshold"


def apply_threshold(
    predictions: SetPredictions, labels: ArrayLike, threshold: Threshold
) -> tuple[SetPredictions, RankingResult, float]:
    """Predict the labels of one set by a threshold of the stored probabilities, and compute ranking metrics.

    `labels` are the gold ids, shape (n,). The threshold is for the probability of entailment (contradiction, for a
    model that finds contradictions); at `break-even`, there are as many predictions of the label as gold labels.
    Returns the predictions in the two-label space, the metrics, and the cutoff of the log odds (`predict_by_cutoff`).
    """
    if not predictions.has_probabilities:
        raise ValueError(build_labels_only_message(threshold))
    two_way = _to_two_labels(predictions)
    log_odds = _log_odds(two_way)
    positive = two_way.to_label_positions(labels) == _positive_column(two_way)
    answered = np.ones(len(log_odds), dtype=bool) if two_way.unanswered is None else ~two_way.unanswered
    scores = np.where(answered, log_odds, np.where(positive, -math.inf, math.inf))  # unanswered pairs rank worst
    cutoff = compute_break_even_threshold(scores, positive) if threshold == BREAK_EVEN else compute_cutoff(threshold)
    called = scores >= cutoff
    # For `break-even` without a gold label of this kind, or with too many unanswered pairs, no pair is predicted.
    stated: float | str | None = None if threshold == BREAK_EVEN else threshold
    if threshold == BREAK_EVEN and math.isfinite(cutoff):
        stated = express_threshold(cutoff, max(scores[~called].tolist(), default=-math.inf))
    ranking = RankingResult(
        auc=compute_auroc(scores, positive),
        threshold=stated,
        n_predicted_entailed=int((called & answered).sum()),
        pairs=len(scores),
    )
    return _decide(two_way, log_odds >= cutoff), ranking, cutoff


def predict_by_cutoff(predictions: SetPredictions, cutoff: float) -> SetPredictions:
    """Predict the positive label for pairs whose log odds are at least `cutoff`, and the other label otherwise."""
    two_way = _to_two_labels(predictions)
    return _decide(two_way, _log_odds(two_way) >= cutoff)


def _decide(two_way: SetPredictions, is_positive: NDArray[np.bool_]) -> SetPredictions:
    """Predict the positive label for the given pairs, and the other label for the rest."""
    column = _positive_column(two_way)
    return two_way._replace(decisions=np.where(is_positive, column, 1 - column))


def _to_two_labels(predictions: SetPredictions) -> SetPredictions:
    """Merge the labels other than the positive one. The sums are in float64, as in the scores of a verifier."""
    predictions = predictions._replace(probabilities=predictions.probabilities.astype(np.float64))
    return predictions if len(predictions.label_space) == 2 else predictions.to_label_space(TWO_WAY)


def _log_odds(predictions: SetPredictions) -> NDArray[np.float64]:
    """Compute the log odds of the positive label (entailment or contradiction) for each pair, shape (n,)."""
    column = _positive_column(predictions)
    return compute_log_odds(predictions.probabilities[:, column], predictions.probabilities[:, 1 - column])


def _positive_column(answers: SetPredictions) -> int:
    return list(answers.label_space).index(get_positive_label(answers.label_space))


def describe_ranking(model: str, ranking: RankingResult, threshold: str, label: str = ENTAILMENT) -> str:
    """Describe for the report how the threshold of a model was applied to a set."""
    cutoff = "none" if ranking["threshold"] is None else format_threshold(ranking["threshold"])
    counts = f"{ranking['n_predicted_entailed']:,} of {ranking['pairs']:,}"
    if threshold == BREAK_EVEN:
        how = (
            f"its threshold is unknown, so the {counts} pairs with the highest scores are predicted as {label}, as "
            f"many as have this label (threshold {cutoff}). The scores above use this number, which is unknown for "
            "new data"
        )
    else:
        how = f"the threshold for {label} is {cutoff}, which {counts} pairs reach"
    area = (
        "All pairs have the same label, so the ranking cannot be evaluated."
        if ranking["auc"] is None
        else f"At any threshold, a pair labelled {label} scores above a pair with another label in "
        f"{ranking['auc']:.1%} of such couples (area under the curve; 50% is chance)."
    )
    return f"{model} predicts {label} or not: {how}. {area}"
