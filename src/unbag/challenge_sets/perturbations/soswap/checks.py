"""Exclusion criteria of SOSwap for the phrases of subject and object, for the verb, and for written text.

Sentences of written text are longer than captions. The parser misreads long sentences more often: it cuts coordinated
phrases, and takes one of two objects for the only one. The criteria for written text apply only to a user's own text,
because the rules for captions were written and checked without them.
"""

from collections.abc import Sequence
from typing import Final

from unbag.challenge_sets.perturbations.soswap.clause import (
    PERSONAL,
    SoswapExclusionReason,
    TransitiveClause,
    find_finite_verb,
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
)
from unbag.data.text.parses import OBJECTIVE, Parse

_REFERRING: Final = frozenset("another other others own each respective same".split())
_PERCEPTION: Final = frozenset("hear help observe see watch".split())
_INDEFINITE: Final = frozenset(
    f"{quantifier}{noun}" for quantifier in ("some", "every", "any") for noun in ("one", "body", "thing")
)
_DETERMINERS: Final = frozenset("a an the one some this that these those".split())


def find_phrase_exclusion_reason(
    parse: Parse, clause: TransitiveClause, subject: range, object_: range
) -> SoswapExclusionReason | None:
    """Find a reason to exclude a clause because of its subject or object. Return None if there is none."""
    words = parse.lower_words
    if any(word.endswith(("self", "selves")) for word in words):
        return SoswapExclusionReason.REFLEXIVE
    for head, span in ((clause.subject, subject), (clause.object, object_)):
        if words[head] in NEGATIONS or any(words[i] in NEGATIONS for i in parse.children(head)):
            return SoswapExclusionReason.NEGATED
        if words[head] in ("other", "another") and len(span) > 1:
            return SoswapExclusionReason.REFLEXIVE  # "each other"
        if any(words[i] in _REFERRING for i in span):
            return SoswapExclusionReason.REFERS_BACK
        questions = [i for i in span if parse.tags[i] in ("WP", "WDT", "WP$")]
        if questions and not any(parse.deps[i] == "relcl" for i in span):
            return SoswapExclusionReason.PRONOUN  # "one of which"
        if "who" in words[span.start : span.stop] and not is_animate(parse, head):
            return SoswapExclusionReason.BROKEN
        if parse.pos[head] in ("PRON", "NUM") and words[head] not in PERSONAL | _INDEFINITE:
            return SoswapExclusionReason.PRONOUN  # some, one, those: they refer to an antecedent
        # The case of a pronoun within a larger phrase ("he and a friend") depends on that phrase.
        personal = [i for i in span if parse.pos[i] == "PRON" and words[i] in PERSONAL and parse.deps[i] != "poss"]
        is_pronoun_only = len(span) == 1 and personal == [head]
        if personal and not is_pronoun_only and head in (*personal, *(parse.heads[i] for i in personal)):
            return SoswapExclusionReason.PRONOUN
        if (
            is_pronoun_only
            and parse.tags[clause.verbs[0]] == "VBG"
            and find_finite_verb(parse, clause.verbs[0]) is None
        ):
            return SoswapExclusionReason.PRONOUN  # a caption without a finite verb: "him chasing a dog"
    if not NEGATIONS.isdisjoint(words[i] for i in object_):
        return SoswapExclusionReason.NEGATED  # "gray shorts and no shirt"
    if parse.lemmas[clause.verb].lower() in _PERCEPTION and any(
        parse.deps[i] == "compound" and is_animate(parse, i) for i in parse.children(clause.object)
    ):
        return SoswapExclusionReason.BROKEN  # "watch a woman dance", where the parser reads a compound noun
    if reason := _check_object(parse, clause, object_):
        return reason
    if not _has_determiner(parse, clause.subject):
        # Without a finite verb, the swapped caption would read as one compound: cement pouring workers.
        is_caption = parse.pos[clause.subject] == "NOUN" and find_finite_verb(parse, clause.verbs[0]) is None
        if parse.tags[clause.subject] == "NN" or (is_caption and parse.tags[clause.verbs[0]] == "VBG"):
            return SoswapExclusionReason.BARE
    # Taggers mark the first word of a sentence without an article as a name ("Dogs run"). Two names in a row are real.
    first = parse.first_word
    if subject.start == first and parse.pos[first] == "PROPN":
        if len(subject) == 1 or parse.pos[first + 1] != "PROPN":
            return SoswapExclusionReason.CAPITAL
    # "picks up a ball", but "picks her up": a swapped pronoun would stand after the particle, which is ungrammatical.
    between = range(clause.verb + 1, object_.start)
    if words[clause.subject] in PERSONAL and any(parse.deps[i] == "prt" for i in between):
        return SoswapExclusionReason.PRONOUN
    if _content_words(words, subject) == _content_words(words, object_):
        return SoswapExclusionReason.SAME_WORDS
    return None


def _check_object(parse: Parse, clause: TransitiveClause, object_: range) -> SoswapExclusionReason | None:
    """Check that the object is a thing and its phrase is complete; return the reason for exclusion, or None."""
    head = clause.object
    lemma, verb = parse.lemmas[head].lower(), parse.lemmas[clause.verb].lower()
    if parse.lower_words[head] in _INDEFINITE:
        return SoswapExclusionReason.PRONOUN  # "a man holds something" does not contradict "something holds a man"
    bare = parse.tags[head] == "NN" and not _has_determiner(parse, head)
    if lemma in BODY_PARTS and parse.lower_words[head - 1] not in ("cliff", "rock"):  # "a cliff face" is no body part
        return SoswapExclusionReason.BODY
    if lemma in HAPPENINGS or (bare and lemma in SPORTS):
        return SoswapExclusionReason.HAPPENING
    if lemma in IDIOMS.get(verb, ()):
        return SoswapExclusionReason.HAPPENING
    if bare and lemma not in UNCOUNTED:
        return SoswapExclusionReason.BARE
    if _is_loosely_attached(parse, clause, object_):
        return SoswapExclusionReason.ATTACHED
    return None


def _is_loosely_attached(parse: Parse, clause: TransitiveClause, object_: range) -> bool:
    """Check whether a phrase after the object may belong to the object, or one in the object may belong to the verb."""
    after = object_.stop
    if after < len(parse.words) and parse.lower_words[after] == "with" and not is_body_part_preposition(parse, after):
        if parse.lemmas[clause.verb].lower() in WITHOUT_TOOL:
            return True  # "carries a plate | with food"
    return any(
        is_body_part_preposition(parse, i)
        or (parse.pos[i] == "PRON" and parse.deps[i] != "poss" and parse.lower_words[i] in PERSONAL)
        for i in range(clause.object + 1, after)
    )


def _has_determiner(parse: Parse, noun: int) -> bool:
    # A mass noun needs no determiner, but most bare subjects of an action come from captions like "Man rides horse".
    return any(parse.deps[i] in ("det", "poss", "nummod", "predet") for i in parse.children(noun))


def _content_words(words: Sequence[str], span: range) -> list[str]:
    # "They cut them." swaps to itself.
    return [OBJECTIVE.get(words[i], words[i]) for i in span if words[i] not in _DETERMINERS]


def find_verb_exclusion_reason(
    parse: Parse, clause: TransitiveClause, subject: range, object_: range
) -> SoswapExclusionReason | None:
    """Find a reason to exclude a clause because of its verb. Return None if there is none."""
    bearer = clause.verbs[0]
    # Only auxiliaries and adverbs may stand between a subject and its verb. An auxiliary before the subject makes a
    # question.
    if not subject.stop <= bearer <= clause.verb < object_.start or any(
        parse.pos[i] not in ("AUX", "ADV", "PART") for i in range(subject.stop, bearer)
    ):
        return SoswapExclusionReason.BROKEN
    if _goes_to_a_place(parse, clause.verb, range(clause.verb + 1, object_.start + 1)):
        return SoswapExclusionReason.PLACE
    if any(parse.deps[i] == "aux" and i < subject.start for i in parse.children(bearer)):
        return SoswapExclusionReason.QUESTION
    for verb in (clause.verb, bearer):
        children = parse.children(verb)
        if "expl" in {parse.deps[i] for i in children}:
            return SoswapExclusionReason.EXPLETIVE
        if any(parse.lower_words[i] in NEGATIONS for i in children):
            return SoswapExclusionReason.NEGATED
        if any(parse.tags[i] == "MD" for i in children if parse.deps[i] == "aux"):
            return SoswapExclusionReason.MODAL
    if _is_participle(parse, bearer, clause.verb, object_):
        return SoswapExclusionReason.BROKEN
    finites = [finite for verb in clause.verbs if (finite := find_finite_verb(parse, verb)) is not None]
    if any(parse.words[finite][0] in "'’" or parse.lower_words[finite] == "ai" for finite in finites):
        return SoswapExclusionReason.CONTRACTED
    # Verbs that differ in number cannot share a subject, so the parse is wrong.
    if {"VBZ", "VBP"} <= {parse.tags[finite] for finite in finites}:
        return SoswapExclusionReason.BROKEN
    # A disagreement means that the parser misread the verb or the subject.
    if not all(has_number_agreement(parse, finite, clause.subject) for finite in finites):
        return SoswapExclusionReason.DISAGREES
    # "gives her a flower" has an indirect object before the direct one; "gives a flower to her" does not.
    if any(
        parse.deps[i] == "dative" and parse.pos[i] != "ADP" and i < clause.object for i in parse.children(clause.verb)
    ):
        return SoswapExclusionReason.TWO_OBJECTS
    lemma = parse.lemmas[clause.verb].lower()
    if lemma in SYMMETRIC or (lemma in MUTUAL and is_animate(parse, clause.object)):
        return SoswapExclusionReason.BOTH_WAYS
    return None


def _goes_to_a_place(parse: Parse, verb: int, between: range) -> bool:
    """Check whether the noun that the parser reads as an object is a place: walks down a road, gets out of a van."""
    # After verbs of motion, a particle is a preposition. After other verbs, the particle belongs to the verb (picks up
    # a box).
    moves = parse.lemmas[verb].lower() in MOTION
    return any(parse.lower_words[i] in DIRECTIONS and (moves or parse.deps[i] != "prt") for i in between)


def _is_participle(parse: Parse, bearer: int, verb: int, object_: range) -> bool:
    """Check whether the word that the parser reads as the verb is a participle: men dressed up playing music."""
    if any(parse.deps[i] in ("aux", "auxpass") for i in parse.children(bearer)):
        return False
    if parse.tags[bearer] == "VBN":
        return True
    # Taggers confuse the participle with the past tense. The criterion also excludes a past tense before a gerund
    # (began playing).
    return parse.tags[bearer] == "VBD" and "VBG" in (parse.tags[object_.start], parse.tags[verb])


_QUOTES: Final = frozenset("\" “ ” ‘ ’ ' `` ''".split())
_UNITS: Final = frozenset("% $ € £".split())
_TWO_OBJECTS: Final = frozenset(
    """appoint call consider cost deem deny dub elect give grant hand label lend name offer owe pay promise show teach
    tell wish""".split()
)
"""Verbs that often have two objects or an object with a complement, one of which the parser may miss."""
_BEFORE_SUBJECT: Final = frozenset(("ADV", "CCONJ", "PUNCT", "SCONJ"))
_NOUNS: Final = ("NOUN", "PROPN")
_MARKS: Final = frozenset(". , ; : ! ? ) …".split())
_IN_PHRASES: Final = frozenset(("ADJ", "DET", "NOUN", "NUM", "PRON", "PROPN"))


def find_written_text_exclusion_reason(
    parse: Parse, clause: TransitiveClause, subject: range, object_: range
) -> SoswapExclusionReason | None:
    """Check the exclusion criteria for written text. Return the reason for exclusion, or None if there is none."""
    if any(parse.pos[i] == "PUNCT" and word in _QUOTES for i, word in enumerate(parse.words)):
        return SoswapExclusionReason.QUOTED
    if "than" in parse.lower_words:
        return SoswapExclusionReason.COMPARISON
    if not _is_main_clause(parse, clause.verbs[0]):
        return SoswapExclusionReason.LATER_VERB
    if parse.lemmas[clause.verb].lower() in _TWO_OBJECTS or any(
        parse.deps[i] in ("dative", "oprd") for i in parse.children(clause.verb)
    ):
        return SoswapExclusionReason.TWO_OBJECTS
    if parse.lemmas[clause.verb].lower() == "have":
        return SoswapExclusionReason.HAPPENING  # an appetite, an impact, a report
    if any(parse.words[i] == "," for i in subject):
        return SoswapExclusionReason.PUNCTUATED
    if parse.lower_words[clause.object] == "it" and any(
        parse.deps[i] == "ccomp" and i > clause.object for i in parse.children(clause.verb)
    ):
        return SoswapExclusionReason.EXPLETIVE  # "I take it that there is another"
    if not _UNITS.isdisjoint(parse.words[i] for i in (*subject, *object_)):
        return SoswapExclusionReason.HEAD
    if _is_misplaced(parse, subject) or _continues(parse, subject) or _continues(parse, object_):
        return SoswapExclusionReason.BROKEN
    return None


def _is_main_clause(parse: Parse, verb: int) -> bool:
    """Check whether a verb is the root, or linked to it by coordination."""
    while parse.deps[verb] == "conj":
        verb = parse.heads[verb]
    return parse.deps[verb] == "ROOT"


def _is_misplaced(parse: Parse, subject: range) -> bool:
    """Check whether a subject may start too late, after a word of its phrase, or has a capital in mid-sentence."""
    if subject.start <= parse.first_word:
        return False
    first = parse.words[subject.start]
    is_capital = first[:1].isupper() and first != "I" and parse.pos[subject.start] in ("DET", "PRON")
    return is_capital or parse.pos[subject.start - 1] not in _BEFORE_SUBJECT


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
        following = next(nouns, None)
        is_noun = following is not None and parse.deps[following] == "conj" and parse.pos[following] in _NOUNS
        return is_noun or parse.pos[parse.heads[after]] not in ("VERB", "AUX")
    return has_comma and parse.pos[after] in _IN_PHRASES
