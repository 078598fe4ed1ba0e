"""Examples for a run's report, selected during scoring while rows and predictions are in memory."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Literal

from typing_extensions import TypedDict  # pydantic reads records by it

from unbag import challenge_sets
from unbag.challenge_sets import results
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import ExampleSelection, PredictedPairs
from unbag.data.predictions import SetPredictions
from unbag.utils.files import atomic_write, read_json_object

SCHEMA: Final = 2
FILE: Final = "examples.json"


class _Examples(TypedDict):
    schema: Literal[2]
    selections: list[ExampleSelection]


def select_examples(result: Result, rows: Any, predictions: SetPredictions) -> ExampleSelection:
    """Select examples from a scored challenge set for the report. Predictions are in the order of the rows."""
    described, pairs = challenge_sets.get_challenge_set(result.set), PredictedPairs(rows, predictions)
    return ExampleSelection(
        set=result.set,
        model=result.model["name"],
        sha256=result.data["sha256"],
        rule=described.example_rule,
        examples=tuple(described.select_examples(pairs)),
        candidates=tuple(described.select_short_examples(pairs)),
    )


def write_selections(selections: Sequence[ExampleSelection], path: Path) -> None:
    """Write the selected examples of each result as JSON, in the order of the results."""
    record = {"schema": SCHEMA, "selections": [asdict(each) for each in selections]}
    with atomic_write(path) as tmp:
        tmp.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")


def read_selections(path: Path) -> list[ExampleSelection]:
    """Read the selected examples of each result, as written by `write_selections`."""
    expected = f"examples with schema {SCHEMA}"
    record = read_json_object(path, expected=expected)
    selections: list[ExampleSelection] = results.parse_record(record, _Examples, f"{path}: expected {expected}")[
        "selections"
    ]
    return selections
