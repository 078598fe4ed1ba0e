"""SOSwap: a premise whose subject and object change places (Nie et al. 2019, section 3.1).

"A dog chases two cats." becomes "Two cats chase a dog.", which contradicts it.

Which sentences: those with an active clause whose verb has a subject and a *direct* object. The paper asks for "a
subject-verb-object structure" and speaks of no other object, so objects of prepositions do not count, nor do the
participles of captions that are noun phrases, which have no subject ("A man with a hat riding a horse"). The clause is
the sentence's root, or a verb coordinated with it or an open complement of either (which share its subject where they
have none of their own, as in the Stanford dependencies that the paper used), or else a clause after as, while or when.

What moves: both phrases whole, with determiners, adjectives, prepositional phrases, relative clauses and coordinated
nouns, as the parser attaches them. What follows an object and may be the verb's as well stays where it is, which reads
well whosever it is (carries | a ball | in its mouth). What is repaired: the verb's number and that of verbs coordinated
with it, the case of personal pronouns, the capital at the start. Nothing else changes, so both sentences have the same
words up to inflection and case.

What is left out, beside other structures: `SoswapExclusion`, the first of which a premise meets is its reason. Much of it is
misread by the parser and would come out broken: an object that is a preposition's (walks down the road), a verb that
does not agree with its subject, a phrase that goes on after its end. Some are left out since the swapped sentence need
not contradict: verbs that hold both ways (meet), or may (watch, hold, of people), phrases of the same words, negation,
modals. And some since the object is no other participant, so that swapped they mean nothing: what is played, given, had
or taken (a game, a speech, a nap) and parts of the body.
"""

from typing import NamedTuple

from unbag.challenge_sets.perturbations.soswap.checks import check_phrases, check_verb
from unbag.challenge_sets.perturbations.soswap.clause import SoswapExclusion, find_clause
from unbag.challenge_sets.perturbations.soswap.phrases import (
    conjugate_finite,
    finite_verb,
    object_span,
    person_of,
    subject_span,
)
from unbag.data.text.grammar import capitalize, decapitalize, determiners_fit
from unbag.data.text.parses import OBJECTIVE, SUBJECTIVE, Parse


class Swap(NamedTuple):
    """A swapped sentence.

    Attributes:
        hypothesis: the sentence.
        subject: the phrase that was the premise's subject, as it stands there.
        object: likewise the object.
        repaired: whether a verb's number or a pronoun's case was changed.
    """

    hypothesis: str
    subject: str
    object: str
    repaired: bool


def soswap(parse: Parse) -> Swap | SoswapExclusion:
    """Swap subject and object of a sentence, or say why not."""
    if parse.words and parse.words[-1] == "?":
        return SoswapExclusion.QUESTION
    clause = find_clause(parse)
    if isinstance(clause, SoswapExclusion):
        return clause
    if not determiners_fit(parse):
        return SoswapExclusion.DETERMINER
    subject = subject_span(parse, clause)
    if isinstance(subject, SoswapExclusion):
        return subject
    object_ = object_span(parse, clause)
    if isinstance(object_, SoswapExclusion):
        return object_
    if refusal := check_verb(parse, clause, subject, object_) or check_phrases(parse, clause, subject, object_):
        return refusal
    words = list(parse.words)
    person = person_of(parse, clause.object, object_)
    for verb in clause.verbs:
        finite = finite_verb(parse, verb)
        if finite is not None:
            words[finite] = conjugate_finite(parse, finite, person)
    _change_case(words, clause.subject, subject, OBJECTIVE)
    _change_case(words, clause.object, object_, SUBJECTIVE)
    repaired = words != list(parse.words)
    first = parse.first_word
    if subject.start == first and parse.words[first][:1].isupper():
        words[first] = decapitalize(words[first], parse.pos[first])
        words[object_.start] = capitalize(words[object_.start])
    order = [
        *range(subject.start),
        *object_,
        *range(subject.stop, object_.start),
        *subject,
        *range(object_.stop, len(words)),
    ]
    spaces = list(parse.spaces)
    # The space after a phrase belongs to its place, not to it.
    spaces[subject.stop - 1], spaces[object_.stop - 1] = spaces[object_.stop - 1], spaces[subject.stop - 1]
    return Swap(
        hypothesis="".join(words[i] + " " * spaces[i] for i in order),
        subject=parse.text(subject.start, subject.stop),
        object=parse.text(object_.start, object_.stop),
        repaired=repaired,
    )


def swap_lemmas(parse: Parse) -> tuple[str, ...]:
    """Return the lemmas of what a swap is made with: the verb, and subject and object where they are nouns."""
    clause = find_clause(parse)
    if isinstance(clause, SoswapExclusion):
        return ()
    nouns = [i for i in (clause.subject, clause.object) if parse.pos[i] in ("NOUN", "PROPN")]
    return tuple(parse.lemmas[i].lower() for i in (clause.verb, *nouns))


def _change_case(words: list[str], head: int, span: range, cases: dict[str, str]) -> None:
    if len(span) == 1:
        word = words[head] if words[head] == "I" else words[head].lower()
        words[head] = cases.get(word, words[head])
