"""Labelled pairs from a corpus or from user-provided data, one example at a time."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag.data import readers
from unbag.data.corpora import CORPORA, LANGUAGES, Corpus
from unbag.data.labels import (
    ENTAILMENT,
    LABELS,
    NOT_ENTAILMENT,
    TWO_WAY,
    LabelError,
    is_missing_label,
    parse_truth_value,
    resolve_gold_label,
)
from unbag.data.text import sentences
from unbag.utils.advice import choose_advice
from unbag.utils.safe_io import DataError

_RECOGNISED: Final = {
    "premise": (
        *("premise", "sentence1", "sentence_A", "text1", "text_a"),
        *("document", "context", "source", "passage", "evidence"),
    ),
    "hypothesis": (
        *("hypothesis", "sentence2", "sentence_B", "text2", "text_b"),
        *("claim", "statement", "answer", "response", "summary", "sentence"),
    ),
    "label": ("label", "gold_label", "entailment_judgment", "entailment_label", "supported", "is_supported"),
    "id": ("id", "pairID", "uid"),
}
"""Usual names of each column, compared without case."""

_SUPPORT: Final = ("supported", "is_supported")
"""Names of label columns in which `true` means that the premise supports the hypothesis."""

MAX_SENTENCE_CHARACTERS: Final = 10_000
"""Maximum number of characters of a sentence in sets that tokenize or parse. The time for both can grow faster than the
length. The longest sentence of the published corpora has less than a fifth of this limit."""

TOO_LONG: Final = f"longer than {MAX_SENTENCE_CHARACTERS:,} characters"
EXCLUSION_REASONS: Final = ("unlabelled", "empty", TOO_LONG, *sentences.REASONS)
"""Exclusion reasons of rows and of sentences."""

_LISTED: Final = 20  # maximum number of columns listed in a message
_LONGEST_LABEL: Final = 20  # maximum number of characters of a label that a message quotes in an option
_ANY: Final = (*LABELS, NOT_ENTAILMENT)
_ANNOTATORS: Final = "annotator_labels"  # as in the jsonl files of SNLI and MNLI
ROWS_PER_SPAN: Final = 500
"""Approximate number of rows per span. Spans are small, so that several processes share a few thousand rows evenly."""

Spans = tuple[tuple[int, int | None], ...]
"""Row ranges (start, stop). A stop of None means the end of the source."""


class Example(NamedTuple):
    """Labelled pair of a premise and a hypothesis.

    Attributes:
        source_id: Unique id of the pair in the source.
        premise: First sentence or document.
        hypothesis: Second sentence.
        label: Gold label, one of `PairSource.labels`.
        annotators: Label of each annotator, if the data has lists in a column `annotator_labels`.
    """

    source_id: str
    premise: str
    hypothesis: str
    label: str
    annotators: tuple[str, ...] = ()


@dataclass(frozen=True)
class PairSource:
    """Split of a corpus, or a user-provided file or Hub dataset.

    Attributes:
        name: Name of the corpus, file or repository.
        split: Name of the split; empty for a file.
        language: One of `data.corpora.LANGUAGES`.
        license: SPDX id, or `unknown`.
        citation: BibTeX, or empty.
        origin: Hub id and config, or the name of the file.
        revision: Commit of the repository, or sha256 of the file.
        has_ids: Whether the data contains ids. Otherwise the ids are row numbers, which are unique.
        max_characters: Maximum number of characters per sentence; longer pairs are excluded. None for no limit.
        labels: Label space of the gold labels, `data.labels.LABELS` or `TWO_WAY`.
    """

    name: str
    split: str
    language: str
    license: str
    citation: str
    origin: str
    revision: str
    has_ids: bool
    _spans: Callable[[], Spans] = field(repr=False, compare=False)
    _read: Callable[[int, int | None], Iterator[readers.DataRow]] = field(repr=False, compare=False)
    _parse: Callable[[readers.DataRow], Example | str] = field(repr=False, compare=False)
    max_characters: int | None = MAX_SENTENCE_CHARACTERS
    labels: tuple[str, ...] = LABELS

    @cached_property
    def spans(self) -> Spans:
        """Row ranges that cover the source, so that several processes can share the work.

        Without random access, there is a single open-ended range.

        The property is lazy, because computing the ranges of a text file requires a pass over the file.
        """
        return self._spans()

    def with_single_span(self) -> "PairSource":
        """Copy the source with a single row range, for use by one process."""
        return replace(self, _spans=_one_span)

    def validate_first_row(self) -> None:
        """Read rows up to the first labelled row, to detect errors in columns and labels before expensive work.

        Raises:
            DataError: If a row cannot be read. The message contains its location.
        """
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
        """Iterate over the labelled pairs of a range of rows.

        Args:
            start: First row.
            stop: Row after the last one; None for the end.
            counts: Counter that is updated during the iteration: `rows`, and the excluded rows by reason
                (`EXCLUSION_REASONS`).
            id_callback: Called with each id in the data; the caller then validates that ids are unique. Without the
                callback, this method validates them and keeps all ids in memory.

        Raises:
            DataError: If a row cannot be read. The message contains its location.
        """
        ids: set[str] = set()
        for row in self._read(start, stop):
            parsed = self._parse(row)
            if isinstance(parsed, Example) and self._is_too_long(parsed):
                parsed = TOO_LONG
            if counts is not None:
                counts["rows"] += 1
                if isinstance(parsed, str):
                    counts[parsed] += 1
            if isinstance(parsed, Example):
                if not self.has_ids:
                    pass
                elif id_callback is not None:
                    id_callback(parsed.source_id)
                elif parsed.source_id in ids:
                    how = choose_advice(
                        "use another id column (--columns id=…), or none (--columns id=) to number the rows",
                        "rename the column to number the rows",
                    )
                    raise DataError(f"{row.location}: expected unique ids, got {parsed.source_id!r} twice; {how}")
                else:
                    ids.add(parsed.source_id)
                yield parsed

    def _is_too_long(self, example: Example) -> bool:
        return (
            self.max_characters is not None and max(len(example.premise), len(example.hypothesis)) > self.max_characters
        )

    def count_rows(self) -> Counter[str]:
        """Count all rows, the labelled rows, and the excluded rows by reason.

        The keys are `rows`, `labelled` and the exclusion reasons, such as `unlabelled`.
        """
        counts: Counter[str] = Counter(rows=0, unlabelled=0, empty=0)
        counts["labelled"] = sum(1 for _ in self.iter_examples(counts=counts))
        return counts


def _one_span() -> Spans:
    return ((0, None),)


def open_corpus(
    corpus: Corpus, split: str | None = None, *, revision: str | None = None, streaming: bool = False
) -> PairSource:
    """Open a split of a published corpus, from the Hub or the local cache.

    Args:
        corpus: One of `data.corpora.CORPORA`.
        split: Name of the split (default: the default split of the corpus).
        revision: Revision to read instead of the pinned one.
        streaming: Whether to stream rows over the network instead of downloading the split.

    Raises:
        ValueError: If the split does not exist.
        DataError: If the corpus is missing on the Hub or differs from the pinned content, or the Hub is unreachable.
    """
    split = corpus.resolve_split(split)
    table, commit = readers.open_hub_table(
        corpus.hub_id, corpus.config, split, revision or corpus.revision, streaming=streaming
    )
    where, space = f"{corpus.hub_id} at {commit}", TWO_WAY if corpus.is_two_way else LABELS
    named = tuple(corpus.label_meanings.items())
    # A two-way corpus may store other label names (PAWS: "0" and "1"), which `corpus.labels` translates.
    stored = None if corpus.is_two_way and corpus.labels != TWO_WAY else table.get_label_names(corpus.label)
    names = _label_names(stored, corpus.labels, where, (space,))
    reader = _GoldLabels(corpus.label, names, named, space)
    columns = {"premise": corpus.premise, "hypothesis": corpus.hypothesis, "label": corpus.label}
    _require(columns, table.columns, corpus.hub_id)
    if revision is None and not streaming and split in corpus.row_hashes:
        sha256 = table.compute_content_hash(list(columns.values()))
        if sha256 != corpus.row_hashes[split]:
            raise DataError(
                f"{corpus.hub_id}, split {split}: expected rows with sha256 {corpus.row_hashes[split]}, got {sha256}; "
                "delete the dataset from the Hub cache and try again, or use another revision in Python "
                "(unbag.load(…, revision=…))"
            )

    def parse(row: readers.DataRow) -> Example | str:
        # Users cannot correct a published corpus, so rows with an empty sentence are excluded and counted.
        return _parse(row, columns, reader, f"{corpus.name}-{split}-{row.number}", keep_empty=False)

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
    has_options: bool = True,
) -> PairSource:
    """Open user-provided data with three or two labels.

    The data has two labels (`entailment`, `not_entailment`) if `labels` lists them, or otherwise if the first label
    that belongs to only one label space is `not_entailment`. The label column is read up to that row.

    Args:
        data: A csv, tsv, jsonl or parquet file (the first three also with .gz), or a Hub dataset id.
        split: Split of a Hub dataset; None for a file.
        columns: Names of the `premise`, `hypothesis`, `label` and `id` columns. Columns that are not given are
            recognized by their usual names. An empty name for `id` numbers the rows instead.
        labels: Names of the label ids 0, 1, … (or of false and true), for data whose labels are unnamed numbers or
            truth values; or the meaning of each label, as `E=entailment`.
        language: One of `data.corpora.LANGUAGES`.
        config: Config of a Hub dataset.
        revision: Revision of a Hub dataset (default: the latest commit). The commit is recorded.
        has_options: Whether the user can set `columns` and `labels`, so that errors suggest these options.

    Raises:
        DataError: If the data cannot be found or read, or if its columns or labels are not recognized.
    """
    if language not in LANGUAGES:
        raise DataError(f"--language: expected one of {', '.join(LANGUAGES)}, got {language!r}; use one of these")
    path = Path(data)
    table: readers.DataTable
    if not readers.is_hub_id(str(data)):
        file = readers.open_data_file(path)
        table, commit, origin, split = file, file.sha256(), path.name, ""  # records do not depend on the folder
    else:
        if split is None:
            how = choose_advice(
                "expected a split of the dataset, got none; pass one, such as --split test",
                "expected a file, got a dataset id",
            )
            raise DataError(f"{data}: {how}")
        table, commit = readers.open_hub_table(str(data), config, split, revision or "main")
        origin = f"{data} ({config})" if config else str(data)
    recognised = _recognise(columns or {}, table.columns, str(data), has_options=has_options)
    id_names, meanings = _label_meanings(labels or (), str(data))
    column = recognised["label"]
    try:
        stored = _stored_names(table, column, id_names, meanings, str(data))
        names = _label_names(stored, id_names, str(data), (LABELS, TWO_WAY))
    except UnknownLabelError as error:
        raise DataError(f"{error}; {_label_advice(error.label, has_options=has_options)}") from None
    reader = _GoldLabels(column, names, tuple(meanings.items()), LABELS)
    reader = replace(reader, space=_label_space(reader, table))
    prefix = "-".join(filter(None, [origin.split(".")[0], split]))

    def parse(row: readers.DataRow) -> Example | str:
        try:
            return _parse(row, recognised, reader, f"{prefix}-{row.number}", keep_empty=True)
        except UnknownLabelError as error:
            raise DataError(f"{error}; {_label_advice(error.label, has_options=has_options)}") from None

    return PairSource(
        name=str(data) if split else origin,
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
    )


def validate_corpus_names(names: Iterable[str]) -> None:
    """Validate that each name is a base corpus or a readable file. Does not read all rows.

    Raises:
        DataError: If a name is neither. The message contains the first invalid name.
    """
    for name in names:
        if name not in CORPORA:
            if not Path(name).exists():
                raise DataError(f"expected corpora ({', '.join(CORPORA)}) or files, got {name!r}")
            readers.open_data_file(Path(name))


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
    if nameless := [ours for ours, theirs in named.items() if not theirs and ours != "id"]:
        raise DataError(
            f"{where}: expected a column for the {nameless[0]}, got no name (--columns {nameless[0]}=); use one of "
            f"{', '.join(map(repr, present[:_LISTED]))}, or omit {nameless[0]} (only id may be empty)"
        )
    columns = {ours: theirs for ours, theirs in named.items() if theirs}
    missing = {ours: repr(theirs) for ours, theirs in columns.items() if theirs not in present}
    for ours, usual in _RECOGNISED.items():
        if ours in named:
            continue
        candidates = [name for each in usual for name in present if name.lower() == each.lower()]
        candidates = [name for name in candidates if name not in columns.values()]
        if len(candidates) > 1 and ours != "id":
            by_option = f"choose one with --columns {ours}={candidates[0]}"
            in_data = "rename all but one in the data"
            raise DataError(
                f"{where}: expected one column for the {ours}, got {_listed(candidates)}; "
                f"{choose_advice(by_option, in_data) if has_options else in_data}"
            )
        if candidates:
            columns[ours] = candidates[0]
        elif ours != "id":
            missing[ours] = f"one of {', '.join(usual)}"
    if missing:
        wanted = " and ".join(f"the {ours} ({names})" for ours, names in missing.items())
        by_option = f"pass the column names with --columns {','.join(f'{ours}=…' for ours in missing)}"
        in_data = "rename the columns in the data"
        raise DataError(
            f"{where}: expected a column for {wanted}, got {list(present)[:_LISTED]}; "
            f"{choose_advice(by_option, in_data) if has_options else in_data}"
        )
    return columns


def _listed(names: Sequence[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} and {last}"


class UnknownLabelError(DataError):
    """Raised for a gold label of unknown meaning: an unknown spelling, or a number or Boolean without a label name.

    Attributes:
        label: The label as written in the data.
    """

    def __init__(self, message: str, label: str) -> None:
        super().__init__(message)
        self.label = label


def _label_meanings(labels: Sequence[str], where: str) -> tuple[Sequence[str] | None, dict[str, str]]:
    """Parse `labels` as names of the ids 0, 1, …, or as meanings of labels in the data (`E=entailment`).

    Raises:
        DataError: If both forms are mixed, a label occurs twice, or a label name is unknown.
    """
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
    if not any(set(meanings.values()) <= set(space) for space in (LABELS, TWO_WAY)):
        raise DataError(
            f"{where}: expected either the labels {', '.join(LABELS)} or the labels {', '.join(TWO_WAY)}, got a "
            f"mixture ({','.join(labels)})"
        )
    return None, meanings


def _label_advice(label: str, *, has_options: bool) -> str:
    """Build the advice for a label with unknown spelling: which option to use, if the command has it."""
    initials = {name[0]: name for name in LABELS}
    if label.lstrip("-").isdecimal() and label not in ("0", "1"):
        by_option = f"pass the names of labels 0, 1, 2, such as --labels {','.join(LABELS)}"
    elif label in ("0", "1") or parse_truth_value(label) is not None:
        high, low = ("1", "0") if label in ("0", "1") else ("true", "false")
        three = f", or the names of labels 0, 1, 2, such as --labels {','.join(LABELS)}" if high == "1" else ""
        by_option = (
            f"pass --labels {','.join(TWO_WAY[::-1])} if {high} means entailed or supported, --labels "
            f"{','.join(TWO_WAY)} if {low} does{three}"
        )
    elif label.lower() in initials:
        example = ",".join(f"{letter.upper() if label.isupper() else letter}={initials[letter]}" for letter in initials)
        by_option = f"pass their meanings with --labels {example}"
    else:
        theirs = f"{label}=…,…" if label.isalnum() and len(label) <= _LONGEST_LABEL else f"THEIRS={ENTAILMENT},…"
        by_option = f"pass their meanings with --labels {theirs} (each {', '.join(LABELS)} or {NOT_ENTAILMENT})"
    in_data = f"use {', '.join(LABELS[:-1])} and {LABELS[-1]}, or {' and '.join(TWO_WAY)}, in the data"
    return choose_advice(by_option, in_data) if has_options else in_data


@dataclass(frozen=True, eq=False)  # hashed by identity: every label of every row is a key of the cache below
class _GoldLabels:
    """Interpretation of the gold labels of one source.

    Attributes:
        column: Name of the label column.
        names: Labels by id 0, 1, …; None if they have no names.
        meanings: unbag's label for each label as written in the data.
        space: Label space of the source.
    """

    column: str
    names: tuple[str, ...] | None
    meanings: tuple[tuple[str, str], ...]
    space: tuple[str, ...]

    def read(self, gold: Any, place: str) -> str:
        """Parse a gold label.

        Raises:
            UnknownLabelError: If its meaning is unknown.
            DataError: If it is not in the label space.
        """
        try:
            return _read_label(gold, self)
        except TypeError:
            raise DataError(f"{place}: expected a label as text or a number, got {gold!r:.100}; correct it") from None
        except LabelError as error:
            raise UnknownLabelError(f"{place}: {error}", _label_text(gold)) from None
        except ValueError as error:
            raise DataError(f"{place}: {error}") from None

    def of_truth_value(self, truth: bool, *, is_text: bool) -> str:
        """Resolve a truth value to a label.

        Names of two ids take precedence: false is 0, true is 1. Without them, the column name must imply the meaning of
        `true`. The name `label` implies it for text, which comes from annotators, but not for booleans. A boolean may
        be the flag of a detector, where true means that the hypothesis is *not* supported.

        Raises:
            LabelError: If neither determines the meaning.
        """
        if self.names is not None:
            if len(self.names) != len(TWO_WAY):
                raise ValueError(
                    f"expected one of {', '.join(self.names)}, got the truth value {str(truth).lower()}; pass two "
                    f"labels for false and true, such as --labels {','.join(TWO_WAY[::-1])}"
                )
            return self.names[truth]
        names = _RECOGNISED["label"] if is_text else _SUPPORT
        if self.column.lower() not in names:
            raise LabelError(
                f"expected a label name, got the truth value {str(truth).lower()}, whose meaning in the column "
                f"{self.column!r} is unknown"
            )
        return ENTAILMENT if truth else NOT_ENTAILMENT


def _stored_names(
    table: readers.DataTable, column: str, id_names: Sequence[str] | None, meanings: Mapping[str, str], where: str
) -> Sequence[str] | None:
    """Resolve the label names that a Hub dataset stores; None if they are not meaningful.

    Numerals are not meaningful. Names from the user override truth values and unknown names.
    """
    stored = [meanings.get(name, name) for name in table.get_label_names(column) or ()]
    if not stored or all(map(str.isdecimal, stored)):
        return None
    if id_names and any(parse_truth_value(name) is not None for name in stored):
        return None
    reader = _GoldLabels(column, None, (), _ANY)
    try:
        return [reader.read(name, f"{where}, the label names of {column!r}") for name in stored]
    except UnknownLabelError:
        if id_names:
            return None
        raise


def _label_space(reader: _GoldLabels, table: readers.DataTable) -> tuple[str, ...]:
    """Find the label space of user-provided data: the declared one, or that of the first label except entailment.

    A set declares its labels before its rows are read, so the label space is needed in advance.
    """
    in_any = replace(reader, space=_ANY)

    def labels() -> Iterator[str]:
        yield from reader.names or ()
        yield from dict(reader.meanings).values()
        for row in table.read():
            gold = row.values.get(reader.column)
            if not is_missing_label(gold):
                yield in_any.read(gold, row.location)

    with suppress(DataError):  # reading the examples reports the row
        for label in labels():
            if label != ENTAILMENT:
                return TWO_WAY if label == NOT_ENTAILMENT else LABELS
    return LABELS


def _label_names(
    stored: Sequence[str] | None, expected: Sequence[str] | None, where: str, spaces: Sequence[tuple[str, ...]]
) -> tuple[str, ...] | None:
    """Combine stored and expected label names; None if there are neither.

    Both must agree and belong to one of the label spaces.
    """
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
        raise DataError(f"{where}: expected the names {list(declared)} for the label ids 0, 1, …, got {list(named)}")
    return named or declared


def _parse(
    row: readers.DataRow,
    columns: Mapping[str, str],
    labels: _GoldLabels,
    number_id: str,
    *,
    keep_empty: bool,
) -> Example | str:
    """Convert a row to an example, or to an exclusion reason."""
    values = row.values
    _require(columns, list(values), row.location)  # lines of a jsonl file may have different keys
    gold = values[columns["label"]]
    if is_missing_label(gold):
        return "unlabelled"
    label = labels.read(gold, row.location)
    sentences = [values[columns[side]] for side in ("premise", "hypothesis")]
    for side, sentence in zip(("premise", "hypothesis"), sentences, strict=True):
        if sentence is not None and not isinstance(sentence, str):
            raise DataError(f"{row.location}: expected the {side} as text, got {sentence!r:.100}; correct it")
        if not (sentence or "").strip():
            if keep_empty:
                raise DataError(f"{row.location}: expected a {side}, got an empty one; fill it in, or remove the row")
            return "empty"
    source_id = str(values[columns["id"]]) if "id" in columns else number_id
    for side, text in zip(("premise", "hypothesis", "id"), (*sentences, source_id), strict=True):
        if not _is_text(text):
            raise DataError(
                f"{row.location}: expected the {side} as Unicode text, got an incomplete character (a lone surrogate); "
                "save the file as UTF-8"
            )
    annotations = values.get(_ANNOTATORS)
    annotators = annotations if isinstance(annotations, list) else []
    votes = tuple(labels.read(vote, row.location) for vote in annotators if not is_missing_label(vote))
    return Example(source_id, sentences[0], sentences[1], label, votes)


def _is_text(text: str) -> bool:
    """Check whether a text can be encoded as UTF-8. Lone surrogates from JSON escapes cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _label_text(gold: Any) -> str:
    """Convert a label to the form that users type.

    >>> _label_text(True), _label_text(" E "), _label_text(1.0)
    ('true', 'E', '1')
    """
    return str(gold).lower() if isinstance(gold, bool) else str(gold).strip().removesuffix(".0")


# Typed, because True == 1. A corpus has few distinct labels, but several labels per row because of its annotators.
@lru_cache(typed=True)
def _read_label(gold: Any, labels: _GoldLabels) -> str:
    meanings = dict(labels.meanings)
    if meaning := meanings.get(str(gold)) or meanings.get(_label_text(gold)):
        return _in_space(meaning, gold, labels.space)
    truth = gold if isinstance(gold, bool) else parse_truth_value(str(gold))
    if truth is not None:
        return _in_space(labels.of_truth_value(truth, is_text=not isinstance(gold, bool)), gold, labels.space)
    number = None
    with suppress(ValueError, OverflowError):  # csv stores numbers as text; infinity has no integer
        # pandas writes integers as floats in a column with missing values.
        number = int(gold.strip().removesuffix(".0") if isinstance(gold, str) else gold)
    if isinstance(gold, float) and gold != number:
        raise ValueError(f"expected a whole number as a label, got {gold}; correct it")
    if number is None:
        return _in_space(resolve_gold_label(str(gold)), gold, labels.space)
    names = labels.names
    if names is None:
        raise LabelError(f"expected a label name, got the number {number}, whose meaning is unknown")
    if not 0 <= number < len(names):
        raise ValueError(f"expected a label id from 0 to {len(names) - 1} ({', '.join(names)}), got {number}")
    return _in_space(names[number], gold, labels.space)


def _in_space(label: str, gold: Any, space: tuple[str, ...]) -> str:
    """Validate that a label is in a label space, and return it.

    Args:
        label: One of unbag's labels.
        gold: The label as written in the data.
        space: Label space of the data.

    Raises:
        ValueError: If the label is not in the space.
    """
    if label not in space:
        theirs = str(gold).strip()
        meaning = NOT_ENTAILMENT if NOT_ENTAILMENT in space else "…"
        advice = choose_advice(f", or pass its meaning with --labels {theirs:.{_LONGEST_LABEL}}={meaning}")
        raise ValueError(
            f"expected one of {', '.join(space)}, as in the other rows, got {label}; use the same "
            f"labels in all rows{advice}"
        )
    return label
