"""The swapping evaluation: whether a model keeps its answer when premise and hypothesis change places."""

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, named_estimates
from unbag.scoring.checks import labelled

_MEASURES: Final = ("accuracy_before", "accuracy_after", "drop", "agreement")


def swap_consistency(
    predictions: ArrayLike,
    references: ArrayLike,
    swapped_predictions: ArrayLike,
    *,
    neutral: int = 1,
    contradiction: int = 2,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Score predictions on pairs before and after premise and hypothesis are exchanged.

    Contradiction and neutral pairs keep their label when the two sentences are exchanged; entailment pairs need not
    (Wang, Sun & Xing 2019, https://doi.org/10.1609/aaai.v33i01.33017136; the "swapping evaluation" of the ReSNLI paper,
    section 5.2 and Table 1). So, over the pairs whose gold label is contradiction or neutral:

    - `accuracy_before`, `accuracy_after`: share predicted right as given, and exchanged.
    - `drop`: accuracy before less accuracy after, both from the same resamples. The smaller, the more robust.
    - `agreement`: share with the same prediction before and after, right or wrong. (Ours: errors that cancel out leave
      the drop at 0.)
    - `by_label`: the four for neutral and for contradiction alone.
    - `whole`: accuracy before, after and drop over *all* pairs, with the entailment pairs as given both times. Table 1
      is most likely this: its column "Before Swap" repeats the accuracies on the whole SNLI test set of Table 3. Its
      drop is `drop` times the share of pairs that were exchanged.

    A model to which the order of the two sentences is all one has drop 0 and agreement 1.

    Args:
        predictions: predicted label ids, shape (n,). An id that is no label (-1, say) is wrong.
        references: gold label ids, shape (n,).
        swapped_predictions: label ids predicted for (hypothesis, premise), shape (n,). Those of entailment pairs are
            not read: any number will do.
        neutral: the id of neutral.
        contradiction: the id of contradiction.
        resamples: bootstrap draws of the 95 % intervals, over examples; 0 for none.
        seed: decides the draws.

    Returns:
        The quantities above, each an `Estimate` (value, low, high, n), with `n_examples` and `n_left_out`, how many
        pairs have another label. Accuracies and agreement are in [0, 1], higher is better; drops are in [-1, 1]. What
        has no example is None.

    Raises:
        ValueError: if lengths differ, there is no example, or neutral and contradiction have the same id.

    >>> scores = swap_consistency([0, 1, 2, 2], [0, 1, 2, 1], [0, 1, 1, 2])
    >>> scores["accuracy_before"].value, scores["accuracy_after"].value, scores["n_left_out"]
    (0.6666666666666666, 0.3333333333333333, 1)
    """
    if neutral == contradiction:
        raise ValueError(f"expected two ids, found {neutral} for both neutral and contradiction")
    gold, before, after = labelled(references, predictions=predictions, swapped_predictions=swapped_predictions)
    labels = {"neutral": gold == neutral, "contradiction": gold == contradiction}
    kept = labels["neutral"] | labels["contradiction"]

    ratios: dict[tuple[str, str], tuple[NDArray[Any], NDArray[Any]]] = {}
    drops = {}
    columns = {
        "accuracy_before": before == gold,
        "accuracy_after": np.where(kept, after, before) == gold,
        "agreement": before == after,
    }
    for subset, rows in ({"kept": kept, "whole": np.ones(len(gold), dtype=bool)} | labels).items():
        for name, column in columns.items():
            ratios[subset, name] = (column & rows, rows)
        drops[subset, "drop"] = (subset, "accuracy_before"), (subset, "accuracy_after")
    estimates = named_estimates(ratios, drops, resamples=resamples, seed=seed)

    def measures(subset: str, names: tuple[str, ...] = _MEASURES) -> dict[str, Estimate]:
        return {name: estimates[subset, name] for name in names}

    return {
        "n_examples": len(gold),
        "n_left_out": int((~kept).sum()),
        **measures("kept"),
        "by_label": {label: measures(label) for label in labels},
        "whole": measures("whole", _MEASURES[:3]),
    }
