"""Selection of words as features: all words, or content words by the tag in the sentence or the most frequent tag.

Content words are nouns, verbs, adjectives and adverbs (Nie et al. 2019, section 5.2).

For English, Penn Treebank tags are used, in which *be* and *have* are verbs and *not* is an adverb. The tag EX is
included, because *not* and *there* are features in Figure 2 of the paper. In universal tags, these words are particles
and pronouns.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Final

from unbag.baselines.lexical.features import Words, collect_words
from unbag.data.corpora import LANGUAGES
from unbag.data.text.tagging import ALL as ALL
from unbag.data.text.tagging import PIPELINE, Tagged, Tagger, precompute_annotations
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
    """Selector of the words of a sentence that become features.

    All words except punctuation are selected, or content words by their part-of-speech tags in the sentence
    (`BY_CONTEXT`), or by the most frequent tag of each word in the training pairs (`BY_TYPE`). In the latter case, call
    `count_tags` with all training sentences before the first `select_words`. The attribute `identity` names the
    tokenizer and the tagger, which affect the words.
    """

    def __init__(self, pipeline: str | None, language: str, tags: str = BY_CONTEXT) -> None:
        """Load the tagger.

        Args:
            pipeline: spaCy pipeline, `ALL` for all words, or None for the default of the language.
            language: Code of the language of the sentences.
            tags: `BY_CONTEXT` or `BY_TYPE`.
        """
        self._pipeline = pipeline or PIPELINES.get(language, ALL)
        self._language, self._is_english = language, language == "en"
        self._content_tags = PENN if self._is_english else UNIVERSAL
        self.identity = f"all words by {build_tokenizer_identity(language)}"
        self.is_by_type = tags == BY_TYPE and self._pipeline != ALL
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._types: frozenset[str] | None = None  # the counted words; None until `select_words` follows a `count_tags`
        if self._pipeline == ALL:
            return
        # In languages without spaces between words, the segmentation depends on word order.
        if self.is_by_type and not self._is_english:
            raise ValueError(
                f"tags={BY_TYPE!r}: expected English pairs, got the language {language!r}; use tags in context "
                f"(tags={BY_CONTEXT!r}), or all words (pipeline={ALL!r})"
            )
        self._tagger = Tagger(self._pipeline)
        if self._is_english and not self._tagger.fine >= PENN:
            raise ValueError(
                f"pipeline: expected a pipeline with Penn Treebank tags for English, got {self._pipeline!r} without "
                f"{', '.join(sorted(PENN - self._tagger.fine))}; use another pipeline, or pass {ALL!r} to use all words"
            )
        content = f"{'NN*, VB*, JJ*, RB*, EX' if self._is_english else 'as content'} by {self._tagger.identity}"
        by_type = f"{self.identity}, of those whose most frequent tag is {content}"
        self.identity = by_type if self.is_by_type else f"words tagged {content}"

    def select_words(self, sentences: Iterable[str]) -> dict[str, Words]:
        """Select the words of each distinct sentence: lowercase, unique, sorted."""
        if self._pipeline != ALL and not self.is_by_type:
            tagged = self._tagger.tag(sentences, is_fine=self._is_english)
            return {sentence: select_content_words(tags, self._content_tags) for sentence, tags in tagged.items()}
        words = {sentence: collect_words(sentence, self._language) for sentence in set(sentences)}
        if not self.is_by_type:
            return words
        if self._types is None:
            self._types = frozenset(
                word
                for word, tags in self._counts.items()
                # Of equally frequent tags, the first one in alphabetical order counts.
                if min(tags, key=lambda tag: (-tags[tag], tag)) in self._content_tags
            )
        types = self._types
        return {sentence: tuple(word for word in every if word in types) for sentence, every in words.items()}

    def count_tags(self, sentences: Iterable[str]) -> None:
        """Count the tags of words in training sentences. Repeated sentences are counted each time."""
        self._types = None
        sentences = list(sentences)
        tagged = self._tagger.tag(sentences, is_fine=self._is_english)
        for sentence in sentences:
            for token, tag in tagged[sentence]:
                self._counts[token.lower()][tag] += 1

    def precompute_tags(self, sentences: Iterable[str]) -> None:
        """Tag sentences in advance with several processes, if multiprocessing is enabled and tags are needed."""
        if self._pipeline != ALL:
            tag = partial(Tagger.tag, is_fine=self._is_english)
            precompute_annotations(partial(Tagger, self._pipeline), tag, sentences)
