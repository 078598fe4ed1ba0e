"""Selection of words as features: all words, or content words by the tag in the sentence or the most frequent tag.

Content words are nouns, verbs, adjectives and adverbs (Nie et al. 2019, section 5.2).

For English, Penn Treebank tags are used, in which *be* and *have* are verbs and *not* is an adverb. The tag EX is
included, because *not* and *there* are features in Figure 2 of the paper. In universal tags, these words are particles
and pronouns.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from unbag.baselines.lexical.features import Words, collect_words
from unbag.data.corpora import LANGUAGES
from unbag.data.text.tagging import ALL as ALL
from unbag.data.text.tagging import PIPELINE, Tagged, Tagger, precompute_tags
from unbag.data.text.tokens import build_tokenizer_identity

PENN: Final = frozenset("NN NNS NNP NNPS VB VBD VBG VBN VBP VBZ JJ JJR JJS RB RBR RBS EX".split())
"""Penn Treebank tags of content words: NN*, VB*, JJ*, RB* and EX (*there*)."""

UNIVERSAL: Final = frozenset({"NOUN", "PROPN", "VERB", "ADJ", "ADV"})
"""Universal tags of content words for other languages, including proper nouns."""


def select_content_words(tagged_sentence: Tagged, content_tags: frozenset[str] = PENN) -> Words:
    """Select the distinct content words of a tagged sentence.

    >>> select_content_words((("There", "EX"), ("are", "VBP"), ("two", "CD"), ("dogs", "NNS"), (".", ".")))
    ('are', 'dogs', 'there')
    """
    return tuple(sorted({token.lower() for token, tag in tagged_sentence if tag in content_tags}))


PIPELINES: Final = {**dict.fromkeys(LANGUAGES, ALL), "en": PIPELINE, "zh": "spacy/zh_core_web_sm"}
"""Default spaCy pipeline by language; `all` (all words) for languages without a recommended pipeline."""

BY_CONTEXT: Final = "context"
"""Select words by their tag in the sentence, as in the paper. The tag may depend on word order."""

BY_TYPE: Final = "type"
"""Select words by their most frequent tag in the training pairs, which does not depend on word order."""


class WordSelector:
    """Selector of the words of a sentence that become features: all except punctuation. Word order has no effect.

    The attribute `identity` names the tokenizer and the tagger, which affect the words.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self.identity = f"all words by {build_tokenizer_identity(language)}"

    def select_words(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Select the words of each distinct sentence: lowercase, unique, sorted."""
        return {sentence: collect_words(sentence, self._language) for sentence in set(sentences)}

    def precompute_tags(self, sentences: Iterable[str]) -> None:
        """Tag sentences in advance with several processes, if multiprocessing is enabled and tags are needed."""


class ContextWordSelector(WordSelector):
    """Selector of content words, based on their part-of-speech tags in the sentence."""

    def __init__(self, pipeline: str, language: str) -> None:
        self._pipeline, self._tagger = pipeline, Tagger(pipeline)
        self._is_english = language == "en"
        self._content_tags = PENN if self._is_english else UNIVERSAL
        if self._is_english and not self._tagger.fine >= PENN:
            raise ValueError(
                f"pipeline: expected a pipeline with Penn Treebank tags for English, got {pipeline!r} without "
                f"{', '.join(sorted(PENN - self._tagger.fine))}; use another pipeline, or pass {ALL!r} to use all words"
            )
        tags = "NN*, VB*, JJ*, RB*, EX" if self._is_english else "as content"
        self._tags_identity = f"{tags} by {self._tagger.identity}"
        self.identity = f"words tagged {self._tags_identity}"

    def select_words(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Select the content words of each distinct sentence."""
        tagged = self._tag(sentences)
        return {sentence: select_content_words(tags, self._content_tags) for sentence, tags in tagged.items()}

    def precompute_tags(self, sentences: Iterable[str]) -> None:
        """Tag sentences in advance."""
        precompute_tags(self._pipeline, sentences, is_fine_grained=self._is_english)

    def _tag(self, sentences: Iterable[str]) -> dict[str, Tagged]:
        return self._tagger.tag_fine_grained(sentences) if self._is_english else self._tagger.tag(sentences)


class TypeWordSelector(ContextWordSelector):
    """Selector of content words, based on the most frequent part-of-speech tag of each word in the training pairs.

    Call `count_tags` with all training sentences before the first `select_words`.
    """

    def __init__(self, pipeline: str, language: str) -> None:
        # In languages without spaces between words, the segmentation depends on word order.
        if language != "en":
            raise ValueError(
                f"tags={BY_TYPE!r}: expected English pairs, got the language {language!r}; use tags in context "
                f"(tags={BY_CONTEXT!r}), or all words (pipeline={ALL!r})"
            )
        super().__init__(pipeline, language)
        self._all = WordSelector(language)
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._types: frozenset[str] | None = None  # the counted words; None until `select_words` follows a `count_tags`
        self.identity = f"{self._all.identity}, of those whose most frequent tag is {self._tags_identity}"

    def count_tags(self, sentences: Iterable[str]) -> None:
        """Count the tags of words in training sentences. Repeated sentences are counted each time."""
        self._types = None
        sentences = list(sentences)
        tagged = self._tag(sentences)
        for sentence in sentences:
            for token, tag in tagged[sentence]:
                self._counts[token.lower()][tag] += 1

    def select_words(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Select the content words of each distinct sentence, based on the most frequent tag of each word."""
        if self._types is None:
            self._types = frozenset(
                word for word, tags in self._counts.items() if find_most_frequent_tag(tags) in self._content_tags
            )
        types = self._types
        every_word = self._all.select_words(sentences)
        return {sentence: tuple(word for word in words if word in types) for sentence, words in every_word.items()}


def build_word_selector(pipeline: str | None, language: str, tags: str = BY_CONTEXT) -> WordSelector:
    """Build the word selector for a spaCy pipeline, a language and a tagging method, `BY_CONTEXT` or `BY_TYPE`.

    The pipeline is `ALL` for all words, regardless of the tags, or None for the default of the language.
    """
    pipeline = pipeline or PIPELINES.get(language, ALL)
    if pipeline == ALL:
        return WordSelector(language)
    return (TypeWordSelector if tags == BY_TYPE else ContextWordSelector)(pipeline, language)


def build_model_word_selector(record: Mapping[str, Any]) -> WordSelector:
    """Build the word selector of a fitted model from its JSON record.

    For a model with words by type, all words are selected, because other words are not in its vocabulary.
    """
    pipeline = ALL if record["tags"] == BY_TYPE else record["pipeline"]
    return build_word_selector(pipeline, record["language"])


def find_most_frequent_tag(counts: Mapping[str, int]) -> str:
    """Find the most frequent tag. Ties go to the first tag in alphabetical order.

    >>> find_most_frequent_tag({"VBN": 2, "JJ": 2, "VBD": 1})
    'JJ'
    """
    return min(counts, key=lambda tag: (-counts[tag], tag))
