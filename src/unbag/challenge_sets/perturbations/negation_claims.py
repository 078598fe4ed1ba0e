"""Claims: declarative single-clause sentences that stay well formed in the operations of the negation set.

The checks are strict, because a claim must stay well formed with *not* after its auxiliary, with another determiner of
its subject, inside a frame such as "It is not true that …", and with a relative clause after its subject. Only a claim
with an auxiliary takes *not*: elsewhere the negation changes the form of the verb (does not sleep), and with it the
words of the premise.
"""

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Final, NamedTuple

from unbag.challenge_sets.perturbations.negation_words import PEOPLE, THINGS
from unbag.data.text.grammar import NEGATIONS, decapitalize, has_matching_determiners
from unbag.data.text.parses import Parse

_BE: Final = frozenset("is are was were".split())
_AUXILIARIES: Final = _BE | frozenset("has have had will would".split())
_PAST: Final = frozenset("was were had would".split())

_EXCLUDED_WORDS: Final = NEGATIONS | frozenset(
    """without only except but or if unless than all every each everyone everybody everything someone somebody something
    both few many much any anything anyone other another others either several else too also still just almost nearly
    even yet already ever always often usually sometimes rarely seldom again anymore perhaps maybe probably certainly
    instead indeed however therefore thus then now so because although though while whereas such together supposed half
    about uh um yeah okay ok oh huh mhm hum well like""".split()
)
"""Words that may change the meaning of a negation or of a quantifier, point to another sentence, or show speech."""
_OTHER_CLAUSES: Final = frozenset(
    "advcl appos ccomp csubj csubjpass dep expl intj meta mark parataxis preconj predet quantmod".split()
)
_MARKS: Final = frozenset({"PUNCT", "SPACE", "SYM", "X", "INTJ"})
_LENGTH: Final = range(4, 23)  # tokens, with the full stop
_SUBJECTS: Final = ("nsubj", "nsubjpass")
_PRONOUNS: Final = frozenset("he she it we they you i this these".split())
_DEFINITE: Final = frozenset("the this these my your his her its our their".split())
_DETERMINERS: Final = frozenset("a an the this these my your his her its our their".split())
_NUMBERS: Final = frozenset("two three four five six seven eight nine ten".split())
_NO_COUNT: Final = frozenset(
    """majority minority number lot rest series variety couple pair group family team crowd range set mix police staff
    people data media news politics economics statistics means species goods savings clothes pants scissors percent
    audience part""".split()
)
_UNIQUE: Final = frozenset("entire whole present main particular chief original own only following very".split())
"""Words of a subject that names one thing."""
_OBJECTS: Final = ("pobj", "dobj")
_COMPLEMENTS: Final = ("attr", "acomp", "prep", "agent")


class Claim(NamedTuple):
    """A declarative sentence with one clause, and the positions of its subject and verb."""

    parse: Parse
    noun: int  # position of the head of the subject
    finite: int  # position of the finite verb, which may be an auxiliary
    verb: int  # position of the main verb; equal to `finite` without an auxiliary

    def text(self, *, is_negated: bool = False, changed: Mapping[int, str] | None = None) -> str:
        """Build the sentence, optionally with *not* after the auxiliary and with replaced words."""
        return self._join(0, is_negated=is_negated, changed=changed)

    def decapitalized_text(self, *, is_negated: bool = False) -> str:
        """Build the sentence with a lower-case first letter, for use inside a longer sentence."""
        first = decapitalize(self.parse.words[0], self.parse.pos[0])
        return self._join(0, is_negated=is_negated, changed={0: first})

    @property
    def subject(self) -> str:
        """Text of the subject."""
        return self.parse.text(0, self.finite)

    def predicate(self, *, is_negated: bool = False) -> str:
        """Build the part of the sentence after the subject, including the full stop."""
        return self._join(self.finite, is_negated=is_negated)

    @property
    def has_auxiliary(self) -> bool:
        """Whether the finite verb is an auxiliary or a copula, after which *not* negates the claim."""
        return self.parse.lower_words[self.finite] in _AUXILIARIES and self.parse.pos[self.finite] == "AUX"

    @property
    def is_past(self) -> bool:
        """Whether the finite verb is in the past tense."""
        return self.parse.lower_words[self.finite] in _PAST or self.parse.tags[self.finite] == "VBD"

    @property
    def is_plural(self) -> bool:
        """Whether the subject is a plural noun."""
        return self.parse.tags[self.noun] in ("NNS", "NNPS")

    @property
    def is_definite(self) -> bool:
        """Whether the subject denotes one definite thing or group. Inserting *not* then negates the whole claim."""
        if self.parse.pos[self.noun] in ("PROPN", "PRON"):
            return True
        return self.parse.lower_words[0] in _DEFINITE

    @property
    def is_anaphoric(self) -> bool:
        """Whether the subject is a pronoun that may refer to the previous sentence."""
        return self.parse.lower_words[0] in ("it", "they", "this", "these") and self.noun == 0

    @property
    def relative_pronoun(self) -> str | None:
        """Relative pronoun for the subject: *who* for people, *which* for things. None for other subjects."""
        lemma = self.parse.lemmas[self.noun].lower()
        if self.parse.tags[self.noun] not in ("NN", "NNS"):
            return None
        return "who" if lemma in PEOPLE else "which" if lemma in THINGS else None

    @property
    def lemmas(self) -> list[str]:
        """Lemmas of the subject (if it is a noun) and of the verb (if it is not a copula)."""
        is_noun = self.parse.pos[self.noun] in ("NOUN", "PROPN")
        is_copula = self.verb == self.finite and self.has_auxiliary
        places = [self.noun] * is_noun + [self.verb] * (not is_copula)
        return [self.parse.lemmas[i].lower() for i in places]

    @property
    def countable_subject(self) -> str | None:
        """Subject without its determiner. None if the determiner cannot be replaced with another quantifier.

        A singular noun can be counted if it has an indefinite article, or if it is in a list.
        """
        parse, noun = self.parse, self.noun
        places = range(self.finite)
        start = int(parse.deps[0] in ("det", "poss", "nummod"))
        if parse.tags[noun] not in ("NN", "NNS") or parse.lemmas[noun].lower() in _NO_COUNT:
            return None
        if any(parse.deps[i] in ("det", "poss", "relcl", "acl", "conj", "nummod") for i in places[start:]):
            return None
        if not _UNIQUE.isdisjoint(parse.lower_words[: self.finite]):
            return None
        if not {"JJS", "JJR", "RBS", "NNP", "NNPS", "CD"}.isdisjoint(parse.tags[start : self.finite]):
            return None
        if any(parse.deps[i] == "attr" for i in parse.children(self.verb)) or "of" in parse.lower_words[: self.finite]:
            return None
        if start and parse.lower_words[0] not in _DETERMINERS | _NUMBERS:
            return None
        if not self.is_plural and parse.lower_words[0] not in ("a", "an") and not (start and self.relative_pronoun):
            return None
        # The first word of the sentence has a capital that it loses after a determiner.
        first = parse.words[start] if start else decapitalize(parse.words[start], parse.pos[start])
        return self._join(start, self.finite, changed={start: first})

    @property
    def is_single_noun_subject(self) -> bool:
        """Whether the subject is a single noun, with or without a determiner."""
        return self.noun == self.finite - 1 == int(self.parse.deps[0] in ("det", "poss", "nummod"))

    def _join(
        self,
        start: int,
        stop: int | None = None,
        *,
        is_negated: bool = False,
        changed: Mapping[int, str] | None = None,
    ) -> str:
        words = dict(changed or {})
        if is_negated:
            words[self.finite] = words.get(self.finite, self.parse.words[self.finite]) + " not"
        return self.parse.join(range(start, len(self.parse.words) if stop is None else stop), words).rstrip()


def find_single_clause(
    parse: Parse, excluded_words: Set[str], other_clauses: Set[str], marks: Set[str]
) -> Claim | None:
    """Find the subject and the verb of a sentence with one clause, whose verb follows its subject.

    Return None for other sentences, and for those with an excluded word, a dependency of another clause, or a token
    other than the full stop whose POS tag is that of a mark.
    """
    words = parse.lower_words
    if parse.deps.count("ROOT") != 1 or not has_matching_determiners(parse):
        return None
    if not excluded_words.isdisjoint(words) or not other_clauses.isdisjoint(parse.deps):
        return None
    if not marks.isdisjoint(parse.pos[: len(words) - (words[-1] == ".")]):
        return None
    verb = parse.deps.index("ROOT")
    noun = next((i for i in parse.children(verb) if parse.deps[i] in _SUBJECTS), None)
    finite = next((i for i in parse.children(verb) if parse.deps[i] in ("aux", "auxpass")), verb)
    if noun is None or parse.subtree(noun) != list(range(finite)):
        return None
    return Claim(parse, noun, finite, verb)


def parse_claim(parse: Parse) -> Claim | None:
    """Parse a sentence as a claim. Return None if it is not a claim. A missing full stop is added."""
    parse = _with_full_stop(parse)
    words = parse.lower_words
    if len(words) not in _LENGTH or words[-1] != ".":
        return None
    if parse.spaces[-2] or any(dep == "det" and parse.pos[i - 1] in ("ADJ", "DET") for i, dep in enumerate(parse.deps)):
        return None  # "a simple a symmetrical design": a sentence with an error
    if not all(word == "'s" or word.replace("-", "").replace(",", "").isalnum() for word in words[:-1]):
        return None
    if not parse.words[0].istitle():
        return None
    # "an old and dirty house" stays well formed under a negation; "sings and dances" does not.
    if any(dep == "conj" and parse.deps[parse.heads[i]] not in _OBJECTS for i, dep in enumerate(parse.deps)):
        return None
    claim = find_single_clause(parse, _EXCLUDED_WORDS, _OTHER_CLAUSES, _MARKS)
    if claim is None or sum(parse.deps[i] in _SUBJECTS for i in parse.children(claim.verb)) > 1:
        return None
    return claim if _has_subject(claim) and _has_predicate(claim) else None


def _with_full_stop(parse: Parse) -> Parse:
    if not parse.words or parse.pos[-1] == "PUNCT" or "ROOT" not in parse.deps:
        return parse
    last, root = len(parse.words), parse.deps.index("ROOT")
    joined = replace(parse, spaces=(*parse.spaces[:-1], False))
    return joined.splice(last, last, (".", False, ".", "PUNCT", ".", root, "punct"))


def _has_subject(claim: Claim) -> bool:
    parse, noun = claim.parse, claim.noun
    if parse.pos[noun] == "PRON":
        return noun == 0 and parse.lower_words[0] in _PRONOUNS
    if parse.tags[noun] not in ("NN", "NNS", "NNP", "NNPS") or "CCONJ" in parse.pos[: claim.finite]:
        return False
    is_singular_verb = parse.tags[claim.finite] == "VBZ" or parse.lower_words[claim.finite] == "was"
    is_plural_verb = parse.tags[claim.finite] == "VBP" or parse.lower_words[claim.finite] == "were"
    if parse.tags[noun] == "NN" and not any(parse.deps[i] in ("det", "poss") for i in parse.children(noun)):
        return not is_plural_verb and claim.has_auxiliary  # a noun without a determiner may be a misread verb
    return not (is_singular_verb if parse.tags[noun] == "NNS" else is_plural_verb)


def _has_predicate(claim: Claim) -> bool:
    parse, finite, verb = claim.parse, claim.finite, claim.verb
    # "was clearly seen": a negation may be placed before or after the adverb, with two meanings.
    if parse.deps[finite + 1] == "advmod" and parse.heads[finite + 1] == verb:
        return False
    if verb == finite and claim.has_auxiliary:
        # Without a complement the clause is cut ("He was.") or speaks of existence ("God is.").
        return parse.lower_words[verb] in _BE and any(parse.deps[i] in _COMPLEMENTS for i in parse.children(verb))
    if verb == finite:
        return parse.pos[verb] == "VERB" and parse.tags[verb] in ("VBZ", "VBP", "VBD")
    return claim.has_auxiliary and parse.pos[verb] in ("VERB", "AUX") and parse.tags[verb] in ("VB", "VBG", "VBN")
