"""The swapping evaluation: whether a model keeps its answer when premise and hypothesis change places."""

from collections.abc import Hashable, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, named_estimates
from unbag.scoring.validation import labelled, numbered


class SwapAccuracies(TypedDict):
    """Accuracy before and after the exchange.

    `Estimate`s (value, low, high, n): accuracies from 0 to 1, higher is better, drops from -1 to 1. What has no example
    is None.

    Attributes:
        accuracy_before: share predicted right as given.
        accuracy_after: share predicted right exchanged.
        drop: accuracy before less accuracy after, on the same pairs. The smaller, the more robust.
    """

    accuracy_before: Estimate
    accuracy_after: Estimate
    drop: Estimate


class SwapScores(SwapAccuracies):
    """Accuracy and agreement before and after the exchange, over pairs that keep their label.

    Attributes:
        agreement: share with the same prediction before and after, right or wrong. (Ours: errors that cancel out leave
            the drop at 0.)
    """

    agreement: Estimate


class SwapConsistencyScores(SwapScores):
    """Whether answers stay when premise and hypothesis are exchanged, over the contradiction and neutral pairs.

    Attributes:
        n_examples: how many pairs there are.
        n_excluded: how many of them have another label.
        by_label: `SwapScores` for `neutral` and for `contradiction` alone.
        overall: `SwapAccuracies` over *all* pairs, with the entailment pairs as given both times. Table 1 is most
            likely this: its column "Before Swap" repeats the accuracies on the whole SNLI test set of Table 3. Its
            drop is `drop` times the share of pairs that were exchanged.
    """

    n_examples: int
    n_excluded: int
    by_label: dict[str, SwapScores]
    overall: SwapAccuracies


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
) -> SwapConsistencyScores:
    """Score predictions on pairs before and after premise and hypothesis are exchanged, each a row.

    Contradiction and neutral pairs keep their label when the two sentences are exchanged; entailment pairs need not
    (Wang, Sun & Xing 2019, https://doi.org/10.1609/aaai.v33i01.33017136; the "swapping evaluation" of the ReSNLI paper,
    section 5.2 and Table 1). So scores are over the pairs whose gold label is contradiction or neutral.

    A model to which the order of the two sentences is all one has drop 0 and agreement 1.

    Args:
        predictions: predicted label ids, shape (n,). An id that is no label (-1, say) is wrong.
        references: gold label ids, shape (n,).
        source_id: which pair each row is, shape (n,). Rows may come in any order.
        swapped: whether premise and hypothesis are exchanged, shape (n,). A pair that is neither a contradiction nor
            neutral needs no such row.
        neutral: the id of neutral.
        contradiction: the id of contradiction.
        resamples: 0 for no intervals; any other number gives the same ones, which are in closed form.
        seed: without effect on intervals in closed form; every metric takes it.

    Raises:
        ValueError: if lengths differ, there is no example, a pair has a row twice or lacks one, or neutral and
            contradiction have the same id.

    >>> predicted, gold = [0, 1, 2, 2, 1, 1, 2], [0, 1, 2, 1, 1, 2, 1]
    >>> scores = swap_consistency(predicted, gold, list("abcdbcd"), [0, 0, 0, 0, 1, 1, 1])
    >>> scores["accuracy_before"].value, scores["accuracy_after"].value, scores["n_excluded"]
    (0.6666666666666666, 0.3333333333333333, 1)
    """
    gold, predicted = labelled(references, predictions=predictions)
    exchanged = np.asarray(swapped, dtype=np.bool_)
    lengths = {"references": len(gold), "source_id": len(source_id), "swapped": len(exchanged)}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"expected the same number of examples everywhere, found {lengths}")
    numbers, names = numbered(source_id)
    times = np.stack([np.bincount(numbers[rows], minlength=len(names)) for rows in (~exchanged, exchanged)])
    if (wrong := (times[0] != 1) | (times[1] > 1)).any():
        pair = int(wrong.argmax())
        raise ValueError(
            f"expected each pair as given once and exchanged at most once, found {times[0][pair]} and "
            f"{times[1][pair]} rows of {names[pair]!r}"
        )
    after = np.zeros(len(names), dtype=np.int64)
    after[numbers[exchanged]] = predicted[exchanged]
    of = numbers[~exchanged]
    stays = (gold[~exchanged] == neutral) | (gold[~exchanged] == contradiction)
    if (lacking := stays & (times[1][of] == 0)).any():
        raise ValueError(
            f"expected a row with premise and hypothesis exchanged for every neutral pair and contradiction, found "
            f"none of {names[of[lacking.argmax()]]!r}"
        )
    return swap_consistency_of_pairs(
        predicted[~exchanged],
        gold[~exchanged],
        after[of],  # entailment pairs have none, and it is not read
        neutral=neutral,
        contradiction=contradiction,
        resamples=resamples,
        seed=seed,
    )


def swap_consistency_of_pairs(
    predictions: ArrayLike,
    references: ArrayLike,
    swapped_predictions: ArrayLike,
    *,
    neutral: int = 1,
    contradiction: int = 2,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> SwapConsistencyScores:
    """Score predictions as `swap_consistency` does, where both of a pair stand side by side.

    Args:
        predictions: predicted label ids, shape (n,). An id that is no label (-1, say) is wrong,
            and no answer that could agree.
        references: gold label ids, shape (n,).
        swapped_predictions: label ids predicted for (hypothesis, premise), shape (n,). Those of entailment pairs are
            not read: any number will do.
        neutral: the id of neutral.
        contradiction: the id of contradiction.
        resamples: 0 for no intervals; any other number gives the same ones, which are in closed form.
        seed: without effect on intervals in closed form; every metric takes it.

    Raises:
        ValueError: if lengths differ, there is no example, or neutral and contradiction have the same id.

    >>> scores = swap_consistency_of_pairs([0, 1, 2, 2], [0, 1, 2, 1], [0, 1, 1, 2])
    >>> scores["accuracy_before"].value, scores["accuracy_after"].value, scores["n_excluded"]
    (0.6666666666666666, 0.3333333333333333, 1)
    """
    if neutral == contradiction:
        raise ValueError(f"expected two ids, found {neutral} for both neutral and contradiction")
    gold, before, after = labelled(references, predictions=predictions, swapped_predictions=swapped_predictions)
    labels = {"neutral": gold == neutral, "contradiction": gold == contradiction}
    label_stays = labels["neutral"] | labels["contradiction"]

    ratios: dict[tuple[str, str], tuple[NDArray[np.bool_], NDArray[np.bool_]]] = {}
    drops = {}
    columns = {
        "accuracy_before": before == gold,
        "accuracy_after": np.where(label_stays, after, before) == gold,
        "agreement": (before == after) & (before >= 0),  # none is no answer
    }
    for subset, rows in ({"kept": label_stays, "overall": np.ones(len(gold), dtype=bool)} | labels).items():
        for name, column in columns.items():
            ratios[subset, name] = (column & rows, rows)
        drops[subset, "drop"] = (subset, "accuracy_before"), (subset, "accuracy_after")
    estimates = named_estimates(ratios, drops, resamples=resamples, seed=seed)

    def accuracies(subset: str) -> SwapAccuracies:
        return {
            "accuracy_before": estimates[subset, "accuracy_before"],
            "accuracy_after": estimates[subset, "accuracy_after"],
            "drop": estimates[subset, "drop"],
        }

    def scores(subset: str) -> SwapScores:
        return {**accuracies(subset), "agreement": estimates[subset, "agreement"]}

    return {
        "n_examples": len(gold),
        "n_excluded": int((~label_stays).sum()),
        **scores("kept"),
        "by_label": {label: scores(label) for label in labels},
        "overall": accuracies("overall"),
    }
