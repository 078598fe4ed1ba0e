"""Replacement of `models.trees` for repositories with their own code: spaCy and the Hub client, without a cache."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import spacy
from huggingface_hub import snapshot_download
from spacy.tokens import Doc

from unbag.models.binary_trees import binarise_parse
from unbag.models.tree_lstm import Merges


class PlainTreeParser:
    """A spaCy parser of tokenized sentences.

    Attributes:
        identity: Name and version of the pipeline.
    """

    def __init__(self, pipeline: str) -> None:
        folder = pipeline if Path(pipeline).exists() or "/" not in pipeline else snapshot_download(pipeline)
        self._nlp: Any = spacy.load(folder, exclude=["ner", "senter", "lemmatizer", "attribute_ruler"])
        self.identity = f"{self._nlp.meta['lang']}_{self._nlp.meta['name']} {self._nlp.meta['version']}"

    def trees(self, sentences: Sequence[Sequence[str]]) -> list[Merges]:
        """Compute a binary tree over the words of each sentence."""
        docs = (Doc(self._nlp.vocab, words=list(words)) for words in sentences)
        return [binarise_parse([token.head.i for token in doc]) for doc in self._nlp.pipe(docs)]


@lru_cache(maxsize=2)
def tree_parser(pipeline: str) -> PlainTreeParser:
    """Load the parser of a pipeline, once per process."""
    return PlainTreeParser(pipeline)
