"""What WordNet offers in the place of a word: antonyms, synonyms and hypernyms, in the word's inflection."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from unbag.baselines.wordnet.database import WordNet
from unbag.baselines.wordnet.relations import Relation
from unbag.challenge_sets.perturbations.substitution import WORDNET_ANTONYMS, Candidate

_LEAST_TAGGED: Final = 5  # in the sense-tagged texts behind WordNet: fewer say nothing of which sense is the usual one
_WORD_SHARE: Final = 0.9
_SENSE_SHARE: Final = 0.7
_CLOSED: Final = frozenset("another there here one no such much".split())
"""Function words, which WordNet has as nouns or adjectives."""
_UNIVERSAL: Final = {"n": "NOUN", "v": "VERB", "a": "ADJ", "s": "ADJ", "r": "ADV"}


class WordNetCandidates:
    """Candidates from the usual sense of a word.

    A word is read only where the sense-tagged texts that come with WordNet leave little doubt: nine in ten of its
    occurrences are of one base form and part of speech, seven in ten of those of its first sense. A candidate's own
    first sense must be that sense, the antonym's or the hypernym's. So a sentence need not be understood to take them.
    Candidates are single words; hypernyms are taken of nouns only, for those of verbs want other objects.
    """

    def __init__(self, wordnet: WordNet) -> None:
        """Take WordNet.

        Raises:
            ImportError: without lemminflect.
        """
        try:
            import lemminflect
        except ImportError as error:
            raise ImportError("inflecting words needs lemminflect: pip install 'unbag[wordnet]'") from error
        self._inflections: Any = lemminflect
        self._wordnet = wordnet
        self.of = lru_cache(maxsize=1 << 16)(self._of)

    def _of(self, word: str) -> tuple[Candidate, ...]:
        """Return what may come in the place of a word in lower case."""
        usual = None if word in _CLOSED else self._usual(word)
        if usual is None:
            return ()
        base, part, sense = usual
        candidates = {}
        for category, relation, lemma in _related(base, sense):
            name = lemma.name()
            if not name.isalpha() or name != name.lower() or not self._is_usual(lemma):
                continue
            inflected = self._inflected(word, base, part, name)
            if inflected and inflected != word:
                candidates[inflected] = Candidate(category, relation, inflected)
        return tuple(candidates.values())

    def _usual(self, word: str) -> tuple[str, str, Any] | None:
        """Return the base form, part of speech and synset that a word usually has, if there is one."""
        counts: dict[tuple[str, str], list[tuple[int, Any]]] = defaultdict(list)
        for sense in self._wordnet.senses(word):
            for lemma in sense.lemmas():  # type: ignore[attr-defined]
                if lemma.name().lower() in self._wordnet.base_forms(word):
                    counts[lemma.name(), sense.pos()].append((lemma.count(), sense))  # type: ignore[attr-defined]
        total = sum(count for senses in counts.values() for count, _ in senses)
        for (base, part), senses in counts.items():
            tagged = sum(count for count, _ in senses)
            most, sense = max(senses, key=lambda counted: counted[0])
            if tagged >= _LEAST_TAGGED and tagged >= _WORD_SHARE * total and most >= _SENSE_SHARE * tagged:
                return base, part, sense
        return None

    def _is_usual(self, lemma: Any) -> bool:
        """Tell whether a lemma's synset is the first one of its name, of any part of speech."""
        senses: Sequence[Any] = self._wordnet.senses(lemma.name().replace("_", " "))
        counts = [
            (other.count(), sense) for sense in senses for other in sense.lemmas() if other.name() == lemma.name()
        ]
        return bool(counts) and max(counts, key=lambda counted: counted[0])[1] == lemma.synset()

    def _inflected(self, word: str, base: str, part: str, new: str) -> str | None:
        """Return a base form inflected as a word is; None where that is not certain."""
        tag = _UNIVERSAL[part]
        if part in "asr":
            return new if word == base else None
        tags = [name for name, forms in self._inflections.getAllInflections(base, tag).items() if word in forms]
        forms = {form for name in tags for form in self._inflections.getInflection(new, name)[:1]}
        return forms.pop() if len(forms) == 1 else None


def _related(base: str, sense: Any) -> Iterator[tuple[str, Relation, Any]]:
    """Yield category, relation of the word to it, and lemma, of all that is directly related to a sense."""
    for lemma in sense.lemmas():
        if lemma.name() == base:
            yield from ((WORDNET_ANTONYMS, Relation.ANTONYM, antonym) for antonym in lemma.antonyms())
        else:
            yield "synonyms_wordnet", Relation.SYNONYM, lemma
    for above in sense.hypernyms() if sense.pos() == "n" else ():
        yield from (("hypernyms_wordnet", Relation.HYPONYM, lemma) for lemma in above.lemmas())
