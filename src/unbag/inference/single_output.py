"""Models of one output (rerankers, fact checkers, hallucination detectors): a score, and where entailment begins.

A score is read as entailment against the rest: `data.labels.TWO_WAY`; or, of a model that is known to find
contradictions, as contradiction against the rest: `data.labels.CONTRADICTION_OR_NOT`. Where that label begins is a
threshold that the user states, a share between 0 and 1 of the logit's sigmoid, as such models' cards state it. Where
none is known, the user says `ranking`: on each set as many pairs are taken for it as are labelled so, those of the
highest scores.
"""

import math
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypedDict  # pydantic reads records by it

from unbag.data.labels import ENTAILMENT, positive_label
from unbag.data.predictions import SetPredictions
from unbag.scoring.ranking import area_under_curve, break_even

RANKING: Final = "ranking"

Threshold = float | Literal["ranking"]


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
    taken: int
    pairs: int


def checked_threshold(threshold: Any) -> Threshold:
    """Return a threshold as the user states it, a number or its text.

    Raises:
        ValueError: if it is neither between 0 and 1 nor `ranking`.

    >>> checked_threshold("0.5"), checked_threshold("ranking")
    (0.5, 'ranking')
    """
    if threshold == RANKING:
        return "ranking"
    try:
        share = float(threshold)
    except (TypeError, ValueError):
        share = math.nan
    if not 0 < share < 1:
        raise ValueError(
            f"expected a threshold between 0 and 1, of the sigmoid of the model's output, or {RANKING}; found "
            f"{threshold!r}"
        )
    return share


def logit_of(threshold: Threshold) -> float:
    """Return the output at which the label of high scores begins; 0 where a set's own ranking will say.

    >>> logit_of(0.5)
    0.0
    """
    return 0.0 if threshold == RANKING else math.log(threshold / (1 - threshold))


def ranked(answers: SetPredictions, labels: ArrayLike, threshold: Threshold) -> tuple[SetPredictions, Ranking]:
    """Return the answers of a model of one output on a set, and what the order of its scores says there.

    Args:
        answers: in a two-label space, of n pairs.
        labels: the pairs' gold ids, shape (n,).
        threshold: the one the answers were made with; for `ranking` they are made here.
    """
    positive_column = _positive_column(answers)
    scores = scores_of(answers.probabilities, answers.label_space)
    positive = answers.gold(labels) == positive_column
    share: float | None = None if threshold == RANKING else threshold
    if threshold == RANKING:
        least = least_score(answers, labels)
        answers = taken_from(answers, least)
        share = float(1 / (1 + np.exp(-least))) if math.isfinite(least) else None
    taken = int((answers.predicted == positive_column).sum())
    return answers, Ranking(auc=area_under_curve(scores, positive), threshold=share, taken=taken, pairs=len(scores))


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
    for_it = list(label_space).index(positive_label(label_space))
    odds: NDArray[np.float64] = logs[:, for_it] - logs[:, 1 - for_it]
    return odds


def _positive_column(answers: SetPredictions) -> int:
    return list(answers.label_space).index(positive_label(answers.label_space))


def sentence(model: str, ranking: Ranking, threshold: str, label: str = ENTAILMENT) -> str:
    """Return what is to be said of a model of one output, read as a label or not, beside its scores on a set."""
    share = "none" if ranking["threshold"] is None else f"{ranking['threshold']:.3g}"
    how = (
        f"as no threshold is known, as many pairs are taken for {label} as are labelled so, those it scores highest "
        f"({ranking['taken']:,} of {ranking['pairs']:,}, from {share} on). The scores above rest on that number, "
        "which no user knows"
        if threshold == RANKING
        else f"{label} begins at {share} ({ranking['taken']:,} of {ranking['pairs']:,} pairs)"
    )
    area = (
        "All pairs here are labelled alike, so the order of its outputs says nothing."
        if ranking["auc"] is None
        else f"Whatever the threshold, a pair labelled {label} scores above one that is not in "
        f"{ranking['auc']:.1%} of such couples (area under the curve; 50% is chance)."
    )
    return f"{model} has one output, read as {label} or not: {how}. {area}"
