"""Models with one output (rerankers, fact checkers, hallucination detectors), and the thresholds that they require.

The score counts as entailment against the rest (`data.labels.TWO_WAY`), or, for a model that finds contradictions, as
contradiction against the rest (`data.labels.CONTRADICTION_OR_NOT`). The user passes the threshold for that label,
between 0 and 1, of the sigmoid of the logit, as on the cards of such models. If it is unknown, the user passes
`break-even`: on each set, the pairs with the highest scores are predicted as the label, as many as have it as their
gold label.

With a threshold, a model of several outputs is evaluated like a model of one output, whose sigmoid is the probability
of entailment.
"""

import copy
import math
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypedDict  # pydantic reads records by it

from unbag.data.labels import CONTRADICTION_OR_NOT, ENTAILMENT, TWO_WAY, find_label_space, get_positive_label
from unbag.data.predictions import SetPredictions
from unbag.inference.predictor import LabelSource
from unbag.scoring.ranking import compute_auroc, compute_break_even_threshold

BREAK_EVEN: Final = "break-even"

Threshold = float | Literal["break-even"]


class RankingResult(TypedDict):
    """Ranking metrics of a model's scores on one set.

    The label is entailment, or contradiction for a model that finds contradictions.

    Attributes:
        auc: Probability that a pair with the label scores above a pair without it, ties counting half; None if the set
            has only one of the two kinds.
        threshold: Lowest sigmoid at which a pair is predicted as the label on this set; None if no pair is.
        n_predicted_entailed: Number of pairs predicted as the label.
        pairs: Number of pairs.
    """

    auc: float | None
    threshold: float | None
    n_predicted_entailed: int
    pairs: int


class ThresholdedPredictor:
    """Base class of predictors that can apply a threshold to the probability of entailment.

    Attributes:
        order: Labels of the model's outputs, in the model's own order. For one output, the label above the threshold,
            then the label below it.
        label_space: Labels of the columns of `predict`. With a threshold, these are two.
        threshold: Minimum probability of entailment; None for the most probable label.
        has_probabilities: False with a threshold, because probabilities are centred at it.
    """

    label_source: ClassVar[LabelSource] = "config"
    order: tuple[str, ...]
    label_space: tuple[str, ...]
    threshold: Threshold | None
    has_probabilities: bool
    _n_outputs: int
    _columns: list[int]

    def _set_outputs(self, order: tuple[str, ...], n_outputs: int, threshold: Threshold | None) -> None:
        """Set the attributes, and the columns of `label_space` in the outputs, or in [label, other] at a threshold."""
        self.order, self.threshold, self._n_outputs = order, threshold, n_outputs
        self.has_probabilities = threshold is None
        if threshold is None or n_outputs == 1:
            self.label_space = find_label_space(order)
            self._columns = [order.index(label) for label in self.label_space]
        else:
            self.label_space = TWO_WAY if ENTAILMENT in order else CONTRADICTION_OR_NOT
            self._columns = [0, 1]

    def _positive_output(self) -> int:
        """Look up the output whose probability is compared with the threshold."""
        return 0 if self._n_outputs == 1 else self.order.index(get_positive_label(self.label_space))

    def copy_without_threshold(self) -> Self:
        """Copy the predictor without its threshold. A model with a single output keeps the threshold."""
        if self.threshold is None or self._n_outputs == 1:
            return self
        plain = copy.copy(self)
        plain._set_outputs(self.order, self._n_outputs, None)
        return plain


def parse_threshold(threshold: Any) -> Threshold:
    """Parse and validate a threshold: a number, the text of a number, or `break-even`.

    Raises:
        ValueError: If it is neither between 0 and 1 nor `break-even`.

    >>> parse_threshold("0.5"), parse_threshold("break-even")
    (0.5, 'break-even')
    """
    if threshold == BREAK_EVEN:
        return "break-even"
    try:
        share = float(threshold)
    except (TypeError, ValueError):
        share = math.nan
    if not 0 < share < 1:
        raise ValueError(
            f"expected a threshold for the probability of entailment, between 0 and 1, or {BREAK_EVEN}, got "
            f"{threshold!r}"
        )
    return share


def compute_threshold_logit(threshold: Threshold) -> float:
    """Compute the logit of a threshold. Return the placeholder 0 for `break-even`.

    The actual break-even threshold is computed later, for each set.

    >>> compute_threshold_logit(0.5)
    0.0
    """
    return 0.0 if threshold == BREAK_EVEN else math.log(threshold / (1 - threshold))


def rank_predictions(
    predictions: SetPredictions, labels: ArrayLike, threshold: Threshold
) -> tuple[SetPredictions, RankingResult]:
    """Compute predictions and ranking metrics on one set, for a model with a threshold.

    Args:
        predictions: Predictions for n pairs, in a two-label space.
        labels: Gold ids of the pairs, shape (n,).
        threshold: Threshold of the predictions. For `break-even`, this function computes the labels by rank.
    """
    positive_column = _positive_column(predictions)
    scores = compute_log_odds(predictions.probabilities, predictions.label_space)
    positive = predictions.to_label_positions(labels) == positive_column
    cutoff: float | None = None if threshold == BREAK_EVEN else threshold
    if threshold == BREAK_EVEN:
        least = compute_break_even_score(predictions, labels)
        predictions = predict_by_score(predictions, least)
        # An infinite score means that no pair has the label.
        cutoff = float(1 / (1 + np.exp(-least))) if math.isfinite(least) else None
    n_predicted = int((predictions.predicted == positive_column).sum())
    ranking = RankingResult(
        auc=compute_auroc(scores, positive),
        threshold=cutoff,
        n_predicted_entailed=n_predicted,
        pairs=len(scores),
    )
    return predictions, ranking


def compute_break_even_score(predictions: SetPredictions, labels: ArrayLike) -> float:
    """Compute the score threshold at which there are as many positive predictions as positive pairs.

    Args:
        predictions: Predictions for n pairs, in a two-label space.
        labels: Gold ids of the pairs, shape (n,).
    """
    positive = predictions.to_label_positions(labels) == _positive_column(predictions)
    return compute_break_even_threshold(compute_log_odds(predictions.probabilities, predictions.label_space), positive)


def predict_by_score(predictions: SetPredictions, min_score: float) -> SetPredictions:
    """Predict the positive label for pairs whose score is at least `min_score`, and the negative label otherwise."""
    positive_column = _positive_column(predictions)
    is_positive = compute_log_odds(predictions.probabilities, predictions.label_space) >= min_score
    columns = np.where(is_positive, positive_column, 1 - positive_column)
    return predictions._replace(probabilities=np.eye(2, dtype=np.float32)[columns])


def compute_log_odds(probabilities: NDArray[Any], label_space: Any) -> NDArray[np.float64]:
    """Compute the log odds of the positive label (entailment or contradiction) for each pair, shape (n,)."""
    values = np.asarray(probabilities, dtype=np.float64)
    # Close to 1, float32 probabilities round to the same value, but the other column still differs: the log odds keep
    # the order of the scores. The floor avoids log 0.
    smallest = np.finfo(np.float32).tiny
    logs = np.log(np.maximum(values, smallest))
    positive_column = list(label_space).index(get_positive_label(label_space))
    odds: NDArray[np.float64] = logs[:, positive_column] - logs[:, 1 - positive_column]
    return odds


def compute_entailment_probabilities(predictions: SetPredictions, threshold: Threshold) -> NDArray[np.float64] | None:
    """Undo the centring at the threshold, and compute the entailment probabilities, shape (n,).

    Returns None for contradiction classifiers.

    Predictors centre the probabilities at the threshold: they subtract its `compute_threshold_logit` from the output,
    so that entailment begins at 0.5. Thresholds and calibration refer to the output without that shift.

    Args:
        predictions: Predictions in a two-label space, n pairs, before `rank_predictions`.
        threshold: Threshold that the predictions were made with.
    """
    if get_positive_label(predictions.label_space) != ENTAILMENT:
        return None
    logits = compute_log_odds(predictions.probabilities, predictions.label_space) + compute_threshold_logit(threshold)
    own: NDArray[np.float64] = 1 / (1 + np.exp(-logits))
    return own


def _positive_column(answers: SetPredictions) -> int:
    return list(answers.label_space).index(get_positive_label(answers.label_space))


def describe_ranking(model: str, ranking: RankingResult, threshold: str, label: str = ENTAILMENT) -> str:
    """Describe for the report how the threshold of a model was applied to a set."""
    cutoff = "none" if ranking["threshold"] is None else f"{ranking['threshold']:.3g}"
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
