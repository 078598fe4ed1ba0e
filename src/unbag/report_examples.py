"""The examples of a run that its report shows: selected when a model is scored, with rows and answers at hand."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from unbag import challenge_sets
from unbag.answers import Answers
from unbag.files import atomic_write
from unbag.results import Result
from unbag.views.examples import ExampleSelection, Line, Mark, ReportExample

SCHEMA: Final = 1
FILE: Final = "examples.json"


def select(result: Result, rows: Any, answers: Answers) -> ExampleSelection:
    """Select examples of what was scored.

    Args:
        result: the scores.
        rows: the set's rows that were predicted.
        answers: the model's, in the order of the rows.
    """
    chooser = challenge_sets.get(result.set).module("examples")
    examples = tuple(chooser.choose(rows, answers))
    return ExampleSelection(result.set, result.model["name"], result.data["sha256"], chooser.RULE, examples)


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
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["schema"] != SCHEMA:
            raise ValueError(f"schema {record['schema']}")
        return [
            ExampleSelection(**{**each, "examples": tuple(_example(**example) for example in each["examples"])})
            for each in record["selections"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: expected examples of schema {SCHEMA} ({error}); evaluate again") from error


def _example(*, lines: list[list[Any]], **fields: Any) -> ReportExample:
    return ReportExample(
        lines=tuple(Line(name, text, tuple(Mark(*mark) for mark in marks)) for name, text, marks in lines), **fields
    )
