"""The trees of sentences by a spaCy pipeline's parser, kept on disk: a sentence is parsed once, ever."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from unbag.data.text import tagging as pipelines
from unbag.data.text.tagging import annotation_cache
from unbag.models.binarised import binarised
from unbag.models.tree_lstm import Merges

_NOT_FOR_TREES: Final = ("ner", "senter", "lemmatizer", "attribute_ruler")
_BATCH: Final = 256


class TreeParser:
    """A spaCy pipeline's parser, asked about words that are cut already; each sentence is parsed once, ever.

    Attributes:
        identity: name, version and spaCy version of the pipeline.
    """

    def __init__(self, pipeline: str) -> None:
        """Load a pipeline.

        Raises:
            ValueError: if there is no such pipeline, or it does not parse.
        """
        self._nlp = pipelines.load_pipeline(pipeline, _NOT_FOR_TREES)
        if "parser" not in self._nlp.pipe_names:
            raise ValueError(f"expected a pipeline that parses, found {pipeline!r} with {self._nlp.pipe_names}")
        self.identity = pipelines.pipeline_identity(self._nlp)
        self._store = annotation_cache("trees", self.identity)
        self._recent: dict[tuple[str, ...], list[int]] = {}

    def trees(self, sentences: Sequence[Sequence[str]]) -> list[Merges]:
        """Return a binary tree over the words of each sentence."""
        asked = [tuple(words) for words in sentences]
        new = [words for words in dict.fromkeys(asked) if words not in self._recent]
        if new:
            self._recent |= self._heads(new)
        trees: list[Merges] = [binarised(self._recent[words]) for words in asked]
        if len(self._recent) > _RECENT:
            self._recent.clear()
        return trees

    def _heads(self, sentences: list[tuple[str, ...]]) -> dict[tuple[str, ...], list[int]]:
        texts = {" ".join(words): words for words in sentences}  # no word has a space in it
        known = {texts[text]: json.loads(found) for text, found in self._store.get(list(texts)).items()}
        new = [words for words in sentences if words not in known]
        if new:
            from spacy.tokens import Doc

            with self._nlp.memory_zone():
                docs = (Doc(self._nlp.vocab, words=list(words)) for words in new)
                heads: list[list[int]] = [
                    [token.head.i for token in doc] for doc in self._nlp.pipe(docs, batch_size=_BATCH)
                ]
            self._store.put((" ".join(words), json.dumps(each)) for words, each in zip(new, heads, strict=True))
            known |= dict(zip(new, heads, strict=True))
        return known


_RECENT: Final = 50_000
"""Sentences whose parses are held in memory: some tens of MB."""


@lru_cache(maxsize=2)
def tree_parser(pipeline: str) -> TreeParser:
    """Return the parser of a pipeline, loaded once."""
    return TreeParser(pipeline)
