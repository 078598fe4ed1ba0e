"""The counted words of a sentence: all words, or content words by their tags in the sentence or by word type.

Content words are nouns, verbs, adjectives and adverbs (Nie et al. 2019, section 5.2).

English uses the tags of the Penn Treebank, where *be* and *have* are verbs and *not* is an adverb, plus the tag EX: in
Figure 2 of the paper *not* and *there* are features. Universal tags count them as particles and pronouns.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from unbag.baselines.lexical.bag import Words, all_words
from unbag.data.corpora import LANGUAGES
from unbag.data.text.tagging import ALL as ALL
from unbag.data.text.tagging import PIPELINE, Tagged, Tagger, precompute_tags
from unbag.data.text.tokens import build_tokenizer_identity

PENN: Final = frozenset("NN NNS NNP NNPS VB VBD VBG VBN VBP VBZ JJ JJR JJS RB RBR RBS EX".split())
"""Penn Treebank tags of content words: NN*, VB*, JJ*, RB* and EX (*there*)."""

UNIVERSAL: Final = frozenset({"NOUN", "PROPN", "VERB", "ADJ", "ADV"})
"""Universal tags of content words, for other languages; proper nouns are included."""


def content_words(tagged: Tagged, content: frozenset[str] = PENN) -> Words:
    """Select the content words of a tagged sentence.

    >>> content_words((("There", "EX"), ("are", "VBP"), ("two", "CD"), ("dogs", "NNS"), (".", ".")))
    ('are', 'dogs', 'there')
    """
    return tuple(sorted({token.lower() for token, tag in tagged if tag in content}))


PIPELINES: Final = {**dict.fromkeys(LANGUAGES, ALL), "en": PIPELINE, "zh": "spacy/zh_core_web_sm"}
"""Default spaCy pipeline by language; `all` (all words count) for languages without a recommended pipeline."""

BY_CONTEXT: Final = "context"
"""A word counts by its tag in the sentence, as in the paper. The tag may change with the word order."""

BY_TYPE: Final = "type"
"""A word counts by its most frequent tag in the training pairs, which does not depend on the word order."""


class WordReader(Protocol):
    """The interface of the readers that select the words of sentences."""

    @property
    def identity(self) -> str:
        """Text that identifies the tokenizer and tagger, on which the words depend."""
        ...

    def read(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Select the words of each distinct sentence: lower-cased, unique, sorted."""
        ...

    def tag_ahead(self, sentences: Iterable[str]) -> None:
        """Tag sentences in several processes, if the settings allow this and the reader uses tags."""
        ...


class AllWords:
    """A reader of all tokens except punctuation; a sentence and its permutations have the same words."""

    def __init__(self, language: str) -> None:
        self._language = language
        self.identity = f"all words by {build_tokenizer_identity(language)}"

    def read(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Select the words of each distinct sentence."""
        return {sentence: all_words(sentence, self._language) for sentence in set(sentences)}

    def tag_ahead(self, sentences: Iterable[str]) -> None:
        """Do nothing, since this reader uses no tags."""


class ContextWords:
    """A reader of content words, by their tags in the sentence from a spaCy pipeline."""

    def __init__(self, pipeline: str, language: str) -> None:
        self._tags = _ContentTags(pipeline, language)
        self.identity = f"words tagged {self._tags.identity}"

    def read(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Select the content words of each distinct sentence."""
        tagged = self._tags.of(sentences)
        return {sentence: content_words(tags, self._tags.content) for sentence, tags in tagged.items()}

    def tag_ahead(self, sentences: Iterable[str]) -> None:
        """Tag sentences in several processes, if the settings allow this."""
        precompute_tags(self._tags.pipeline, sentences)


class TypeWords:
    """A reader of the words whose most frequent tag is that of a content word.

    `count` collects the tags from training sentences, before the first `read`. A fitted model has only such words in
    its vocabulary, so it reads new sentences with `AllWords` and needs no tagger (`reader_of`).
    """

    def __init__(self, pipeline: str, language: str) -> None:
        # In languages without spaces between words, the words themselves depend on the order of the characters.
        if language != "en":
            raise ValueError(
                f"tags={BY_TYPE!r}: expected English pairs, got the language {language!r}; tag words in context "
                f"(tags={BY_CONTEXT!r}), or count all words (pipeline={ALL!r})"
            )
        self._tags = _ContentTags(pipeline, language)
        self._all = AllWords(language)
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._types: frozenset[str] | None = None  # the counted words; None until the first `read` after a `count`
        self.identity = f"{self._all.identity}, of those whose most frequent tag is {self._tags.identity}"

    def count(self, sentences: Iterable[str]) -> None:
        """Count the tags of words in sentences; repeated sentences count each time."""
        self._types = None
        sentences = list(sentences)
        tagged = self._tags.of(sentences)
        for sentence in sentences:
            for token, tag in tagged[sentence]:
                self._counts[token.lower()][tag] += 1

    def read(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Select the counted words of each distinct sentence."""
        if self._types is None:
            content = self._tags.content
            self._types = frozenset(word for word, tags in self._counts.items() if most_frequent(tags) in content)
        types = self._types
        every_word = self._all.read(sentences)
        return {sentence: tuple(word for word in words if word in types) for sentence, words in every_word.items()}

    def tag_ahead(self, sentences: Iterable[str]) -> None:
        """Tag sentences in several processes, if the settings allow this."""
        precompute_tags(self._tags.pipeline, sentences)


class _ContentTags:
    """A tagger, and the set of its tags for content words."""

    def __init__(self, pipeline: str, language: str) -> None:
        self.pipeline = pipeline
        self._tagger = Tagger(pipeline)
        self._by_penn = language == "en"
        self.content = PENN if self._by_penn else UNIVERSAL
        if self._by_penn and not self._tagger.fine >= PENN:
            raise ValueError(
                f"pipeline: expected one with the tags of the Penn Treebank for English, got {pipeline!r}, which lacks "
                f"{', '.join(sorted(PENN - self._tagger.fine))}; name another one, or {ALL!r} for all words"
            )
        self.identity = f"{'NN*, VB*, JJ*, RB*, EX' if self._by_penn else 'as content'} by {self._tagger.identity}"

    def of(self, sentences: Iterable[str]) -> dict[str, Tagged]:
        return self._tagger.fine_tags(sentences) if self._by_penn else self._tagger.tags(sentences)


def word_reader(pipeline: str | None, language: str, tags: str = BY_CONTEXT) -> WordReader:
    """Build the reader for a pipeline, a language and a kind of tags.

    Args:
        pipeline: spaCy pipeline of the tagger (`unbag.data.text.tagging.Tagger`), `ALL` for all words, or None for the
            default of the language.
        language: One of `data.corpora.LANGUAGES`.
        tags: `BY_CONTEXT` (default) or `BY_TYPE` (`TypeWords`, whose `count` must be called first). Without effect if
            all words count.

    Raises:
        ValueError: If there is no such pipeline, or the pipeline lacks the tags.
    """
    if tags not in (BY_CONTEXT, BY_TYPE):
        raise ValueError(f"tags: expected {BY_TYPE!r} or {BY_CONTEXT!r}, got {tags!r}")
    if pipeline == ALL:
        return AllWords(language)
    return (TypeWords if tags == BY_TYPE else ContextWords)(pipeline or PIPELINES[language], language)


def reader_of(record: Mapping[str, Any]) -> WordReader:
    """Build the reader for a fitted model from its record.

    A model by type gets all words, since uncounted words are not in its vocabulary.
    """
    pipeline = ALL if record["tags"] == BY_TYPE else record["pipeline"]
    return word_reader(pipeline, record["language"])


def most_frequent(counts: Mapping[str, int]) -> str:
    """Select the most frequent tag; of equally frequent tags, the first in alphabetical order.

    >>> most_frequent({"VBN": 2, "JJ": 2, "VBD": 1})
    'JJ'
    """
    return min(counts, key=lambda tag: (-counts[tag], tag))
