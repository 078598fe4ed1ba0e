"""How often a model gives each label, on pairs whose label is known by construction (Nie et al. 2019, Table 2)."""

from collections.abc import Hashable, Sequence
from typing import Any, Final, NotRequired, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Column, Estimate, named_estimates
from unbag.scoring.validation import labelled, numbered

NAMES: Final = ("entailment", "neutral", "contradiction")


class LabelShares(TypedDict):
    """How often each label is given; an `Estimate` is (value, low, high, n) from 0 to 1, n the number of sources.

    Attributes:
        n_examples: the number of pairs.
        shares: by label, the share of pairs with that prediction (Nie et al. 2019, Table 2: "% of predictions"); they
            sum to 1.
        accuracy: the share of pairs predicted right. Where all pairs have one label, it is that label's share.
    """

    n_examples: int
    shares: dict[str, Estimate]
    accuracy: Estimate


class LabelDistributionScores(LabelShares):
    """How often each label is given, on all pairs and on each subset.

    Attributes:
        by_subset: the `LabelShares` of each subset, e.g. SOSwap and AddAmod, where `kind` is given.
    """

    by_subset: NotRequired[dict[str, LabelShares]]


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
    """Score predictions by how often each label is given.

    A model to which premise and hypothesis of such a pair are the same words answers entailment.

    Args:
        predictions: predicted label ids, shape (n,).
        references: gold label ids, shape (n,).
        source_id: which source each pair is made from, shape (n,); pairs of one source are no independent evidence.
        kind: the name of the subset that each pair is of, shape (n,); None for no `by_subset`.
        names: the labels by id.
        resamples: 0 for no intervals; any other number gives the same ones, which are in closed form.
        seed: without effect on intervals in closed form; every metric takes it.

    Raises:
        ValueError: if lengths differ, there is no pair, or an id is none of the labels'.

    >>> scores = label_distribution([0, 0, 1, 2], [2, 2, 2, 2], ["a", "b", "c", "d"])
    >>> {name: share.value for name, share in scores["shares"].items()}, scores["accuracy"].value
    ({'entailment': 0.5, 'neutral': 0.25, 'contradiction': 0.25}, 0.25)
    """
    gold, predicted = labelled(references, predictions=predictions)
    for what, ids in (("references", gold), ("predictions", predicted)):
        if (unknown := (ids < 0) | (ids >= len(names))).any():
            row = int(unknown.argmax())
            raise ValueError(
                f"expected {what} from 0 to {len(names) - 1} ({', '.join(names)}), found {ids[row]} in row {row}"
            )
    lengths = {"references": len(gold), "source_id": len(source_id)} | ({} if kind is None else {"kind": len(kind)})
    if len(set(lengths.values())) > 1:
        raise ValueError(f"expected the same number of examples everywhere, found {lengths}")
    source = numbered(source_id)[0]

    def by_source(rows: NDArray[np.bool_]) -> Column:
        return np.bincount(source, weights=rows)

    everything = np.ones(len(gold), dtype=bool)
    parts: dict[str | None, NDArray[np.bool_]] = {None: everything}
    if kind is not None:
        parts |= {name: np.asarray(kind, dtype=object) == name for name in dict.fromkeys(kind)}
    ratios: dict[tuple[str | None, str | None], tuple[Column, Column]] = {}
    for part, rows in parts.items():
        below = by_source(rows)
        for label, name in enumerate(names):
            ratios[part, name] = (by_source(rows & (predicted == label)), below)
        ratios[part, None] = (by_source(rows & (predicted == gold)), below)
    estimates = named_estimates(ratios, resamples=resamples, seed=seed)

    def scores(part: str | None) -> LabelDistributionScores:
        return {
            "n_examples": int(parts[part].sum()),
            "shares": {name: estimates[part, name] for name in names},
            "accuracy": estimates[part, None],
        }

    whole = scores(None)
    if kind is not None:
        whole["by_subset"] = {part: scores(part) for part in parts if part is not None}
    return whole
