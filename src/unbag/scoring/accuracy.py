"""Accuracy overall and by gold label, and the agreement of several annotators."""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, named_estimates, resampled_sums
from unbag.scoring.validation import check_ids, labelled


class AccuracyScores(TypedDict):
    """How often predictions are right; an `Estimate` is (value, low, high, n), from 0 to 1.

    Attributes:
        accuracy: the share of examples predicted right.
        by_label: the same among the examples of each gold label, by its id (its recall).
        majority: the share of the most frequent gold label.
    """

    accuracy: Estimate
    by_label: list[Estimate]
    majority: float


def accuracy(
    predictions: ArrayLike,
    references: ArrayLike,
    *,
    n_labels: int = 3,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> AccuracyScores:
    """Score predictions by the share that is right.

    Args:
        predictions: predicted label ids, shape (n,). An id that is no label (-1, say) is wrong.
        references: gold label ids, 0 … n_labels - 1, shape (n,).
        n_labels: how many labels there are.
        resamples: 0 for no intervals; any other number gives the same ones, which are in closed form.
        seed: without effect on intervals in closed form; every metric takes it.

    Raises:
        ValueError: if the lengths differ or there is no example.

    >>> scores = accuracy([0, 1, 1, 2], [0, 1, 2, 2])
    >>> scores["accuracy"].value, [recall.value for recall in scores["by_label"]]
    (0.75, [1.0, 1.0, 0.5])
    """
    gold, predicted = labelled(references, predictions=predictions)
    right = predicted == gold
    ratios = {"all": (right, np.ones(len(gold)))}
    ratios |= {str(label): (right & (gold == label), gold == label) for label in range(n_labels)}
    estimates = named_estimates(ratios, resamples=resamples, seed=seed)
    return {
        "accuracy": estimates["all"],
        "by_label": [estimates[str(label)] for label in range(n_labels)],
        "majority": float(np.bincount(gold).max() / len(gold)),
    }


NO_VOTE: Final = -1
"""An annotator's label that is missing; None says the same."""

Annotations = Sequence[Sequence[int | None]] | NDArray[np.int64]
"""The label ids that annotators gave to each example: n rows of any length, or an array of shape (n, annotators)."""


class LabelKappa(TypedDict):
    """Fleiss' κ of one label, by its id, against all others."""

    label: int
    kappa: Estimate


class Kappa(TypedDict):
    """How far annotators agree beyond chance: Fleiss' κ, 1 for always, 0 as chance would have it, from -1.

    An `Estimate` is None where every label is the same, so that chance agrees too.

    Attributes:
        annotators: how many labels an example counted has; those with fewer count out.
        overall: κ of all labels.
        by_label: κ of each label that occurs, in order of the ids.
    """

    annotators: int
    overall: Estimate
    by_label: list[LabelKappa]


class Agreement(NamedTuple):
    """How often annotators give the gold label.

    Attributes:
        share: of each example's annotators, shape (n,); 0 where it has none.
        annotated: which examples have annotators, shape (n,).
    """

    share: NDArray[np.float64]
    annotated: NDArray[np.bool_]


def agreement(annotator_labels: Annotations, gold: NDArray[np.int64], n_labels: int | None = None) -> Agreement:
    """Return the share of each example's annotators that give the gold label.

    Its mean over examples is what one annotator drawn at random scores on average: the human estimate of Nie et al.
    2019 (footnote 10). The human performance of Glockner et al. 2018, Table 2, who name the method of Gong et al. 2018,
    is this number: 94.1 % on their pairs, 87.7 % on SNLI test.

    Args:
        annotator_labels: n rows of label ids; None and -1 are no label.
        gold: label ids, shape (n,).
        n_labels: how many labels there are; None where any id from 0 up is one.

    Raises:
        ValueError: if lengths differ, or an id is no label's.

    >>> agreement([[0, 0, 1], [], [2, None]], np.array([0, 1, 2])).share.round(2).tolist()
    [0.67, 0.0, 1.0]
    """
    counts = _counts(annotator_labels, len(gold), n_labels, at_least=int(gold.max(initial=-1)) + 1)
    totals = counts.sum(axis=1)
    return Agreement(counts[np.arange(len(gold)), gold] / np.maximum(totals, 1), totals > 0)


def fleiss_kappa(
    annotator_labels: Annotations,
    *,
    n_labels: int | None = None,
    groups: NDArray[np.int64] | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> Kappa | None:
    """Return Fleiss' κ of annotators, overall and by label; None if no example has two labels.

    Fleiss 1971, "Measuring nominal scale agreement among many raters", equations 1 to 7 and 12. It wants the same
    number of labels everywhere: examples with fewer than the most that one has are left out, as in Table 2 of Glockner
    et al. 2018, whose 9,815 pairs of SNLI test are those with a gold label and all five labels.

    Args:
        annotator_labels: n rows of label ids; None and -1 are no label.
        n_labels: how many labels there are; None where any id from 0 up is one.
        groups: the number of the group of each example, shape (n,): those of one are drawn together.
        resamples: bootstrap draws of the 95 % intervals; 0 for none.
        seed: decides the draws.

    Raises:
        ValueError: if an id is no label's.

    >>> fleiss_kappa([[0, 0], [1, 1], [0, 1], [0, 0]])["overall"].value
    0.4666666666666667
    """
    votes = _counts(annotator_labels, len(annotator_labels), n_labels)
    totals = votes.sum(axis=1)
    annotators = int(totals.max(initial=0))
    if annotators < 2:
        return None
    complete = totals == annotators
    labels = np.flatnonzero(votes[complete].sum(axis=0))
    columns = np.column_stack([complete, votes * complete[:, None], votes * (votes - 1) * complete[:, None]])
    sums = columns if groups is None else np.stack([np.bincount(groups, weights=column) for column in columns.T], 1)
    values = _kappas(sums.sum(axis=0)[None], annotators)[0]
    draws = _kappas(resampled_sums(sums.astype(np.float64), resamples, seed), annotators) if resamples else None
    estimates = [
        _estimate(value, None if draws is None else draws[:, column], int(complete.sum()))
        for column, value in enumerate(values)
    ]
    by_label: list[LabelKappa] = [{"label": int(label), "kappa": estimates[1 + label]} for label in labels]
    return {"annotators": annotators, "overall": estimates[0], "by_label": by_label}


def _kappas(sums: NDArray[np.float64], annotators: int) -> NDArray[np.float64]:
    """Return κ of all labels and of each, shape (draws, 1 + labels); NaN where chance agrees always.

    Args:
        sums: examples, then the votes for each label, then the ordered pairs of agreeing votes, shape (draws, 1 + 2k).
        annotators: votes of an example.
    """
    labels = (sums.shape[1] - 1) // 2
    examples, votes, pairs = sums[:, :1], sums[:, 1 : 1 + labels], sums[:, 1 + labels :]
    shares = votes / (examples * annotators)  # p_j, equation 2
    agreeing = pairs / (examples * annotators * (annotators - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = (shares**2).sum(axis=1, keepdims=True)
        overall = (agreeing.sum(axis=1, keepdims=True) - chance) / (1 - chance)
        # P̄_j, how often a second vote agrees with one for the label, is agreeing / shares.
        by_label = (agreeing / shares - shares) / (1 - shares)
    return np.concatenate([overall, by_label], axis=1)


def _estimate(value: float, draws: NDArray[np.float64] | None, n: int) -> Estimate:
    if np.isnan(value):
        return Estimate(None, None, None, n)
    if draws is None or np.isnan(draws).all():
        return Estimate(float(value), None, None, n)
    low, high = np.nanpercentile(draws, [2.5, 97.5]).tolist()
    return Estimate(float(value), low, high, n)


def _counts(annotator_labels: Annotations, n: int, n_labels: int | None, at_least: int = 0) -> NDArray[np.int64]:
    """Return how many annotators gave each label to each example, shape (n, labels)."""
    if len(annotator_labels) != n:
        raise ValueError(f"expected the annotators' labels of every example ({n}), found {len(annotator_labels)}")
    votes = [
        (row, label)
        for row, labels in enumerate(annotator_labels)
        for label in labels
        if label is not None and label != NO_VOTE
    ]
    rows = np.array([row for row, _ in votes], dtype=np.int64)
    labels = np.array([label for _, label in votes]) if votes else np.empty(0, dtype=np.int64)
    if labels.dtype.kind not in "iu":
        raise ValueError(f"expected annotators' labels as ids, None or {NO_VOTE}, found {labels.dtype}")
    check_ids("annotator_labels", labels, n_labels, rows)
    width = max(at_least, int(labels.max(initial=-1)) + 1, n_labels or 0)
    return np.bincount(rows * width + labels, minlength=n * width).reshape(n, width)
