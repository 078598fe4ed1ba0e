"""Replacement for `models.trees` in exported model repositories, which requires spaCy but not unbag."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import spacy
from huggingface_hub import snapshot_download
from spacy.tokens import Doc

from unbag.models.tree_lstm import Merges, binarize_parse


class PlainTreeParser:
    """Parser of tokenized sentences that runs a spaCy pipeline, without a cache.

    Attributes:
        identity: Name and version of the pipeline.
    """

    def __init__(self, pipeline: str) -> None:
        folder = pipeline if Path(pipeline).exists() or "/" not in pipeline else snapshot_download(pipeline)
        self._nlp: Any = spacy.load(folder, exclude=["ner", "senter", "lemmatizer", "attribute_ruler"])
        self.identity = f"{self._nlp.meta['lang']}_{self._nlp.meta['name']} {self._nlp.meta['version']}"

    def parse_trees(self, sentences: Sequence[Sequence[str]]) -> list[Merges]:
        """Parse each sentence into a binary tree over its words."""
        docs = (Doc(self._nlp.vocab, words=list(words)) for words in sentences)
        return [binarize_parse([token.head.i for token in doc]) for doc in self._nlp.pipe(docs)]


@lru_cache(maxsize=2)
def load_tree_parser(pipeline: str) -> PlainTreeParser:
    """Load a spaCy pipeline as a parser. Repeated calls return the same object."""
    return PlainTreeParser(pipeline)
