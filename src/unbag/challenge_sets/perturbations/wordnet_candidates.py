"""Word replacements from WordNet: antonyms, synonyms and hypernyms, with the inflection of the word."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from unbag.baselines.wordnet.database import WordNet
from unbag.baselines.wordnet.relations import WordNetRelation
from unbag.challenge_sets.perturbations.substitution import WORDNET_ANTONYMS, ReplacementCandidate

# Occurrences in the sense-tagged texts of WordNet. Fewer occurrences do not show which sense is the usual one.
_MIN_TAGGED: Final = 5
_MIN_WORD_SHARE: Final = 0.9  # of the occurrences of a word, those of one base form and part of speech
_MIN_SENSE_SHARE: Final = 0.7  # of these occurrences, those of the first sense
_CLOSED: Final = frozenset("another there here one no such much".split())
"""Function words that WordNet lists as nouns or adjectives."""
_UNIVERSAL: Final = {"n": "NOUN", "v": "VERB", "a": "ADJ", "s": "ADJ", "r": "ADV"}


class WordNetCandidates:
    """Source of replacement candidates from the most frequent WordNet sense of a word.

    A word has candidates only if its usual sense is clear in the sense-tagged texts of WordNet. That means that nine in
    ten of its occurrences have one base form and part of speech, and seven in ten of those have the first sense. The
    first sense of a candidate must be the word's sense, or the sense of its antonym or hypernym. Under these
    conditions, the operator needs no word sense disambiguation. Candidates are single words. Only nouns have hypernyms
    as candidates, because hypernyms of verbs take other objects.
    """

    def __init__(self, wordnet: WordNet) -> None:
        """Initialize the source of candidates with an open WordNet."""
        import lemminflect

        self._inflections: Any = lemminflect
        self._wordnet = wordnet
        self.get_candidates = lru_cache(maxsize=1 << 16)(self._get_candidates)

    def _get_candidates(self, word: str) -> tuple[ReplacementCandidate, ...]:
        """Look up the possible replacements of a lower-case word."""
        usual = None if word in _CLOSED else self._usual(word)
        if usual is None:
            return ()
        base, part, sense = usual
        candidates = {}
        for category, relation, lemma in _related(base, sense):
            name = lemma.name()
            if not name.isalpha() or name != name.lower() or not self._is_usual(lemma):
                continue
            inflected = self._inflect(word, base, part, name)
            if inflected and inflected != word:
                candidates[inflected] = ReplacementCandidate(category, relation, inflected)
        return tuple(candidates.values())

    def _usual(self, word: str) -> tuple[str, str, Any] | None:
        """Find the usual base form, part of speech and synset of a word; None if no reading dominates."""
        counts: dict[tuple[str, str], list[tuple[int, Any]]] = defaultdict(list)
        for sense in self._wordnet.senses(word):
            for lemma in sense.lemmas():  # type: ignore[attr-defined]
                if lemma.name().lower() in self._wordnet.base_forms(word):
                    counts[lemma.name(), sense.pos()].append((lemma.count(), sense))  # type: ignore[attr-defined]
        total = sum(count for senses in counts.values() for count, _ in senses)
        for (base, part), senses in counts.items():
            tagged = sum(count for count, _ in senses)
            most, sense = max(senses, key=lambda counted: counted[0])
            if tagged >= _MIN_TAGGED and tagged >= _MIN_WORD_SHARE * total and most >= _MIN_SENSE_SHARE * tagged:
                return base, part, sense
        return None

    def _is_usual(self, lemma: Any) -> bool:
        """Check whether a lemma's synset is the most frequent one of its name, over all parts of speech."""
        senses: Sequence[Any] = self._wordnet.senses(lemma.name().replace("_", " "))
        counts = [
            (other.count(), sense) for sense in senses for other in sense.lemmas() if other.name() == lemma.name()
        ]
        return bool(counts) and max(counts, key=lambda counted: counted[0])[1] == lemma.synset()

    def _inflect(self, word: str, base: str, part: str, new: str) -> str | None:
        """Inflect a new base form like a given word; None if the inflection is ambiguous."""
        tag = _UNIVERSAL[part]
        if part in "asr":
            return new if word == base else None
        tags = [name for name, forms in self._inflections.getAllInflections(base, tag).items() if word in forms]
        forms = {form for name in tags for form in self._inflections.getInflection(new, name)[:1]}
        return forms.pop() if len(forms) == 1 else None


def _related(base: str, sense: Any) -> Iterator[tuple[str, WordNetRelation, Any]]:
    """Iterate over (category, relation of the word to the lemma, lemma) of the lemmas directly related to a sense."""
    for lemma in sense.lemmas():
        if lemma.name() == base:
            yield from ((WORDNET_ANTONYMS, WordNetRelation.ANTONYM, antonym) for antonym in lemma.antonyms())
        else:
            yield "synonyms_wordnet", WordNetRelation.SYNONYM, lemma
    for above in sense.hypernyms() if sense.pos() == "n" else ():
        yield from (("hypernyms_wordnet", WordNetRelation.HYPONYM, lemma) for lemma in above.lemmas())
