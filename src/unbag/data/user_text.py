"""Sentences of user-provided English text, as premises of sets that need neither labels nor hypotheses.

A text is a plain-text or Markdown file, a table with a text column, or a Hub dataset with such a column. Its sentences
are split, filtered and parsed once, and cached together with the reasons for excluded sentences. Each sentence is
paired with itself, which is an entailment. Sets that need a hypothesis use this pair.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from unbag.data import readers
from unbag.data.labels import ENTAILMENT
from unbag.data.sources import Example, PairSource
from unbag.data.text import paragraphs as text_paragraphs
from unbag.data.text import sentences
from unbag.data.text.parses import Parser
from unbag.data.text.sentences import (
    REPEATED,
    build_language_error,
    find_character_exclusion_reason,
    find_parse_exclusion_reason,
    is_english,
)
from unbag.data.text.tagging import PIPELINE, precompute_annotations
from unbag.data.text_layout import DEFAULT_LAYOUT, iter_decoded_lines
from unbag.utils.files import atomic_write, get_cache_folder
from unbag.utils.hashing import hash_named_files, hash_package_code
from unbag.utils.options import suggest_name
from unbag.utils.safe_io import DataError, validate_file

LANGUAGE: Final = "en"
"""Language of texts. All sets built from text depend on English grammar."""

_MARKDOWN: Final = (".md", ".markdown")
_PLAIN: Final = (".txt",)
TEXT_FILE_EXTENSIONS: Final = (*_PLAIN, *_MARKDOWN, *readers.DATA_FILE_EXTENSIONS)
_COLUMN: Final = "text"
_RECOGNISED: Final = ("text", "content", "sentence", "body", "document", "passage", "article", "paragraph")
"""Usual names of a text column, compared without case."""

_MOST_FILES: Final = 10_000  # files in a folder; a larger number suggests a wrong folder
_CHUNK: Final = 2_000  # sentences in memory, as in the parser
_LANGUAGE_SAMPLE: Final = 2_000  # paragraphs used to detect whether a text is English
_LAYOUT: Final = 1  # version of the cached files
_SCHEMA: Final = pa.schema([("id", pa.string()), ("text", pa.string()), ("reason", pa.string())])


Paragraphs = Iterator[tuple[str, str]]
"""Paragraphs of a text with their ids: the name of the document and the number of the paragraph, such as `a.md:1`."""


class SentenceCandidate(NamedTuple):
    """Sentence of a text, with the reason for its exclusion. The reason is None for included sentences."""

    id: str
    text: str
    reason: str | None


def list_text_files(names: Sequence[str | os.PathLike[str]]) -> list[str]:
    """List the files of a text: the given files, and the sorted text and Markdown files in the given folders.

    The id of a Hub dataset is returned unchanged.
    """
    files: list[str] = []
    for each_name in names:
        name = os.fspath(each_name)
        path = Path(name)
        if readers.is_hub_id(name):
            if len(names) > 1:
                raise DataError(
                    f"--text: expected files or one Hub dataset, got {name} and {len(names) - 1} other names; put the "
                    "model before --text, and use one dataset at a time"
                )
            return [name]
        if path.is_dir():
            found = (each for each in path.rglob("*") if readers.get_file_extension(each) in (*_PLAIN, *_MARKDOWN))
            inside = sorted(str(each) for each in islice(found, _MOST_FILES + 1) if each.is_file())
            if not 0 < len(inside) <= _MOST_FILES:
                n = f"more than {_MOST_FILES:,}" if inside else "none"
                raise DataError(
                    f"{path}: expected a folder with 1 to {_MOST_FILES:,} .txt or .md files, got {n}; pass individual "
                    "files"
                )
            files += inside
            continue
        if readers.get_file_extension(validate_file(path)) not in TEXT_FILE_EXTENSIONS:
            raise DataError(
                f"{path}: expected a file name ending in {', '.join(TEXT_FILE_EXTENSIONS)}, optionally followed by "
                ".gz; rename it"
            )
        files.append(name)
    if not files:
        raise DataError("--text: expected files, a folder or a Hub dataset, got none; add one")
    return list(dict.fromkeys(files))


def build_text_file_names(files: Sequence[str]) -> list[str]:
    """Build the names that results record for texts: file names without folders, or the id of a Hub dataset."""
    return [name if readers.is_hub_id(name) else Path(name).name for name in files]


def open_text(
    files: Sequence[str],
    *,
    pipeline: str = PIPELINE,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    config: str | None = None,
    revision: str | None = None,
) -> PairSource:
    """Open a text as a source of pairs: each sentence is paired with itself, with the label entailment.

    Parsing starts when the first row is read. The sentences are then cached (`unbag/sentences`) by the content of the
    text and the identity of the parser. The text is files (`list_text_files`), or a split of one Hub dataset. `columns`
    names the text column in tables, under the key `text`.
    """
    if unknown := sorted(set(columns or {}) - {_COLUMN}):
        raise DataError(f"--columns: expected only {_COLUMN}=NAME, got {', '.join(unknown)}; remove the other columns")
    paragraphs: Callable[[], Paragraphs]
    column = (columns or {}).get(_COLUMN)
    if readers.is_hub_id(files[0]):
        name = files[0]
        if split is None:
            raise DataError(f"{name}: expected a split of the dataset, got none; pass one, such as --split train")
        table = readers.open_hub_table(name, config, split, revision or "main")
        paragraphs = partial(_iter_cells, table, _text_column(table.columns, column, name), split)
        origin, commit = f"{name} ({config})" if config else name, table.revision
    else:
        named_files = list(zip(_unique_names(files), map(Path, files), strict=True))
        for _, path in named_files:
            if _is_table(path):
                # A missing column is reported before the parser is loaded.
                _text_column(readers.open_data_file(path).columns, column, str(path))
        paragraphs = partial(_iter_files, named_files, column)
        commit = hash_named_files(named_files)
        origin = Path(files[0]).name + (f" and {len(files) - 1} more" if len(files) > 1 else "")
        name, split = origin, ""
    key = "\0".join([commit, str(column), str(config), split])
    # Cached per source to avoid loading the parser for each pass over the rows.
    stored = cache(partial(_sentences, key, pipeline, paragraphs, files[0]))
    return PairSource(
        name=name,
        split=split,
        language=LANGUAGE,
        origin=origin,
        revision=commit,
        _open_table=lambda: readers.DataFile(stored()),
        _parse=_as_example,
    )


def _as_example(row: readers.DataRow) -> Example | str:
    values = row.values
    if values["reason"] is not None:
        return str(values["reason"])
    return Example(values["id"], values["text"], values["text"], ENTAILMENT)


def _sentences(key: str, pipeline: str, paragraphs: Callable[[], Paragraphs], where: str) -> Path:
    """Load the cached sentences of a text. If there are none, split, filter, parse and cache them."""
    parser = Parser(pipeline)
    code = hash_package_code("data/user_text.py", "data/text/sentences.py", "data/text/paragraphs.py")
    digest = hashlib.sha256(f"{key}\0{parser.identity}\0{_LAYOUT}\0{code}".encode()).hexdigest()[:32]
    path = get_cache_folder("sentences") / f"{digest}.parquet"
    if not path.is_file():
        if not is_english(text for _, text in islice(paragraphs(), _LANGUAGE_SAMPLE)):
            raise DataError(build_language_error(where))
        forms = (each.text for each in _candidates(paragraphs()) if each.reason is None)
        # The first pass fills the cache of parses in several processes. The second pass reads from it.
        precompute_annotations(partial(Parser, pipeline), Parser.parse, forms)
        with atomic_write(path) as tmp, pq.ParquetWriter(tmp, _SCHEMA, compression="zstd") as writer:
            candidates = _candidates(paragraphs())
            while chunk := list(islice(candidates, _CHUNK)):
                parses = parser.parse(each.text for each in chunk if each.reason is None)
                rows = [
                    each._asdict() | {"reason": each.reason or find_parse_exclusion_reason(next(parses))}
                    for each in chunk
                ]
                writer.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
    return path


def _candidates(paragraphs: Paragraphs) -> Iterator[SentenceCandidate]:
    """Iterate over all sentences of paragraphs, with the exclusion reasons that need no parse."""
    seen: set[bytes] = set()  # 8-byte hashes, since a text may have millions of sentences
    for paragraph_id, paragraph in paragraphs:
        for place, sentence in enumerate(sentences.split_english_sentences(paragraph), start=1):
            reason = find_character_exclusion_reason(sentence)
            if reason is None:
                digest = hashlib.blake2b(sentence.lower().encode(), digest_size=8).digest()
                reason = REPEATED if digest in seen else None
                seen.add(digest)
            yield SentenceCandidate(f"{paragraph_id}:{place}", sentence, reason)


def _iter_files(named_files: Sequence[tuple[str, Path]], column: str | None) -> Paragraphs:
    """Iterate over the paragraphs of files."""
    for name, path in named_files:
        if _is_table(path):
            table = readers.open_data_file(path)
            yield from _iter_cells(table, _text_column(table.columns, column, str(path)), name)
        else:
            is_markdown = readers.get_file_extension(path) in _MARKDOWN
            split = text_paragraphs.iter_markdown_paragraphs if is_markdown else text_paragraphs.iter_plain_paragraphs
            yield from _number(name, split(line for _, line in iter_decoded_lines(path, DEFAULT_LAYOUT)))


def _iter_cells(table: readers.DataTable, column: str, name: str) -> Paragraphs:
    """Iterate over the paragraphs in the cells of a text column. Each cell is a document."""
    for row in table.read():
        text = readers.get_cell(row, column)
        if text is None or text == "":
            continue
        if not isinstance(text, str):
            raise DataError(
                f"{row.location}: expected text in the column {column!r}, got {text!r:.100}; fill in the cell"
            )
        yield from _number(f"{name}-{row.number}", text_paragraphs.iter_plain_paragraphs(text.splitlines()))


def _number(document: str, texts: Iterable[str]) -> Paragraphs:
    return ((f"{document}:{number}", text) for number, text in enumerate(texts, start=1))


def _text_column(present: Sequence[str], named: str | None, where: str) -> str:
    usual = [name for each in _RECOGNISED for name in present if name.lower() == each]
    found = usual if named is None else [name for name in present if name == named]
    if not found:
        raise DataError(
            f"{where}: expected a text column ({named or ', '.join(_RECOGNISED)}), got {list(present)[:20]}"
            f"{suggest_name(named, present) if named else '; pass its name with --columns text=…'}"
        )
    return found[0]


def _is_table(path: Path) -> bool:
    return readers.get_file_extension(path) in readers.DATA_FILE_EXTENSIONS


def _unique_names(files: Sequence[str]) -> list[str]:
    """Build unique file names without folders, so that records do not depend on paths. Numbers repeated names.

    >>> _unique_names(["a/x.txt", "b/x.txt", "c/y.txt"]), _unique_names(["a/x.txt", "b/x.txt", "c/0-x.txt"])
    (['0-x.txt', '1-x.txt', 'y.txt'], ['0-x.txt', '1-x.txt', '2-0-x.txt'])
    """
    names = [Path(file).name for file in files]
    times = Counter(names)
    numbered = [f"{number}-{name}" for number, name in enumerate(names)]
    unique = [name if times[name] == 1 else new for name, new in zip(names, numbered, strict=True)]
    return unique if len(set(unique)) == len(unique) else numbered
