"""Overall accuracy, accuracy per gold label, and agreement between annotators."""

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, estimate_ratio, resample_sums
from unbag.scoring.validation import encode_names, validate_columns, validate_label_ids


class AccuracyScores(TypedDict):
    """Overall accuracy, accuracy per gold label, and the majority baseline.

    An `Estimate` is (value, low, high, n): a fraction in [0, 1], its 95 % interval and the number of examples.
    """

    accuracy: Estimate
    by_label: list[Estimate]  # accuracy on the examples of each gold label (its recall), indexed by label id
    majority: float  # share of the most frequent gold label, which is the accuracy of the best constant prediction


class SetAccuracyScores(AccuracyScores):
    """Scores on a challenge set, with the names of the label ids."""

    labels: list[str]


def accuracy(
    predictions: ArrayLike,
    references: ArrayLike,
    source_id: Sequence[Hashable] | NDArray[Any] | None = None,
    *,
    n_labels: int = 3,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> AccuracyScores:
    """Compute the accuracy of predictions, overall and per gold label.

    Args:
        predictions: Predicted label ids, shape (n,). An id that is not a label, such as -1, counts as wrong.
        references: Gold label ids in 0 … n_labels - 1, shape (n,).
        source_id: Source of each example, such as its document, shape (n,). Examples with the same source are not
            independent (default: one source per example).
        n_labels: Number of labels (default: 3).
        resamples: 0 disables the intervals, which have a closed form. Positive values have no other effect.
        seed: Unused; accepted because all metrics have the same signature.

    Returns:
        Fractions in [0, 1]; higher is better.

    Raises:
        ValueError: If the lengths differ, there are no examples, or a gold label is negative.

    >>> scores = accuracy([0, 1, 1, 2], [0, 1, 2, 2])
    >>> scores["accuracy"].value, [recall.value for recall in scores["by_label"]]
    (0.75, [1.0, 1.0, 0.5])
    """
    gold, predicted = validate_columns(references, predictions=predictions)
    source = None
    if source_id is not None:
        if len(source_id) != len(gold):
            raise ValueError(
                f"source_id: expected one source per example ({len(gold)}), got {len(source_id)}; pass one source "
                "per row"
            )
        source = encode_names(source_id)[0]

    def score(rows: NDArray[np.bool_]) -> Estimate:
        return estimate_ratio(predicted == gold, rows, source, is_count_of_rows=True, resamples=resamples)

    return {
        "accuracy": score(np.ones(len(gold), dtype=np.bool_)),
        "by_label": [score(gold == label) for label in range(n_labels)],
        "majority": float(np.bincount(gold).max() / len(gold)),
    }


def score_accuracy(
    columns: Columns, predictions: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> SetAccuracyScores:
    """Compute the accuracy on the rows of a challenge set, overall and per gold label.

    Args:
        columns: Columns of n rows: `label`, and optionally `source_id`.
    """
    scores = accuracy(
        predictions.predicted,
        predictions.to_label_positions(columns["label"]),
        columns.get("source_id"),
        n_labels=len(predictions.label_space),
        resamples=resamples,
    )
    return {**scores, "labels": list(predictions.label_space)}


NO_ANNOTATION: Final = -1
"""Label id of a missing annotator label; None also means missing."""

Annotations = Sequence[Sequence[int | None]] | NDArray[np.int64]
"""Label ids from the annotators of each example: n rows of any length, or an array of shape (n, annotators)."""


class LabelKappa(TypedDict):
    """Fleiss' κ of one label against all other labels."""

    label: int
    kappa: Estimate


class FleissKappaScores(TypedDict):
    """Chance-corrected agreement between annotators (Fleiss' κ), from -1 to 1.

    κ is 1 for full agreement and 0 for agreement by chance. The value of an `Estimate` is None if all labels are the
    same. Chance agreement is then 1, and κ is undefined.

    Attributes:
        annotators: Number of labels per example. Examples with fewer labels are excluded.
        overall: κ over all labels.
        by_label: κ of each label that occurs, in ascending order of ids.
    """

    annotators: int
    overall: Estimate
    by_label: list[LabelKappa]


class AnnotatorAgreement(NamedTuple):
    """Fraction of annotators who give the gold label, per example."""

    share: NDArray[np.float64]  # share of each example's annotators, shape (n,); 0 for an example without annotators
    annotated: NDArray[np.bool_]  # whether each example has annotators, shape (n,)


def compute_annotator_agreement(
    annotator_labels: Annotations, gold: NDArray[np.int64], n_labels: int | None = None
) -> AnnotatorAgreement:
    """Compute the fraction of annotators who give the gold label, for each example.

    The mean over examples is the expected accuracy of one annotator drawn at random. Nie et al. 2019 (footnote 10) use
    this mean as the human estimate. The human performance in Table 2 of Glockner et al. 2018 is the same mean: 94.1 %
    on their pairs and 87.7 % on SNLI test. They cite the method of Gong et al. 2018.

    Args:
        annotator_labels: Label ids, n rows of any length; None and -1 are missing labels.
        gold: Gold label ids, shape (n,).
        n_labels: Number of labels; None accepts any non-negative id.

    >>> compute_annotator_agreement([[0, 0, 1], [], [2, None]], np.array([0, 1, 2])).share.round(2).tolist()
    [0.67, 0.0, 1.0]
    """
    counts = _counts(annotator_labels, len(gold), n_labels, at_least=int(gold.max(initial=-1)) + 1)
    totals = counts.sum(axis=1)
    return AnnotatorAgreement(counts[np.arange(len(gold)), gold] / np.maximum(totals, 1), totals > 0)


def fleiss_kappa(
    annotator_labels: Annotations,
    *,
    n_labels: int | None = None,
    groups: NDArray[np.int64] | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> FleissKappaScores | None:
    """Compute Fleiss' κ between annotators, overall and per label.

    Fleiss 1971, "Measuring nominal scale agreement among many raters", equations 1 to 7 and 12. The formula needs the
    same number of labels for every example. Examples with fewer labels than the maximum are therefore excluded, as in
    Table 2 of Glockner et al. 2018: its 9,815 pairs of SNLI test have a gold label and all five annotator labels.

    Args:
        annotator_labels: Label ids, n rows of any length; None and -1 are missing labels.
        n_labels: Number of labels; None accepts any non-negative id.
        groups: Group index of each example, shape (n,). Examples in the same group are resampled together.

    Returns:
        κ in [-1, 1], where higher means more agreement; None if no example has two labels.

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
    draws = _kappas(resample_sums(sums.astype(np.float64), resamples, seed), annotators) if resamples else None
    estimates = [
        _estimate(value, None if draws is None else draws[:, column], int(complete.sum()))
        for column, value in enumerate(values)
    ]
    # Column 0 is the overall κ, so the κ of label id l is in column 1 + l.
    by_label: list[LabelKappa] = [{"label": int(label), "kappa": estimates[1 + label]} for label in labels]
    return {"annotators": annotators, "overall": estimates[0], "by_label": by_label}


def _kappas(sums: NDArray[np.float64], annotators: int) -> NDArray[np.float64]:
    """Compute the overall κ and the κ of each label, shape (draws, 1 + k); NaN if chance agreement is 1."""
    # Columns of `sums`: examples, votes for each label, ordered pairs of agreeing votes for each label.
    labels = (sums.shape[1] - 1) // 2
    examples, votes, pairs = sums[:, :1], sums[:, 1 : 1 + labels], sums[:, 1 + labels :]
    shares = votes / (examples * annotators)  # p_j, equation 2
    agreeing = pairs / (examples * annotators * (annotators - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = (shares**2).sum(axis=1, keepdims=True)
        overall = (agreeing.sum(axis=1, keepdims=True) - chance) / (1 - chance)
        # P̄_j, the probability that a second vote agrees with a vote for label j, is agreeing / shares.
        by_label = (agreeing / shares - shares) / (1 - shares)
    return np.concatenate([overall, by_label], axis=1)


def _estimate(value: float, draws: NDArray[np.float64] | None, n: int) -> Estimate:
    if np.isnan(value):
        return Estimate(None, None, None, n)
    # The κ of a resample is NaN if all its labels are the same.
    if draws is None or np.isnan(draws).all():
        return Estimate(float(value), None, None, n)
    low, high = np.nanpercentile(draws, [2.5, 97.5]).tolist()
    return Estimate(float(value), low, high, n)


def _counts(annotator_labels: Annotations, n: int, n_labels: int | None, at_least: int = 0) -> NDArray[np.int64]:
    """Count the votes for each label of each example, shape (n, labels)."""
    if len(annotator_labels) != n:
        raise ValueError(
            f"annotator_labels: expected one row per example ({n}), got {len(annotator_labels)}; pass one list per "
            "example"
        )
    votes = [
        (row, label)
        for row, labels in enumerate(annotator_labels)
        for label in labels
        if label is not None and label != NO_ANNOTATION
    ]
    rows = np.array([row for row, _ in votes], dtype=np.int64)
    labels = np.array([label for _, label in votes]) if votes else np.empty(0, dtype=np.int64)
    if labels.dtype.kind not in "iu":
        raise ValueError(
            f"annotator_labels: expected label ids, None or {NO_ANNOTATION}, got {labels.dtype}; convert names to "
            "label ids"
        )
    validate_label_ids("annotator_labels", labels, n_labels, rows)
    width = max(at_least, int(labels.max(initial=-1)) + 1, n_labels or 0)
    # One bincount over the flat cells (row, label) replaces a loop over examples.
    return np.bincount(rows * width + labels, minlength=n * width).reshape(n, width)
