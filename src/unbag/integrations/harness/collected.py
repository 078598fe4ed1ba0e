"""The scores of answers that a harness collected.

This module is copied into the files that are written for the harnesses, with what it imports, so it needs numpy alone.
A record is a row of the set, as far as its metric reads it, with `label`, the gold id, and `predicted`, the id of the
answer, or -1 for none. A harness may have asked a part of the rows only, in any order (`--limit`, or what is shown
while it runs): what a metric compares counts where all of it was asked, and a score without any such example is NaN.
"""

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import Any, TypeAlias

from unbag.data.predictions import predictions_from_labels
from unbag.scoring.nested import estimates

Record: TypeAlias = Mapping[str, Any]
Scores: TypeAlias = dict[str, float]


def collected_scores(
    records: Sequence[Record], score: Callable[..., Any], columns: Sequence[str], paths: Mapping[str, str]
) -> Scores:
    """Return the scores of a set.

    Args:
        records: what the harness collected.
        score: the set's `<name>_scores`.
        columns: what it reads of a row beside the label.
        paths: the scores by name, each with its path in what `score` returns.
    """
    if not records:
        return dict.fromkeys(paths, nan)
    read = {name: [record[name] for record in records] for name in (*columns, "label")}
    answers = predictions_from_labels([int(record["predicted"]) for record in records])
    # Harnesses make intervals of their own, or none.
    values = {path: one.value for path, one in estimates(score(read, answers, resamples=0, partial=True))}
    return {name: nan if (value := values.get(path)) is None else float(value) for name, path in paths.items()}
