"""Overall accuracy, accuracy per gold label, and agreement between annotators."""

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, estimate_ratio, resample_sums
from unbag.scoring.validation import encode_names, validate_columns, validate_label_ids, validate_lengths


def accuracy(
    predictions: ArrayLike,
    references: ArrayLike,
    source_id: Sequence[Hashable] | NDArray[Any] | None = None,
    *,
    n_labels: int = 3,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute the accuracy of predictions, overall and per gold label. Higher is better.

    Args:
        predictions: Predicted label ids, shape (n,). An id that is not a label, such as -1, counts as wrong.
        references: Gold label ids in 0 … n_labels - 1, shape (n,).
        source_id: Source of each example, such as its document, shape (n,) (default: one source per example).
        resamples: 0 disables the intervals, which have a closed form. `seed` has no effect.

    Returns:
        - accuracy: Share of correct predictions.
        - by_label: Accuracy on the examples of each gold label (its recall), indexed by label id.
        - majority: Share of the most frequent gold label, which is the accuracy of the best constant prediction.

    >>> scores = accuracy([0, 1, 1, 2], [0, 1, 2, 2])
    >>> scores["accuracy"].value, [recall.value for recall in scores["by_label"]]
    (0.75, [1.0, 1.0, 0.5])
    """
    gold, predicted = validate_columns(references, {"source_id": source_id}, predictions=predictions)
    source = None if source_id is None else encode_names(source_id)[0]

    def score(rows: NDArray[np.bool_]) -> Estimate:
        return estimate_ratio(predicted == gold, rows, source, is_count_of_rows=True, resamples=resamples)

    return {
        "accuracy": score(np.ones(len(gold), dtype=np.bool_)),
        "by_label": [score(gold == label) for label in range(n_labels)],
        "majority": float(np.bincount(gold).max() / len(gold)),
    }


def score_accuracy(columns: Columns, predictions: SetPredictions, *, partial: bool = False) -> dict[str, Any]:
    """Compute the accuracy on the rows of a challenge set, overall and per gold label.

    The columns are `label` and, optionally, `source_id`.
    """
    scores = accuracy(
        predictions.predicted,
        predictions.to_label_positions(columns["label"]),
        columns.get("source_id"),
        n_labels=len(predictions.label_space),
        resamples=0 if partial else DEFAULT_RESAMPLES,
    )
    return {**scores, "labels": list(predictions.label_space)}


NO_ANNOTATION: Final = -1
"""Label id of a missing annotator label; None also means missing."""

Annotations = Sequence[Sequence[int | None]] | NDArray[np.int64]
"""Label ids from the annotators of each example: n rows of any length, or an array of shape (n, annotators)."""


class AnnotatorAgreement(NamedTuple):
    """Fraction of annotators who give the gold label, per example."""

    share: NDArray[np.float64]  # share of each example's annotators, shape (n,); 0 for an example without annotators
    annotated: NDArray[np.bool_]  # whether each example has annotators, shape (n,)


def compute_annotator_agreement(
    annotator_labels: Annotations, gold: NDArray[np.int64], n_labels: int | None = None
) -> AnnotatorAgreement:
    """Compute the fraction of annotators who give the gold label, for each example.

    The mean over examples is the expected accuracy of one annotator drawn at random, the human estimate of Nie et al.
    2019 (footnote 10) and of Table 2 of Glockner et al. 2018.

    Args:
        annotator_labels: Label ids, n rows of any length; None and -1 are missing labels.
        gold: Gold label ids, shape (n,).
        n_labels: Number of labels; None accepts any non-negative id.

    >>> compute_annotator_agreement([[0, 0, 1], [], [2, None]], np.array([0, 1, 2])).share.round(2).tolist()
    [0.67, 0.0, 1.0]
    """
    validate_lengths({"references": gold, "annotator_labels": annotator_labels})
    votes = _count_votes(annotator_labels, n_labels, at_least=int(gold.max(initial=-1)) + 1)
    totals = votes.sum(axis=1)
    return AnnotatorAgreement(votes[np.arange(len(gold)), gold] / np.maximum(totals, 1), totals > 0)


def fleiss_kappa(
    annotator_labels: Annotations,
    *,
    groups: NDArray[np.int64] | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any] | None:
    """Compute Fleiss' κ between annotators, overall and per label. Return None if no example has two labels.

    κ is the agreement corrected for chance, or None if all labels are the same (Fleiss 1971, "Measuring nominal scale
    agreement among many raters", equations 1 to 7 and 12). The formula needs the same number of labels for every
    example. Examples with fewer labels than the maximum are therefore excluded, as in Table 2 of Glockner et al. 2018.

    Args:
        annotator_labels: Label ids, n rows of any length; None and -1 are missing labels.
        groups: Group index of each example, shape (n,). Examples in the same group are resampled together.

    Returns:
        - annotators: Labels per example; examples with fewer labels are excluded.
        - overall: κ over all labels.
        - by_label: `label` and `kappa` of each label that occurs against all others, in ascending order of ids.

    >>> fleiss_kappa([[0, 0], [1, 1], [0, 1], [0, 0]])["overall"].value
    0.4666666666666667
    """
    votes = _count_votes(annotator_labels, None)
    totals = votes.sum(axis=1)
    annotators = int(totals.max(initial=0))
    if annotators < 2:
        return None
    complete = totals == annotators
    columns = np.column_stack([complete, votes * complete[:, None], votes * (votes - 1) * complete[:, None]])
    sums = columns if groups is None else np.stack([np.bincount(groups, weights=column) for column in columns.T], 1)
    values = _compute_kappas(sums.sum(axis=0)[None], annotators)[0]
    draws = np.empty((0, len(values)))
    if resamples:
        draws = _compute_kappas(resample_sums(sums.astype(np.float64), resamples, seed), annotators)

    def estimate(column: int) -> Estimate:
        value, drawn, n = float(values[column]), draws[:, column], int(complete.sum())
        if np.isnan(value):
            return Estimate(None, None, None, n)
        # The κ of a resample is NaN if all its labels are the same, or if no example has all labels.
        if np.isnan(drawn).all():
            return Estimate(value, None, None, n)
        low, high = np.nanpercentile(drawn, [2.5, 97.5]).tolist()
        return Estimate(value, low, high, n)

    labels = np.flatnonzero(votes[complete].sum(axis=0)).tolist()
    # Column 0 is the overall κ, so the κ of label id l is in column 1 + l.
    by_label = [{"label": label, "kappa": estimate(1 + label)} for label in labels]
    return {"annotators": annotators, "overall": estimate(0), "by_label": by_label}


def _compute_kappas(sums: NDArray[np.float64], annotators: int) -> NDArray[np.float64]:
    """Compute the overall κ and the κ of each label, shape (draws, 1 + k); NaN if undefined."""
    # Columns of `sums`: examples, votes for each label, ordered pairs of agreeing votes for each label.
    labels = (sums.shape[1] - 1) // 2
    examples, votes, pairs = sums[:, :1], sums[:, 1 : 1 + labels], sums[:, 1 + labels :]
    # A resample without complete examples, or with equal labels only, gives 0 / 0 = NaN.
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = votes / (examples * annotators)  # p_j, equation 2
        agreeing = pairs / (examples * annotators * (annotators - 1))
        chance = (shares**2).sum(axis=1, keepdims=True)
        overall = (agreeing.sum(axis=1, keepdims=True) - chance) / (1 - chance)
        # P̄_j, the probability that a second vote agrees with a vote for label j, is agreeing / shares.
        by_label = (agreeing / shares - shares) / (1 - shares)
    return np.concatenate([overall, by_label], axis=1)


def _count_votes(annotator_labels: Annotations, n_labels: int | None, at_least: int = 0) -> NDArray[np.int64]:
    """Count the votes for each label of each example, shape (n, labels)."""
    votes = [
        (row, label)
        for row, labels in enumerate(annotator_labels)
        for label in labels
        if label is not None and label != NO_ANNOTATION
    ]
    n, rows = len(annotator_labels), np.array([row for row, _ in votes], dtype=np.int64)
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
