"""Parse trees of sentences from a spaCy pipeline, cached on disk."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from unbag.data.text import tagging as pipelines
from unbag.data.text.tagging import open_annotation_cache
from unbag.models.binary_trees import binarize_parse
from unbag.models.tree_lstm import Merges

_NOT_FOR_TREES: Final = ("ner", "senter", "lemmatizer", "attribute_ruler")
_BATCH: Final = 256


class TreeParser:
    """Parser of tokenized sentences that runs a spaCy pipeline and caches parses on disk.

    Attributes:
        identity: Name and version of the pipeline, and version of spaCy.
    """

    def __init__(self, pipeline: str) -> None:
        """Load a pipeline, which must have a parser."""
        self._nlp = pipelines.load_pipeline(pipeline, _NOT_FOR_TREES)
        if "parser" not in self._nlp.pipe_names:
            raise ValueError(
                f"parser: expected a spaCy pipeline with the component 'parser', got {pipeline!r} with the components "
                f"{self._nlp.pipe_names}"
            )
        self.identity = pipelines.build_pipeline_identity(self._nlp)
        self._store = open_annotation_cache("trees", self.identity)
        self._recent: dict[tuple[str, ...], list[int]] = {}

    def parse_trees(self, sentences: Sequence[Sequence[str]]) -> list[Merges]:
        """Parse each sentence into a binary tree over its words."""
        requested = [tuple(words) for words in sentences]
        new = [words for words in dict.fromkeys(requested) if words not in self._recent]
        if new:
            self._recent |= self._heads(new)
        trees: list[Merges] = [binarize_parse(self._recent[words]) for words in requested]
        if len(self._recent) > _RECENT:
            self._recent.clear()
        return trees

    def _heads(self, sentences: list[tuple[str, ...]]) -> dict[tuple[str, ...], list[int]]:
        texts = {" ".join(words): words for words in sentences}  # unambiguous, because words contain no spaces
        parses = {texts[text]: json.loads(stored) for text, stored in self._store.get(list(texts)).items()}
        new = [words for words in sentences if words not in parses]
        if new:
            from spacy.tokens import Doc

            # Without a memory zone, spaCy adds all words of all sentences to its vocabulary permanently.
            with self._nlp.memory_zone():
                docs = (Doc(self._nlp.vocab, words=list(words)) for words in new)
                heads: list[list[int]] = [
                    [token.head.i for token in doc] for doc in self._nlp.pipe(docs, batch_size=_BATCH)
                ]
            self._store.put((" ".join(words), json.dumps(each)) for words, each in zip(new, heads, strict=True))
            parses |= dict(zip(new, heads, strict=True))
        return parses


_RECENT: Final = 50_000
"""Maximum number of parses in memory, tens of MB."""


@lru_cache(maxsize=2)
def load_tree_parser(pipeline: str) -> TreeParser:
    """Load a spaCy pipeline as a parser. Repeated calls return the same object."""
    return TreeParser(pipeline)
