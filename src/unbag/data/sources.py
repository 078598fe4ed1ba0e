"""Labelled pairs from a corpus or from user-provided data, one example at a time."""

import ast
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag.data import readers
from unbag.data.corpora import CORPORA, Corpus, validate_language_code
from unbag.data.gold_labels import GoldLabels, parse_label_option
from unbag.data.labels import LABELS, TWO_WAY, find_flag_direction, normalize_spelling
from unbag.data.text import sentences
from unbag.data.text_layout import normalise_column_name
from unbag.utils import rng
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
_LANGUAGE_SAMPLE: Final = 2_000  # rows
_ANNOTATORS: Final = "annotator_labels"  # as in the jsonl files of SNLI and MNLI
ROWS_PER_SPAN: Final = 500
"""Approximate number of rows per span. Spans are small, so that several processes share a few thousand rows evenly."""


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
    origin: str  # Hub id and config, or the name of the file
    revision: str  # commit of the repository, or sha256 of the file
    # Called on first use, because the sentences of a text are parsed before their number is known.
    _open_table: Callable[[], readers.DataTable] = field(repr=False, compare=False)
    _parse: Callable[[readers.DataRow], Example | str] = field(repr=False, compare=False)
    has_ids: bool = False  # whether the data contains ids; otherwise the ids are row numbers, which are unique
    license: str = "unknown"  # SPDX id, or `unknown`
    citation: str = ""  # BibTeX, or empty
    max_characters: int | None = MAX_SENTENCE_CHARACTERS  # per sentence; longer pairs are excluded
    labels: tuple[str, ...] = LABELS  # label space, one of `data.labels.LABEL_SPACES`
    requires_english: bool = False  # whether pairs in other languages are excluded
    has_options: bool = False  # whether the user can set the columns, for the advice in errors
    has_single_span: bool = False  # whether one process must read all rows

    @property
    def record(self) -> dict[str, str]:
        """JSON record that identifies the pairs."""
        return {"origin": self.origin, "split": self.split, "revision": self.revision}

    @cached_property
    def spans(self) -> readers.RowRanges:
        """Row ranges that cover the source, so that several processes can share the work.

        A text file or a stream has a single open-ended range.
        """
        return ((0, None),) if self.has_single_span else self._open_table().split_ranges(ROWS_PER_SPAN)

    def validate_first_row(self) -> None:
        """Read rows up to the first labelled row, to detect errors in columns and labels before expensive work."""
        next((row for row in self._open_table().read() if isinstance(self._parse(row), Example)), None)

    def iter_examples(
        self, start: int = 0, stop: int | None = None, *, counts: Counter[str] | None = None, check_ids: bool = True
    ) -> Iterator[Example]:
        """Iterate over the labelled pairs of the rows from `start` to `stop`.

        `counts` is updated during the iteration: `rows`, and the excluded rows by reason (`EXCLUSION_REASONS`). If
        `check_ids`, an id that occurs twice raises an error. This keeps all ids of the data in memory.
        """
        counts = Counter() if counts is None else counts
        ids: set[str] = set()
        for row in self._open_table().read(start, stop):
            counts["rows"] += 1
            parsed = self._parse(row)
            if isinstance(parsed, Example):
                longest = max(len(parsed.premise), len(parsed.hypothesis))
                if self.max_characters is not None and longest > self.max_characters:
                    parsed = TOO_LONG
                elif self.requires_english and not self._is_english_pair(parsed):
                    parsed = sentences.NOT_ENGLISH
            if isinstance(parsed, str):
                counts[parsed] += 1
                continue
            if check_ids and self.has_ids:  # row numbers are unique
                if parsed.source_id in ids:
                    advice = "rename the column to number the rows"
                    if self.has_options:
                        advice += ", or use another id column (--columns id=…) or none (--columns id=)"
                    raise DataError(f"{row.location}: expected unique ids, got {parsed.source_id!r} twice; {advice}")
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
    table = readers.open_hub_table(corpus.hub_id, corpus.config, split, revision or corpus.revision)
    meanings = {str(number): label for number, label in enumerate(corpus.labels)} | dict(corpus.label_meanings)
    gold = GoldLabels(corpus.label, meanings)
    gold.add_stored_names(table.get_label_names(gold.column) or (), f"{corpus.hub_id} at {table.revision}")
    gold.space = TWO_WAY if corpus.is_two_way else LABELS
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
    return PairSource(
        name=corpus.name,
        split=split,
        language=corpus.language,
        origin=f"{corpus.hub_id} ({corpus.config})",
        revision=table.revision,
        _open_table=lambda: table,
        _parse=_PairParser(columns, gold, f"{corpus.name}-{split}"),
        license=corpus.license,
        citation=corpus.citation,
        labels=gold.space,
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
    name = str(data)
    if readers.is_hub_id(name):
        if split is None:
            raise DataError(
                f"{data}: expected a split of the dataset, got none; pass one, such as --split test, or pass a file"
            )
        table: readers.DataTable = readers.open_hub_table(name, config, split, revision or "main")
        origin = f"{name} ({config})" if config else name
    else:
        path = Path(data)
        table = readers.open_local_table(path, split, encoding, has_option=has_options)
        name = origin = path.name  # records do not depend on the parent folder
        split = split if split and path.is_dir() else ""
    recognised = _recognise(columns or {}, table.columns, str(data), has_options=has_options)
    gold = GoldLabels(recognised["label"], parse_label_option(labels or (), str(data)), has_options=has_options)
    gold.add_stored_names(table.get_label_names(gold.column) or (), str(data))
    # A set declares its labels before its rows are read, so the label space is needed in advance.
    gold.space = gold.find_space((row.values.get(gold.column), row.location) for row in table.read())
    prefix = "-".join(filter(None, [origin.split(".")[0], split]))
    return PairSource(
        name=name,
        split=split,
        language=language,
        origin=origin,
        revision=table.revision,
        _open_table=lambda: table,
        _parse=_PairParser(recognised, gold, prefix, has_documents=True, join_passages=join_passages),
        has_ids="id" in recognised,
        labels=gold.space,
        has_options=has_options,
    )


def open_training_sources(names: Sequence[str], *, language: str = "en") -> list[PairSource]:
    """Open the training splits of corpora, and files of pairs, to count their words."""
    validate_corpus_names(names)
    sources = []
    for name in names:
        if name in CORPORA:
            sources += [open_corpus(CORPORA[name], split) for split in CORPORA[name].train]
        else:
            # For counts of words, it does not matter how the passages of a list are joined.
            sources.append(open_data(name, language=language, join_passages=True, has_options=False))
    return sources


def validate_corpus_names(names: Iterable[str], encoding: str | None = None, *, has_option: bool = False) -> None:
    """Validate that each name is a base corpus, a readable file or a folder of `datasets`. Does not read all rows.

    `encoding` and `has_option` are those of `data.readers.open_data_file`.
    """
    for name in names:
        if name not in CORPORA:
            if not Path(name).exists():
                raise DataError(f"expected corpora ({', '.join(CORPORA)}) or files, got {name!r}")
            readers.open_local_table(Path(name), encoding=encoding, has_option=has_option)


def _require(columns: Mapping[str, str], present: Collection[str], where: str) -> None:
    if missing := {ours: theirs for ours, theirs in columns.items() if theirs not in present}:
        wanted = ", ".join(f"{theirs!r} for the {ours}" for ours, theirs in missing.items())
        raise DataError(f"{where}: expected the columns {wanted}, got {list(present)}")


def _recognise(named: Mapping[str, str], present: Sequence[str], where: str, *, has_options: bool) -> dict[str, str]:
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


@dataclass(frozen=True)
class _PairParser:
    """Conversion of the rows of a table to examples."""

    columns: Mapping[str, str]  # columns of the table by our names
    labels: GoldLabels
    prefix: str  # of the ids of rows without ids
    has_documents: bool = False  # not for corpora, since published results treat every pair of a corpus as independent
    join_passages: bool = False

    def __call__(self, row: readers.DataRow) -> Example | str:
        """Convert a row to an example, or to an exclusion reason."""
        values, columns = row.values, self.columns
        _require(columns, values, row.location)  # lines of a jsonl file may have different keys
        gold = values[columns["label"]]
        if self.labels.is_missing(gold):
            is_empty = _is_blank(gold) and all(_is_blank(values[columns[side]]) for side in EMPTY_SIDES)
            return EMPTY_ROW if is_empty else "unlabelled"
        label = self.labels.read(gold, row.location)
        texts = []
        for side, reason in EMPTY_SIDES.items():
            text = self._read_text(values[columns[side]], side, row.location)
            if not text.strip():
                return reason
            texts.append(text)
        premise, hypothesis = texts
        source_id = str(values[columns["id"]]) if "id" in columns else f"{self.prefix}-{row.number}"
        for side, text in zip(("premise", "hypothesis", "id"), (premise, hypothesis, source_id), strict=True):
            try:
                text.encode()
            except UnicodeEncodeError:  # JSON escapes may contain lone surrogates
                raise DataError(
                    f"{row.location}: expected the {side} as Unicode text, got an incomplete character (a lone "
                    "surrogate); save the file as UTF-8"
                ) from None
        annotations = values.get(_ANNOTATORS)
        annotators = annotations if isinstance(annotations, list) else []
        votes = tuple(self.labels.read(vote, row.location) for vote in annotators if not self.labels.is_missing(vote))
        group = values[columns["source"]] if "source" in columns else None
        document = find_document(group, premise) if self.has_documents else ""
        return Example(source_id, premise, hypothesis, label, votes, document)

    def _read_text(self, value: Any, side: str, location: str) -> str:
        """Convert the cell of a sentence to text. A list of passages is joined by blank lines if this is allowed."""
        if _is_blank(value):
            return ""
        passages = parse_text_list(value) if isinstance(value, str) else value
        if passages is None:
            return str(value)
        if not isinstance(passages, list) or not all(isinstance(each, str) or _is_blank(each) for each in passages):
            raise DataError(
                f"{location}: expected the {side} as text or a list of texts, got {value!r:.100}; convert it"
            )
        passages = [each for each in passages if not _is_blank(each)]
        if not passages:
            return ""
        if side != "premise":
            raise DataError(f"{location}: expected the {side} as text, got a list of {len(passages)} texts; join them")
        if not self.join_passages:
            by_option = "pass --join-passages (join_passages=True in Python) to join them by blank lines, or "
            raise DataError(
                f"{location}: expected the premise as text, got a list of {len(passages)} passages; "
                f"{by_option if self.labels.has_options else ''}join them in the data"
            )
        return "\n\n".join(each.strip() for each in passages)


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
