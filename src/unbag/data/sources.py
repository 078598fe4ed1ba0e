"""Labelled pairs from a corpus or from user-provided data, one example at a time."""

import ast
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
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
    _spans: Callable[[], Spans] = field(repr=False, compare=False)
    _read: Callable[[int, int | None], Iterator[readers.DataRow]] = field(repr=False, compare=False)
    _parse: Callable[[readers.DataRow], Example | str] = field(repr=False, compare=False)
    max_characters: int | None = MAX_SENTENCE_CHARACTERS  # per sentence; longer pairs are excluded
    labels: tuple[str, ...] = LABELS  # label space, one of `data.labels.LABEL_SPACES`
    requires_english: bool = False  # whether pairs in other languages are excluded
    has_options: bool = False  # whether the user can set the columns, for the advice in errors

    @cached_property
    def spans(self) -> Spans:
        """Row ranges that cover the source, so that several processes can share the work.

        A text file or a stream has a single open-ended range. The property is lazy, because the sentences of a text are
        parsed before their number is known.
        """
        return self._spans()

    def with_single_span(self) -> "PairSource":
        """Copy the source with a single row range, for use by one process."""
        return replace(self, _spans=_one_span)

    def validate_first_row(self) -> None:
        """Read rows up to the first labelled row, to detect errors in columns and labels before expensive work."""
        for row in self._read(0, None):
            if isinstance(self._parse(row), Example):
                return

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
        for row in self._read(start, stop):
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
        parsed = (self._parse(row) for row in islice(self._read(0, None), _LANGUAGE_SAMPLE))
        return sentences.is_english(text for each in parsed if isinstance(each, Example) for text in each[1:3])

    def count_rows(self) -> Counter[str]:
        """Count all rows, the labelled rows, and the excluded rows by reason.

        The keys are `rows`, `labelled` and the exclusion reasons, such as `unlabelled`.
        """
        counts: Counter[str] = Counter(rows=0, unlabelled=0, empty=0)
        counts["labelled"] = sum(1 for _ in self.iter_examples(counts=counts))
        return counts


def _one_span() -> Spans:
    return ((0, None),)


def open_corpus(corpus: Corpus, split: str | None = None, *, revision: str | None = None) -> PairSource:
    """Open a split of a published corpus, from the Hub or the local cache, at the pinned or another revision.

    Raises:
        DataError: If the corpus is missing on the Hub or differs from the pinned content, or the Hub is unreachable.
    """
    split = corpus.resolve_split(split)
    table, commit = readers.open_hub_table(corpus.hub_id, corpus.config, split, revision or corpus.revision)
    where, space = f"{corpus.hub_id} at {commit}", TWO_WAY if corpus.is_two_way else LABELS
    named = tuple(corpus.label_meanings.items())
    # A two-way corpus may store other label names (PAWS: "0" and "1"), which `corpus.labels` translates.
    stored = None if corpus.is_two_way and corpus.labels != TWO_WAY else table.get_label_names(corpus.label)
    names = _label_names(stored, corpus.labels, where, (space,))
    reader = _GoldLabels(corpus.label, names, named, space)
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
        return _parse(row, columns, reader, f"{corpus.name}-{split}-{row.number}")

    return PairSource(
        name=corpus.name,
        split=split,
        language=corpus.language,
        license=corpus.license,
        citation=corpus.citation,
        origin=f"{corpus.hub_id} ({corpus.config})",
        revision=commit,
        has_ids=False,
        _spans=partial(table.split_ranges, ROWS_PER_SPAN),
        _read=table.read,
        _parse=parse,
        labels=space,
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
    id_names, meanings = _label_meanings(labels or (), str(data))
    column = recognised["label"]
    reader = _GoldLabels(column, None, tuple(meanings.items()), LABELS, has_options)
    names = _label_names(_stored_names(reader, table, id_names, str(data)), id_names, str(data), LABEL_SPACES)
    reader = replace(reader, names=names)
    _validate_meanings_of_ids(reader, str(data))
    reader = replace(reader, space=_label_space(reader, table))
    prefix = "-".join(filter(None, [origin.split(".")[0], split]))

    def parse(row: readers.DataRow) -> Example | str:
        parsed = _parse(row, recognised, reader, f"{prefix}-{row.number}", join_passages=join_passages)
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
        _spans=partial(table.split_ranges, ROWS_PER_SPAN),
        _read=table.read,
        _parse=parse,
        labels=reader.space,
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
    for ours, usual in _RECOGNISED.items():
        if ours in named:
            continue
        free = [name for name in present if name not in columns.values()]
        candidates = [name for each in usual for name in free if _column_key(name) == _column_key(each)]
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


def _column_key(name: str) -> str:
    """Convert a column name to a form without case and separators: `Sentence A` and `sentence_a` are equal."""
    return "_".join(name.lower().replace("-", " ").replace("_", " ").split())


class UnknownLabelError(DataError):
    """Raised for a gold label of unknown meaning: an unknown spelling, or a number or Boolean without a label name."""


def _label_meanings(labels: Sequence[str], where: str) -> tuple[Sequence[str] | None, dict[str, str]]:
    """Parse `labels` as names of the ids 0, 1, …, or as meanings of labels in the data (`E=entailment`)."""
    pairs = [each.partition("=") for each in labels]
    if not any(equals for _, equals, _ in pairs):
        return labels or None, {}
    if not all(equals for _, equals, _ in pairs):
        raise DataError(
            f"{where}: expected either names of the labels 0, 1, 2 or pairs such as E=entailment, got a mixture "
            f"({','.join(labels)})"
        )
    meanings: dict[str, str] = {}
    for theirs, _, ours in pairs:
        if theirs.strip() in meanings:
            raise DataError(f"{where}: expected each label once, got {theirs.strip()!r} twice ({','.join(labels)})")
        try:
            meanings[theirs.strip()] = resolve_gold_label(ours)
        except LabelError as error:
            raise DataError(f"{where}: {error} ({','.join(labels)})") from None
    if not any(set(meanings.values()) <= set(space) for space in LABEL_SPACES):
        one_of = " or ".join(", ".join(space) for space in LABEL_SPACES)
        raise DataError(f"{where}: expected only labels of {one_of}, got a mixture ({','.join(labels)})")
    return None, meanings


def _label_advice(gold: Any, *, has_options: bool) -> str:
    """Build the advice for a label with unknown spelling: which option to use, if the command has it."""
    label = _label_text(gold)
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


@dataclass(frozen=True, eq=False)  # hashed by identity: every label of every row is a key of the cache below
class _GoldLabels:
    """Interpretation of the gold labels of one source."""

    column: str
    names: tuple[str, ...] | None  # by id 0, 1, …; None if the ids have no names
    meanings: tuple[tuple[str, str], ...]  # (label as written in the data, label of unbag)
    space: tuple[str, ...]
    has_options: bool | None = None  # whether the user can set labels, for the advice in errors; None for a corpus

    def is_missing(self, gold: Any) -> bool:
        """Check whether a gold label is missing. A label with a meaning is not, even if it is -1."""
        return gold is None or (is_missing_label(gold) and find_meaning(gold, self.meanings) is None)

    def read(self, gold: Any, place: str) -> str:
        """Parse a gold label. An unknown meaning raises `UnknownLabelError`, a label outside the space `DataError`."""
        try:
            return _read_label(_label_text(gold) if isinstance(gold, list) else gold, self)
        except TypeError:
            raise DataError(f"{place}: expected a label as text or a number, got {gold!r:.100}; correct it") from None
        except LabelError as error:
            advice = None if self.has_options is None else _label_advice(gold, has_options=self.has_options)
            raise UnknownLabelError("; ".join(filter(None, [f"{place}: {error}", advice]))) from None
        except ValueError as error:
            raise DataError(f"{place}: {error}") from None

    def of_truth_value(self, truth: bool) -> str:
        """Resolve a truth value, or the text true, yes, false or no, to a label."""
        # Names of two ids take precedence: false is 0, true is 1. Without them, the column name must state the meaning
        # of `true`. The name `label` does not: it may be the flag of a detector, where true means that the hypothesis
        # is *not* supported.
        if self.names is not None:
            if len(self.names) != len(TWO_WAY):
                raise ValueError(
                    f"expected one of {', '.join(self.names)}, got the truth value {str(truth).lower()}; pass two "
                    f"labels for false and true, such as --labels {','.join(TWO_WAY[::-1])} if true means supported"
                )
            return self.names[truth]
        is_positive = find_flag_direction(self.column)
        if is_positive is None:
            raise LabelError(
                f"expected a label name, got the truth value {str(truth).lower()}, whose meaning in the column "
                f"{self.column!r} is unknown"
            )
        return ENTAILMENT if truth == is_positive else NOT_ENTAILMENT


def _stored_names(
    reader: _GoldLabels, table: readers.DataTable, id_names: Sequence[str] | None, where: str
) -> Sequence[str] | None:
    """Resolve the label names that a Hub dataset stores; None if they are numerals or the user overrides them."""
    meanings = dict(reader.meanings)
    stored = [meanings.get(name, name) for name in table.get_label_names(reader.column) or ()]
    if not stored or all(map(str.isdecimal, stored)):
        return None
    # Names from the user override truth values and, below, unknown names.
    if id_names and any(parse_truth_value(name) is not None for name in stored):
        return None
    in_any = replace(reader, meanings=(), space=_ANY)
    try:
        return [in_any.read(name, f"{where}, the label names of {reader.column!r}") for name in stored]
    except UnknownLabelError:
        if id_names:
            return None
        raise


def _validate_meanings_of_ids(reader: _GoldLabels, where: str) -> None:
    """Validate that meanings of ids agree with the names that the data stores for them."""
    names = reader.names or ()
    for theirs, ours in reader.meanings:
        if theirs.isdecimal() and int(theirs) < len(names):
            name = names[int(theirs)]
            # Three labels can become two: `not_entailment` agrees with neutral and contradiction, `not_contradiction`
            # with entailment and neutral.
            merged = [NOT_ENTAILMENT] * (name in LABELS[1:]) + [NOT_CONTRADICTION] * (name in LABELS[:2])
            if ours not in (name, *merged):
                raise DataError(
                    f"{where}: expected {name} for the label id {theirs}, as the data names it, got {ours} "
                    f"({theirs}={ours}); omit --labels"
                )


def _label_space(reader: _GoldLabels, table: readers.DataTable) -> tuple[str, ...]:
    """Find the label space of user-provided data: the declared one, or that of the first label of only one space."""
    # A set declares its labels before its rows are read, so the label space is needed in advance.
    in_any = replace(reader, space=_ANY)

    def labels() -> Iterator[str]:
        yield from dict(reader.meanings).values()
        yield from reader.names or ()
        for row in table.read():
            gold = row.values.get(reader.column)
            if not reader.is_missing(gold):
                yield in_any.read(gold, row.location)

    with suppress(DataError):  # reading the examples reports the row
        seen = set()
        for label in labels():
            seen.add(label)
            spaces = [space for space in LABEL_SPACES if seen <= set(space)]
            if len(spaces) == 1:
                return spaces[0]
    return LABELS


def _label_names(
    stored: Sequence[str] | None, expected: Sequence[str] | None, where: str, spaces: Sequence[tuple[str, ...]]
) -> tuple[str, ...] | None:
    """Combine stored and expected label names, which must agree and form a label space; None if there are neither."""
    try:
        named = tuple(map(resolve_gold_label, stored)) if stored else None
        declared = tuple(map(resolve_gold_label, expected)) if expected else None
    except LabelError as error:
        raise DataError(f"{where}: {error}") from None
    for names in (named, declared):
        if names and (len(set(names)) < len(names) or not any(set(names) <= set(space) for space in spaces)):
            one_of = " or of ".join(", ".join(space) for space in spaces)
            raise DataError(f"{where}: expected each of the labels {one_of} at most once, got {', '.join(names)}")
    if named and declared and named != declared:
        raise DataError(
            f"{where}: expected {', '.join(named)} for the label ids 0, 1, …, as the data names them, got "
            f"{', '.join(declared)}; omit labels (--labels)"
        )
    return named or declared


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


def find_meaning(gold: Any, meanings: Sequence[tuple[str, str]]) -> str | None:
    """Find the meaning that the user gave a label. The label as written precedes the same label in other case."""
    by_text = dict(meanings)
    by_key = {theirs.lower(): ours for theirs, ours in meanings}
    text = _label_text(gold)
    return by_text.get(str(gold)) or by_text.get(text) or by_key.get(text.lower())


# Typed, because True == 1. A corpus has few distinct labels, but several labels per row because of its annotators.
@lru_cache(typed=True)
def _read_label(gold: Any, labels: _GoldLabels) -> str:
    if meaning := find_meaning(gold, labels.meanings):
        return _in_space(meaning, gold, labels)
    if isinstance(gold, str) and (text := _label_text(gold)) in (_EMPTY_LIST, _FILLED_LIST):
        raise LabelError(f"expected a label as text or a number, got {'an empty' if text == _EMPTY_LIST else 'a'} list")
    truth = gold if isinstance(gold, bool) else parse_truth_value(str(gold))
    if truth is not None:
        return _in_space(labels.of_truth_value(truth), gold, labels)
    number = None
    with suppress(ValueError, OverflowError):  # csv stores numbers as text; infinity has no integer
        # pandas writes integers as floats in a column with missing values.
        number = int(gold.strip().removesuffix(".0") if isinstance(gold, str) else gold)
    if isinstance(gold, float) and gold != number:
        raise ValueError(f"expected a whole number as a label, got {gold}; correct it")
    if number is None:
        return _in_space(resolve_gold_label(str(gold)), gold, labels)
    names = labels.names
    if names is None:
        raise LabelError(f"expected a label name, got the number {number}, whose meaning is unknown")
    if not 0 <= number < len(names):
        raise ValueError(f"expected a label id from 0 to {len(names) - 1} ({', '.join(names)}), got {number}")
    return _in_space(names[number], gold, labels)


def _in_space(label: str, gold: Any, labels: _GoldLabels) -> str:
    """Validate that a label is in the label space, and return it. `gold` is the label as written in the data."""
    if label not in labels.space:
        theirs = str(gold).strip()
        meaning = NOT_ENTAILMENT if NOT_ENTAILMENT in labels.space else "…"
        by_option = f", or pass its meaning with --labels {theirs:.{_LONGEST_LABEL}}={meaning}"
        raise ValueError(
            f"expected one of {', '.join(labels.space)}, as in the other rows, got {label}; use the same "
            f"labels in all rows{by_option if labels.has_options else ''}"
        )
    return label
