"""The examples that a report shows of each set, and the positions of the words that matter in their sentences."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from unbag.data.columns import ROWS_PER_TABLE, numbers
from unbag.data.predictions import NONE, SetPredictions

PER_KIND: Final = 12
"""How many of a kind are chosen of a set and a model: enough to see a pattern, and few enough for one page."""

CANDIDATES: Final = 100
"""How many rows of a set are kept of every model: enough that one who is wrong of one in twenty is wrong of some."""

MOST_SHOWN: Final = 600
"""Characters of a sentence that are kept of an example; a document is cut, at its end or around its first mark."""

SURE_DECIMALS: Final = 3
"""Of a probability that is shown or that examples are chosen by: far above what differs between processors."""


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


class Said(NamedTuple):
    """What the model answered to the pair before it was changed: what that was (`in order`, …), answer, probability."""

    where: str
    answer: str
    probability: float | None


@dataclass(frozen=True)
class ReportExample:
    """An example as a report shows it.

    Attributes:
        kind: why it was chosen, e.g. "most misleading, wrong".
        id: of its row.
        lines: its sentences.
        gold: the gold label, in the label space of the answer.
        answer: the model's label; `data.predictions.NONE` where it gave no answer.
        probability: of the answer; None where the model gave no probabilities.
        note: what else is known of it.
        before: what the model answered before the pair was changed; None where it is not made of another.
        where: what was changed, where `before` is there: `permuted`, `exchanged`.
        has_order: whether its words are in order; where they are not, the gold label is accepted or refused, and
            neither is right.
    """

    kind: str
    id: str
    lines: tuple[Line, ...]
    gold: str
    answer: str
    probability: float | None
    note: str = ""
    before: Said | None = None
    where: str = ""
    has_order: bool = True

    @property
    def outcome(self) -> str:
        """What the answer is: `right` or `wrong`; of words in no order `accepted` or `refused`."""
        return ("refused", "wrong", "accepted", "right")[2 * (self.answer == self.gold) + self.has_order]

    @property
    def fails(self) -> bool:
        """Whether the answer tells of a model that does not read: wrong, or, right in order, accepted without it."""
        if self.has_order or self.before is None:
            return self.answer != self.gold
        return self.before.answer == self.gold == self.answer


@dataclass(frozen=True)
class ExampleSelection:
    """The examples that are shown of one result.

    Attributes:
        set: the challenge set.
        model: the model's name.
        sha256: of the rows, as the result has it.
        rule: what was chosen, in words.
        examples: by kind, the first the most telling.
        candidates: rows that were chosen by the rows alone, so that all models have the same: of these, a report picks
            one to begin with.
    """

    set: str
    model: str
    sha256: str
    rule: str
    examples: tuple[ReportExample, ...]
    candidates: tuple[ReportExample, ...] = ()


class Pairs:
    """Rows with their answers, from which a set's module picks."""

    def __init__(self, rows: Any, answers: SetPredictions) -> None:
        self.rows = rows
        self.answers = answers
        self.gold = answers.gold(numbers(rows, "label"))
        self.right: NDArray[np.bool_] = answers.predicted == self.gold
        self.sure = rounded_probability(answers.probabilities.max(axis=1))
        """The probability of each answer, rounded, shape (n,)."""

    @cached_property
    def names(self) -> NDArray[np.str_]:
        """The name of each answer, shape (n,)."""
        return self.answers.names

    def row(self, index: int) -> dict[str, Any]:
        """Return one row by its columns' names."""
        row: dict[str, Any] = self.rows[int(index)]
        return row

    def _answer(self, index: int) -> SetPredictions:
        """Return one answer, without the names of all."""
        one = slice(int(index), int(index) + 1)
        unanswered = self.answers.unanswered
        return self.answers._replace(
            probabilities=self.answers.probabilities[one], unanswered=None if unanswered is None else unanswered[one]
        )

    def said(self, index: int, where: str = "") -> Said:
        """Return the answer to a row."""
        answer = str(self._answer(index).names[0])
        is_known = self.answers.has_probabilities and answer != NONE
        return Said(where, answer, float(self.sure[index]) if is_known else None)

    def example(
        self,
        kind: str,
        index: int,
        lines: Iterable[Line],
        note: str = "",
        labels: tuple[str, str] | None = None,
        **more: Any,
    ) -> ReportExample:
        """Return a row as an example.

        Args:
            kind: as in `ReportExample`; likewise `lines` and `note`.
            index: the row.
            lines: its sentences.
            note: what else is known of it.
            labels: gold label and answer, where they are not the row's own; such an answer has no probability.
            more: the other attributes.
        """
        said = self.said(index)
        gold, answer = labels or (self.answers.label_space[self.gold[index]], said.answer)
        sure = None if labels else said.probability
        shown = tuple(shortened(line, MOST_SHOWN) for line in lines)
        return ReportExample(kind, self.row(index)["id"], shown, gold, answer, sure, note, **more)

    def shortest(self, rows: NDArray[Any]) -> list[int]:
        """Return those of some rows with the fewest characters, `CANDIDATES` at most; of equals those that come first.

        Args:
            rows: their indices, shape (m,).
        """
        sides = self.rows.select_columns(["premise", "hypothesis"]).with_format("arrow")
        lengths = np.concatenate(
            [
                np.sum([pc.utf8_length(side).to_numpy() for side in table.itercolumns()], axis=0)
                for table in sides.iter(batch_size=ROWS_PER_TABLE)
            ]
        )
        shortest: list[int] = rows[np.argsort(lengths[rows], kind="stable")][:CANDIDATES].tolist()
        return shortest


def shortened(line: Line, longest: int) -> Line:
    """Return a sentence of at most so many characters, cut where it is longer; marks that are cut off go.

    >>> shortened(Line("premise", "A man in a blue coat sleeps.", (Mark(2, 5, "moved"),)), 12)
    Line(name='premise', text='A man in a b…', marks=(Mark(start=2, end=5, kind='moved'),))
    >>> shortened(Line("premise", "A man in a blue coat sleeps.", (Mark(21, 27, "moved"),)), 12).text
    '…at sleeps.'
    """
    if len(line.text) <= longest:
        return line
    first = line.marks[0] if line.marks else Mark(0, 0, "")
    start = 0 if first.end <= longest else max(0, first.start - longest // 4)
    end = start + longest
    before, after = "…" if start else "", "…" if end < len(line.text) else ""
    moved = start - len(before)
    marks = tuple(
        Mark(mark.start - moved, mark.end - moved, mark.kind)
        for mark in line.marks
        if start <= mark.start and mark.end <= end
    )
    return Line(line.name, f"{before}{line.text[start:end]}{after}", marks)


def rounded_probability(values: NDArray[Any]) -> NDArray[np.float64]:
    """Round probabilities to `SURE_DECIMALS`, so that every machine shows the same ones and chooses by them."""
    exact: NDArray[np.float64] = values.astype(np.float64)
    return np.round(exact, SURE_DECIMALS)


def top(
    rows: NDArray[Any], *keys: NDArray[Any], per_group: int = PER_KIND, groups: Sequence[Any] | None = None
) -> list[int]:
    """Return the rows with the highest keys, `PER_KIND` at most; among equals those that come first.

    Args:
        rows: where to look, by their indices, shape (m,).
        keys: the first to order by and those that break its ties, each of every row, shape (n,). One of fractions is
            rounded by the caller: else the processor chooses among near ties.
        per_group: how many of one group at most.
        groups: of every row; none where None.

    >>> top(np.array([0, 1, 2, 3]), np.array([0.1, 0.9, 0.8, 0.7]), per_group=1, groups=["a", "b", "b", "a"])
    [1, 3]
    """
    taken: list[int] = []
    of_group: dict[Any, int] = {}
    for row in rows[np.lexsort([-key[rows] for key in reversed(keys)])].tolist():
        group = None if groups is None else groups[row]
        if of_group.get(group, 0) < per_group:
            of_group[group] = of_group.get(group, 0) + 1
            taken.append(row)
            if len(taken) == PER_KIND:
                break
    return taken


TOGETHER = "together"


def marked(text: str, phrases: Iterable[str | None], kind: str) -> tuple[Mark, ...]:
    """Return where phrases occur in a text as whole words, in any case; marks do not overlap, the longest wins.

    >>> marked("A man, a man-eater and a woman", ["man"], "misleads")
    (Mark(start=2, end=5, kind='misleads'), Mark(start=9, end=12, kind='misleads'))
    """
    candidates = []
    for phrase in phrases:
        if phrase and phrase.strip():
            pattern = r"\s+".join(map(re.escape, phrase.split()))
            spans = [match.span() for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE)]
            # What a tokenizer cut off a word ("n't") or a language writes without spaces has no edge.
            candidates += spans or [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    taken: list[tuple[int, int]] = []
    for start, end in sorted(candidates, key=lambda span: (span[0] - span[1], span)):
        if all(end <= other or start >= until for other, until in taken):
            taken.append((start, end))
    return tuple(Mark(start, end, kind) for start, end in sorted(taken))


def kept_together(original: str, permuted: str) -> tuple[Mark, ...]:
    """Return the runs of words of a permuted sentence that stood side by side in the original too.

    Words are what lies between the spaces of the permuted sentence, as the permuter joins them.

    >>> [mark[:2] for mark in kept_together("An old man reads a book.", "a book reads An old man .")]
    [(0, 6), (13, 23)]
    """
    words = [match.span() for match in re.finditer(r"\S+", permuted)]
    runs: list[Mark] = []
    for (start, end), (then, until) in pairwise(words):
        pair = rf"(?<!\w){re.escape(permuted[start:end])}\s*{re.escape(permuted[then:until])}(?!\w)"
        if not re.search(pair, original):
            continue
        if runs and runs[-1].end == end:
            runs[-1] = Mark(runs[-1].start, until, TOGETHER)
        else:
            runs.append(Mark(start, until, TOGETHER))
    return tuple(runs)
