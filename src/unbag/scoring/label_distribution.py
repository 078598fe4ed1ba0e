"""Shares of predicted labels on pairs whose gold label is known by construction (Nie et al. 2019, Table 2)."""

from collections.abc import Hashable, Sequence
from typing import Any, Final, NotRequired, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Column, Estimate, estimate_named_ratios
from unbag.scoring.validation import encode_names, validate_columns

NAMES: Final = ("entailment", "neutral", "contradiction")


class LabelFractions(TypedDict):
    """Fraction of pairs with each predicted label, and the accuracy.

    An `Estimate` is (value, low, high, n): a fraction in [0, 1], its 95 % interval and the number of sources.

    Attributes:
        n_examples: Number of pairs.
        shares: Share of pairs with each prediction, by label name (Nie et al. 2019, Table 2: "% of predictions"). The
            shares sum to 1.
        accuracy: Share of pairs predicted correctly; higher is better. If all pairs have the same gold label, it equals
            the share of that label.
    """

    n_examples: int
    shares: dict[str, Estimate]
    accuracy: Estimate


class LabelDistributionScores(LabelFractions):
    """Fraction of pairs with each predicted label, over all pairs and per subset.

    Attributes:
        by_subset: `LabelFractions` of each subset, such as SOSwap and AddAmod. Present if `kind` is given.
    """

    by_subset: NotRequired[dict[str, LabelFractions]]


def label_distribution(
    predictions: ArrayLike,
    references: ArrayLike,
    source_id: Sequence[Hashable] | NDArray[Any],
    *,
    kind: Sequence[str] | NDArray[Any] | None = None,
    names: Sequence[str] = NAMES,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> LabelDistributionScores:
    """Compute the distribution of the predicted labels, and the accuracy.

    Nie et al. (2019), https://doi.org/10.1609/aaai.v33i01.33016867, Table 2. The premise and hypothesis of these pairs
    consist of nearly the same words, so a bag-of-words model predicts entailment.

    Args:
        predictions: Predicted label ids, shape (n,).
        references: Gold label ids, shape (n,).
        source_id: Source of each pair, shape (n,). Pairs with the same source are not independent.
        kind: Subset name of each pair, shape (n,); None for no `by_subset`.
        names: Label names by id (default: entailment, neutral, contradiction).
        resamples: 0 disables the intervals, which have a closed form. Positive values have no other effect.
        seed: Unused; accepted because all metrics have the same signature.

    Returns:
        Fractions in [0, 1]; higher accuracy is better.

    Raises:
        ValueError: If the lengths differ, there are no pairs, or an id is not a label.

    >>> scores = label_distribution([0, 0, 1, 2], [2, 2, 2, 2], ["a", "b", "c", "d"])
    >>> {name: share.value for name, share in scores["shares"].items()}, scores["accuracy"].value
    ({'entailment': 0.5, 'neutral': 0.25, 'contradiction': 0.25}, 0.25)
    """
    gold, predicted = validate_columns(references, predictions=predictions)
    for what, ids in (("references", gold), ("predictions", predicted)):
        if (unknown := (ids < 0) | (ids >= len(names))).any():
            row = int(unknown.argmax())
            raise ValueError(
                f"{what}: expected label ids from 0 to {len(names) - 1} ({', '.join(names)}), got {ids[row]} in "
                f"row {row}"
            )
    lengths = {"references": len(gold), "source_id": len(source_id)} | ({} if kind is None else {"kind": len(kind)})
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"label_distribution: expected columns of equal length, got {lengths}; pass one value per pair"
        )
    source = encode_names(source_id)[0]

    # Pairs with the same source are not independent, so the intervals treat sources as units.
    def by_source(rows: NDArray[np.bool_]) -> Column:
        return np.bincount(source, weights=rows)

    everything = np.ones(len(gold), dtype=bool)
    parts: dict[str | None, NDArray[np.bool_]] = {None: everything}  # None stands for all pairs
    if kind is not None:
        parts |= {name: np.asarray(kind, dtype=object) == name for name in dict.fromkeys(kind)}
    ratios: dict[tuple[str | None, str | None], tuple[Column, Column]] = {}
    for part, rows in parts.items():
        below = by_source(rows)
        for label, name in enumerate(names):
            ratios[part, name] = (by_source(rows & (predicted == label)), below)
        ratios[part, None] = (by_source(rows & (predicted == gold)), below)
    estimates = estimate_named_ratios(ratios, resamples=resamples, seed=seed)

    def scores(part: str | None) -> LabelDistributionScores:
        return {
            "n_examples": int(parts[part].sum()),
            "shares": {name: estimates[part, name] for name in names},
            "accuracy": estimates[part, None],
        }

    overall = scores(None)
    if kind is not None:
        overall["by_subset"] = {part: scores(part) for part in parts if part is not None}
    return overall
