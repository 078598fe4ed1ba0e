"""SOSwap: exchange of the subject and object of a premise (Nie et al. 2019, section 3.1).

"A dog chases two cats." becomes "Two cats chase a dog.", which contradicts the premise. Both phrases move as a whole.
The operator then corrects the number of the verb and of verbs coordinated with it, the case of personal pronouns, and
the capital at the start, so that both sentences have the same words up to inflection and case. The card of the set
describes which sentences are excluded.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from unbag.challenge_sets.perturbations.clauses import (
    ATTACHED,
    BROKEN,
    DETERMINER,
    DISAGREES,
    EXPLETIVE,
    LATER_VERB,
    NO_HEAD,
    PERSONAL,
    PUNCTUATED,
    ExcludedSentence,
    TransitiveClause,
    determine_person,
    exclude_if,
    find_clause,
    find_finite_verb,
    find_object_span,
    find_subject_span,
    has_number_agreement,
    is_animate,
    is_body_part_preposition,
)
from unbag.data.text.grammar import (
    BODY_PARTS,
    DIRECTIONS,
    HAPPENINGS,
    IDIOMS,
    MOTION,
    MUTUAL,
    NEGATIONS,
    SPORTS,
    SYMMETRIC,
    UNCOUNTED,
    WITHOUT_TOOL,
    capitalize,
    decapitalize,
    has_matching_determiners,
)
from unbag.data.text.parses import OBJECTIVE, SUBJECTIVE, Parse, conjugate_verb

_QUESTION: Final = "a question"
_PRONOUN: Final = "a pronoun that cannot move"
_REFLEXIVE: Final = "a reflexive or reciprocal"
_NEGATED: Final = "a negation"
_BARE: Final = "a phrase that lacks its determiner"
_HAPPENING: Final = "an object that is not a thing (play a game, take a nap)"
_TWO_OBJECTS: Final = "an indirect object before the direct one"


class SwappedSentence(NamedTuple):
    """A sentence with subject and object swapped."""

    hypothesis: str
    subject: str  # subject phrase of the premise, as written
    object: str  # object phrase of the premise, as written
    repaired: bool  # whether the number of a verb or the case of a pronoun changed
    lemmas: tuple[str, ...]  # lemmas of the verb and, if they are nouns, of subject and object


def swap_subject_and_object(parse: Parse, *, is_written_text: bool = False) -> SwappedSentence | str:
    """Swap the subject and object of a sentence, or return the reason why this is not possible.

    Further criteria apply to written text (default: only those for captions).
    """
    try:
        exclude_if(parse.words and parse.words[-1] == "?", _QUESTION)
        clause = find_clause(parse)
        exclude_if(not has_matching_determiners(parse), DETERMINER)
        subject, object_ = find_subject_span(parse, clause), find_object_span(parse, clause)
        _check_verb(parse, clause, subject, object_)
        _check_phrases(parse, clause, subject, object_)
        if is_written_text:
            _check_written_text(parse, clause, subject, object_)
    except ExcludedSentence as reason:
        return str(reason)
    words = list(parse.words)
    person = determine_person(parse, clause.object, object_)
    for finite in _find_finite_verbs(parse, clause):
        is_third = parse.tags[finite] == "VBZ"
        words[finite] = conjugate_verb(words[finite], parse.lemmas[finite].lower(), person, is_third_person=is_third)
    for head, span, cases in ((clause.subject, subject, OBJECTIVE), (clause.object, object_, SUBJECTIVE)):
        if len(span) == 1:
            words[head] = cases.get(words[head] if words[head] == "I" else words[head].lower(), words[head])
    repaired = words != list(parse.words)
    first = parse.first_word
    if subject.start == first and parse.words[first][:1].isupper():
        words[first] = decapitalize(words[first], parse.pos[first])
        words[object_.start] = capitalize(words[object_.start])
    between, after = range(subject.stop, object_.start), range(object_.stop, len(words))
    spaces = list(parse.spaces)
    # The space after a phrase belongs to its position: a phrase before a full stop has no space, wherever it came from.
    spaces[subject.stop - 1], spaces[object_.stop - 1] = spaces[object_.stop - 1], spaces[subject.stop - 1]
    changed = replace(parse, words=tuple(words), spaces=tuple(spaces))
    nouns = [i for i in (clause.subject, clause.object) if parse.pos[i] in ("NOUN", "PROPN")]
    return SwappedSentence(
        hypothesis=changed.join([*range(subject.start), *object_, *between, *subject, *after]),
        subject=parse.text(subject.start, subject.stop),
        object=parse.text(object_.start, object_.stop),
        repaired=repaired,
        lemmas=tuple(parse.lemmas[i].lower() for i in (clause.verb, *nouns)),
    )


def _find_finite_verbs(parse: Parse, clause: TransitiveClause) -> list[int]:
    return [finite for verb in clause.verbs if (finite := find_finite_verb(parse, verb)) is not None]


def _check_verb(parse: Parse, clause: TransitiveClause, subject: range, object_: range) -> None:
    """Exclude a clause because of its verb."""
    bearer, lemma = clause.verbs[0], parse.lemmas[clause.verb].lower()
    # Only auxiliaries and adverbs may stand between a subject and its verb. An auxiliary before the subject makes a
    # question.
    exclude_if(not subject.stop <= bearer <= clause.verb < object_.start, BROKEN)
    exclude_if(any(parse.pos[i] not in ("AUX", "ADV", "PART") for i in range(subject.stop, bearer)), BROKEN)
    # The noun that the parser reads as an object may be a place: walks down a road, gets out of a van. After verbs of
    # motion, a particle is a preposition. After other verbs, the particle belongs to the verb (picks up a box).
    directions = [i for i in range(clause.verb + 1, object_.start + 1) if parse.lower_words[i] in DIRECTIONS]
    is_place = any(lemma in MOTION or parse.deps[i] != "prt" for i in directions)
    exclude_if(is_place, "an object that belongs to a preposition (walks down the road)")
    auxiliaries = [i for i in parse.children(bearer) if parse.deps[i] == "aux"]
    exclude_if(any(i < subject.start for i in auxiliaries), _QUESTION)
    for verb in (clause.verb, bearer):
        children = parse.children(verb)
        exclude_if(parse.has_child(verb, "expl"), EXPLETIVE)
        exclude_if(any(parse.lower_words[i] in NEGATIONS for i in children), _NEGATED)
        exclude_if(any(parse.tags[i] == "MD" and parse.deps[i] == "aux" for i in children), "a modal verb")
    # The word that the parser reads as the verb may be a participle: men dressed up playing music. Taggers confuse the
    # participle with the past tense. The criterion also excludes a past tense before a gerund (began playing).
    is_before_gerund = "VBG" in (parse.tags[object_.start], parse.tags[clause.verb])
    is_participle = parse.tags[bearer] == "VBN" or (parse.tags[bearer] == "VBD" and is_before_gerund)
    exclude_if(is_participle and not parse.has_child(bearer, "aux", "auxpass"), BROKEN)
    finites = _find_finite_verbs(parse, clause)
    is_contracted = any(parse.words[i][0] in "'’" or parse.lower_words[i] == "ai" for i in finites)
    exclude_if(is_contracted, "a contracted verb")
    # Verbs that differ in number cannot share a subject, so the parse is wrong.
    exclude_if({"VBZ", "VBP"} <= {parse.tags[i] for i in finites}, BROKEN)
    # A disagreement means that the parser misread the verb or the subject.
    agrees = all(has_number_agreement(parse, i, clause.subject) for i in finites)
    exclude_if(not agrees, DISAGREES)
    # "gives her a flower" has an indirect object before the direct one; "gives a flower to her" does not.
    datives = [i for i in parse.children(clause.verb) if parse.deps[i] == "dative" and parse.pos[i] != "ADP"]
    exclude_if(any(i < clause.object for i in datives), _TWO_OBJECTS)
    is_symmetric = lemma in SYMMETRIC or (lemma in MUTUAL and is_animate(parse, clause.object))
    exclude_if(is_symmetric, "a verb that may hold in both directions")


_REFERRING: Final = frozenset("another other others own each respective same".split())
_PERCEPTION: Final = frozenset("hear help observe see watch".split())
_INDEFINITE: Final = frozenset(
    f"{quantifier}{noun}" for quantifier in ("some", "every", "any") for noun in ("one", "body", "thing")
)
_DETERMINERS: Final = frozenset("a an the one some this that these those".split())


def _check_phrases(parse: Parse, clause: TransitiveClause, subject: range, object_: range) -> None:
    """Exclude a clause because of its subject or object."""
    words = parse.lower_words
    is_finite = find_finite_verb(parse, clause.verbs[0]) is not None
    is_gerund = parse.tags[clause.verbs[0]] == "VBG" and not is_finite
    exclude_if(any(word.endswith(("self", "selves")) for word in words), _REFLEXIVE)
    for head, span in ((clause.subject, subject), (clause.object, object_)):
        exclude_if(any(words[i] in NEGATIONS for i in (head, *parse.children(head))), _NEGATED)
        exclude_if(words[head] in ("other", "another") and len(span) > 1, _REFLEXIVE)  # "each other"
        exclude_if(any(words[i] in _REFERRING for i in span), "a phrase that refers to the other (another, own)")
        if any(parse.tags[i] in ("WP", "WDT", "WP$") for i in span):
            exclude_if(not any(parse.deps[i] == "relcl" for i in span), _PRONOUN)  # "one of which"
        exclude_if("who" in words[span.start : span.stop] and not is_animate(parse, head), BROKEN)
        # some, one, those: they refer to an antecedent
        exclude_if(parse.pos[head] in ("PRON", "NUM") and words[head] not in PERSONAL | _INDEFINITE, _PRONOUN)
        # The case of a pronoun within a larger phrase ("he and a friend") depends on that phrase.
        personal = [i for i in span if parse.pos[i] == "PRON" and words[i] in PERSONAL and parse.deps[i] != "poss"]
        if len(span) == 1 and personal == [head]:
            exclude_if(is_gerund, _PRONOUN)  # a caption without a finite verb: "him chasing a dog"
        else:
            exclude_if(head in (*personal, *(parse.heads[i] for i in personal)), _PRONOUN)
    exclude_if(any(words[i] in NEGATIONS for i in object_), _NEGATED)  # "gray shorts and no shirt"
    if parse.lemmas[clause.verb].lower() in _PERCEPTION:  # "watch a woman dance", read as a compound noun
        compounds = (i for i in parse.children(clause.object) if parse.deps[i] == "compound")
        exclude_if(any(is_animate(parse, i) for i in compounds), BROKEN)
    _check_object(parse, clause, object_)
    if not _has_determiner(parse, clause.subject):
        # Without a finite verb, the swapped caption would read as one compound: cement pouring workers.
        is_compound = parse.pos[clause.subject] == "NOUN" and is_gerund
        exclude_if(parse.tags[clause.subject] == "NN" or is_compound, _BARE)
    # Taggers mark the first word of a sentence without an article as a name ("Dogs run"). Two names in a row are real.
    first = parse.first_word
    if subject.start == first and parse.pos[first] == "PROPN":
        exclude_if(len(subject) == 1 or parse.pos[first + 1] != "PROPN", "a first word that may be a name")
    # "picks up a ball", but "picks her up": a swapped pronoun would stand after the particle, which is ungrammatical.
    has_particle = any(parse.deps[i] == "prt" for i in range(clause.verb + 1, object_.start))
    exclude_if(words[clause.subject] in PERSONAL and has_particle, _PRONOUN)
    is_same = _content_words(words, subject) == _content_words(words, object_)
    exclude_if(is_same, "both phrases have the same words")


def _check_object(parse: Parse, clause: TransitiveClause, object_: range) -> None:
    """Exclude an object that is not a thing, and one whose phrase is not complete."""
    head, after = clause.object, object_.stop
    lemma, verb = parse.lemmas[head].lower(), parse.lemmas[clause.verb].lower()
    # "a man holds something" does not contradict "something holds a man"
    exclude_if(parse.lower_words[head] in _INDEFINITE, _PRONOUN)
    is_bare = parse.tags[head] == "NN" and not _has_determiner(parse, head)
    is_body_part = lemma in BODY_PARTS and parse.lower_words[head - 1] not in ("cliff", "rock")  # but a cliff face
    exclude_if(is_body_part, "an object that is a part of the body (raise a hand)")
    exclude_if(lemma in HAPPENINGS or (is_bare and lemma in SPORTS) or lemma in IDIOMS.get(verb, ()), _HAPPENING)
    exclude_if(is_bare and lemma not in UNCOUNTED, _BARE)
    # A phrase after the object may belong to the object ("carries a plate | with food"), or one in the object to the
    # verb.
    if parse.lower_words[after : after + 1] == ("with",) and not is_body_part_preposition(parse, after):
        exclude_if(verb in WITHOUT_TOOL, ATTACHED)
    for i in range(head + 1, after):
        is_pronoun = parse.pos[i] == "PRON" and parse.deps[i] != "poss" and parse.lower_words[i] in PERSONAL
        exclude_if(is_pronoun or is_body_part_preposition(parse, i), ATTACHED)


def _has_determiner(parse: Parse, noun: int) -> bool:
    # A mass noun needs no determiner, but most bare subjects of an action come from captions like "Man rides horse".
    return parse.has_child(noun, "det", "poss", "nummod", "predet")


def _content_words(words: Sequence[str], span: range) -> list[str]:
    # "They cut them." swaps to itself.
    return [OBJECTIVE.get(words[i], words[i]) for i in span if words[i] not in _DETERMINERS]


_QUOTES: Final = frozenset("\" “ ” ‘ ’ ' `` ''".split())
_UNITS: Final = frozenset("% $ € £".split())
_DITRANSITIVE: Final = frozenset(
    """appoint call consider cost deem deny dub elect give grant hand label lend name offer owe pay promise show teach
    tell wish""".split()
)
"""Verbs that often have two objects or an object with a complement, one of which the parser may miss."""
_BEFORE_SUBJECT: Final = frozenset(("ADV", "CCONJ", "PUNCT", "SCONJ"))
_MARKS: Final = frozenset(". , ; : ! ? ) …".split())
_IN_PHRASES: Final = frozenset(("ADJ", "DET", "NOUN", "NUM", "PRON", "PROPN"))


def _check_written_text(parse: Parse, clause: TransitiveClause, subject: range, object_: range) -> None:
    """Exclude a clause of a text in which longer phrases fail more often than in captions.

    Sentences of written text are longer than captions, so the parser misreads more of them: it cuts coordinated
    phrases, and takes one of two objects for the only one. The rules for captions were written without these criteria.
    """
    verb, lemma = clause.verb, parse.lemmas[clause.verb].lower()
    is_quoted = any(pos == "PUNCT" and word in _QUOTES for pos, word in zip(parse.pos, parse.words, strict=True))
    exclude_if(is_quoted, "a quotation")
    exclude_if("than" in parse.lower_words, "a comparison (more than)")
    main = clause.verbs[0]
    while parse.deps[main] == "conj":
        main = parse.heads[main]
    exclude_if(parse.deps[main] != "ROOT", LATER_VERB)
    exclude_if(lemma in _DITRANSITIVE or parse.has_child(verb, "dative", "oprd"), _TWO_OBJECTS)
    exclude_if(lemma == "have", _HAPPENING)  # an appetite, an impact, a report
    exclude_if(any(parse.words[i] == "," for i in subject), PUNCTUATED)
    if parse.lower_words[clause.object] == "it":  # "I take it that there is another"
        later = (i for i in parse.children(verb) if i > clause.object)
        exclude_if(any(parse.deps[i] == "ccomp" for i in later), EXPLETIVE)
    exclude_if(any(parse.words[i] in _UNITS for i in (*subject, *object_)), NO_HEAD)
    # The subject may start too late, after a word of its phrase, or has a capital in mid-sentence.
    if subject.start > parse.first_word:
        first = parse.words[subject.start]
        is_capital = first[:1].isupper() and first != "I" and parse.pos[subject.start] in ("DET", "PRON")
        exclude_if(is_capital or parse.pos[subject.start - 1] not in _BEFORE_SUBJECT, BROKEN)
    exclude_if(_continues(parse, subject) or _continues(parse, object_), BROKEN)


def _continues(parse: Parse, span: range) -> bool:
    """Check whether a phrase continues after its span: in the same word, with a coordinated noun, or after a comma."""
    after = span.stop
    if after >= len(parse.words) or (not parse.spaces[after - 1] and parse.words[after] not in _MARKS):
        return True  # "etc." without a full stop of its own, "Sudan-significantly"
    has_comma = parse.words[after] == ","
    after += has_comma
    if after >= len(parse.words):
        return False
    if parse.pos[after] == "CCONJ":
        nouns = (i for i in range(after + 1, len(parse.words)) if parse.pos[i] in ("NOUN", "PROPN", "VERB", "AUX"))
        following = next(nouns, after)
        is_noun = parse.deps[following] == "conj" and parse.pos[following] in ("NOUN", "PROPN")
        return is_noun or parse.pos[parse.heads[after]] not in ("VERB", "AUX")
    return has_comma and parse.pos[after] in _IN_PHRASES
