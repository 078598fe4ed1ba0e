"""Claims: declarative single-clause sentences that stay well formed in the operations of the negation set.

The checks are strict, because a claim must stay well formed with *not* after its auxiliary, with another determiner of
its subject, inside a frame such as "It is not true that …", and with a relative clause after its subject. Only a claim
with an auxiliary takes *not*: elsewhere the negation changes the form of the verb (does not sleep), and with it the
words of the premise.
"""

from collections.abc import Set
from dataclasses import replace
from typing import Final, NamedTuple

from unbag.challenge_sets.perturbations.negation_words import PEOPLE, THINGS
from unbag.data.text.grammar import NEGATIONS, decapitalize, has_matching_determiners
from unbag.data.text.parses import BE, Parse

_AUXILIARIES: Final = BE | frozenset("has have had will would".split())
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
_PRONOUNS: Final = frozenset("he she it we they you i this these".split())
_DEFINITE: Final = frozenset("the this these my your his her its our their".split())
_DETERMINERS: Final = frozenset("a an the this these my your his her its our their".split())
_NUMBERS: Final = frozenset("two three four five six seven eight nine ten".split())
_NO_COUNT: Final = frozenset(
    """majority minority number lot rest series variety couple pair group family team crowd range set mix police staff
    people data media news politics economics statistics means species goods savings clothes pants scissors percent
    audience part""".split()
)
_NO_COUNT_DEPS: Final = frozenset("det poss relcl acl conj nummod".split())
_NO_COUNT_TAGS: Final = frozenset("JJS JJR RBS NNP NNPS CD".split())
_UNIQUE: Final = frozenset("entire whole present main particular chief original own only following very".split())
"""Words of a subject that names one thing."""


class Claim(NamedTuple):
    """A declarative sentence with one clause, and the positions of its subject and verb."""

    parse: Parse
    noun: int  # position of the head of the subject
    finite: int  # position of the finite verb, which may be an auxiliary
    verb: int  # position of the main verb; equal to `finite` without an auxiliary

    def text(self, *, is_negated: bool = False) -> str:
        """Build the sentence, optionally with *not* after the auxiliary."""
        return self._join(0, is_negated=is_negated)

    def decapitalized_text(self, *, is_negated: bool = False) -> str:
        """Build the sentence with a lower-case first letter, for use inside a longer sentence."""
        first = decapitalize(self.parse.words[0], self.parse.pos[0])
        return self._join(0, first=first, is_negated=is_negated)

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
        start = int(parse.deps[0] in ("det", "poss", "nummod"))
        words, inner = parse.lower_words[: self.finite], slice(start, self.finite)
        is_unfit = (
            parse.tags[noun] not in ("NN", "NNS")
            or parse.lemmas[noun].lower() in _NO_COUNT
            or not _NO_COUNT_DEPS.isdisjoint(parse.deps[inner])
            or not _NO_COUNT_TAGS.isdisjoint(parse.tags[inner])
            or not _UNIQUE.isdisjoint(words)
            or "of" in words
            or parse.has_child(self.verb, "attr")
            or (start and words[0] not in _DETERMINERS | _NUMBERS)
        )
        if is_unfit or not (self.is_plural or words[0] in ("a", "an") or (start and self.relative_pronoun)):
            return None
        # The first word of the sentence has a capital that it loses after a determiner.
        first = parse.words[start] if start else decapitalize(parse.words[start], parse.pos[start])
        return self._join(start, self.finite, first=first)

    @property
    def is_single_noun_subject(self) -> bool:
        """Whether the subject is a single noun, with or without a determiner."""
        return self.noun == self.finite - 1 == int(self.parse.deps[0] in ("det", "poss", "nummod"))

    def _join(self, start: int, stop: int | None = None, *, first: str | None = None, is_negated: bool = False) -> str:
        words = {} if first is None else {start: first}
        if is_negated:
            words[self.finite] = words.get(self.finite, self.parse.words[self.finite]) + " not"
        return self.parse.join(range(len(self.parse.words))[start:stop], words).rstrip()


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
    noun, auxiliary = parse.child(verb, "nsubj", "nsubjpass"), parse.child(verb, "aux", "auxpass")
    finite = verb if auxiliary is None else auxiliary
    return Claim(parse, noun, finite, verb) if noun is not None and parse.subtree(noun) == [*range(finite)] else None


def parse_claim(parse: Parse) -> Claim | None:
    """Parse a sentence as a claim. Return None if it is not a claim. A missing full stop is added."""
    parse = _with_full_stop(parse)
    words = parse.lower_words
    if len(words) not in _LENGTH or words[-1] != "." or parse.spaces[-2] or not parse.words[0].istitle():
        return None
    if not all(word == "'s" or word.replace("-", "").replace(",", "").isalnum() for word in words[:-1]):
        return None
    for i, dep in enumerate(parse.deps):
        if dep == "det" and parse.pos[i - 1] in ("ADJ", "DET"):
            return None  # "a simple a symmetrical design": a sentence with an error
        # "an old and dirty house" stays well formed under a negation; "sings and dances" does not.
        if dep == "conj" and parse.deps[parse.heads[i]] not in ("pobj", "dobj"):
            return None
    claim = find_single_clause(parse, _EXCLUDED_WORDS, _OTHER_CLAUSES, _MARKS)
    if claim is None or sum(parse.deps[i] in ("nsubj", "nsubjpass") for i in parse.children(claim.verb)) > 1:
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
    if parse.tags[noun] == "NN" and not parse.has_child(noun, "det", "poss"):
        return not is_plural_verb and claim.has_auxiliary  # a noun without a determiner may be a misread verb
    return not (is_singular_verb if parse.tags[noun] == "NNS" else is_plural_verb)


def _has_predicate(claim: Claim) -> bool:
    parse, finite, verb = claim.parse, claim.finite, claim.verb
    # "was clearly seen": a negation may be placed before or after the adverb, with two meanings.
    if parse.deps[finite + 1] == "advmod" and parse.heads[finite + 1] == verb:
        return False
    if verb == finite and claim.has_auxiliary:
        # Without a complement the clause is cut ("He was.") or speaks of existence ("God is.").
        return parse.lower_words[verb] in BE and parse.has_child(verb, "attr", "acomp", "prep", "agent")
    if verb == finite:
        return parse.pos[verb] == "VERB" and parse.tags[verb] in ("VBZ", "VBP", "VBD")
    return claim.has_auxiliary and parse.pos[verb] in ("VERB", "AUX") and parse.tags[verb] in ("VB", "VBG", "VBN")
