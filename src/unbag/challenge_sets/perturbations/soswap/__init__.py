"""SOSwap: exchange of the subject and object of a premise (Nie et al. 2019, section 3.1).

"A dog chases two cats." becomes "Two cats chase a dog.", which contradicts the premise.

Sentences. The premise needs an active clause whose verb has a subject and a *direct* object. The paper requires "a
subject-verb-object structure" and mentions no other object, so objects of prepositions do not count. Participles in
captions that are noun phrases do not count either, because they have no subject ("A man with a hat riding a horse").
The verb of the clause is the root, a verb coordinated with the root, or an open complement of either. Verbs without
their own subject share the root's subject, as in the Stanford dependencies that the paper used. Otherwise, the clause
is one after as, while or when.

Changes. Both phrases move as a whole, with determiners, adjectives, prepositional phrases, relative clauses and
coordinated nouns, as the parser attaches them. A phrase after the object that may also belong to the verb stays in
place, which is grammatical for both attachments (carries | a ball | in its mouth). The operator then corrects the
number of the verb and of verbs coordinated with it, the case of personal pronouns, and the capital at the start.
Nothing else changes, so both sentences have the same words up to inflection and case.

Exclusions. `SoswapExclusionReason` lists the reasons; the reported one is the first that applies. There are four
groups:

- Sentences that the parser probably misread, so that the result would be ungrammatical: an object that belongs to a
  preposition (walks down the road), a verb that does not agree with its subject, an incomplete phrase.
- Sentences whose swapped form need not contradict: verbs whose relation holds in both directions (meet), or may (watch,
  hold, between people), phrases of the same words, negation, modals.
- In a user's own text, sentences on which longer phrases fail more often (`checks`).
- Sentences whose object is not a second participant, so that the swapped form has no meaning: objects that are played,
  given, had or taken (a game, a speech, a nap), and parts of the body.
"""

from dataclasses import replace
from typing import NamedTuple

from unbag.challenge_sets.perturbations.soswap.checks import (
    find_phrase_exclusion_reason,
    find_verb_exclusion_reason,
    find_written_text_exclusion_reason,
)
from unbag.challenge_sets.perturbations.soswap.clause import (
    SoswapExclusionReason,
    conjugate_finite_verb,
    determine_person,
    find_clause,
    find_finite_verb,
    find_object_span,
    find_subject_span,
)
from unbag.data.text.grammar import capitalize, decapitalize, has_matching_determiners
from unbag.data.text.parses import OBJECTIVE, SUBJECTIVE, Parse


class SwappedSentence(NamedTuple):
    """A sentence with subject and object swapped."""

    hypothesis: str
    subject: str  # subject phrase of the premise, as written
    object: str  # object phrase of the premise, as written
    repaired: bool  # whether the number of a verb or the case of a pronoun changed
    lemmas: tuple[str, ...]  # lemmas of the verb and, if they are nouns, of subject and object


def swap_subject_and_object(parse: Parse, *, is_written_text: bool = False) -> SwappedSentence | SoswapExclusionReason:
    """Swap the subject and object of a sentence, or return the reason why this is not possible.

    Further criteria apply to written text (default: only those for captions).
    """
    if parse.words and parse.words[-1] == "?":
        return SoswapExclusionReason.QUESTION
    clause = find_clause(parse)
    if isinstance(clause, SoswapExclusionReason):
        return clause
    if not has_matching_determiners(parse):
        return SoswapExclusionReason.DETERMINER
    subject = find_subject_span(parse, clause)
    if isinstance(subject, SoswapExclusionReason):
        return subject
    object_ = find_object_span(parse, clause)
    if isinstance(object_, SoswapExclusionReason):
        return object_
    if reason := find_verb_exclusion_reason(parse, clause, subject, object_) or find_phrase_exclusion_reason(
        parse, clause, subject, object_
    ):
        return reason
    if is_written_text and (reason := find_written_text_exclusion_reason(parse, clause, subject, object_)):
        return reason
    words = list(parse.words)
    person = determine_person(parse, clause.object, object_)
    for verb in clause.verbs:
        finite = find_finite_verb(parse, verb)
        if finite is not None:
            words[finite] = conjugate_finite_verb(parse, finite, person)
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
    # The space after a phrase belongs to its position: a phrase before a full stop has no space, wherever it came from.
    spaces[subject.stop - 1], spaces[object_.stop - 1] = spaces[object_.stop - 1], spaces[subject.stop - 1]
    return SwappedSentence(
        hypothesis=replace(parse, words=tuple(words), spaces=tuple(spaces)).join(order),
        subject=parse.text(subject.start, subject.stop),
        object=parse.text(object_.start, object_.stop),
        repaired=repaired,
        lemmas=tuple(
            parse.lemmas[i].lower()
            for i in (clause.verb, clause.subject, clause.object)
            if i == clause.verb or parse.pos[i] in ("NOUN", "PROPN")
        ),
    )


def _change_case(words: list[str], head: int, span: range, cases: dict[str, str]) -> None:
    if len(span) == 1:
        word = words[head] if words[head] == "I" else words[head].lower()
        words[head] = cases.get(word, words[head])
