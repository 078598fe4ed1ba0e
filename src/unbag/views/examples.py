"""The examples that a report shows of a model's answers: a few of each set."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.answers import NONE, Answers
from unbag.columns import numbers

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
class ReportExample:
    """An example as a report shows it.

    Attributes:
        kind: why it was chosen, e.g. "most misleading, wrong".
        id: of its row.
        lines: its sentences.
        gold: the gold label, in the label space of the answer.
        answer: the model's label; `answers.NONE` where it gave no answer.
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
class ExampleSelection:
    """The examples that are shown of one result.

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
    examples: tuple[ReportExample, ...]


class Pairs:
    """Rows with their answers, from which a set's module picks."""

    def __init__(self, rows: Any, answers: Answers) -> None:
        self.rows = rows
        self.answers = answers
        self.gold = answers.gold(numbers(rows, "label"))
        self.names = answers.names
        self.right: NDArray[np.bool_] = answers.predicted == self.gold
        self.sure: NDArray[np.float64] = answers.probabilities.max(axis=1).astype(np.float64)
        """The probability of each answer, shape (n,)."""

    def row(self, index: int) -> dict[str, Any]:
        """Return one row by its columns' names."""
        row: dict[str, Any] = self.rows[int(index)]
        return row

    def example(
        self, kind: str, index: int, lines: Iterable[Line], note: str = "", labels: tuple[str, str] | None = None
    ) -> ReportExample:
        """Return a row as an example; `labels` are gold label and answer, where they are not the row's own."""
        gold, answer = labels or (self.answers.label_space[self.gold[index]], str(self.names[index]))
        is_known = self.answers.has_probabilities and labels is None and answer != NONE
        sure = round(float(self.sure[index]), 4) if is_known else None
        return ReportExample(kind, self.row(index)["id"], tuple(lines), gold, answer, sure, note)


def top(
    rows: NDArray[Any], key: NDArray[Any], *, per_group: int = PER_KIND, groups: Sequence[Any] | None = None
) -> list[int]:
    """Return the rows with the highest keys, `PER_KIND` at most; among equals those that come first.

    Args:
        rows: where to look, by their indices, shape (m,).
        key: of every row, shape (n,).
        per_group: how many of one group at most.
        groups: of every row; none where None.

    >>> top(np.array([0, 1, 2, 3]), np.array([0.1, 0.9, 0.8, 0.7]), per_group=1, groups=["a", "b", "b", "a"])
    [1, 3]
    """
    taken: list[int] = []
    of_group: dict[Any, int] = {}
    for row in rows[np.argsort(-key[rows], kind="stable")].tolist():
        group = None if groups is None else groups[row]
        if of_group.get(group, 0) < per_group:
            of_group[group] = of_group.get(group, 0) + 1
            taken.append(row)
            if len(taken) == PER_KIND:
                break
    return taken
