"""Examples of each set in a report, with the positions of highlighted words."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from unbag.data.columns import ROWS_PER_TABLE, read_numeric_column
from unbag.data.predictions import NONE, SetPredictions

PER_KIND: Final = 12
"""Maximum number of examples per kind, set and model: enough to see a pattern, few enough for one page."""

CANDIDATES: Final = 100
"""Number of stored rows per set and model. A model with an error rate of 5 % has about five errors among them."""

MAX_CHARACTERS: Final = 600
"""Maximum number of stored characters of a sentence. Longer texts are cut at the end or around the first mark."""

PROBABILITY_DECIMALS: Final = 3
"""Decimals of displayed and sorted probabilities. Rounding hides differences between processors."""


class TextMark(NamedTuple):
    """A highlighted span of a sentence: characters `start` (inclusive) to `end` (exclusive), and its type."""

    start: int
    end: int
    kind: str


class ExampleLine(NamedTuple):
    """A sentence of an example: its name (`premise`, …), its text and its highlighted spans."""

    name: str
    text: str
    marks: tuple[TextMark, ...] = ()


def build_pair_lines(
    row: Mapping[str, Any], mark: Callable[[str], tuple[TextMark, ...]] | None = None
) -> list[ExampleLine]:
    """Build the lines of premise and hypothesis.

    `mark` computes the highlighted spans of a sentence from its name, `premise` or `hypothesis` (default: none).
    """
    return [ExampleLine(side, row[side], mark(side) if mark else ()) for side in ("premise", "hypothesis")]


class OriginalPrediction(NamedTuple):
    """The model's prediction for the original pair, before the perturbation."""

    where: str  # name of the original form: `in order`, `as given`
    answer: str
    probability: float | None  # probability of the predicted label; None without probabilities


@dataclass(frozen=True)
class ReportExample:
    """An example for a report: sentences, gold label, prediction and note."""

    kind: str  # reason for the choice, e.g. "most misleading, wrong"
    id: str
    lines: tuple[ExampleLine, ...]
    gold: str  # gold label, in the label space of the prediction
    answer: str  # predicted label; `data.predictions.NONE` if the model made no prediction
    probability: float | None  # probability of the predicted label; None without probabilities
    note: str = ""
    before: OriginalPrediction | None = None  # prediction for the original pair; None if the row is an original pair
    where: str = ""  # perturbation of the pair, if `before` is present: `permuted`, `exchanged`
    # False for a permuted pair, which has no correct answer: the model accepts or refuses the gold label.
    has_order: bool = True

    @property
    def outcome(self) -> str:
        """Outcome of the prediction: `right` or `wrong`. For permuted pairs: `accepted` or `refused`."""
        return ("refused", "wrong", "accepted", "right")[2 * (self.answer == self.gold) + self.has_order]

    @property
    def fails(self) -> bool:
        """Whether the model fails: its prediction is wrong, or the permuted pair still gets the gold label."""
        if self.has_order or self.before is None:
            return self.answer != self.gold
        return self.before.answer == self.gold == self.answer


@dataclass(frozen=True)
class ExampleSelection:
    """The examples selected from one result."""

    set: str
    model: str
    sha256: str  # hash of the rows, as in the result
    rule: str  # rule of selection, in words
    examples: tuple[ReportExample, ...]  # examples by kind, the most informative first
    # Rows whose choice does not depend on a model, so that all models share them. A report begins with one.
    candidates: tuple[ReportExample, ...] = ()


class PredictedPairs:
    """The rows of a set and the predictions of one model, as input for the selection of examples."""

    def __init__(self, rows: Any, predictions: SetPredictions) -> None:
        self.rows = rows
        self.predictions = predictions
        self.gold = predictions.to_label_positions(read_numeric_column(rows, "label"))
        self.right: NDArray[np.bool_] = predictions.predicted == self.gold
        predicted = predictions.probabilities[np.arange(len(self.gold)), predictions.predicted]
        self.confidence = round_probability(predicted)
        """Rounded probability of each prediction, shape (n,)."""

    @cached_property
    def names(self) -> NDArray[np.str_]:
        """Names of the predicted labels, shape (n,)."""
        return self.predictions.label_names

    def get_row(self, index: int) -> dict[str, Any]:
        """Read one row as a dict from column names to values."""
        row: dict[str, Any] = self.rows[int(index)]
        return row

    def get_prediction(self, index: int, where: str = "") -> OriginalPrediction:
        """Look up the predicted label of a row and the label's probability."""
        answer = str(self.names[index])
        has_probability = self.predictions.has_probabilities and answer != NONE
        return OriginalPrediction(where, answer, float(self.confidence[index]) if has_probability else None)

    def build_example(
        self,
        kind: str,
        index: int,
        lines: Iterable[ExampleLine],
        note: str = "",
        labels: tuple[str, str] | None = None,
        **more: Any,
    ) -> ReportExample:
        """Build an example from a row.

        `labels` are the gold label and the predicted label, if they differ from the row's own. Such a prediction has no
        probability. `more` are other attributes of `ReportExample`.
        """
        prediction = self.get_prediction(index)
        gold, answer = labels or (self.predictions.label_space[self.gold[index]], prediction.answer)
        probability = None if labels else prediction.probability
        short_lines = tuple(truncate_line(line, MAX_CHARACTERS) for line in lines)
        return ReportExample(kind, self.get_row(index)["id"], short_lines, gold, answer, probability, note, **more)

    def select_shortest(self, rows: NDArray[Any]) -> list[int]:
        """Select up to `CANDIDATES` of the given rows with the fewest characters. Ties keep the order of the rows."""
        # As Arrow tables, since texts as Python strings would take several times the memory.
        sides = self.rows.select_columns(["premise", "hypothesis"]).with_format("arrow")
        lengths = np.concatenate(
            [
                np.sum([pc.utf8_length(side).to_numpy() for side in table.itercolumns()], axis=0)
                for table in sides.iter(batch_size=ROWS_PER_TABLE)
            ]
        )
        shortest: list[int] = rows[np.argsort(lengths[rows], kind="stable")][:CANDIDATES].tolist()
        return shortest


def truncate_line(line: ExampleLine, max_length: int) -> ExampleLine:
    """Truncate a sentence to `max_length` characters, and drop highlighted spans outside the remaining text.

    >>> truncate_line(ExampleLine("premise", "A man in a blue coat sleeps.", (TextMark(2, 5, "moved"),)), 12)
    ExampleLine(name='premise', text='A man in a b…', marks=(TextMark(start=2, end=5, kind='moved'),))
    >>> truncate_line(ExampleLine("premise", "A man in a blue coat sleeps.", (TextMark(21, 27, "moved"),)), 12).text
    '…at sleeps.'
    """
    if len(line.text) <= max_length:
        return line
    first = line.marks[0] if line.marks else TextMark(0, 0, "")
    # A quarter of the text before the mark shows its context.
    start = 0 if first.end <= max_length else max(0, first.start - max_length // 4)
    end = start + max_length
    before, after = "…" if start else "", "…" if end < len(line.text) else ""
    moved = start - len(before)
    marks = tuple(
        TextMark(mark.start - moved, mark.end - moved, mark.kind)
        for mark in line.marks
        if start <= mark.start and mark.end <= end
    )
    return ExampleLine(line.name, f"{before}{line.text[start:end]}{after}", marks)


def round_probability(values: NDArray[Any]) -> NDArray[np.float64]:
    """Round probabilities to `PROBABILITY_DECIMALS` decimals, so that results and order agree on all processors."""
    exact: NDArray[np.float64] = values.astype(np.float64)
    return np.round(exact, PROBABILITY_DECIMALS)


def select_top_rows(
    rows: NDArray[Any], *keys: NDArray[Any], per_group: int = PER_KIND, groups: Sequence[Any] | None = None
) -> list[int]:
    """Select the rows with the highest sort keys, at most `per_group` per group. Ties keep the order of the rows.

    Args:
        rows: Indices of the rows to choose from, shape (m,).
        keys: Sort keys of all rows, shape (n,) each; later keys break ties. The caller rounds fractions: otherwise the
            order of near ties differs between processors.
        groups: Group of every row, n hashable values; None for no groups.

    >>> keys = np.array([0.1, 0.9, 0.8, 0.7])
    >>> select_top_rows(np.arange(4), keys, per_group=1, groups=["a", "b", "b", "a"])
    [1, 3]
    """
    selected: list[int] = []
    group_sizes: dict[Any, int] = {}
    # `lexsort` takes the primary key last, and sorts ascending: hence the reversal and the sign.
    for row in rows[np.lexsort([-key[rows] for key in reversed(keys)])].tolist():
        group = None if groups is None else groups[row]
        if group_sizes.get(group, 0) < per_group:
            group_sizes[group] = group_sizes.get(group, 0) + 1
            selected.append(row)
            if len(selected) == PER_KIND:
                break
    return selected


UNCHANGED_SEQUENCE: Final = "together"
"""Type of the marks from `mark_unchanged_sequences`."""


def mark_phrases(text: str, phrases: Iterable[str | None], mark_type: str) -> tuple[TextMark, ...]:
    """Highlight phrases in a text, matching whole words and ignoring case. Of overlapping matches, the longest is used.

    >>> mark_phrases("A man, a man-eater and a woman", ["man"], "misleads")
    (TextMark(start=2, end=5, kind='misleads'), TextMark(start=9, end=12, kind='misleads'))
    """
    candidates = []
    for phrase in phrases:
        if phrase and phrase.strip():
            pattern = r"\s+".join(map(re.escape, phrase.split()))
            spans = [match.span() for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE)]
            # Without whole-word matches, match anywhere: clitics ("n't") and Chinese words have no word boundary.
            candidates += spans or [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    selected: list[tuple[int, int]] = []
    for start, end in sorted(candidates, key=lambda span: (span[0] - span[1], span)):  # longest first
        if all(end <= other or start >= until for other, until in selected):
            selected.append((start, end))
    return tuple(TextMark(start, end, mark_type) for start, end in sorted(selected))


def mark_unchanged_sequences(original: str, permuted: str) -> tuple[TextMark, ...]:
    """Highlight the word sequences of a permuted sentence, joined by spaces, that also occur in the original sentence.

    >>> [mark[:2] for mark in mark_unchanged_sequences("An old man reads a book.", "a book reads An old man .")]
    [(0, 6), (13, 23)]
    """
    words = [match.span() for match in re.finditer(r"\S+", permuted)]
    runs: list[TextMark] = []
    for (start, end), (then, until) in pairwise(words):
        pair = rf"(?<!\w){re.escape(permuted[start:end])}\s*{re.escape(permuted[then:until])}(?!\w)"
        if not re.search(pair, original):
            continue
        if runs and runs[-1].end == end:
            runs[-1] = TextMark(runs[-1].start, until, UNCHANGED_SEQUENCE)
        else:
            runs.append(TextMark(start, until, UNCHANGED_SEQUENCE))
    return tuple(runs)
