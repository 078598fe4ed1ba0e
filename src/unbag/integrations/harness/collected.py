"""Scores of the predictions that a harness collected.

This module and its imports are copied into the files for the harnesses, so it needs numpy alone. A record is a row of
the set, with the columns that its metric reads, `label`, the gold id, and `predicted`, the predicted id, or -1 for
none. A harness may run only some of the rows, in any order (`--limit`, or interim results). An example counts if all
of its rows are there, and a score without any complete example is NaN.
"""

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import Any, TypeAlias

from unbag.data.predictions import predictions_from_labels
from unbag.scoring.nested import iter_estimates

Record: TypeAlias = Mapping[str, Any]
Scores: TypeAlias = dict[str, float]


def collected_scores(
    records: Sequence[Record], score: Callable[..., Any], columns: Sequence[str], paths: Mapping[str, str]
) -> Scores:
    """Compute the scores of a set.

    Args:
        records: Records from the harness.
        score: Function `<name>_scores` of the set.
        columns: Columns that it reads beside the label.
        paths: Path of each score in its result, by name of the score.
    """
    if not records:
        return dict.fromkeys(paths, nan)
    read = {name: [record[name] for record in records] for name in (*columns, "label")}
    answers = predictions_from_labels([int(record["predicted"]) for record in records])
    # Without resampling: harnesses compute intervals of their own, or none.
    values = {path: one.value for path, one in iter_estimates(score(read, answers, resamples=0, partial=True))}
    return {name: nan if (value := values.get(path)) is None else float(value) for name, path in paths.items()}
