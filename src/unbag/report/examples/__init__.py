"""The examples that a report shows: a few of each set, chosen when a model is scored, with rows and answers at hand.

One module a set, named like it, with `RULE`, what is chosen in words, and `choose(rows, answers)`.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.files import atomic_write
from unbag.measures import NONE, Answers
from unbag.results import Result

SCHEMA: Final = 1
FILE: Final = "shown.json"
PER_KIND: Final = 12
"""How many of a kind are chosen of a set and a model: enough to see a pattern, and few enough for one page."""


class Mark(NamedTuple):
    """Words of a sentence that matter: from character `start` to before `end`; `kind` says why."""

    start: int
    end: int
    kind: str


class Line(NamedTuple):
    """A sentence of an example: what it is (`premise`, …), its text, and its words that matter."""

    name: str
    text: str
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Shown:
    """An example as a report shows it.

    Attributes:
        kind: why it was chosen, e.g. "most misleading, wrong".
        id: of its row.
        lines: its sentences.
        gold: the gold label, in the space of the answer.
        answer: the model's label; `measures.NONE` where it gave no answer.
        probability: of the answer; None where the model gave no probabilities.
        note: what else is known of it.
    """

    kind: str
    id: str
    lines: tuple[Line, ...]
    gold: str
    answer: str
    probability: float | None
    note: str = ""

    @property
    def right(self) -> bool:
        """Whether the answer is the gold label."""
        return self.answer == self.gold


@dataclass(frozen=True)
class Chosen:
    """What is shown of one result.

    Attributes:
        set: the challenge set.
        model: the model's name.
        sha256: of the rows, as the result has it.
        rule: what was chosen, in words.
        examples: by kind, the first the most telling.
    """

    set: str
    model: str
    sha256: str
    rule: str
    examples: tuple[Shown, ...]


def choose(result: Result, rows: Any, answers: Answers) -> Chosen:
    """Choose examples of what was scored.

    Args:
        result: the scores.
        rows: the set's rows that were predicted.
        answers: the model's, in the order of the rows.
    """
    chooser = import_module(f"unbag.report.examples.{result.set}")
    examples = tuple(chooser.choose(rows, answers))
    return Chosen(result.set, result.model["name"], result.data["sha256"], chooser.RULE, examples)


def write(chosen: Sequence[Chosen], path: Path) -> None:
    """Write what was chosen, in the order of the results, as JSON."""
    record = {"schema": SCHEMA, "chosen": [asdict(each) for each in chosen]}
    with atomic_write(path) as tmp:
        tmp.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> list[Chosen]:
    """Read what `write` wrote.

    Raises:
        ValueError: if the file is of another schema, or not one of these.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["schema"] != SCHEMA:
            raise ValueError(f"schema {record['schema']}")
        return [
            Chosen(**{**each, "examples": tuple(_shown(**example) for example in each["examples"])})
            for each in record["chosen"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: expected examples of schema {SCHEMA} ({error}); evaluate again") from error


def _shown(*, lines: list[list[Any]], **said: Any) -> Shown:
    return Shown(
        lines=tuple(Line(name, text, tuple(Mark(*mark) for mark in marks)) for name, text, marks in lines), **said
    )


class Pairs:
    """Rows with their answers, from which a set's module picks."""

    def __init__(self, rows: Any, answers: Answers) -> None:
        self.rows = rows
        self.answers = answers
        self.gold = answers.gold(rows)
        self.said = answers.said
        self.right: NDArray[np.bool_] = answers.predicted == self.gold
        self.sure: NDArray[np.float64] = answers.probabilities.max(axis=1).astype(np.float64)
        """The probability of each answer, shape (n,)."""

    def row(self, place: int) -> dict[str, Any]:
        """Return one row by its columns' names."""
        found: dict[str, Any] = self.rows[int(place)]
        return found

    def shown(
        self, kind: str, place: int, lines: Iterable[Line], note: str = "", labels: tuple[str, str] | None = None
    ) -> Shown:
        """Return a row as an example; `labels` are gold label and answer, where they are not the row's own."""
        gold, answer = labels or (self.answers.space[self.gold[place]], str(self.said[place]))
        told = self.answers.has_probabilities and labels is None and answer != NONE
        sure = round(float(self.sure[place]), 4) if told else None
        return Shown(kind, self.row(place)["id"], tuple(lines), gold, answer, sure, note)


def top(
    places: NDArray[Any], key: NDArray[Any], *, per_group: int = PER_KIND, groups: Sequence[Any] | None = None
) -> list[int]:
    """Return the places with the highest keys, `PER_KIND` at most; among equals those that come first.

    Args:
        places: where to look, shape (m,).
        key: of every row, shape (n,).
        per_group: how many of one group at most.
        groups: of every row; none where None.

    >>> top(np.array([0, 1, 2, 3]), np.array([0.1, 0.9, 0.8, 0.7]), per_group=1, groups=["a", "b", "b", "a"])
    [1, 3]
    """
    taken: list[int] = []
    of_group: dict[Any, int] = {}
    for place in places[np.argsort(-key[places], kind="stable")].tolist():
        group = None if groups is None else groups[place]
        if of_group.get(group, 0) < per_group:
            of_group[group] = of_group.get(group, 0) + 1
            taken.append(place)
            if len(taken) == PER_KIND:
                break
    return taken
