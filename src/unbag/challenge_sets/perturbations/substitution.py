"""Substitution of one word in a sentence, which makes the sentence false or keeps it true (Glockner et al. 2018).

The module contains the operator, the rows of the Breaking NLI set, and a generator of training pairs.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final, NamedTuple

import pyarrow as pa

from unbag.baselines.wordnet.relations import WordNetRelation
from unbag.challenge_sets.pairs import deduplicate
from unbag.challenge_sets.perturbations.augmentation import Candidates, GeneratedPair, PairGenerator
from unbag.challenge_sets.perturbations.corpus_counts import BigramCounts, CorpusCounts, split_with_boundaries
from unbag.challenge_sets.perturbations.vocabulary_split import ALL, are_in_vocabulary_half
from unbag.challenge_sets.perturbations.word_lists import (
    FIXED_PHRASES,
    LABEL_BY_RELATION,
    PREPOSITION_BY_NOUN,
    WORD_LISTS,
    WordList,
)
from unbag.data.columns import PAIR, declare_float_field
from unbag.data.labels import get_label_id
from unbag.data.sources import Example
from unbag.data.text.grammar import adapt_article, find_phrase_difference
from unbag.data.text.tokens import WordSpan, tokenize_words
from unbag.utils import rng

DEFAULT_SEED: Final = 13
DEFAULT_Q: Final = 3

WORDNET_ANTONYMS: Final = "antonyms_wordnet"
"""Category of antonyms from WordNet."""

MAX_WORDS: Final = 300
"""Maximum length of a sentence, in words and punctuation marks. The cost grows with the square of the length, because
the operator builds and checks the whole sentence for each candidate of each word."""

LONG: Final = f"in a sentence of more than {MAX_WORDS} words"
FIXED: Final = "in a fixed phrase"
REPEATED: Final = "more than once in the sentence"
PRESENT: Final = "new word already in the sentence"
PRONOUN: Final = "pronoun of the other gender"
SCOPE: Final = "under a negation, a quantifier or an alternative"
NO_NOUN: Final = "no noun after an adjective"
COUNTED: Final = "counted things that other words of the sentence distinguish"
NO_ARTICLE: Final = "no article or number before a word with a more specific replacement"
DISSIMILAR: Final = "antonym of WordNet below the similarity threshold"
PREPOSITION: Final = "new word that needs another preposition"
OTHER_WORDS: Final = "not in the requested half of the vocabulary"
UNSEEN: Final = "word not in the training corpus"
UNSEEN_BIGRAM: Final = "new bigram too rare"
_PRONOUNS: Final = frozenset("he she him her his hers himself herself".split())
_SCOPE: Final = frozenset(
    "no not never nobody none neither nor without nothing cannot hardly every each all any everyone everybody anyone "
    "or only most few fewer less more than unless if except but".split()
)
"""Words that change the logic of a sentence: a hypernym need not be entailed, a co-hyponym need not contradict."""
_COUNTS: Final = frozenset({"cardinals", "ordinals"})
_DISTINGUISHING: Final = frozenset("one other others another both each".split())
"""Words that distinguish the counted things: two men, one with a hat and the other without."""
_JOINED: Final = frozenset("-/'’")
_DETERMINERS: Final = frozenset(
    "a an the this that these those some several many his her its their two three four five six seven eight nine ten "
    "eleven twelve".split()
)
_OTHER_SIDE: Final = {"in": "on", "on": "in", "into": "onto", "onto": "into"}
_KIND_OF: Final = {"in": "in", "into": "in", "on": "on", "onto": "on"}
_OF_PLACE: Final = frozenset({*_KIND_OF, "inside", "out", "off", "at", "aboard", "upon"})
_NEAR: Final = 4  # words before a noun in which its preposition is searched: "in his big red truck"


class ReplacementCandidate(NamedTuple):
    """Possible replacement of a word."""

    category: str  # category of the word list, or `…_wordnet`
    relation: WordNetRelation  # relation of the replaced word to the new one
    new: str


class SubstitutedSentence(NamedTuple):
    """A sentence in which one word or phrase was replaced."""

    hypothesis: str
    category: str  # category of the word list, or `…_wordnet`
    relation: WordNetRelation  # relation of the replaced word to the new one
    old: str  # replaced word or phrase, as in the word list
    new: str

    @property
    def label(self) -> str:
        """Label of the pair of the original and the new sentence."""
        return LABEL_BY_RELATION[self.relation]


@dataclass(frozen=True)
class Substituter:
    """Generator of sentences with one replaced word. The result depends only on premise, counts and seed."""

    counts: CorpusCounts
    q: int = DEFAULT_Q  # maximum number of replacements per premise, each of a different word
    min_bigrams: int = 1  # minimum count of every new bigram in the training corpus, or in `bigrams` if given
    seed: int = DEFAULT_SEED
    lists: Sequence[WordList] = WORD_LISTS
    # Function that finds the possible replacements of a lower-case word that is in no list (default: none), e.g.
    # `WordNetCandidates.get_candidates`
    more: Callable[[str], Sequence[ReplacementCandidate]] | None = None
    # Bigram counts to use instead of those of the training corpus (default: the training corpus)
    bigrams: BigramCounts | None = None
    # Whether a preposition is adapted ("in the kitchen", "on the balcony"). If False, replacements that need
    # another preposition are rejected.
    prepositions: bool = True
    # Function that computes the similarity of two words, or None if it is unknown.
    similarity: Callable[[str, str], float | None] | None = None
    min_similarity: float | None = None  # minimum similarity of WordNet's antonyms (default: no minimum)
    # Vocabulary of the old and the new word: `all`, or one half (`challenge_sets.perturbations.vocabulary_split`)
    words: str = ALL

    @cached_property
    def _candidates(self) -> Mapping[tuple[str, ...], Sequence[ReplacementCandidate]]:
        return _map_candidates_by_phrase(tuple(self.lists))

    def substitute(self, premise: str, rejected: Counter[str] | None = None) -> list[SubstitutedSentence]:
        """Generate variants of a premise, each with one word replaced, ordered by the position of this word.

        The operator adapts only a/an and a preposition of place, and makes no other change: all words of a list have
        the same inflection. For each replaceable word, the operator draws a category and one of its candidates. Then it
        draws q of the replaceable words. A premise of more than `MAX_WORDS` words has no replacements. The call adds
        rejected candidates by reason to `rejected`.
        """
        rejected = Counter() if rejected is None else rejected  # not `or`, which would replace the caller's empty one
        sentence = tokenize_words(premise)
        if len(sentence) > MAX_WORDS:
            rejected[LONG] += 1
            return []
        lowered = [word.text.lower() for word in sentence]
        old_bigrams = frozenset(pairwise(split_with_boundaries(premise)))
        options = []
        for start, length, phrase, candidates in self._replaceable(premise, sentence, lowered):
            usable: dict[str, list[SubstitutedSentence]] = defaultdict(list)
            for candidate in candidates:
                if not are_in_vocabulary_half(self.words, (phrase, candidate.new)):
                    rejected[OTHER_WORDS] += 1
                    continue
                reason = self._sentence_reason(lowered, start, length, candidate)
                adapted = _preposition(lowered, start, phrase, candidate.new)
                if reason is None and (adapted is None or (adapted and not self.prepositions)):
                    reason = PREPOSITION
                hypothesis = _replace_phrase(premise, sentence, start, length, candidate.new, adapted or {})
                reason = reason or self._corpus_reason(hypothesis, old_bigrams, candidate.new)
                if reason is not None:
                    rejected[reason] += 1
                    continue
                usable[candidate.category].append(
                    SubstitutedSentence(hypothesis, candidate.category, candidate.relation, phrase, candidate.new)
                )
            if usable:
                category = self._choose(premise, start, sorted(usable))
                by_new = {substitute.new: substitute for substitute in usable[category]}
                options.append((start, by_new[self._choose(premise, start, sorted(by_new))]))
        chosen = sorted(options, key=lambda option: self._draw(premise, option[0], ""))[: self.q]
        return [substitute for _, substitute in sorted(chosen, key=lambda option: option[0])]

    def _replaceable(
        self, premise: str, sentence: Sequence[WordSpan], lowered: Sequence[str]
    ) -> Iterator[tuple[int, int, str, Sequence[ReplacementCandidate]]]:
        """Iterate over (start, length, phrase, candidates) of the longest replaceable phrases."""
        longest = max((len(phrase) for phrase in self._candidates), default=1)
        start = 0
        while start < len(sentence):
            length = 1
            for size in range(min(longest, len(sentence) - start), 0, -1):
                phrase = self._phrase(premise, sentence[start : start + size], first=start == 0)
                if phrase in self._candidates:
                    yield start, size, " ".join(phrase), self._candidates[phrase]
                    length = size
                    break
            else:
                word = sentence[start].text
                if self.more and not _is_joined(premise, sentence[start]) and (start == 0 or word == lowered[start]):
                    if more := self.more(lowered[start]):
                        yield start, 1, lowered[start], more
            start += length

    def _phrase(self, premise: str, run: Sequence[WordSpan], *, first: bool) -> tuple[str, ...]:
        """Normalize a phrase to the case of the word lists; empty if it contains a mark or is joined to a neighbour."""
        if any(word.is_mark for word in run) or _is_joined(premise, run[0]) or _is_joined(premise, run[-1]):
            return ()
        texts = tuple(word.text for word in run)
        lower = (texts[0][:1].lower() + texts[0][1:], *texts[1:])
        # A capital inside a sentence indicates a name: "the Red Sox".
        return lower if first and texts not in self._candidates else texts

    def _sentence_reason(
        self, lowered: Sequence[str], start: int, length: int, candidate: ReplacementCandidate
    ) -> str | None:
        """Check a candidate against the sentence, without corpus counts; return the reason for rejection, or None."""
        old, new = list(lowered[start : start + length]), candidate.new.lower().split()
        replaced = [*lowered[:start], *new, *lowered[start + length :]]
        if _in_fixed_phrase(lowered, start, length) or _in_fixed_phrase(replaced, start, len(new)):
            return FIXED
        if _occurrences(lowered, old) > 1:
            return REPEATED
        if _occurrences(lowered, new):
            return PRESENT
        gendered = {WordNetRelation.ANTONYM: old, WordNetRelation.HYPERNYM: new}.get(candidate.relation, ())
        if _is_gendered(gendered) and not _PRONOUNS.isdisjoint(lowered):
            return PRONOUN
        if (candidate.category in _COUNTS or _is_gendered(old)) and not _DISTINGUISHING.isdisjoint(lowered):
            return COUNTED
        after = lowered[start + length :]
        if candidate.category == "nationalities" and not (after and after[0].isalpha()):
            return NO_NOUN
        if candidate.relation is WordNetRelation.HYPERNYM:  # the new word is more specific
            # Without a determiner, the word before may form a compound with the old word: "waiting room".
            before = lowered[start - 1 : start]
            if not before or not (before[0] in _DETERMINERS or before[0].isdecimal()):
                return NO_ARTICLE
        if candidate.relation is not WordNetRelation.SYNONYM and any(
            word in _SCOPE or word.endswith(("n't", "n’t")) for word in (*lowered[:start], *after)
        ):
            return SCOPE
        if candidate.category == WORDNET_ANTONYMS and self.similarity and self.min_similarity is not None:
            similarity = self.similarity(" ".join(old), candidate.new.lower())
            if similarity is None or similarity < self.min_similarity:
                return DISSIMILAR
        return None

    def _corpus_reason(self, hypothesis: str, old_bigrams: Set[tuple[str, str]], new: str) -> str | None:
        """Check that the corpora contain the new words and new bigrams; return the reason for rejection, or None."""
        if any(word not in self.counts.words for word in split_with_boundaries(new)[1:-1]):
            return UNSEEN
        bigrams = self.bigrams or BigramCounts(self.counts.bigrams)
        new_bigrams = (pair for pair in pairwise(split_with_boundaries(hypothesis)) if pair not in old_bigrams)
        return None if all(bigrams.is_attested(pair, self.min_bigrams) for pair in new_bigrams) else UNSEEN_BIGRAM

    def _choose(self, premise: str, start: int, names: Iterable[str]) -> str:
        return min(names, key=lambda name: self._draw(premise, start, name))

    def _draw(self, premise: str, start: int, name: str) -> int:
        # A hash instead of a random stream: the draw at one position does not depend on the other positions.
        return int(rng.compute_key(self.seed, "substitution", premise, start, name))


@lru_cache(maxsize=8)  # the lists take ten milliseconds to tokenize, and copies of a substituter share them
def _map_candidates_by_phrase(
    lists: tuple[WordList, ...],
) -> Mapping[tuple[str, ...], Sequence[ReplacementCandidate]]:
    by_phrase: dict[tuple[str, ...], list[ReplacementCandidate]] = defaultdict(list)
    for group in lists:
        for old in group.old:
            by_phrase[tuple(split_phrase(old))] += [
                ReplacementCandidate(group.category, group.relation, new) for new in group.new if new != old
            ]
    return dict(by_phrase)


_GENDERED: Final = frozenset(
    "man woman men women boy girl boys girls mother father son daughter brother sister grandmother grandfather husband "
    "wife bride groom king queen male female".split()
)


def _is_gendered(old: Sequence[str]) -> bool:
    return not _GENDERED.isdisjoint(old)


def split_phrase(phrase: str) -> list[str]:
    """Split a phrase into words with `unbag.data.text.tokens.tokenize_words`."""
    return [word.text for word in tokenize_words(phrase)]


def _preposition(lowered: Sequence[str], start: int, old: str, new: str) -> dict[int, str] | None:
    """Find the preposition to change, as {position: new preposition}, perhaps empty; None if it is ambiguous.

    >>> _preposition("he sits in the kitchen".split(), 4, "kitchen", "balcony")
    {2: 'on'}
    """
    prepositions = {PREPOSITION_BY_NOUN.get(old), PREPOSITION_BY_NOUN.get(new)}
    if None in prepositions or len(prepositions) == 1:
        return {}
    near = range(max(0, start - _NEAR), start)
    ends = [place for place in near if not lowered[place][0].isalnum()]
    places = [place for place in near if lowered[place] in _OF_PLACE and place > max(ends, default=-1)]
    if not places:
        return {}
    between = lowered[places[-1] + 1 : start]
    kind = _KIND_OF.get(lowered[places[-1]])
    if len(places) > 1 or len(between) > 1 or not _DETERMINERS.issuperset(between) or kind != PREPOSITION_BY_NOUN[old]:
        return None
    return {places[0]: _OTHER_SIDE[lowered[places[0]]]}


def _replace_phrase(
    premise: str, sentence: Sequence[WordSpan], start: int, length: int, new: str, others: Mapping[int, str]
) -> str:
    """Build the sentence with a phrase and some other words replaced, preserve capitals, and adapt an article."""
    old_start, old_end = sentence[start].start, sentence[start + length - 1].end
    if start == 0 and premise[old_start].isupper():
        new = new[0].upper() + new[1:]
    head = premise[:old_start]
    if start and premise[sentence[start - 1].end : old_start] == " ":
        article = sentence[start - 1]
        head = premise[: article.start] + adapt_article(article.text, new.split()[0]) + " "
    for place, word in others.items():  # prepositions, which stand before the article
        old = sentence[place]
        word = word.capitalize() if old.text[0].isupper() else word
        head = head[: old.start] + word + head[old.end :]
    return head + new + premise[old_end:]


def _is_joined(premise: str, word: WordSpan) -> bool:
    """Check whether a hyphen, slash or apostrophe joins a word to a neighbour: "four-wheeled"."""
    return premise[word.start - 1 : word.start] in _JOINED or premise[word.end : word.end + 1] in _JOINED


def _occurrences(lowered: Sequence[str], phrase: Sequence[str]) -> int:
    size = len(phrase)
    return sum(list(lowered[i : i + size]) == list(phrase) for i in range(len(lowered) - size + 1))


def _in_fixed_phrase(lowered: Sequence[str], start: int, length: int) -> bool:
    for size in range(2, 5):
        for first in range(max(0, start + length - size), start + 1):
            if " ".join(lowered[first : first + size]) in FIXED_PHRASES:
                return True
    return False


SIMILARITY: Final = declare_float_field("similarity", 6)
SCHEMA: Final = pa.schema(
    [
        *PAIR,  # the source id is that of the example with the premise; for official pairs, their own id
        ("category", pa.string()),
        ("replaced", pa.string()),  # difference of the sentences, which may be shorter than the phrase: "living"
        ("replacement", pa.string()),
        ("relation", pa.string()),  # relation of the replaced word to the new one; null for official pairs
        ("pair_frequency", pa.int64()),  # contradiction training examples with the two words; null if not counted
        SIMILARITY,  # cosine of the two words' embeddings; null if not requested
        ("annotator_labels", pa.list_(pa.int64())),
    ]
)


def build_substitution_row(
    pair: Example, category: str, relation: WordNetRelation | None = None, source_id: str | None = None
) -> dict[str, Any]:
    """Build the columns of a pair, without word frequency and similarity. By default, the pair is its own source."""
    # Without columns of words if more than one phrase differs.
    difference = find_phrase_difference(pair.premise, pair.hypothesis)
    return {
        "id": pair.source_id,
        "source_id": source_id or pair.source_id,
        "premise": pair.premise,
        "hypothesis": pair.hypothesis,
        "label": get_label_id(pair.label),
        "category": category,
        "replaced": " ".join(difference.old) if difference else "",
        "replacement": " ".join(difference.new) if difference else "",
        "relation": relation,
        "annotator_labels": list(map(get_label_id, pair.annotators)),
    }


def generate_substitution_rows(
    examples: Iterable[Example],
    substituter: Substituter,
    rejection_counts: Counter[str],
    build_further_pairs: Callable[[str], Sequence[SubstitutedSentence]] = lambda premise: (),
) -> Iterator[dict[str, Any]]:
    """Generate rows with a replaced word from each distinct premise, as `build_substitution_row` builds them.

    The source id of a row is the id of the first example with this premise. The call adds rejected candidates by reason
    to `rejection_counts`. `build_further_pairs` builds further pairs of a premise (default: none). A hypothesis that
    the substituter generates too is used once.
    """
    for name, premise, *_ in deduplicate(examples, attrgetter("premise")):
        substitutes = substituter.substitute(premise, rejection_counts)
        hypotheses = {substitute.hypothesis for substitute in substitutes}
        substitutes += [each for each in build_further_pairs(premise) if each.hypothesis not in hypotheses]
        for number, each in enumerate(substitutes):
            pair = Example(f"{name}#{number}", premise, each.hypothesis, each.label)
            yield build_substitution_row(pair, each.category, each.relation, name)


NO_WORD = "no word to replace"
_UNLIMITED = 100  # replacements per premise, more than any premise has


def create_substituted_generator(premises: Sequence[str], substituter: Substituter) -> PairGenerator:
    """Create a generator of pairs with one replaced word, one pair per replaceable word of each distinct premise.

    The seed selects the replacements. The `seed` and `q` of the substituter have no effect.
    """

    def generate(order: Sequence[int], seed: int) -> Iterator[Candidates]:
        seeded = replace(substituter, q=_UNLIMITED, seed=seed)
        for premise in map(premises.__getitem__, order):
            yield [
                GeneratedPair(premise, each.hypothesis, each.label) for each in seeded.substitute(premise)
            ] or NO_WORD

    return PairGenerator("substituted", premises, generate, balanced=True)
