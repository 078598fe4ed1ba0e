"""Part-of-speech tags of sentences, kept on disk: a sentence is tagged once, ever."""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from unbag.text import pipeline as pipelines
from unbag.text.ahead import Reader, read_ahead
from unbag.text.pipeline import PIPELINE
from unbag.text.store import findings

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
        self._nlp = pipelines.load(pipeline, _NOT_FOR_TAGS)
        # Without the attribute ruler the universal tags of English pipelines stay empty.
        names = self._nlp.pipe_names
        if not {"tagger", "morphologizer"} & set(names) or not any(token.pos_ for token in self._nlp("A dog runs.")):
            raise ValueError(f"the pipeline {str(pipeline)!r} gives no universal POS tags (it has {names})")
        self.identity = pipelines.identity(self._nlp)
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
