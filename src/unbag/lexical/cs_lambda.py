"""The rows of the CS_λ set: examples with what a lexical model says of them (Nie et al. 2019, sections 5.3 and 5.4)."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from unbag.data.columns import PAIR, ROWS_PER_TABLE, decimals, real
from unbag.data.labels import LABELS, label_id
from unbag.data.sources import Example
from unbag.lexical.scorer import LMS, LOGIT, PROBABILITY, Score, Scorer

PROBABILITIES: Final = tuple(f"lexical_{label}" for label in LABELS)
SCHEMA: Final = pa.schema(
    [
        *PAIR,
        LMS,
        *(real(name, decimals(PROBABILITY)) for name in PROBABILITIES),
        # The features that most favour the likeliest wrong label; a side of one word alone is null.
        (
            "misleading",
            pa.list_(pa.struct([("premise", pa.string()), ("hypothesis", pa.string()), LOGIT])),
        ),
        ("annotator_labels", pa.list_(pa.int64())),
    ]
)


def scored_tables(examples: Iterator[Example], scorer: Scorer, *, least_lms: float) -> Iterator[pa.Table]:
    """Yield the examples whose LMS is at least `least_lms` as tables of `SCHEMA`, 10,000 examples each."""
    while chunk := list(islice(examples, ROWS_PER_TABLE)):
        rows = [
            _row(example, score)
            for example, score in zip(chunk, scorer.score(chunk), strict=True)
            if score.lms >= least_lms
        ]
        yield pa.Table.from_pylist(rows, schema=SCHEMA)


def _row(example: Example, score: Score) -> dict[str, Any]:
    return {
        "id": example.source_id,
        "source_id": example.source_id,
        "premise": example.premise,
        "hypothesis": example.hypothesis,
        "label": label_id(example.label),
        "lms": score.lms,
        **dict(zip(PROBABILITIES, score.probabilities.tolist(), strict=True)),
        "misleading": [
            {**contribution.feature._asdict(), "logit": contribution.logit} for contribution in score.misleading
        ],
        "annotator_labels": [label_id(label) for label in example.annotators],
    }
