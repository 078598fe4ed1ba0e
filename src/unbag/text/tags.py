"""Universal part-of-speech tags of sentences, kept on disk: a sentence is tagged once, ever."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from unbag.files import cache_folder

PIPELINE: Final = "spacy/en_core_web_sm"
"""The Hub repository, by spaCy's authors, of the pipeline that tags by default."""

Tagged = tuple[tuple[str, str], ...]
"""A sentence as (token, universal POS tag) pairs, white space left out."""

_NOT_FOR_TAGS: Final = ("ner", "parser", "lemmatizer", "senter")
_BATCH: Final = 256
_AT_ONCE: Final = 10_000  # sentences between two savings: seconds of work


class Tagger:
    """A spaCy pipeline's tagger, and the sentences it has tagged before.

    Attributes:
        identity: name, version and spaCy version of the pipeline; tags of another identity are never mixed in.
    """

    def __init__(self, pipeline: str | Path = PIPELINE, *, cache: Path | None = None) -> None:
        """Load a pipeline.

        Args:
            pipeline: an installed package, a folder, or a Hub repository.
            cache: the folder for tagged sentences; by default `unbag/tags` in the user's cache folder.

        Raises:
            ImportError: without spaCy.
            ValueError: if there is no such pipeline, or it does not tag.
        """
        self._nlp = _load(pipeline)
        meta = self._nlp.meta
        self.identity = f"{meta['lang']}_{meta['name']} {meta['version']}, spaCy {_spacy().__version__}"
        folder = cache or cache_folder("tags")
        folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(self.identity.encode()).hexdigest()[:16]
        # SQLite: several processes may write, and a killed one leaves no half of a batch.
        self._store = sqlite3.connect(folder / f"{name}.sqlite", timeout=60)
        self._store.execute("CREATE TABLE IF NOT EXISTS tags (sentence TEXT PRIMARY KEY, tagged TEXT) WITHOUT ROWID")

    def tags(self, sentences: Iterable[str]) -> dict[str, Tagged]:
        """Return the tags of each different sentence."""
        wanted = sorted(set(sentences))
        found: dict[str, Tagged] = {}
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            known = self._known(some)
            new = [sentence for sentence in some if sentence not in known]
            made = dict(zip(new, map(_tagged, self._nlp.pipe(new, batch_size=_BATCH)), strict=True))
            with self._store:
                rows = ((sentence, json.dumps(tagged, ensure_ascii=False)) for sentence, tagged in made.items())
                self._store.executemany("INSERT OR REPLACE INTO tags VALUES (?, ?)", rows)
            found |= known | made
        return found

    def _known(self, sentences: Sequence[str]) -> dict[str, Tagged]:
        known = {}
        for start in range(0, len(sentences), 500):  # below SQLite's limit of variables
            some = sentences[start : start + 500]
            query = f"SELECT sentence, tagged FROM tags WHERE sentence IN ({','.join('?' * len(some))})"
            for sentence, text in self._store.execute(query, some):
                known[sentence] = tuple((token, tag) for token, tag in json.loads(text))
        return known


def _tagged(doc: Any) -> Tagged:
    return tuple((token.text, token.pos_) for token in doc if not token.is_space)


def _spacy() -> Any:
    try:
        import spacy
    except ImportError as error:
        raise ImportError("tagging sentences needs spaCy: pip install 'unbag[parse]'") from error
    return spacy


def _load(pipeline: str | Path) -> Any:
    spacy = _spacy()
    source = pipeline
    if "/" in str(pipeline) and not Path(pipeline).exists():
        from huggingface_hub import snapshot_download

        source = snapshot_download(str(pipeline))
    try:
        nlp = spacy.load(source, exclude=list(_NOT_FOR_TAGS))
    except OSError as error:
        raise ValueError(
            f"expected an installed spaCy pipeline, a folder with one, or a Hub repository, found {str(pipeline)!r} "
            f"({error})"
        ) from error
    # Without the attribute ruler the universal tags of English pipelines stay empty.
    if not {"tagger", "morphologizer"} & set(nlp.pipe_names) or not any(token.pos_ for token in nlp("A dog runs.")):
        raise ValueError(f"the pipeline {str(pipeline)!r} gives no universal POS tags (it has {nlp.pipe_names})")
    return nlp
