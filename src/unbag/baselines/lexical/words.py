"""Which words of a sentence count: content words by their tags, in the sentence or by word type, or all.

Content words are nouns, verbs, adjectives and adverbs (Nie et al. 2019, section 5.2).

For English by the Penn Treebank's, whose verbs have *be* and *have* among them, whose adverbs *not*, and by EX beside:
in Figure 2 of the paper *not* and *there* are features. Universal tags call them particles and pronouns.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from unbag.baselines.lexical.bag import Words, all_words
from unbag.data.corpora import LANGUAGES
from unbag.data.text.tagging import ALL as ALL
from unbag.data.text.tagging import PIPELINE, Tagged, Tagger, tag_ahead
from unbag.data.text.tokens import tokenizer_identity

PENN: Final = frozenset("NN NNS NNP NNPS VB VBD VBG VBN VBP VBZ JJ JJR JJS RB RBR RBS EX".split())
"""The Penn Treebank's tags of the words that count: NN*, VB*, JJ*, RB* and EX (*there*)."""

UNIVERSAL: Final = frozenset({"NOUN", "PROPN", "VERB", "ADJ", "ADV"})
"""Universal tags of the words that count, for other languages, proper nouns included."""


def content_words(tagged: Tagged, content: frozenset[str] = PENN) -> Words:
    """Return the content words of a tagged sentence.

    >>> content_words((("There", "EX"), ("are", "VBP"), ("two", "CD"), ("dogs", "NNS"), (".", ".")))
    ('are', 'dogs', 'there')
    """
    return tuple(sorted({token.lower() for token, tag in tagged if tag in content}))


PIPELINES: Final = {**dict.fromkeys(LANGUAGES, ALL), "en": PIPELINE, "zh": "spacy/zh_core_web_sm"}
"""The spaCy pipeline that tags where none is named, by language; `all` where we know of none to recommend."""

BY_CONTEXT: Final = "context"
"""A word counts by the tag it has in its sentence, as in the paper: in another order it may have another one."""

BY_TYPE: Final = "type"
"""A word counts by the tag it has most often in the training pairs, so in any order alike."""


class WordReader(Protocol):
    """What reads the words of sentences."""

    @property
    def identity(self) -> str:
        """All that decides the words."""
        ...

    def read(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Return the words of each different sentence: lower-cased, each once, sorted."""
        ...

    def tag_ahead(self, sentences: Iterable[str]) -> None:
        """Tag sentences by several processes, where they may work and there is anything to tag."""
        ...


class AllWords:
    """Every token that is not punctuation, in whatever order: a sentence and its permutations have the same ones."""

    def __init__(self, language: str) -> None:
        self._language = language
        self.identity = f"all words by {tokenizer_identity(language)}"

    def read(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Return the words of each different sentence."""
        return {sentence: all_words(sentence, self._language) for sentence in set(sentences)}

    def tag_ahead(self, sentences: Iterable[str]) -> None:
        """Do nothing: no word is tagged."""


class ContextWords:
    """Content words, as a spaCy pipeline tags them in their sentences."""

    def __init__(self, pipeline: str, language: str) -> None:
        self._tags = _ContentTags(pipeline, language)
        self.identity = f"words tagged {self._tags.identity}"

    def read(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Return the content words of each different sentence."""
        tagged = self._tags.of(sentences)
        return {sentence: content_words(tags, self._tags.content) for sentence, tags in tagged.items()}

    def tag_ahead(self, sentences: Iterable[str]) -> None:
        """Tag sentences by several processes, where they may work."""
        tag_ahead(self._tags.pipeline, sentences)


class TypeWords:
    """Words whose most frequent tag, in sentences counted beforehand, is that of a content word.

    A fitted model has no other words in its vocabulary, so nothing more than the words of a sentence is needed to ask
    it, and no tagger (`reader_of`).
    """

    def __init__(self, pipeline: str, language: str) -> None:
        # Where words are not set apart by spaces, their order decides what the words are.
        if language != "en":
            raise ValueError(
                f"expected English pairs to tag words by type, found {language!r}; tag them in context "
                f"(tags={BY_CONTEXT!r}), or let all words count (pipeline={ALL!r})"
            )
        self._tags = _ContentTags(pipeline, language)
        self._all = AllWords(language)
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._types: frozenset[str] | None = None  # those that count; None until they are asked for
        self.identity = f"{self._all.identity}, of those whose most frequent tag is {self._tags.identity}"

    def count(self, sentences: Iterable[str]) -> None:
        """Count the tags of words in sentences, one that comes several times as often."""
        self._types = None
        sentences = list(sentences)
        tagged = self._tags.of(sentences)
        for sentence in sentences:
            for token, tag in tagged[sentence]:
                self._counts[token.lower()][tag] += 1

    def read(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Return the words of each different sentence that count."""
        if self._types is None:
            content = self._tags.content
            self._types = frozenset(word for word, tags in self._counts.items() if most_frequent(tags) in content)
        types = self._types
        found = self._all.read(sentences)
        return {sentence: tuple(word for word in words if word in types) for sentence, words in found.items()}

    def tag_ahead(self, sentences: Iterable[str]) -> None:
        """Tag sentences by several processes, where they may work."""
        tag_ahead(self._tags.pipeline, sentences)


class _ContentTags:
    """The tags of sentences' words, and which of them are content words'."""

    def __init__(self, pipeline: str, language: str) -> None:
        self.pipeline = pipeline
        self._tagger = Tagger(pipeline)
        self._by_penn = language == "en"
        self.content = PENN if self._by_penn else UNIVERSAL
        if self._by_penn and not self._tagger.fine >= PENN:
            raise ValueError(
                f"expected a pipeline that tags English by the Penn Treebank's tags, found {pipeline!r}, whose own "
                f"tags lack {', '.join(sorted(PENN - self._tagger.fine))}; name another one, or {ALL!r} for all words"
            )
        self.identity = f"{'NN*, VB*, JJ*, RB*, EX' if self._by_penn else 'as content'} by {self._tagger.identity}"

    def of(self, sentences: Iterable[str]) -> dict[str, Tagged]:
        return self._tagger.fine_tags(sentences) if self._by_penn else self._tagger.tags(sentences)


def word_reader(pipeline: str | None, language: str, tags: str = BY_CONTEXT) -> WordReader:
    """Return what reads words as asked.

    Args:
        pipeline: a spaCy pipeline that tags (`unbag.data.text.tagging.Tagger`), `ALL`, or None for the language's own.
        language: one of `data.corpora.LANGUAGES`.
        tags: `BY_CONTEXT` or `BY_TYPE` (`TypeWords`, to be given sentences to count first); nothing where all count.

    Raises:
        ValueError: if there is no such pipeline, or it has not the tags.
    """
    if tags not in (BY_CONTEXT, BY_TYPE):
        raise ValueError(f"expected words tagged by {BY_TYPE!r} or in {BY_CONTEXT!r}, found tags={tags!r}")
    if pipeline == ALL:
        return AllWords(language)
    return (TypeWords if tags == BY_TYPE else ContextWords)(pipeline or PIPELINES[language], language)


def reader_of(record: Mapping[str, Any]) -> WordReader:
    """Return what reads words for a fitted model, by its record.

    One by type gets all words: those that do not count are not in its vocabulary.
    """
    pipeline = ALL if record["tags"] == BY_TYPE else record["pipeline"]
    return word_reader(pipeline, record["language"])


def most_frequent(counts: Mapping[str, int]) -> str:
    """Return the most frequent tag, of equally frequent ones the first by the alphabet.

    >>> most_frequent({"VBN": 2, "JJ": 2, "VBD": 1})
    'JJ'
    """
    return min(counts, key=lambda tag: (-counts[tag], tag))
