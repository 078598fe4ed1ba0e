"""Which words of a sentence count: those that a tagger calls content words, or all."""

from collections.abc import Iterable
from typing import Final, Protocol

from unbag.lexical.features import Words, content_words
from unbag.text.pipeline import PIPELINE
from unbag.text.tags import Tagger
from unbag.text.tokens import tokenize, tokenizer_identity

ALL: Final = "all"
"""The name, in place of a pipeline's, that makes every word count. It needs no tagger."""

PIPELINES: Final = {"en": PIPELINE, "zh": "spacy/zh_core_web_sm"}
"""The spaCy pipeline that tags where none is named, by language."""


class WordReader(Protocol):
    """What reads the words of sentences."""

    @property
    def identity(self) -> str:
        """All that decides the words."""
        ...

    def read(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Return the words of each different sentence: lower-cased, each once, sorted."""
        ...


class ContentWords:
    """Nouns, verbs, adjectives and adverbs, as a spaCy pipeline tags them."""

    def __init__(self, pipeline: str) -> None:
        self._tagger = Tagger(pipeline)
        self.identity = f"content words by {self._tagger.identity}"

    def read(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Return the content words of each different sentence."""
        return {sentence: content_words(tagged) for sentence, tagged in self._tagger.tags(sentences).items()}


class AllWords:
    """Every token that is not punctuation."""

    def __init__(self, language: str) -> None:
        self._language = language
        self.identity = f"all words by {tokenizer_identity(language)}"

    def read(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Return the words of each different sentence."""
        return {sentence: self._words(sentence) for sentence in set(sentences)}

    def _words(self, sentence: str) -> Words:
        tokens = tokenize(sentence, self._language)
        return tuple(sorted({tokens.texts[position].lower() for position in tokens.words}))


def word_reader(pipeline: str | None, language: str) -> WordReader:
    """Return what reads words as asked.

    Args:
        pipeline: a spaCy pipeline that tags (`unbag.text.tags.Tagger`), `ALL`, or None for the language's own.
        language: `en` or `zh`.

    Raises:
        ImportError: without spaCy.
        ValueError: if there is no such pipeline.
    """
    return AllWords(language) if pipeline == ALL else ContentWords(pipeline or PIPELINES[language])
