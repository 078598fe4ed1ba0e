"""The examples of a run that its report shows: selected when a model is scored, with rows and answers at hand."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from unbag import challenge_sets
from unbag.challenge_sets import results
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import ExampleSelection, Line, Mark, OriginalPrediction, ReportExample
from unbag.data.predictions import SetPredictions
from unbag.utils.files import atomic_write

SCHEMA: Final = 2
FILE: Final = "examples.json"
_LISTS: Final = ("examples", "candidates")


def select(result: Result, rows: Any, answers: SetPredictions) -> ExampleSelection:
    """Select examples of what was scored.

    Args:
        result: the scores.
        rows: the set's rows that were predicted.
        answers: the model's, in the order of the rows.
    """
    chooser = challenge_sets.get(result.set).module("examples")
    examples = tuple(chooser.choose(rows, answers))
    candidates = getattr(chooser, "candidates", None)  # a set of another package may have none
    return ExampleSelection(
        set=result.set,
        model=result.model["name"],
        sha256=result.data["sha256"],
        rule=chooser.RULE,
        examples=examples,
        candidates=tuple(candidates(rows, answers)) if candidates else (),
    )


def write(selections: Sequence[ExampleSelection], path: Path) -> None:
    """Write selections, in the order of the results, as JSON."""
    record = {"schema": SCHEMA, "selections": [asdict(each) for each in selections]}
    with atomic_write(path) as tmp:
        tmp.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> list[ExampleSelection]:
    """Read what `write` wrote.

    Raises:
        ValueError: if the file is of another schema, or not one of these.
    """
    try:
        record = results.read_record(path, results.ExamplesRecord, "examples")
        if record["schema"] != SCHEMA:
            raise ValueError(f"schema {record['schema']}")
        return [
            ExampleSelection(**each | {name: tuple(_example(**one) for one in each[name]) for name in _LISTS})
            for each in record["selections"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: expected examples of schema {SCHEMA} ({error}); evaluate again") from error


def _example(*, lines: list[list[Any]], before: list[Any] | None, **fields: Any) -> ReportExample:
    return ReportExample(
        lines=tuple(_line(*line) for line in lines), before=None if before is None else _said(*before), **fields
    )


def _line(name: str, text: str, marks: list[list[Any]]) -> Line:
    _require(Line, isinstance(name, str) and isinstance(text, str))
    _require(Mark, all(isinstance(end, int) for mark in marks for end in mark[:2]))
    return Line(name, text, tuple(Mark(*mark) for mark in marks))


def _said(where: str, answer: str, probability: float | None) -> OriginalPrediction:
    _require(OriginalPrediction, isinstance(answer, str) and isinstance(probability, float | int | None))
    return OriginalPrediction(where, answer, probability)


def _require(kind: type, fits: bool) -> None:
    if not fits:
        raise TypeError(f"a {kind.__name__.lower()} of other values than it has")
