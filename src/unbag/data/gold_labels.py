"""Gold labels of a data source: the meaning of what the data contains, the label space, and the advice in errors."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from unbag.data.labels import (
    ENTAILMENT,
    LABEL_SPACES,
    LABELS,
    NOT_CONTRADICTION,
    NOT_ENTAILMENT,
    TWO_WAY,
    LabelError,
    find_flag_direction,
    is_missing_label,
    parse_truth_value,
    resolve_gold_label,
)
from unbag.utils.safe_io import DataError

_LONGEST_LABEL: Final = 20  # maximum number of characters of a label that a message quotes in an option
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?|-?inf")
_EMPTY_LIST: Final = "[]"
_FILLED_LIST: Final = "[...]"


class UnknownLabelError(DataError):
    """Raised for a gold label of unknown meaning: an unknown spelling, or a number or Boolean without a label name."""


@dataclass
class GoldLabels:
    """Interpretation of the gold labels of one source."""

    column: str
    meanings: dict[str, str]  # label of each text in the data (`_label_text`), for ids and other special labels
    space: tuple[str, ...] | None = None  # label space; None if `find_space` has not been called
    has_options: bool | None = None  # whether the user can set labels, for the advice in errors; None for a corpus
    # Labels that were read before, by text. A row has several labels because of its annotators, but few are distinct.
    _found: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    def is_missing(self, gold: Any) -> bool:
        """Check whether a gold label is missing. A label with a meaning is not, even if it is -1."""
        return gold is None or (is_missing_label(gold) and self._find_meaning(_label_text(gold)) is None)

    def read(self, gold: Any, place: str) -> str:
        """Parse a gold label. An unknown meaning raises `UnknownLabelError`, a label outside the space `DataError`."""
        text = _label_text(gold)
        if text not in self._found:
            try:
                self._found[text] = self._find_meaning(text) or self._resolve(text)
            except LabelError as error:
                advice = None if self.has_options is None else _label_advice(text, has_options=self.has_options)
                raise UnknownLabelError("; ".join(filter(None, [f"{place}: {error}", advice]))) from None
            except ValueError as error:
                raise DataError(f"{place}: {error}") from None
        label = self._found[text]
        if self.space is not None and label not in self.space:
            meaning = NOT_ENTAILMENT if NOT_ENTAILMENT in self.space else "…"
            by_option = f", or pass its meaning with --labels {text:.{_LONGEST_LABEL}}={meaning}"
            raise DataError(
                f"{place}: expected one of {', '.join(self.space)}, as in the other rows, got {label}; use the same "
                f"labels in all rows{by_option if self.has_options else ''}"
            )
        return label

    def add_stored_names(self, stored: Sequence[str], where: str) -> None:
        """Add the label names that a Hub dataset or file stores to the meanings of the ids, which must agree."""
        if all(map(str.isdecimal, stored)):
            return
        for number, theirs in enumerate(stored):
            given = self.meanings.get(str(number))
            try:
                name = self.read(theirs, f"{where}, the label names of {self.column!r}")
            except UnknownLabelError:
                if given and self.has_options:  # names from the user replace unknown names
                    continue
                raise
            # Three labels can become two: `not_entailment` agrees with neutral and contradiction, `not_contradiction`
            # with entailment and neutral.
            merged = [NOT_ENTAILMENT] * (name in LABELS[1:]) + [NOT_CONTRADICTION] * (name in LABELS[:2])
            if self.meanings.setdefault(str(number), name) not in (name, *merged):
                raise DataError(
                    f"{where}: expected {name} for the label id {number}, as the data names it, got {given} "
                    f"({number}={given}); omit --labels"
                )

    def find_space(self, gold: Iterable[tuple[Any, str]]) -> tuple[str, ...]:
        """Find the label space: the one of the declared labels, or that of the first label of only one space.

        `gold` has the gold label and the location of each row.
        """
        read = (self.read(each, place) for each, place in gold if not self.is_missing(each))
        seen: set[str] = set()
        with suppress(DataError):  # reading the examples reports the row
            for label in chain(self.meanings.values(), read):
                seen.add(label)
                spaces = [space for space in LABEL_SPACES if seen <= set(space)]
                if len(spaces) == 1:
                    return spaces[0]
        return LABELS

    def _find_meaning(self, text: str) -> str | None:
        """Look up the meaning of a label. The label as written precedes the same label in another case."""
        if text in self.meanings:
            return self.meanings[text]
        by_lowercase = {theirs.lower(): label for theirs, label in self.meanings.items()}
        truth = parse_truth_value(text)
        others = (text.lower(),) if truth is None else (text.lower(), str(truth).lower())
        return next((by_lowercase[other] for other in others if other in by_lowercase), None)

    def _resolve(self, text: str) -> str:
        """Resolve a label without a meaning of its own: the value of a flag, or the spelling of a label."""
        if text in (_EMPTY_LIST, _FILLED_LIST):
            raise LabelError("expected a label as text or a number, got a list")
        if (truth := parse_truth_value(text)) is not None:
            # The name of the column must state the meaning of `true`. The name `label` does not: it may be the flag of
            # a detector, where true means that the hypothesis is *not* supported.
            is_positive = find_flag_direction(self.column)
            if is_positive is None:
                raise LabelError(
                    f"expected a label name, got the truth value {str(truth).lower()}, whose meaning in the column "
                    f"{self.column!r} is unknown"
                )
            return ENTAILMENT if truth == is_positive else NOT_ENTAILMENT
        if _NUMBER.fullmatch(text):
            if not text.lstrip("-").isdecimal():
                raise ValueError(f"expected a whole number as a label, got {text}; correct it")
            if ids := [f"{theirs} ({ours})" for theirs, ours in self.meanings.items() if theirs.isdecimal()]:
                advice = "correct it, or add it to --labels" if self.has_options else "correct it"
                raise ValueError(f"expected one of the label ids {', '.join(ids)}, got {text}; {advice}")
            raise LabelError(f"expected a label name, got the number {text}, whose meaning is unknown")
        return resolve_gold_label(text)


def parse_label_option(labels: Sequence[str], where: str) -> dict[str, str]:
    """Parse names of the ids 0, 1, …, or meanings such as `E=entailment`. Returns the label of each text in the data.

    >>> parse_label_option(["entailment", "not_entailment"], "a.csv")
    {'0': 'entailment', '1': 'not_entailment', 'false': 'entailment', 'true': 'not_entailment'}
    """
    given, has_names = ",".join(labels), not any("=" in each for each in labels)
    pairs = [(str(i), "=", name) for i, name in enumerate(labels)] if has_names else [e.partition("=") for e in labels]
    if not all(equals for _, equals, _ in pairs):
        raise DataError(
            f"{where}: expected either names of the labels 0, 1, 2 or pairs such as E=entailment, got a mixture "
            f"({given})"
        )
    meanings: dict[str, str] = {}
    for theirs, _, ours in pairs:
        if (key := _label_text(theirs)) in meanings:
            raise DataError(f"{where}: expected each label once, got {key!r} twice ({given})")
        try:
            meanings[key] = resolve_gold_label(ours)
        except LabelError as error:
            raise DataError(f"{where}: {error} ({given})") from None
    found = list(meanings.values())
    if not any(set(found) <= set(space) for space in LABEL_SPACES) or (has_names and len(set(found)) < len(found)):
        one_of = " or ".join(", ".join(space) for space in LABEL_SPACES)
        raise DataError(
            f"{where}: expected each of the labels {one_of} at most once, got {', '.join(found)}"
            if has_names
            else f"{where}: expected only labels of {one_of}, got a mixture ({given})"
        )
    if has_names and len(found) == len(TWO_WAY):
        meanings |= zip(("false", "true"), found, strict=True)
    return meanings


def _label_advice(label: str, *, has_options: bool) -> str:
    """Build the advice for a label with unknown spelling: which option to use, if the command has it."""
    initials = {name[0]: name for name in LABELS}
    # No message names an order of ids: a user who copies a wrong one gets plausible scores.
    by_id = (
        "look up the meaning of the ids and pass it as --labels 0=…,1=…,2=… "
        f"(each {', '.join(LABELS)} or {NOT_ENTAILMENT})"
    )
    if label.lstrip("-").isdecimal() and label not in ("0", "1"):
        by_option = by_id
    elif label in ("0", "1") or parse_truth_value(label) is not None:
        high, low = ("1", "0") if label in ("0", "1") else ("true", "false")
        three = f"; for three labels, {by_id}" if high == "1" else ""
        by_option = (
            f"pass --labels {','.join(TWO_WAY[::-1])} if {high} means entailed or supported, --labels "
            f"{','.join(TWO_WAY)} if {low} does{three}"
        )
    elif label in (_EMPTY_LIST, _FILLED_LIST):
        by_option = (
            f"if the lists are unsupported spans, so that an empty list means supported, pass --labels "
            f"'{_EMPTY_LIST}={ENTAILMENT},{_FILLED_LIST}={NOT_ENTAILMENT}'"
        )
    elif label.lower() in initials:
        example = ",".join(f"{letter.upper() if label.isupper() else letter}={initials[letter]}" for letter in initials)
        by_option = f"pass their meanings with --labels {example}"
    else:
        theirs = f"{label}=…,…" if label.isalnum() and len(label) <= _LONGEST_LABEL else f"THEIRS={ENTAILMENT},…"
        by_option = f"pass their meanings with --labels {theirs} (each {', '.join(LABELS)} or {NOT_ENTAILMENT})"
    in_data = f"use {', '.join(LABELS[:-1])} and {LABELS[-1]}, or {' and '.join(TWO_WAY)}, in the data"
    return f"{by_option}, or {in_data}" if has_options else in_data


def _label_text(gold: Any) -> str:
    """Convert a label to the form that users type. All lists with elements have the same form.

    >>> _label_text(True), _label_text(" E "), _label_text(1.0), _label_text([]), _label_text('[{"start": 3}]')
    ('true', 'E', '1', '[]', '[...]')
    """
    if isinstance(gold, bool):
        return str(gold).lower()
    text = str(gold).strip()
    if text.startswith("[") and text.endswith("]"):
        return _FILLED_LIST if text[1:-1].strip() else _EMPTY_LIST
    return text.removesuffix(".0")
