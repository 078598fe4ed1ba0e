"""Shares of predicted labels on pairs whose gold label is known by construction (Nie et al. 2019, Table 2)."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import LABELS
from unbag.data.predictions import NO_ANSWER, NONE, Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, estimate_ratio
from unbag.scoring.validation import encode_names, validate_columns, validate_label_ids


def label_distribution(
    predictions: ArrayLike,
    references: ArrayLike,
    source_id: Sequence[Hashable] | NDArray[Any],
    *,
    kind: Sequence[str] | NDArray[Any] | None = None,
    names: Sequence[str] = LABELS,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute the distribution of the predicted labels, and the accuracy.

    Nie et al. (2019), https://doi.org/10.1609/aaai.v33i01.33016867, Table 2. The premise and hypothesis of these pairs
    consist of nearly the same words, so a bag-of-words model predicts entailment.

    Args:
        predictions: Predicted label ids, shape (n,).
        references: Gold label ids, shape (n,).
        source_id: Source of each pair, shape (n,). Pairs with the same source are not independent.
        kind: Subset name of each pair, shape (n,); None for no `by_subset`.
        names: Label names by id (default: entailment, neutral, contradiction).
        resamples: 0 disables the intervals, which have a closed form. `seed` has no effect.

    Returns:
        The scores of the card `metrics/label_distribution/README.md`, as `Estimate`s in [0, 1]; `n` counts sources.

    >>> scores = label_distribution([0, 0, 1, 2], [2, 2, 2, 2], ["a", "b", "c", "d"])
    >>> {name: share.value for name, share in scores["shares"].items()}, scores["accuracy"].value
    ({'entailment': 0.5, 'neutral': 0.25, 'contradiction': 0.25}, 0.25)
    """
    gold, predicted = validate_columns(references, {"source_id": source_id, "kind": kind}, predictions=predictions)
    for what, ids in (("references", gold), ("predictions", predicted)):
        validate_label_ids(what, ids, len(names))
    source = encode_names(source_id)[0]

    def score(rows: NDArray[np.bool_]) -> dict[str, Any]:
        return {
            "n_examples": int(rows.sum()),
            "shares": {
                name: estimate_ratio(predicted == label, rows, source, resamples=resamples)
                for label, name in enumerate(names)
            },
            "accuracy": estimate_ratio(predicted == gold, rows, source, resamples=resamples),
        }

    overall = score(np.ones(len(gold), dtype=np.bool_))
    if kind is not None:
        kinds = np.asarray(kind, dtype=object)
        overall["by_subset"] = {name: score(kinds == name) for name in dict.fromkeys(kind)}
    return overall


def score_soswap_addamod(columns: Columns, predictions: SetPredictions, *, partial: bool = False) -> dict[str, Any]:
    """Compute the distribution of predicted labels on SOSwap and on AddAmod pairs, given by the column `kind`.

    Rows without a prediction count as the label `none`.
    """
    predicted, names = predictions.predicted, tuple(predictions.label_space)
    if (predicted == NO_ANSWER).any():
        predicted, names = np.where(predicted == NO_ANSWER, len(names), predicted), (*names, NONE)
    return label_distribution(
        predicted,
        predictions.to_label_positions(columns["label"]),
        columns["source_id"],
        kind=columns["kind"],
        names=names,
        resamples=0 if partial else DEFAULT_RESAMPLES,
    )
