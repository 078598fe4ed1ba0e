"""Annotator agreement on the source pairs of a challenge set, if the data contains annotator labels."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from unbag.data.labels import get_gold_id
from unbag.data.sources import Example
from unbag.scoring.accuracy import compute_annotator_agreement
from unbag.scoring.bootstrap import estimate_ratio

_BATCH: Final = 10_000  # rows read from disk at a time
_DECIMALS: Final = 4
_SENTENCES: Final = ("premise", "hypothesis")


def compute_annotator_accuracy(
    rows: Any, examples: Iterable[Example], id_column: str = "source_id"
) -> Mapping[str, Any] | None:
    """Compute how often a single annotator gives the gold label, on the unmodified pairs of a set.

    Annotators labelled the original pairs only, so permuted or exchanged rows do not count. The result has the `share`,
    its `low` and `high` (`scoring.accuracy.compute_annotator_agreement`), and the number of `pairs`. It is None if no
    pair has annotators' labels, or if the rows have a column of them: the set's own scores then report the agreement.
    """
    if "annotator_labels" in rows.column_names:
        return None
    annotated = {(each.source_id, each.premise, each.hypothesis): each for each in examples if each.annotators}
    pair_columns = [id_column, *_SENTENCES]
    matched: dict[str, Example] = {}
    for batch in rows.select_columns(pair_columns).with_format("arrow").iter(batch_size=_BATCH):
        for pair in zip(*(batch[name].to_pylist() for name in pair_columns), strict=True):
            if pair in annotated:
                matched[pair[0]] = annotated[pair]
    if not matched:
        return None
    gold = np.array([get_gold_id(each.label) for each in matched.values()])
    votes = [list(map(get_gold_id, each.annotators)) for each in matched.values()]
    right = compute_annotator_agreement(votes, gold).share
    estimate = estimate_ratio(right)
    # Rounded, since the record is stored in the set's file, and its bytes must not differ between processors.
    bounds = {"share": estimate.value, "low": estimate.low, "high": estimate.high}
    rounded = {name: None if value is None else round(value, _DECIMALS) for name, value in bounds.items()}
    return {**rounded, "pairs": estimate.n}
