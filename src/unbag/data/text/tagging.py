"""Part-of-speech tagging with spaCy pipelines.

Tags are cached on disk, in one SQLite file per pipeline. Several processes can tag sentences in advance and write to
the same file.
"""

import functools
import hashlib
import multiprocessing
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import msgpack

from unbag.data.downloads import MissingFileError
from unbag.utils import parallel
from unbag.utils.files import get_cache_folder
from unbag.utils.hub import HubReadError, read_from_hub
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

    try:
        return read_from_hub(f"the spaCy pipeline {pipeline}", lambda: snapshot_download(pipeline))
    except HubReadError:
        raise
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise (MissingFileError if isinstance(error, LocalEntryNotFoundError) else ValueError)(
            f"spaCy pipeline {pipeline!r}: expected a local copy, got none, and the Hub does not provide it: "
            f"{extract_first_line(error)}"
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


A = TypeVar("A")

_CHUNK_SIZE: Final = 2_000  # sentences per task: some seconds of work
_QUEUED_CHUNKS: Final = 2  # submitted chunks per process: keeps processes busy without holding the corpus in memory

_annotator: Any = None  # annotator of the current worker process


def precompute_annotations(
    create_annotator: Callable[[], A], annotate: Callable[[A, list[str]], Iterable[object]], sentences: Iterable[str]
) -> None:
    """Annotate sentences in several processes, each with its own annotator, which stores the annotations on disk.

    For example, `precompute_annotations(partial(Parser, pipeline), Parser.parse, sentences)`. Does nothing if
    `utils.parallel.get_num_proc()` is 1.
    """
    if parallel.get_num_proc() == 1:
        return
    stream = iter(sentences)
    pending: deque[Future[None]] = deque()
    context = multiprocessing.get_context(parallel.START_METHOD)
    try:
        with ProcessPoolExecutor(
            parallel.get_num_proc(), context, initializer=_init_worker, initargs=(create_annotator,)
        ) as pool:
            try:
                while chunk := list(islice(stream, _CHUNK_SIZE)):
                    if len(pending) == _QUEUED_CHUNKS * parallel.get_num_proc():
                        pending.popleft().result()
                    pending.append(pool.submit(_annotate_chunk, annotate, list(dict.fromkeys(chunk))))
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


def _init_worker(create_annotator: Callable[[], Any]) -> None:
    global _annotator
    _annotator = create_annotator()


def _annotate_chunk(annotate: Callable[[Any, list[str]], Iterable[object]], sentences: list[str]) -> None:
    deque(annotate(_annotator, sentences), maxlen=0)  # annotations are stored when the result is exhausted


_LAYOUT: Final = 4  # version of the file's layout: MessagePack with checksums

_VOCABULARY_SENTENCES: Final = 10_000  # sentences whose words stay in the pipeline's vocabulary: some MB


class Annotator:
    """spaCy pipeline with a disk cache of annotated sentences, one per `identity` (pipeline and versions)."""

    commit_size: ClassVar[int] = 2_000  # sentences in memory, and per commit to disk: a few MB, seconds of work

    def __init__(self, pipeline: str | Path, exclude: Sequence[str], annotation_type: str, cache: Path | None) -> None:
        """Load a pipeline without some components, and open the cache of its identity."""
        self._nlp = load_pipeline(pipeline, exclude)
        self._n_processed = 0  # sentences that the pipeline has processed
        meta = self._nlp.meta
        self.identity = f"{meta['lang']}_{meta['name']} {meta['version']}, spaCy {version('spacy')}"
        name = hashlib.sha256(f"{self.identity}, layout {_LAYOUT}".encode()).hexdigest()[:16]
        self._store = SqliteCache((cache or get_cache_folder(annotation_type)) / f"{name}.sqlite", annotation_type)

    def _annotate(
        self,
        sentences: Iterable[str],
        compute: Callable[[list[str]], Iterable[Any]],
        is_complete: Callable[[Any], bool] = lambda annotation: True,
        *,
        keep: bool = True,
    ) -> Iterator[tuple[list[str], dict[str, Any]]]:
        """Iterate over chunks of sentences, with the annotation of each distinct sentence.

        Annotations that the cache lacks, or that are not complete, are computed and, with `keep`, stored.
        """
        stream = iter(sentences)
        while chunk := list(islice(stream, self.commit_size)):
            distinct = list(dict.fromkeys(chunk))
            stored = self._store.get(distinct).items()
            unpacked = ((sentence, msgpack.unpackb(packed, use_list=False)) for sentence, packed in stored)
            found = {sentence: annotation for sentence, annotation in unpacked if is_complete(annotation)}
            new = [sentence for sentence in distinct if sentence not in found]
            if new:
                # Outside a memory zone, the pipeline's vocabulary keeps all new words and grows without limit. Inside a
                # memory zone, new words are dropped at its end and computed again in the next zone. As a compromise,
                # the words of the first sentences are kept, which include the frequent ones.
                with nullcontext() if self._n_processed < _VOCABULARY_SENTENCES else self._nlp.memory_zone():
                    computed = dict(zip(new, compute(new), strict=True))
                self._n_processed += len(new)
                if keep:
                    self._store.put(
                        (sentence, bytes(msgpack.packb(annotation))) for sentence, annotation in computed.items()
                    )
                found |= computed
            yield chunk, found


Tagged = tuple[tuple[str, str], ...]
"""Sentence as (token, tag) pairs, without whitespace."""

_NOT_FOR_TAGS: Final = ("ner", "parser", "lemmatizer", "senter")
BATCH: Final = 256
"""Sentences that a pipeline processes together."""
_UNIVERSAL, _FINE = 1, 2  # positions of the two tags in a stored token; the universal tag may be null
_RULER: Final = "attribute_ruler"


class Tagger(Annotator):
    """spaCy tagger with a disk cache of tagged sentences. `fine` has the fine-grained tags of the pipeline."""

    commit_size = 10_000

    def __init__(self, pipeline: str | Path = PIPELINE, *, cache: Path | None = None) -> None:
        """Load a pipeline that tags: an installed package, a folder, or a Hub repository.

        The tags are cached in `unbag/tagged` in the user's cache folder, unless `cache` names another folder.
        """
        super().__init__(pipeline, _NOT_FOR_TAGS, "tagged", cache)
        # Without the attribute ruler, the universal tags of English pipelines are empty.
        names = self._nlp.pipe_names
        if not {"tagger", "morphologizer"} & set(names) or not any(token.pos_ for token in self._nlp("A dog runs.")):
            raise ValueError(
                f"--pipeline: expected a spaCy pipeline with universal POS tags, got {str(pipeline)!r} without these "
                f"tags (components: {', '.join(names) or 'none'})"
            )
        self.fine: frozenset[str] = frozenset(self._nlp.get_pipe("tagger").labels if "tagger" in names else ())
        self._skipped_for_fine = [_RULER] if _RULER in names and not _sets_fine_tags(self._nlp.get_pipe(_RULER)) else []

    def tag(self, sentences: Iterable[str], *, is_fine: bool = False, keep: bool = True) -> dict[str, Tagged]:
        """Compute the POS tags of each distinct sentence: the universal ones, or with `is_fine` those of the pipeline.

        Fine tags do not need the attribute ruler, which takes nearly half of the time and derives the universal tags.
        With `keep=False`, new tags are not stored on disk, which saves space for sentences that are needed once.
        """
        kind = _FINE if is_fine else _UNIVERSAL
        # Sentences whose universal tags are needed for the first time are tagged again.
        chunks = self._annotate(
            sorted(set(sentences)),
            partial(self._compute, is_fine=is_fine),
            lambda tokens: None not in (token[kind] for token in tokens),
            keep=keep,
        )
        return {
            sentence: tuple((token[0], token[kind]) for token in tokens)
            for _, found in chunks
            for sentence, tokens in found.items()
        }

    def _compute(self, sentences: Sequence[str], *, is_fine: bool) -> list[list[tuple[str, str | None, str]]]:
        """Tag sentences. The universal tags are None if only the fine tags are needed and the ruler is skipped."""
        skipped = self._skipped_for_fine if is_fine else []
        with self._nlp.select_pipes(disable=skipped):
            docs = self._nlp.pipe(sentences, batch_size=BATCH)
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
