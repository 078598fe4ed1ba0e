"""Parse trees of sentences from a spaCy pipeline, cached on disk."""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Final

from unbag.data.text.tagging import BATCH, Annotator
from unbag.models.tree_lstm import Merges, binarize_parse

_NOT_FOR_TREES: Final = ("ner", "senter", "lemmatizer", "attribute_ruler")


class TreeParser(Annotator):
    """Parser of tokenized sentences that runs a spaCy pipeline and caches parses on disk."""

    def __init__(self, pipeline: str) -> None:
        """Load a pipeline, which must have a parser."""
        super().__init__(pipeline, _NOT_FOR_TREES, "trees", None)
        if "parser" not in self._nlp.pipe_names:
            raise ValueError(
                f"parser: expected a spaCy pipeline with the component 'parser', got {pipeline!r} with the components "
                f"{self._nlp.pipe_names}"
            )
        self._recent: dict[tuple[str, ...], list[int]] = {}

    def parse_trees(self, sentences: Sequence[Sequence[str]]) -> list[Merges]:
        """Parse each sentence into a binary tree over its words."""
        requested = [tuple(words) for words in sentences]
        new = [words for words in dict.fromkeys(requested) if words not in self._recent]
        texts = {" ".join(words): words for words in new}  # unambiguous, because words contain no spaces
        for _, found in self._annotate(texts, partial(self._parse, texts=texts)):
            self._recent |= {texts[text]: heads for text, heads in found.items()}
        trees: list[Merges] = [binarize_parse(self._recent[words]) for words in requested]
        if len(self._recent) > _RECENT:
            self._recent.clear()
        return trees

    def _parse(self, new: list[str], texts: dict[str, tuple[str, ...]]) -> Iterator[list[int]]:
        from spacy.tokens import Doc

        docs = (Doc(self._nlp.vocab, words=list(texts[text])) for text in new)
        for doc in self._nlp.pipe(docs, batch_size=BATCH):
            yield [token.head.i for token in doc]


_RECENT: Final = 50_000
"""Maximum number of parses in memory, tens of MB."""


@lru_cache(maxsize=2)
def load_tree_parser(pipeline: str) -> TreeParser:
    """Load a spaCy pipeline as a parser. Repeated calls return the same object."""
    return TreeParser(pipeline)
