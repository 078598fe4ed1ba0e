"""Scores of predictions collected by a harness.

This module and its imports are copied into the files for the harnesses, so it needs only numpy. A record is a row of
the set with the columns of its metric, `label` (the gold id) and `predicted` (the predicted id, or -1 for none). A
harness may run only some of the rows, in any order (`--limit`, or interim results). Only examples with all their rows
are scored, and a score without any complete example is NaN.
"""

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import Any, TypeAlias

from unbag.data.predictions import build_predictions_from_labels
from unbag.scoring.nested import iter_estimates

Record: TypeAlias = Mapping[str, Any]
Scores: TypeAlias = dict[str, float]


def compute_harness_scores(
    records: Sequence[Record], score_function: Callable[..., Any], columns: Sequence[str], paths: Mapping[str, str]
) -> Scores:
    """Compute the scores of a challenge set from the prediction records of an evaluation harness.

    `score_function` needs `columns` in addition to the label. `paths` are those of the scores in its result, by name.
    """
    if not records:
        return dict.fromkeys(paths, nan)
    read = {name: [record[name] for record in records] for name in (*columns, "label")}
    answers = build_predictions_from_labels([int(record["predicted"]) for record in records])
    values = {path: one.value for path, one in iter_estimates(score_function(read, answers, partial=True))}
    return {name: nan if (value := values.get(path)) is None else float(value) for name, path in paths.items()}
