"""Models of one output (rerankers, fact checkers, hallucination detectors): a score, and where entailment begins.

A score is read as entailment against the rest: `data.labels.TWO_WAY`; or, of a model that is known to find
contradictions, as contradiction against the rest: `data.labels.CONTRADICTION_OR_NOT`. Where that label begins is a
threshold that the user states, a share between 0 and 1 of the logit's sigmoid, as such models' cards state it. Where
none is known, the user says `break-even`: on each set as many pairs are taken for it as are labelled so, those of the
highest scores.
"""

import math
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypedDict  # pydantic reads records by it

from unbag.data.labels import ENTAILMENT, positive_of
from unbag.data.predictions import SetPredictions
from unbag.scoring.ranking import area_under_curve, break_even

BREAK_EVEN: Final = "break-even"

Threshold = float | Literal["break-even"]


class Ranking(TypedDict):
    """What a score's order says on one set.

    The label is entailment, or contradiction of a model that finds those.

    Attributes:
        auc: how often a pair of the label scores above one that has another, ties counting half; None where the set
            has one kind only.
        threshold: the share from which on a pair was taken for the label on this set; None where no pair was.
        taken: how many pairs were.
        pairs: how many there are.
    """

    auc: float | None
    threshold: float | None
    n_predicted_entailed: int
    pairs: int


def checked_threshold(threshold: Any) -> Threshold:
    """Return a threshold as the user states it, a number or its text.

    Raises:
        ValueError: if it is neither between 0 and 1 nor `break-even`.

    >>> checked_threshold("0.5"), checked_threshold("break-even")
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
            f"expected a threshold between 0 and 1, of the sigmoid of the model's output, or {BREAK_EVEN}; found "
            f"{threshold!r}"
        )
    return share


def logit_of(threshold: Threshold) -> float:
    """Return the output at which the label of high scores begins; 0 where a set's own ranking will say.

    >>> logit_of(0.5)
    0.0
    """
    return 0.0 if threshold == BREAK_EVEN else math.log(threshold / (1 - threshold))


def ranked(answers: SetPredictions, labels: ArrayLike, threshold: Threshold) -> tuple[SetPredictions, Ranking]:
    """Return the answers of a model of one output on a set, and what the order of its scores says there.

    Args:
        answers: in a two-label space, of n pairs.
        labels: the pairs' gold ids, shape (n,).
        threshold: the one the answers were made with; for `break-even` they are made here.
    """
    positive_column = _positive_column(answers)
    scores = scores_of(answers.probabilities, answers.label_space)
    positive = answers.gold(labels) == positive_column
    share: float | None = None if threshold == BREAK_EVEN else threshold
    if threshold == BREAK_EVEN:
        least = least_score(answers, labels)
        answers = taken_from(answers, least)
        share = float(1 / (1 + np.exp(-least))) if math.isfinite(least) else None
    n_predicted = int((answers.predicted == positive_column).sum())
    ranking = Ranking(
        auc=area_under_curve(scores, positive),
        threshold=share,
        n_predicted_entailed=n_predicted,
        pairs=len(scores),
    )
    return answers, ranking


def least_score(answers: SetPredictions, labels: ArrayLike) -> float:
    """Return the score (`scores_of`) from which on as many pairs are taken for the label as have it.

    Args:
        answers: in a two-label space, of n pairs.
        labels: the pairs' gold ids, shape (n,).
    """
    positive = answers.gold(labels) == _positive_column(answers)
    return break_even(scores_of(answers.probabilities, answers.label_space), positive)


def taken_from(answers: SetPredictions, least: float) -> SetPredictions:
    """Return the answers with the pairs that score `least` or more taken for the label, and no others."""
    positive_column = _positive_column(answers)
    takes = scores_of(answers.probabilities, answers.label_space) >= least
    columns = np.where(takes, positive_column, 1 - positive_column)
    return answers._replace(probabilities=np.eye(2, dtype=np.float32)[columns])


def scores_of(probabilities: NDArray[Any], label_space: Any) -> NDArray[np.float64]:
    """Return the log odds of entailment, or of contradiction in its space, shape (n,).

    They are in order even where the probabilities round to 1 and 0.
    """
    values = np.asarray(probabilities, dtype=np.float64)
    smallest = np.finfo(np.float32).tiny
    logs = np.log(np.maximum(values, smallest))
    for_it = list(label_space).index(positive_of(label_space))
    odds: NDArray[np.float64] = logs[:, for_it] - logs[:, 1 - for_it]
    return odds


def entailment_probabilities(answers: SetPredictions, threshold: Threshold) -> NDArray[np.float64] | None:
    """Compute the model's own probabilities of entailment, shape (n,); None for a model that finds contradictions.

    Predictors centre the probabilities at the threshold: they subtract its logit from the output (`logit_of`), so that
    entailment begins at 0.5. Thresholds and calibration refer to the output without that shift.

    Args:
        answers: in a two-label space, of n pairs, before `ranked`.
        threshold: the one the answers were made with.
    """
    if positive_of(answers.label_space) != ENTAILMENT:
        return None
    logits = scores_of(answers.probabilities, answers.label_space) + logit_of(threshold)
    own: NDArray[np.float64] = 1 / (1 + np.exp(-logits))
    return own


def _positive_column(answers: SetPredictions) -> int:
    return list(answers.label_space).index(positive_of(answers.label_space))


def sentence(model: str, ranking: Ranking, threshold: str, label: str = ENTAILMENT) -> str:
    """Return what is to be said of a model of one output, read as a label or not, beside its scores on a set."""
    share = "none" if ranking["threshold"] is None else f"{ranking['threshold']:.3g}"
    counts = f"{ranking['n_predicted_entailed']:,} of {ranking['pairs']:,}"
    if threshold == BREAK_EVEN:
        how = (
            f"no threshold is known, so {counts} pairs are predicted {label}, as many as have that label: "
            f"those with the highest scores, from {share} on. The scores above use this number, which is unknown in "
            "deployment"
        )
    else:
        how = f"{label} is predicted from {share} on ({counts} pairs)"
    area = (
        "All pairs here are labelled alike, so the order of its outputs says nothing."
        if ranking["auc"] is None
        else f"Whatever the threshold, a pair labelled {label} scores above one that is not in "
        f"{ranking['auc']:.1%} of such couples (area under the curve; 50% is chance)."
    )
    return f"{model} has one output, read as {label} or not: {how}. {area}"
