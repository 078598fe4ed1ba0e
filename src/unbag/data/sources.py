"""Labelled pairs from a corpus or from user-provided data, one example at a time."""

import ast
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag.data import readers
from unbag.data.corpora import CORPORA, Corpus, validate_language_code
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
    normalize_spelling,
    parse_truth_value,
    resolve_gold_label,
)
from unbag.data.text import sentences
from unbag.data.text_layout import normalise_column_name
from unbag.utils import rng
from unbag.utils.hashing import hash_file
from unbag.utils.safe_io import DataError, parse_json

_RECOGNISED: Final = {
    "premise": (
        *("premise", "sentence1", "sentence_A", "text1", "text_a"),
        *("document", "context", "source", "passage", "evidence"),
        *("contexts", "passages", "retrieved_contexts", "retrieval_context"),
    ),
    "hypothesis": (
        *("hypothesis", "sentence2", "sentence_B", "text2", "text_b"),
        *("claim", "statement", "answer", "response", "summary", "sentence"),
    ),
    "label": ("label", "gold_label", "entailment_judgment", "entailment_label", "supported", "is_supported"),
    "id": ("id", "pairID", "uid"),
    "source": ("document_id", "source_id", "doc_id", "context_id"),
}
"""Usual names of each column, compared without case and separators."""

_OPTIONAL: Final = ("id", "source")

MAX_SENTENCE_CHARACTERS: Final = 10_000
"""Maximum number of characters of a sentence in sets that tokenize or parse. The time for both can grow faster than the
length. The longest sentence of the published corpora has less than a fifth of this limit."""

EMPTY_ROW: Final = "empty"
EMPTY_SIDES: Final = {"premise": "with an empty premise", "hypothesis": "with an empty hypothesis"}
TOO_LONG: Final = f"longer than {MAX_SENTENCE_CHARACTERS:,} characters"
EXCLUSION_REASONS: Final = ("unlabelled", EMPTY_ROW, *EMPTY_SIDES.values(), TOO_LONG, *sentences.REASONS)
"""Exclusion reasons of rows and of sentences."""

_LISTED: Final = 20  # maximum number of columns listed in a message
_LONGEST_LABEL: Final = 20  # maximum number of characters of a label that a message quotes in an option
_ANY: Final = (*LABELS, NOT_ENTAILMENT, NOT_CONTRADICTION)
_LANGUAGE_SAMPLE: Final = 2_000  # rows
_ANNOTATORS: Final = "annotator_labels"  # as in the jsonl files of SNLI and MNLI
ROWS_PER_SPAN: Final = 500
"""Approximate number of rows per span. Spans are small, so that several processes share a few thousand rows evenly."""

Spans = tuple[tuple[int, int | None], ...]
"""Row ranges (start, stop). A stop of None means the end of the source."""


class Example(NamedTuple):
    """Labelled pair of a premise and a hypothesis."""

    source_id: str  # unique in the source
    premise: str  # sentence or document
    hypothesis: str
    label: str  # gold label, one of `PairSource.labels`
    annotators: tuple[str, ...] = ()  # label of each annotator, if the data has lists in a column `annotator_labels`
    document: str = ""  # of the premise in user-provided data (`find_document`); empty for a corpus


@dataclass(frozen=True)
class PairSource:
    """Split of a corpus, or a user-provided file or Hub dataset."""

    name: str  # of the corpus, file or repository
    split: str  # empty for a file
    language: str  # code, such as `en`
    license: str  # SPDX id, or `unknown`
    citation: str  # BibTeX, or empty
    origin: str  # Hub id and config, or the name of the file
    revision: str  # commit of the repository, or sha256 of the file
    has_ids: bool  # whether the data contains ids; otherwise the ids are row numbers, which are unique
    # Called on first use, because the sentences of a text are parsed before their number is known.
    _open_table: Callable[[], readers.DataTable] = field(repr=False, compare=False)
    _parse: Callable[[readers.DataRow], Example | str] = field(repr=False, compare=False)
    max_characters: int | None = MAX_SENTENCE_CHARACTERS  # per sentence; longer pairs are excluded
    labels: tuple[str, ...] = LABELS  # label space, one of `data.labels.LABEL_SPACES`
    requires_english: bool = False  # whether pairs in other languages are excluded
    has_options: bool = False  # whether the user can set the columns, for the advice in errors
    has_single_span: bool = False  # whether one process must read all rows

    @cached_property
    def spans(self) -> Spans:
        """Row ranges that cover the source, so that several processes can share the work.

        A text file or a stream has a single open-ended range.
        """
        return ((0, None),) if self.has_single_span else self._open_table().split_ranges(ROWS_PER_SPAN)

    def validate_first_row(self) -> None:
        """Read rows up to the first labelled row, to detect errors in columns and labels before expensive work."""
        next((row for row in self._open_table().read() if isinstance(self._parse(row), Example)), None)

    def iter_examples(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        counts: Counter[str] | None = None,
        id_callback: Callable[[str], object] | None = None,
    ) -> Iterator[Example]:
        """Iterate over the labelled pairs of the rows from `start` to `stop`.

        `counts` is updated during the iteration: `rows`, and the excluded rows by reason (`EXCLUSION_REASONS`).
        `id_callback` is called with each id in the data; the caller then validates that ids are unique. Without it,
        this method validates them and keeps all ids in memory.
        """
        ids: set[str] = set()
        for row in self._open_table().read(start, stop):
            parsed = self._parse(row)
            if isinstance(parsed, Example):
                longest = max(len(parsed.premise), len(parsed.hypothesis))
                if self.max_characters is not None and longest > self.max_characters:
                    parsed = TOO_LONG
                elif self.requires_english and not self._is_english_pair(parsed):
                    parsed = sentences.NOT_ENGLISH
            if counts is not None:
                counts["rows"] += 1
                if isinstance(parsed, str):
                    counts[parsed] += 1
            if isinstance(parsed, Example):
                if self.has_ids and id_callback is not None:
                    id_callback(parsed.source_id)
                elif self.has_ids and parsed.source_id in ids:
                    advice = "rename the column to number the rows"
                    if self.has_options:
                        advice += ", or use another id column (--columns id=…) or none (--columns id=)"
                    raise DataError(f"{row.location}: expected unique ids, got {parsed.source_id!r} twice; {advice}")
                elif self.has_ids:  # row numbers are unique
                    ids.add(parsed.source_id)
                yield parsed

    def _is_english_pair(self, example: Example) -> bool:
        """Check the language of a pair. Pairs too short to decide have the language of most of the data."""
        is_english = sentences.find_pair_language(f"{example.premise} {example.hypothesis}")
        return self._is_mostly_english if is_english is None else is_english

    @cached_property
    def _is_mostly_english(self) -> bool:
        parsed = (self._parse(row) for row in islice(self._open_table().read(), _LANGUAGE_SAMPLE))
        return sentences.is_english(text for each in parsed if isinstance(each, Example) for text in each[1:3])

    def count_rows(self) -> Counter[str]:
        """Count all rows, the labelled rows, and the excluded rows by reason.

        The keys are `rows`, `labelled` and the exclusion reasons, such as `unlabelled`.
        """
        counts: Counter[str] = Counter(rows=0, unlabelled=0, empty=0)
        counts["labelled"] = sum(1 for _ in self.iter_examples(counts=counts))
        return counts


def open_corpus(corpus: Corpus, split: str | None = None, *, revision: str | None = None) -> PairSource:
    """Open a split of a published corpus, from the Hub or the local cache, at the pinned or another revision.

    Raises:
        DataError: If the corpus is missing on the Hub or differs from the pinned content, or the Hub is unreachable.
    """
    split = corpus.resolve_split(split)
    table, commit = readers.open_hub_table(corpus.hub_id, corpus.config, split, revision or corpus.revision)
    meanings = {str(number): label for number, label in enumerate(corpus.labels)} | dict(corpus.label_meanings)
    labels = _GoldLabels(corpus.label, meanings, TWO_WAY if corpus.is_two_way else LABELS)
    _add_stored_names(labels, table, f"{corpus.hub_id} at {commit}")
    columns = {"premise": corpus.premise, "hypothesis": corpus.hypothesis, "label": corpus.label}
    _require(columns, table.columns, corpus.hub_id)
    if revision is None and split in corpus.row_hashes:
        sha256 = table.compute_content_hash(list(columns.values()))
        if sha256 != corpus.row_hashes[split]:
            raise DataError(
                f"{corpus.hub_id}, split {split}: expected rows with sha256 {corpus.row_hashes[split]}, got {sha256}; "
                "delete the dataset from the Hub cache and try again, or use another revision in Python "
                "(unbag.load(…, revision=…))"
            )

    def parse(row: readers.DataRow) -> Example | str:
        # Without documents, since published results treat every pair of a corpus as independent.
        return _parse(row, columns, labels, f"{corpus.name}-{split}-{row.number}")

    return PairSource(
        name=corpus.name,
        split=split,
        language=corpus.language,
        license=corpus.license,
        citation=corpus.citation,
        origin=f"{corpus.hub_id} ({corpus.config})",
        revision=commit,
        has_ids=False,
        _open_table=lambda: table,
        _parse=parse,
        labels=labels.space,
    )


def open_data(
    data: str | Path,
    *,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    labels: Sequence[str] | None = None,
    language: str = "en",
    config: str | None = None,
    revision: str | None = None,
    encoding: str | None = None,
    join_passages: bool = False,
    has_options: bool = True,
) -> PairSource:
    """Open user-provided data with three or two labels.

    The label space is that of `labels`, or of the first label that belongs to only one label space. The label column is
    read up to that row.

    Args:
        data: A csv, tsv, jsonl, json, Parquet or Arrow file (text files also with .gz), a folder of `save_to_disk`, or
            a Hub dataset id, the last two with a `split`.
        columns: Names of the `premise`, `hypothesis`, `label`, `id` and `source` columns (default: their usual names).
            An empty name for `id` numbers the rows instead. `source` identifies the document of the premise; an empty
            name compares the texts instead (`find_document`).
        labels: Names of the label ids 0, 1, … (or of false and true), or the meaning of each label, as `E=entailment`.
        revision: Revision of a Hub dataset (default: the latest commit). The commit is recorded.
        join_passages: Whether to join a premise that is a list of passages by blank lines.
        has_options: Whether the user can set `columns`, `labels` and `join_passages`, so that errors suggest them.
    """
    validate_language_code(language)
    path = Path(data)
    table: readers.DataTable
    if readers.is_dataset_folder(path):
        table, commit = readers.open_dataset_folder(path, split)
        origin, split = path.name, split or ""  # records do not depend on the parent folder
    elif not readers.is_hub_id(str(data)):
        file = readers.open_data_file(path, encoding, has_option=has_options)
        table, commit, origin, split = file, hash_file(path), path.name, ""
    else:
        if split is None:
            raise DataError(
                f"{data}: expected a split of the dataset, got none; pass one, such as --split test, or pass a file"
            )
        table, commit = readers.open_hub_table(str(data), config, split, revision or "main")
        origin = f"{data} ({config})" if config else str(data)
    recognised = _recognise(columns or {}, table.columns, str(data), has_options=has_options)
    gold = _GoldLabels(recognised["label"], _parse_label_option(labels or (), str(data)), _ANY, has_options)
    _add_stored_names(gold, table, str(data))
    gold = replace(gold, space=_find_label_space(gold, table))
    prefix = "-".join(filter(None, [origin.split(".")[0], split]))

    def parse(row: readers.DataRow) -> Example | str:
        parsed = _parse(row, recognised, gold, f"{prefix}-{row.number}", join_passages=join_passages)
        if not isinstance(parsed, Example):
            return parsed
        group = row.values[recognised["source"]] if "source" in recognised else None
        return parsed._replace(document=find_document(group, parsed.premise))

    return PairSource(
        name=str(data) if split and not path.is_dir() else origin,
        split=split,
        language=language,
        license="unknown",
        citation="",
        origin=origin,
        revision=commit,
        has_ids="id" in recognised,
        _open_table=lambda: table,
        _parse=parse,
        labels=gold.space,
        has_options=has_options,
    )


def validate_corpus_names(names: Iterable[str], encoding: str | None = None, *, has_option: bool = False) -> None:
    """Validate that each name is a base corpus, a readable file or a folder of `datasets`. Does not read all rows.

    `encoding` and `has_option` are those of `data.readers.open_data_file`.
    """
    for name in names:
        if name not in CORPORA:
            if not Path(name).exists():
                raise DataError(f"expected corpora ({', '.join(CORPORA)}) or files, got {name!r}")
            if readers.is_dataset_folder(Path(name)):
                readers.open_dataset_folder(Path(name), None)
            else:
                readers.open_data_file(Path(name), encoding, has_option=has_option)


def _require(columns: Mapping[str, str], present: Sequence[str], where: str) -> None:
    if missing := {ours: theirs for ours, theirs in columns.items() if theirs not in present}:
        wanted = ", ".join(f"{theirs!r} for the {ours}" for ours, theirs in missing.items())
        raise DataError(f"{where}: expected the columns {wanted}, got {list(present)}")


def _recognise(
    named: Mapping[str, str], present: Sequence[str], where: str, *, has_options: bool = True
) -> dict[str, str]:
    """Map the standard columns to the columns of the data, by user-provided or usual names."""
    if unknown := sorted(set(named) - set(_RECOGNISED)):
        raise DataError(f"--columns: expected names for {', '.join(_RECOGNISED)}, got {', '.join(unknown)}; remove it")
    if nameless := [ours for ours, theirs in named.items() if not theirs and ours not in _OPTIONAL]:
        raise DataError(
            f"{where}: expected a column for the {nameless[0]}, got no name (--columns {nameless[0]}=); use one of "
            f"{', '.join(map(repr, present[:_LISTED]))}, or omit {nameless[0]} (only id and source may be empty)"
        )
    # The option cannot express white space around a name.
    stripped = {normalise_column_name(name): name for name in present}
    columns = {
        ours: theirs if theirs in present else stripped.get(theirs, theirs) for ours, theirs in named.items() if theirs
    }
    missing = {ours: repr(theirs) for ours, theirs in columns.items() if theirs not in present}
    spellings = {name: normalize_spelling(name) for name in present}
    for ours, usual in _RECOGNISED.items():
        if ours in named:
            continue
        free = [name for name in present if name not in columns.values()]
        candidates = [name for each in map(normalize_spelling, usual) for name in free if spellings[name] == each]
        if ours == "label" and not candidates:
            candidates = [name for name in free if find_flag_direction(name) is not None]
        # Any id identifies the rows, but a wrong sentence or label would change the scores.
        if len(candidates) > 1 and ours != "id":
            by_option = f"choose one with --columns {ours}={candidates[0]}, or " if has_options else ""
            listed = f"{', '.join(map(repr, candidates[:-1]))} and {candidates[-1]!r}"
            raise DataError(
                f"{where}: expected one column for the {ours}, got {listed}; {by_option}rename all but one in the data"
            )
        if candidates:
            columns[ours] = candidates[0]
        elif ours not in _OPTIONAL:
            missing[ours] = f"one of {', '.join(usual)}"
    if missing:
        wanted = " and ".join(f"the {ours} ({names})" for ours, names in missing.items())
        names_given = ",".join(f"{ours}=…" for ours in missing)
        by_option = f"pass the column names with --columns {names_given}, or " if has_options else ""
        raise DataError(
            f"{where}: expected a column for {wanted}, got {list(present)[:_LISTED]}; {by_option}rename the columns in "
            "the data"
        )
    return columns


class UnknownLabelError(DataError):
    """Raised for a gold label of unknown meaning: an unknown spelling, or a number or Boolean without a label name."""


def _parse_label_option(labels: Sequence[str], where: str) -> dict[str, str]:
    """Parse names of the ids 0, 1, …, or meanings such as `E=entailment`. Returns the label of each text in the data.

    >>> _parse_label_option(["entailment", "not_entailment"], "a.csv")
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


@dataclass(frozen=True)
class _GoldLabels:
    """Interpretation of the gold labels of one source."""

    column: str
    meanings: dict[str, str]  # label of each text in the data (`_label_text`), for ids and other special labels
    space: tuple[str, ...]
    has_options: bool | None = None  # whether the user can set labels, for the advice in errors; None for a corpus
    # Labels that were read before, by text. A row has several labels because of its annotators, but few are distinct.
    _found: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def find_meaning(self, text: str) -> str | None:
        """Look up the meaning of a label. The label as written precedes the same label in another case."""
        if text in self.meanings:
            return self.meanings[text]
        by_lowercase = {theirs.lower(): label for theirs, label in self.meanings.items()}
        truth = parse_truth_value(text)
        others = (text.lower(),) if truth is None else (text.lower(), str(truth).lower())
        return next((by_lowercase[other] for other in others if other in by_lowercase), None)

    def is_missing(self, gold: Any) -> bool:
        """Check whether a gold label is missing. A label with a meaning is not, even if it is -1."""
        return gold is None or (is_missing_label(gold) and self.find_meaning(_label_text(gold)) is None)

    def read(self, gold: Any, place: str) -> str:
        """Parse a gold label. An unknown meaning raises `UnknownLabelError`, a label outside the space `DataError`."""
        text = _label_text(gold)
        if text in self._found:
            return self._found[text]
        try:
            label = self.find_meaning(text) or self._resolve(text)
        except LabelError as error:
            advice = None if self.has_options is None else _label_advice(text, has_options=self.has_options)
            raise UnknownLabelError("; ".join(filter(None, [f"{place}: {error}", advice]))) from None
        except ValueError as error:
            raise DataError(f"{place}: {error}") from None
        if label not in self.space:
            meaning = NOT_ENTAILMENT if NOT_ENTAILMENT in self.space else "…"
            by_option = f", or pass its meaning with --labels {text:.{_LONGEST_LABEL}}={meaning}"
            raise DataError(
                f"{place}: expected one of {', '.join(self.space)}, as in the other rows, got {label}; use the same "
                f"labels in all rows{by_option if self.has_options else ''}"
            )
        self._found[text] = label
        return label

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


_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?|-?inf")


def _add_stored_names(labels: _GoldLabels, table: readers.DataTable, where: str) -> None:
    """Add the label names that a Hub dataset or file stores to the meanings of the ids, which must agree with them."""
    stored = table.get_label_names(labels.column) or ()
    if all(map(str.isdecimal, stored)):
        return
    for number, theirs in enumerate(stored):
        given = labels.meanings.get(str(number))
        try:
            name = replace(labels, space=_ANY).read(theirs, f"{where}, the label names of {labels.column!r}")
        except UnknownLabelError:
            if given and labels.has_options:  # names from the user replace unknown names
                continue
            raise
        # Three labels can become two: `not_entailment` agrees with neutral and contradiction, `not_contradiction` with
        # entailment and neutral.
        merged = [NOT_ENTAILMENT] * (name in LABELS[1:]) + [NOT_CONTRADICTION] * (name in LABELS[:2])
        if labels.meanings.setdefault(str(number), name) not in (name, *merged):
            raise DataError(
                f"{where}: expected {name} for the label id {number}, as the data names it, got {given} "
                f"({number}={given}); omit --labels"
            )


def _find_label_space(labels: _GoldLabels, table: readers.DataTable) -> tuple[str, ...]:
    """Find the label space of user-provided data: the declared one, or that of the first label of only one space."""

    # A set declares its labels before its rows are read, so the label space is needed in advance.
    def iter_labels() -> Iterator[str]:
        yield from labels.meanings.values()
        for row in table.read():
            gold = row.values.get(labels.column)
            if not labels.is_missing(gold):
                yield labels.read(gold, row.location)

    with suppress(DataError):  # reading the examples reports the row
        seen = set()
        for label in iter_labels():
            seen.add(label)
            spaces = [space for space in LABEL_SPACES if seen <= set(space)]
            if len(spaces) == 1:
                return spaces[0]
    return LABELS


def _parse(
    row: readers.DataRow,
    columns: Mapping[str, str],
    labels: _GoldLabels,
    number_id: str,
    *,
    join_passages: bool = False,
) -> Example | str:
    """Convert a row to an example, or to an exclusion reason."""
    values = row.values
    _require(columns, list(values), row.location)  # lines of a jsonl file may have different keys
    gold = values[columns["label"]]
    if labels.is_missing(gold):
        is_empty = _is_blank(gold) and all(_is_blank(values[columns[side]]) for side in EMPTY_SIDES)
        return EMPTY_ROW if is_empty else "unlabelled"
    label = labels.read(gold, row.location)
    texts = []
    for side, reason in EMPTY_SIDES.items():
        text = _join_passages(
            values[columns[side]], side, row.location, is_allowed=join_passages, has_options=bool(labels.has_options)
        )
        if not text.strip():
            return reason
        texts.append(text)
    premise, hypothesis = texts
    source_id = str(values[columns["id"]]) if "id" in columns else number_id
    for side, text in zip(("premise", "hypothesis", "id"), (premise, hypothesis, source_id), strict=True):
        try:
            text.encode()
        except UnicodeEncodeError:  # JSON escapes may contain lone surrogates
            raise DataError(
                f"{row.location}: expected the {side} as Unicode text, got an incomplete character (a lone surrogate); "
                "save the file as UTF-8"
            ) from None
    annotations = values.get(_ANNOTATORS)
    annotators = annotations if isinstance(annotations, list) else []
    votes = tuple(labels.read(vote, row.location) for vote in annotators if not labels.is_missing(vote))
    return Example(source_id, premise, hypothesis, label, votes)


def find_document(group: Any, premise: str) -> str:
    r"""Find the document of a pair: the value of a grouping column or, without one, the normalised premise.

    Copies of a document differ in composed letters, non-breaking spaces, line breaks, quotation marks or dashes if
    they went through different programs.

    >>> find_document(None, "It\u2019s\u00a0late.") == find_document(" ", "It's  late.\n")
    True
    >>> find_document(7, "It rains.")
    '7'
    """
    if not _is_blank(group):
        return str(group).strip()
    text = " ".join(unicodedata.normalize("NFKC", premise).translate(_PUNCTUATION).split())
    return premise if text == premise else text  # a reference to the premise needs no memory


def compute_source_id(example: Example) -> str:
    """Compute the id of an example's document, so that it does not depend on other rows; without one, its own id."""
    if not example.document:
        return example.source_id
    return f"document-{int(rng.compute_key('document', example.document)):016x}"


_PUNCTUATION: Final = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)
"""Quotation marks and dashes as in ASCII; soft hyphens and characters without width are removed."""


def _is_blank(value: Any) -> bool:
    is_nan = isinstance(value, float) and math.isnan(value)
    return value is None or value == [] or is_nan or (isinstance(value, str) and not value.strip())


def _join_passages(value: Any, side: str, location: str, *, is_allowed: bool, has_options: bool) -> str:
    """Convert the cell of a sentence to text. A list of passages is joined by blank lines if this is allowed."""
    if _is_blank(value):
        return ""
    passages = parse_text_list(value) if isinstance(value, str) else value
    if passages is None:
        return str(value)
    if not isinstance(passages, list) or not all(isinstance(each, str) or _is_blank(each) for each in passages):
        raise DataError(f"{location}: expected the {side} as text or a list of texts, got {value!r:.100}; convert it")
    passages = [each for each in passages if not _is_blank(each)]
    if not passages:
        return ""
    if side != "premise":
        raise DataError(f"{location}: expected the {side} as text, got a list of {len(passages)} texts; join them")
    if not is_allowed:
        by_option = "pass --join-passages (join_passages=True in Python) to join them by blank lines, or "
        raise DataError(
            f"{location}: expected the premise as text, got a list of {len(passages)} passages; "
            f"{by_option if has_options else ''}join them in the data"
        )
    return "\n\n".join(each.strip() for each in passages)


_LITERAL: Final = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_PYTHON_LIST: Final = re.compile(rf"\[\s*(?:{_LITERAL}(?:\s*,\s*|\s+|(?=\])))+\]", re.DOTALL)


def parse_text_list(text: str) -> list[Any] | None:
    """Parse the text of a list of texts in a csv cell, as JSON or as pandas writes lists and arrays; else return None.

    >>> parse_text_list('["A.", "B."]'), parse_text_list("['A.' 'B.']"), parse_text_list("[1] A.")
    (['A.', 'B.'], ['A.', 'B.'], None)
    """
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    with suppress(ValueError):
        parsed = parse_json(text)
        return parsed if all(isinstance(each, str) or each is None for each in parsed) else None
    # Python literals may be numbers, dicts or nested lists. Only lists of texts are passages.
    if _PYTHON_LIST.fullmatch(text) is None:
        return None
    # Each literal separately: Python would join the adjacent literals of a NumPy array to one.
    return [ast.literal_eval(literal) for literal in re.findall(_LITERAL, text, re.DOTALL)]


_EMPTY_LIST: Final = "[]"
_FILLED_LIST: Final = "[...]"


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
