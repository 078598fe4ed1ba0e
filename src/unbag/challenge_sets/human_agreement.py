"""What people answer to the pairs that a challenge set is made of, where the data has their labels."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from unbag.data.labels import gold_id
from unbag.data.sources import Source
from unbag.scoring.accuracy import agreement
from unbag.scoring.bootstrap import named_estimates

_BATCH: Final = 10_000  # rows read from disk at a time
_DECIMALS: Final = 4
_PAIR: Final = ("source_id", "premise", "hypothesis")

Votes = dict[tuple[str, str, str], tuple[str, tuple[str, ...]]]
"""The gold label and the annotators' labels of a pair, by its id and its two sentences."""


def votes(sources: Iterable[Source]) -> Votes:
    """Return what annotators said of the examples of some sources, of those that any did."""
    return {
        (example.source_id, example.premise, example.hypothesis): (example.label, example.annotators)
        for source in sources
        for example in source.examples()
        if example.annotators
    }


def people(rows: Any, said: Votes) -> Mapping[str, Any] | None:
    """Return how often one annotator gives the gold label of those pairs of a set that annotators saw, as given.

    A row that was made of a pair, permuted or exchanged, is none that they saw: it does not count. The estimate is that
    of `scoring.accuracy.agreement`, with its 95 % interval over pairs.

    Args:
        rows: a `datasets.Dataset`.
        said: what annotators said of the data that it was made of.

    Returns:
        `share`, its `low` and `high`, to four decimals, and how many `pairs`; None if there is none, or if the rows
        have the annotators' labels themselves, which the set's own scores tell of.
    """
    if not said or "annotator_labels" in rows.column_names:
        return None
    seen: dict[str, tuple[str, tuple[str, ...]]] = {}
    for batch in rows.select_columns(list(_PAIR)).with_format("arrow").iter(batch_size=_BATCH):
        for pair in zip(*(batch[name].to_pylist() for name in _PAIR), strict=True):
            if pair in said:
                seen[pair[0]] = said[pair]
    if not seen:
        return None
    gold = np.array([gold_id(label) for label, _ in seen.values()])
    right = agreement([list(map(gold_id, labels)) for _, labels in seen.values()], gold).share
    estimate = named_estimates({"human": (right, 1.0)})["human"]
    # It is stored in the set's file, whose bytes are the same on every machine.
    bounds = {"share": estimate.value, "low": estimate.low, "high": estimate.high}
    rounded = {name: None if value is None else round(value, _DECIMALS) for name, value in bounds.items()}
    return {**rounded, "pairs": estimate.n}
