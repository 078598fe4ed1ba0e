"""Examples for a run's report, selected during scoring while rows and predictions are in memory."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from unbag import challenge_sets
from unbag.challenge_sets import results
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import (
    ExampleLine,
    ExampleSelection,
    OriginalPrediction,
    ReportExample,
    TextMark,
)
from unbag.data.predictions import SetPredictions
from unbag.utils.files import atomic_write

SCHEMA: Final = 2
FILE: Final = "examples.json"
_LISTS: Final = ("examples", "candidates")


def select_examples(result: Result, rows: Any, predictions: SetPredictions) -> ExampleSelection:
    """Select examples from a scored challenge set for the report.

    Args:
        result: Result of the model on the set.
        rows: Predicted rows of the set.
        predictions: Predictions of the model, in the order of the rows.
    """
    chooser = challenge_sets.get_challenge_set(result.set).import_set_module("report")
    examples = tuple(chooser.select_examples(rows, predictions))
    candidates = getattr(chooser, "select_short_examples", None)  # optional for sets of other packages
    return ExampleSelection(
        set=result.set,
        model=result.model["name"],
        sha256=result.data["sha256"],
        rule=chooser.EXAMPLE_RULE,
        examples=examples,
        candidates=tuple(candidates(rows, predictions)) if candidates else (),
    )


def write_selections(selections: Sequence[ExampleSelection], path: Path) -> None:
    """Write the selected examples of each result as JSON, in the order of the results."""
    record = {"schema": SCHEMA, "selections": [asdict(each) for each in selections]}
    with atomic_write(path) as tmp:
        tmp.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")


def read_selections(path: Path) -> list[ExampleSelection]:
    """Read the selected examples of each result, as written by `write_selections`.

    Raises:
        ValueError: If the file has another schema or unexpected contents.
    """
    try:
        record = results.read_record(path, results.ExamplesRecord, "examples")
        if record["schema"] != SCHEMA:
            raise ValueError(f"the schema is {record['schema']}")
        return [
            ExampleSelection(**each | {name: tuple(_example(**one) for one in each[name]) for name in _LISTS})
            for each in record["selections"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path}: expected readable examples with schema {SCHEMA}, got an error ({error}); evaluate again"
        ) from error


def _example(*, lines: list[list[Any]], before: list[Any] | None, **fields: Any) -> ReportExample:
    return ReportExample(
        lines=tuple(_line(*line) for line in lines),
        before=None if before is None else _original_prediction(*before),
        **fields,
    )


def _line(name: str, text: str, marks: list[list[Any]]) -> ExampleLine:
    _validate_fields(ExampleLine, isinstance(name, str) and isinstance(text, str))
    _validate_fields(TextMark, all(isinstance(end, int) for mark in marks for end in mark[:2]))
    return ExampleLine(name, text, tuple(TextMark(*mark) for mark in marks))


def _original_prediction(where: str, answer: str, probability: float | None) -> OriginalPrediction:
    _validate_fields(OriginalPrediction, isinstance(answer, str) and isinstance(probability, float | int | None))
    return OriginalPrediction(where, answer, probability)


def _validate_fields(kind: type, is_valid: bool) -> None:
    if not is_valid:
        raise TypeError(f"a field of {kind.__name__} has the wrong type")
