"""Part-of-speech tags of sentences, and the spaCy pipelines that make them.

Tags are stored on disk, in one SQLite file per pipeline.

Several processes can tag sentences ahead; all of them write to the same store.
"""

import functools
import hashlib
import json
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

from unbag.utils import parallel
from unbag.utils.files import cache_folder
from unbag.utils.hub import HubReadError, hub_read
from unbag.utils.offline import unless_unreachable
from unbag.utils.redaction import first_line
from unbag.utils.sqlite_cache import SqliteCache

PIPELINE: Final = "spacy/en_core_web_sm"
"""The Hub repository, by spaCy's authors, of the pipeline that reads English by default."""

ALL: Final = "all"
"""The name, in place of a pipeline's, that makes every word count. It needs no tagger."""

_EXPECTED: Final = "expected an installed spaCy pipeline, a folder with one, or a Hub repository"
_ON_HUB: Final = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def load(pipeline: str | Path, exclude: Sequence[str]) -> Any:
    """Load a pipeline without some of its components.

    Args:
        pipeline: an installed package, a folder, or a Hub repository.
        exclude: the components that are not needed, for speed.

    Raises:
        ValueError: if there is no such pipeline.
    """
    import spacy

    source = pipeline
    if "/" in str(pipeline) and not Path(pipeline).exists():
        source = _from_hub(str(pipeline))
    try:
        return spacy.load(source, exclude=list(exclude))
    except Exception as error:  # of a folder that anyone may have made: anything
        raise ValueError(f"{_EXPECTED}, found {str(pipeline)!r} ({first_line(error)})") from error


@functools.cache  # taggers and parsers of a run ask for the same one, each with a progress bar of 26 files
def _from_hub(pipeline: str) -> str:
    """Download a pipeline, or find it where it was downloaded before; return its folder."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    with unless_unreachable() as unreachable:
        try:
            return hub_read(f"the spaCy pipeline {pipeline}", lambda: snapshot_download(pipeline))
        except HubReadError:
            raise
        except (HfHubHTTPError, HFValidationError, OSError) as error:
            why = unreachable or f"the Hub does not give it: {first_line(error)}"
            raise ValueError(f"the spaCy pipeline {pipeline!r} is not on this machine, and {why}") from error


def require(pipeline: str | Path) -> None:
    """Refuse what is surely no pipeline, before anything is read or fetched; what is on the Hub, `load` sees.

    Raises:
        ValueError: if it is neither installed, nor a folder with one, nor a name on the Hub.
    """
    name, path = str(pipeline), Path(pipeline)
    if path.exists():
        known = (path / "meta.json").is_file()
    else:
        known = _ON_HUB.fullmatch(name) is not None or (name.isidentifier() and is_installed(name))
    if not known:
        raise ValueError(
            f"expected an installed spaCy pipeline, a folder with one, or a Hub repository, found {name!r}"
        )


def is_installed(package: str) -> bool:
    """Tell whether a package can be imported, without doing so."""
    try:
        return find_spec(package) is not None
    except ValueError:  # it is being imported, or somebody has put nothing in its place
        return sys.modules.get(package) is not None


def identity(nlp: Any) -> str:
    """Return name, version and spaCy version of a pipeline: what decides its output."""
    return f"{nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}, spaCy {version('spacy')}"


Reader = Callable[[Sequence[str]], None]
"""Finds out what is in some sentences and keeps it."""

_CHUNK_SIZE: Final = 2_000  # sentences: some seconds of work
_WAITING: Final = 2  # lots of them a process that wait to be read

_read: Reader | None = None  # of this process


def read_ahead(make: Callable[[], Reader], sentences: Iterable[str]) -> None:
    """Read sentences by as many processes as may work (`utils.parallel.num_proc`); by one it would gain nothing.

    Args:
        make: makes a reader, in each process its own.
        sentences: any; one that comes again is not read again, but where two processes have it at once.

    Raises:
        ValueError: if a process died; what a reader raises.
    """
    if parallel.num_proc() == 1:
        return
    stream = iter(sentences)
    waiting: deque[Future[None]] = deque()
    try:
        with ProcessPoolExecutor(parallel.num_proc(), initializer=_begin, initargs=(make,)) as pool:
            try:
                while some := list(islice(stream, _CHUNK_SIZE)):
                    if len(waiting) == _WAITING * parallel.num_proc():
                        waiting.popleft().result()
                    waiting.append(pool.submit(_take, some))
                for each in waiting:
                    each.result()
            except BaseException:  # Ctrl-C too: what has not begun is not waited for
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    except BrokenProcessPool as error:
        raise ValueError(
            "a process that reads sentences died, killed for want of memory perhaps; take fewer of them (--num-proc), "
            "and begin again: what was read is kept"
        ) from error


def _begin(make: Callable[[], Reader]) -> None:
    global _read
    _read = make()


def _take(sentences: list[str]) -> None:
    assert _read is not None
    _read(list(dict.fromkeys(sentences)))


_LAYOUT: Final = 2  # of the file; 1 had no checksums


def findings(kind: str, identity: str, folder: Path | None = None) -> SqliteCache:
    """Return findings by sentence, as they were kept.

    Args:
        kind: what is kept, e.g. `tagged`.
        identity: what made it; findings of another identity are never mixed in.
        folder: where they lie; by default `unbag/<kind>` in the user's cache folder.
    """
    name = hashlib.sha256(f"{identity}, layout {_LAYOUT}".encode()).hexdigest()[:16]
    return SqliteCache((folder or cache_folder(kind)) / f"{name}.sqlite", kind)


Tagged = tuple[tuple[str, str], ...]
"""A sentence as (token, tag) pairs, white space left out."""

_NOT_FOR_TAGS: Final = ("ner", "parser", "lemmatizer", "senter")
_BATCH: Final = 256
_AT_ONCE: Final = 10_000  # sentences between two savings: seconds of work
_UNIVERSAL, _FINE = 1, 2  # where a tag is in what is kept of a token


class Tagger:
    """A spaCy pipeline's tagger, and the sentences it has tagged before.

    Attributes:
        identity: name, version and spaCy version of the pipeline; tags of another identity are never mixed in.
        fine: the pipeline's own fine tags, those of the Penn Treebank for spaCy's English ones; empty without a tagger.
    """

    def __init__(self, pipeline: str | Path = PIPELINE, *, cache: Path | None = None) -> None:
        """Load a pipeline.

        Args:
            pipeline: an installed package, a folder, or a Hub repository.
            cache: the folder for tagged sentences; by default `unbag/tagged` in the user's cache folder.

        Raises:
            ValueError: if there is no such pipeline, or it does not tag.
        """
        self._nlp = load(pipeline, _NOT_FOR_TAGS)
        # Without the attribute ruler the universal tags of English pipelines stay empty.
        names = self._nlp.pipe_names
        if not {"tagger", "morphologizer"} & set(names) or not any(token.pos_ for token in self._nlp("A dog runs.")):
            raise ValueError(f"the pipeline {str(pipeline)!r} gives no universal POS tags (it has {names})")
        self.identity = identity(self._nlp)
        self.fine: frozenset[str] = frozenset(self._nlp.get_pipe("tagger").labels if "tagger" in names else ())
        self._store = findings("tagged", self.identity, cache)

    def tags(self, sentences: Iterable[str], *, keep: bool = True) -> dict[str, Tagged]:
        """Return the universal tags of each different sentence.

        Args:
            sentences: any.
            keep: whether those tagged now are kept on disk; not worth its room for what is asked once.
        """
        return self._tags(sentences, _UNIVERSAL, keep=keep)

    def fine_tags(self, sentences: Iterable[str]) -> dict[str, Tagged]:
        """Return the tags of each different sentence that are the pipeline's own (`fine`)."""
        return self._tags(sentences, _FINE, keep=True)

    def _tags(self, sentences: Iterable[str], kind: int, *, keep: bool) -> dict[str, Tagged]:
        wanted = sorted(set(sentences))
        tags: dict[str, Tagged] = {}
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            known = {sentence: json.loads(text) for sentence, text in self._store.get(some).items()}
            new = [sentence for sentence in some if sentence not in known]
            computed = dict(zip(new, map(_tagged, self._nlp.pipe(new, batch_size=_BATCH)), strict=True))
            if keep:
                kept = ((sentence, json.dumps(tokens, ensure_ascii=False)) for sentence, tokens in computed.items())
                self._store.put(kept)
            for sentence, tokens in (known | computed).items():
                tags[sentence] = tuple((token[0], token[kind]) for token in tokens)
        return tags


def tag_ahead(pipeline: str | Path, sentences: Iterable[str], *, cache: Path | None = None) -> None:
    """Tag sentences by several processes, where they may work, for a `Tagger` to find their tags on disk."""
    read_ahead(partial(_reader, pipeline, cache), sentences)


def _reader(pipeline: str | Path, cache: Path | None) -> Reader:
    tagger = Tagger(pipeline, cache=cache)

    def read(sentences: Sequence[str]) -> None:
        tagger.tags(sentences)  # and the fine ones, which are kept with them

    return read


def _tagged(doc: Any) -> list[tuple[str, str, str]]:
    return [(token.text, token.pos_, token.tag_) for token in doc if not token.is_space]
