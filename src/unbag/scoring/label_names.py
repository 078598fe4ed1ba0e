"""Label ids from what a metric was given: ids, or names."""

from collections.abc import Sequence
from typing import Any

from unbag.data.labels import LABELS


def label_ids(labels: Sequence[Any], names: Sequence[str] = LABELS) -> list[Any]:
    """Return label ids; names become their ids, and all else stays as it is.

    Args:
        labels: Label ids or label names, shape (n,); -1 and None are no label.
        names: Names of the ids 0, 1, …; default: entailment, neutral, contradiction.

    Raises:
        ValueError: If a name is none of `names`.

    >>> label_ids(["neutral", "entailment"]), label_ids([1, 0])
    ([1, 0], [1, 0])
    """
    ids = {name: number for number, name in enumerate(names)}
    for label in labels:
        if isinstance(label, str) and label not in ids:
            raise ValueError(
                f"predictions or references: expected labels {', '.join(ids)}, got {label!r}; pass ids, or names=[…] "
                "in the order of the ids"
            )
    return [ids[label] if isinstance(label, str) else label for label in labels]
