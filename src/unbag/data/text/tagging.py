"""Part-of-speech tagging with spaCy pipelines.

Tags are cached on disk, in one SQLite file per pipeline. Several processes can tag sentences in advance and write to
the same file.
"""

import functools
import hashlib
import json
import multiprocessing
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final

from unbag.data.downloads import MissingFileError
from unbag.utils import parallel
from unbag.utils.files import get_cache_folder
from unbag.utils.hub import HubReadError, read_from_hub
from unbag.utils.offline import use_cache_if_unreachable
from unbag.utils.redaction import extract_first_line
from unbag.utils.sqlite_cache import SqliteCache

PIPELINE: Final = "spacy/en_core_web_sm"
"""Default English pipeline, a Hub repository of spaCy's authors."""

ALL: Final = "all"
"""Value that selects all words instead of a pipeline, so that no tagger is needed."""

_EXPECTED: Final = "expected an installed spaCy pipeline, a folder with one, or a Hub repository"
_ON_HUB: Final = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def load_pipeline(pipeline: str | Path, exclude: Sequence[str]) -> Any:
    """Load a spaCy pipeline without some components: an installed package, a folder, or a Hub repository."""
    import spacy

    is_on_hub = "/" in str(pipeline) and not Path(pipeline).exists()
    source, load = (_from_hub(str(pipeline)), _load_snapshot) if is_on_hub else (pipeline, spacy.load)
    try:
        return load(source, exclude=tuple(exclude))
    except Exception as error:  # spaCy raises many types of errors for folders with arbitrary content
        raise ValueError(f"{_EXPECTED}, got {str(pipeline)!r} ({extract_first_line(error)})") from error


# Several builders of a run use the same pipeline. Hub snapshots do not change, unlike a user's folder.
@functools.lru_cache(maxsize=2)
def _load_snapshot(folder: str, exclude: tuple[str, ...]) -> Any:
    import spacy

    return spacy.load(folder, exclude=list(exclude))


# Cached, since the taggers and parsers of a run load the same pipeline, and each call shows progress bars for 26 files.
@functools.cache
def _from_hub(pipeline: str) -> str:
    """Download a pipeline or find it in the Hub cache. Returns its folder."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    with use_cache_if_unreachable() as unreachable:
        try:
            return read_from_hub(f"the spaCy pipeline {pipeline}", lambda: snapshot_download(pipeline))
        except HubReadError:
            raise
        except (HfHubHTTPError, HFValidationError, OSError) as error:
            why = unreachable or f"the Hub does not provide it: {extract_first_line(error)}"
            is_missing = bool(unreachable) or isinstance(error, LocalEntryNotFoundError)
            raise (MissingFileError if is_missing else ValueError)(
                f"spaCy pipeline {pipeline!r}: expected a local copy, got none, and {why}"
            ) from error


def validate_pipeline(pipeline: str | Path) -> None:
    """Validate the name of a spaCy pipeline without loading or downloading the pipeline.

    Accepts every well-formed repository name; `load_pipeline` checks whether the repository exists.
    """
    name, path = str(pipeline), Path(pipeline)
    if path.exists():
        is_valid = (path / "meta.json").is_file()
    else:
        is_valid = _ON_HUB.fullmatch(name) is not None or (name.isidentifier() and is_package_installed(name))
    if not is_valid:
        raise ValueError(f"{_EXPECTED}, got {name!r}")


def is_package_installed(package: str) -> bool:
    """Check whether a package is installed, without importing it."""
    try:
        return find_spec(package) is not None
    except ValueError:  # `find_spec` raises for modules without a spec, such as placeholders in `sys.modules`
        return sys.modules.get(package) is not None


def build_pipeline_identity(nlp: Any) -> str:
    """Build the identity string of a pipeline: its name, its version and the spaCy version."""
    return f"{nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}, spaCy {version('spacy')}"


Reader = Callable[[Sequence[str]], None]
"""Function that annotates sentences and stores the annotations."""

_CHUNK_SIZE: Final = 2_000  # sentences per task: some seconds of work
_QUEUED_CHUNKS: Final = 2  # submitted chunks per process: keeps processes busy without holding the corpus in memory

_worker_reader: Reader | None = None  # reader of the current worker process


def precompute_annotations(create_reader: Callable[[], Reader], sentences: Iterable[str]) -> None:
    """Annotate sentences in several processes, and store the annotations on disk.

    Does nothing if `utils.parallel.get_num_proc()` is 1. Each process creates its own reader. Repeated sentences are
    annotated again only in two processes at the same time.

    Raises:
        ValueError: If a process dies or a reader raises it.
    """
    if parallel.get_num_proc() == 1:
        return
    stream = iter(sentences)
    pending: deque[Future[None]] = deque()
    context = multiprocessing.get_context(parallel.START_METHOD)
    try:
        with ProcessPoolExecutor(
            parallel.get_num_proc(), context, initializer=_init_worker, initargs=(create_reader,)
        ) as pool:
            try:
                while chunk := list(islice(stream, _CHUNK_SIZE)):
                    if len(pending) == _QUEUED_CHUNKS * parallel.get_num_proc():
                        pending.popleft().result()
                    pending.append(pool.submit(_read_chunk, chunk))
                for future in pending:
                    future.result()
            except BaseException:  # on an error or Ctrl-C, leave without waiting for chunks that have not started
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    except BrokenProcessPool as error:
        raise ValueError(
            "--num-proc: expected all tagging or parsing processes to finish, got one that was killed, possibly due to "
            "a lack of memory; use fewer processes and rerun the command, which reuses the stored tags and parses"
        ) from error


def _init_worker(make: Callable[[], Reader]) -> None:
    global _worker_reader
    _worker_reader = make()


def _read_chunk(sentences: list[str]) -> None:
    assert _worker_reader is not None
    _worker_reader(list(dict.fromkeys(sentences)))


_LAYOUT: Final = 3  # version of the file's layout; version 1 had no checksums, version 2 no null tags


def open_annotation_cache(annotation_type: str, identity: str, folder: Path | None = None) -> SqliteCache:
    """Open the cache that stores annotations by sentence, in one file per identity of a pipeline.

    The default folder is `unbag/<annotation_type>` in the user's cache folder.
    """
    name = hashlib.sha256(f"{identity}, layout {_LAYOUT}".encode()).hexdigest()[:16]
    return SqliteCache((folder or get_cache_folder(annotation_type)) / f"{name}.sqlite", annotation_type)


Tagged = tuple[tuple[str, str], ...]
"""Sentence as (token, tag) pairs, without whitespace."""

_NOT_FOR_TAGS: Final = ("ner", "parser", "lemmatizer", "senter")
_BATCH: Final = 256
_COMMIT_SIZE: Final = 10_000  # sentences per commit to disk: seconds of work
_UNIVERSAL, _FINE = 1, 2  # positions of the two tags in a stored token; the universal tag may be null
_RULER: Final = "attribute_ruler"


class Tagger:
    """spaCy tagger with a disk cache of tagged sentences.

    Attributes:
        identity: Name, version and spaCy version of the pipeline. Each identity has a separate cache.
        fine: Fine-grained tags of the pipeline (Penn Treebank for spaCy's English pipelines); empty without a tagger.
    """

    def __init__(self, pipeline: str | Path = PIPELINE, *, cache: Path | None = None) -> None:
        """Load a pipeline: an installed package, a folder, or a Hub repository.

        The tags are cached in `unbag/tagged` in the user's cache folder, unless `cache` names another folder. A
        pipeline that does not tag raises a `ValueError`.
        """
        self._nlp = load_pipeline(pipeline, _NOT_FOR_TAGS)
        # Without the attribute ruler, the universal tags of English pipelines are empty.
        names = self._nlp.pipe_names
        if not {"tagger", "morphologizer"} & set(names) or not any(token.pos_ for token in self._nlp("A dog runs.")):
            raise ValueError(
                f"--pipeline: expected a spaCy pipeline with universal POS tags, got {str(pipeline)!r} without these "
                f"tags (components: {', '.join(names) or 'none'})"
            )
        self.identity = build_pipeline_identity(self._nlp)
        self.fine: frozenset[str] = frozenset(self._nlp.get_pipe("tagger").labels if "tagger" in names else ())
        self._skipped_for_fine = [_RULER] if _RULER in names and not _sets_fine_tags(self._nlp.get_pipe(_RULER)) else []
        self._store = open_annotation_cache("tagged", self.identity, cache)

    def tag(self, sentences: Iterable[str], *, keep: bool = True) -> dict[str, Tagged]:
        """Compute the universal POS tags of each distinct sentence.

        With `keep=False`, new tags are not stored on disk, which saves space for sentences that are needed once.
        """
        return self._tags(sentences, _UNIVERSAL, keep=keep)

    def tag_fine_grained(self, sentences: Iterable[str]) -> dict[str, Tagged]:
        """Compute the fine-grained POS tags of each distinct sentence.

        Skips the attribute ruler, which takes nearly half of the time and derives the universal tags.
        """
        return self._tags(sentences, _FINE, keep=True)

    def _tags(self, sentences: Iterable[str], kind: int, *, keep: bool) -> dict[str, Tagged]:
        distinct = sorted(set(sentences))
        tags: dict[str, Tagged] = {}
        for start in range(0, len(distinct), _COMMIT_SIZE):
            chunk = distinct[start : start + _COMMIT_SIZE]
            parsed = {sentence: json.loads(text) for sentence, text in self._store.get(chunk).items()}
            # Sentences whose universal tags are needed for the first time are tagged again.
            stored = {sentence: tokens for sentence, tokens in parsed.items() if None not in (t[kind] for t in tokens)}
            new = [sentence for sentence in chunk if sentence not in stored]
            computed = dict(zip(new, self._compute(new, kind), strict=True))
            if keep:
                entries = ((sentence, json.dumps(tokens, ensure_ascii=False)) for sentence, tokens in computed.items())
                self._store.put(entries)
            for sentence, tokens in (stored | computed).items():
                tags[sentence] = tuple((token[0], token[kind]) for token in tokens)
        return tags

    def _compute(self, sentences: Sequence[str], kind: int) -> list[list[tuple[str, str | None, str]]]:
        """Tag sentences. The universal tags are None if only the fine tags are needed and the ruler is skipped."""
        skipped = self._skipped_for_fine if kind == _FINE else []
        with self._nlp.select_pipes(disable=skipped):
            docs = self._nlp.pipe(sentences, batch_size=_BATCH)
            return [
                [(token.text, None if skipped else token.pos_, token.tag_) for token in doc if not token.is_space]
                for doc in docs
            ]


def _sets_fine_tags(ruler: Any) -> bool:
    """Check whether an attribute ruler sets the fine tag of a token other than whitespace, which is not stored."""
    return any(
        "TAG" in rule["attrs"] and any(pattern != [{"IS_SPACE": True}] for pattern in rule["patterns"])
        for rule in ruler.patterns
    )


def precompute_tags(
    pipeline: str | Path, sentences: Iterable[str], *, is_fine_grained: bool = False, cache: Path | None = None
) -> None:
    """Tag sentences in several processes, and store the tags on disk for `Tagger`; only fine tags if `is_fine_grained`.

    Does nothing with one process (`utils.parallel.get_num_proc`).
    """
    precompute_annotations(partial(_reader, pipeline, cache, is_fine_grained=is_fine_grained), sentences)


def _reader(pipeline: str | Path, cache: Path | None, *, is_fine_grained: bool) -> Reader:
    tagger = Tagger(pipeline, cache=cache)

    def read(sentences: Sequence[str]) -> None:
        if is_fine_grained:
            tagger.tag_fine_grained(sentences)
        else:
            tagger.tag(sentences)  # also stores the fine tags

    return read
