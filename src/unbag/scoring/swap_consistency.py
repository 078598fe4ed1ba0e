"""Swap consistency: whether predictions stay the same when premise and hypothesis are exchanged."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import CONTRADICTION, NEUTRAL, get_label_id
from unbag.data.predictions import NO_ANSWER, Columns, SetPredictions, select_rows
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, estimate_difference, estimate_ratio
from unbag.scoring.validation import encode_names, validate_columns


def swap_consistency(
    predictions: ArrayLike,
    references: ArrayLike,
    source_id: Sequence[Hashable] | NDArray[Any],
    swapped: ArrayLike,
    *,
    neutral: int = 1,
    contradiction: int = 2,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute the accuracy before and after premise and hypothesis are swapped, and the agreement of the predictions.

    There is one row per pair and direction. Contradiction and neutral pairs keep their label when the two sentences are
    swapped; entailment pairs may not (Wang, Sun & Xing 2019, https://doi.org/10.1609/aaai.v33i01.33017136; ReSNLI
    paper, section 5.2 and Table 1). The scores are therefore over pairs whose gold label is contradiction or neutral. A
    model that ignores which sentence comes first has drop 0 and agreement 1.

    Args:
        predictions: Predicted label ids, shape (n,). A negative id is a missing prediction. It counts as wrong and as
            disagreement, and as correct before the swap in the drop, so that it never improves a score.
        references: Gold label ids, shape (n,).
        source_id: Pair of each row, shape (n,). Rows may be in any order.
        swapped: Whether premise and hypothesis are swapped in each row, shape (n,). Only contradiction and neutral
            pairs need a swapped row.
        neutral, contradiction: Ids of these labels (default: 1 and 2).
        resamples: 0 disables the intervals, which have a closed form. `seed` has no effect.

    Returns:
        The scores of the card `metrics/swap_consistency/README.md`, as `Estimate`s: accuracies in [0, 1], drops in [-1,
        1]. The value is None without examples. Table 1 most likely shows `overall`: its column "Before Swap" equals the
        accuracies on SNLI test in Table 3.

    >>> predicted, gold = [0, 1, 2, 2, 1, 1, 2], [0, 1, 2, 1, 1, 2, 1]
    >>> scores = swap_consistency(predicted, gold, list("abcdbcd"), [0, 0, 0, 0, 1, 1, 1])
    >>> scores["accuracy_before"].value, scores["accuracy_after"].value, scores["n_excluded"]
    (0.6666666666666666, 0.3333333333333333, 1)
    """
    if neutral == contradiction:
        raise ValueError(
            f"neutral, contradiction: expected two different label ids, got {neutral} for both; pass different ids"
        )
    exchanged = np.asarray(swapped, dtype=np.bool_)
    gold, predicted = validate_columns(
        references, {"source_id": source_id, "swapped": exchanged}, predictions=predictions
    )
    numbers, names = encode_names(source_id)
    times = np.stack([np.bincount(numbers[rows], minlength=len(names)) for rows in (~exchanged, exchanged)])
    if (wrong := (times[0] != 1) | (times[1] > 1)).any():
        pair = int(wrong.argmax())
        raise ValueError(
            f"source_id: expected one original row and at most one swapped row per pair, got {times[0][pair]} original "
            f"and {times[1][pair]} swapped rows for {names[pair]!r}"
        )
    # One value per pair from here on; 0 for entailment pairs without a swapped row, where the value is ignored.
    swapped_predictions = np.zeros(len(names), dtype=np.int64)
    swapped_predictions[numbers[exchanged]] = predicted[exchanged]
    pairs = numbers[~exchanged]
    gold, before, after = gold[~exchanged], predicted[~exchanged], swapped_predictions[pairs]
    labels = {"neutral": gold == neutral, "contradiction": gold == contradiction}
    label_stays = labels["neutral"] | labels["contradiction"]
    if (lacking := label_stays & (times[1][pairs] == 0)).any():
        raise ValueError(
            f"swapped: expected a swapped row for every neutral and contradiction pair, got none for "
            f"{names[pairs[lacking.argmax()]]!r}"
        )
    columns = (
        before == gold,
        (before == gold) | (label_stays & (before < 0)),  # a missing prediction may be correct
        # Entailment may not hold after the swap: such pairs keep their original order both times.
        np.where(label_stays, after, before) == gold,
        (before == after) & (before >= 0),  # two missing predictions count as disagreement
    )

    def score(rows: NDArray[np.bool_]) -> dict[str, Any]:
        right, at_most, right_after, agreement = (estimate_ratio(each, rows, resamples=resamples) for each in columns)
        drop = estimate_difference(at_most, right_after)
        return {"accuracy_before": right, "accuracy_after": right_after, "drop": drop, "agreement": agreement}

    overall = score(np.ones(len(gold), dtype=bool))
    del overall["agreement"]  # it would include entailment pairs in their original order
    return {
        "n_examples": len(gold),
        "n_excluded": int((~label_stays).sum()),
        **score(label_stays),
        "by_label": {label: score(rows) for label, rows in labels.items()},
        "overall": overall,
    }


def score_swapped(columns: Columns, predictions: SetPredictions, *, partial: bool = False) -> dict[str, Any]:
    """Compute the scores of the swapped set. If the rows are a part of the set, only pairs with both orders count.

    The label "not entailment" of a two-label model is correct for neutral pairs and for contradictions. It counts as
    the one of the two that the pair is.
    """
    if partial:
        as_given, exchanged = (
            {name for name, swapped in zip(columns["source_id"], columns["swapped"], strict=True) if swapped == wanted}
            for wanted in (False, True)
        )
        is_complete = np.array([name in as_given & exchanged for name in columns["source_id"]])
        columns, predictions = select_rows(is_complete, columns, predictions)
        if not is_complete.any():
            return {}
    label = np.asarray(columns["label"])
    # Map the model's label space to our ids. `label_positions` maps each of our ids to a label of the model. If the
    # model predicts the label that the gold label maps to, the prediction is the gold label, else the first match.
    positions = predictions.label_positions
    ours = np.array([list(positions).index(column) for column in range(len(predictions.label_space))])
    predicted = np.where(predictions.predicted == positions[label], label, ours[predictions.predicted])
    return swap_consistency(
        np.where(predictions.predicted == NO_ANSWER, NO_ANSWER, predicted),
        label,
        columns["source_id"],
        np.asarray(columns["swapped"], dtype=np.bool_),
        neutral=get_label_id(NEUTRAL),
        contradiction=get_label_id(CONTRADICTION),
        resamples=0 if partial else DEFAULT_RESAMPLES,
    )
