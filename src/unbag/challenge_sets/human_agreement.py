"""Annotator agreement on the source pairs of a challenge set, if the data contains annotator labels."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from unbag.data.labels import get_gold_id
from unbag.data.sources import PairSource
from unbag.scoring.accuracy import compute_annotator_agreement
from unbag.scoring.bootstrap import estimate_ratio

_BATCH: Final = 10_000  # rows read from disk at a time
_DECIMALS: Final = 4
_SENTENCES: Final = ("premise", "hypothesis")

AnnotatorLabels = dict[tuple[str, str, str], tuple[str, tuple[str, ...]]]
"""The gold label and the annotators' labels of each pair, by id, premise and hypothesis."""


def collect_annotator_labels(sources: Iterable[PairSource]) -> AnnotatorLabels:
    """Collect the gold label and the annotators' labels of all annotated examples."""
    return {
        (example.source_id, example.premise, example.hypothesis): (example.label, example.annotators)
        for source in sources
        for example in source.iter_examples()
        if example.annotators
    }


def compute_annotator_accuracy(
    rows: Any, annotator_labels: AnnotatorLabels, id_column: str = "source_id"
) -> Mapping[str, Any] | None:
    """Compute how often a single annotator gives the gold label, on the unmodified pairs of a set.

    Annotators labelled the original pairs only, so permuted or exchanged rows do not count. The result has the `share`,
    its `low` and `high` (`scoring.accuracy.compute_annotator_agreement`), and the number of `pairs`. It is None if no
    pair has annotators' labels, or if the rows have a column of them: the set's own scores then report the agreement.
    """
    if not annotator_labels or "annotator_labels" in rows.column_names:
        return None
    pair_columns = [id_column, *_SENTENCES]
    matched: dict[str, tuple[str, tuple[str, ...]]] = {}
    for batch in rows.select_columns(pair_columns).with_format("arrow").iter(batch_size=_BATCH):
        for pair in zip(*(batch[name].to_pylist() for name in pair_columns), strict=True):
            if pair in annotator_labels:
                matched[pair[0]] = annotator_labels[pair]
    if not matched:
        return None
    gold = np.array([get_gold_id(label) for label, _ in matched.values()])
    right = compute_annotator_agreement([list(map(get_gold_id, labels)) for _, labels in matched.values()], gold).share
    estimate = estimate_ratio(right)
    # Rounded, since the record is stored in the set's file, and its bytes must not differ between processors.
    bounds = {"share": estimate.value, "low": estimate.low, "high": estimate.high}
    rounded = {name: None if value is None else round(value, _DECIMALS) for name, value in bounds.items()}
    return {**rounded, "pairs": estimate.n}
