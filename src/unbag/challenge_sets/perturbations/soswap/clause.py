"""Search for the first clause with a subject and a direct object, and the reasons why a premise cannot be swapped."""

from enum import StrEnum
from typing import Final, NamedTuple

from unbag.data.text.grammar import ANIMALS, BODY_PARTS, CATENATIVE, INTRANSITIVE, PEOPLE
from unbag.data.text.parses import OBJECTIVE, Parse

PERSONAL: Final = frozenset(word.lower() for pair in OBJECTIVE.items() for word in pair)
"""Subject and object forms of personal pronouns."""
ANIMATE: Final = PEOPLE | ANIMALS | {"him", "her", "me", "them", "us", "you"}
"""Words for people and animals: lemmas of nouns, and object pronouns."""


def is_animate(parse: Parse, head: int) -> bool:
    """Check whether a noun, pronoun or name denotes people or animals."""
    if parse.pos[head] == "PROPN":
        # A name with an article is a thing: a Frisbee.
        return not any(parse.deps[i] == "det" for i in parse.children(head))
    return parse.lemmas[head].lower() in ANIMATE or parse.lower_words[head] in ANIMATE


def is_body_part_preposition(parse: Parse, preposition: int) -> bool:
    """Check whether a token is a preposition before a body part: in its mouth, on her head, with both hands."""
    inner = parse.child(preposition, "pobj")
    return inner is not None and parse.lemmas[inner].lower() in BODY_PARTS


class SoswapExclusionReason(StrEnum):
    """Reason why no SOSwap pair is built from a premise."""

    DETERMINER = "a determiner that does not fit its noun"
    QUESTION = "a question"
    IMPERATIVE = "an imperative"
    EXPLETIVE = "an expletive (there is, here we have)"
    PASSIVE = "a passive"
    COPULA = "a copula"
    NO_VERB = "a noun phrase or another fragment without a main verb"
    NO_SUBJECT = "a verb without a subject"
    PREPOSITIONAL = "objects of prepositions only"
    NO_OBJECT = "a verb without an object"
    LATER_VERB = "an object of a verb other than the subject's (sits and reads)"
    PLACE = "an object that belongs to a preposition (walks down the road)"
    BROKEN = "a phrase with a gap, out of order, or cut off"
    ATTACHED = "a phrase that may modify the object or the verb (carries a plate with food)"
    DISAGREES = "a verb that does not agree with its subject"
    PUNCTUATED = "punctuation within a phrase"
    HEAD = "a phrase that is not headed by a noun or pronoun"
    BARE = "a phrase that lacks its determiner"
    CAPITAL = "a first word that may be a name"
    PRONOUN = "a pronoun that cannot move"
    REFLEXIVE = "a reflexive or reciprocal"
    REFERS_BACK = "a phrase that refers to the other (another, own)"
    HAPPENING = "an object that is not a thing (play a game, take a nap)"
    BODY = "an object that is a part of the body (raise a hand)"
    TWO_OBJECTS = "an indirect object before the direct one"
    CONTRACTED = "a contracted verb"
    MODAL = "a modal verb"
    NEGATED = "a negation"
    SAME_WORDS = "both phrases have the same words"
    BOTH_WAYS = "a verb that may hold in both directions"
    QUOTED = "a quotation"
    COMPARISON = "a comparison (more than)"


_ADVERBIAL: Final = frozenset(
    "downstairs downtown home indoors inside midair outdoors outside overhead underwater upstairs".split()
)
"""Adverbs that parsers mistake for an object."""


class TransitiveClause(NamedTuple):
    """Token positions of the verb, the subject and the direct object of a clause."""

    verb: int  # verb of the object
    subject: int  # head of the subject
    object: int  # head of the object
    verbs: tuple[int, ...]  # verbs that share the subject, the first of which is the verb of the subject


def find_clause(parse: Parse) -> TransitiveClause | SoswapExclusionReason:
    """Find the first clause with a subject and a direct object, or the reason why there is none."""
    root = parse.deps.index("ROOT") if "ROOT" in parse.deps else 0
    if reason := _other_structure(parse, root):
        return reason
    top = _linked_verbs(parse, root, ("conj", "xcomp"))
    scenes = [child for verb in top for child in parse.children(verb) if _is_scene(parse, child)]
    later = False
    for verbs in (top, *([scene] for scene in scenes)):
        bearer, subject = verbs[0], None
        for verb in verbs:
            own = parse.child(verb, "nsubj")
            if own is not None:
                bearer, subject = verb, own
            object_ = parse.child(verb, "dobj")
            if object_ is None or _is_adverbial(parse, object_) or parse.pos[verb] not in ("VERB", "AUX"):
                continue
            if subject is not None and _is_one_action(parse, bearer, verb):
                sharing = [v for v in _linked_verbs(parse, bearer, ("conj",))[1:] if not _has_subject(parse, v)]
                return TransitiveClause(verb, subject, object_, (bearer, *sharing))
            # The parser found both parts, but the verb of the object may have another subject.
            later = later or subject is not None
    return SoswapExclusionReason.LATER_VERB if later else _missing_part(parse, root)


def _is_one_action(parse: Parse, bearer: int, verb: int) -> bool:
    """Check whether a verb has the same subject as its bearer (sits and reads, tries to open)."""
    while verb != bearer:
        above = parse.heads[verb]
        if _is_coordinated(parse, above, verb):
            verb = above
            continue
        before = [i for i in parse.children(verb) if i < verb]
        leads = parse.lemmas[above].lower() in CATENATIVE or any(parse.lower_words[i] == "to" for i in before)
        if parse.deps[verb] != "xcomp" or above > verb or not leads:
            return False
        if any(parse.deps[i] == "advmod" for i in before):
            return False  # "learn how to open"
        verb = above
    return True


def _is_coordinated(parse: Parse, above: int, verb: int) -> bool:
    """Check whether two verbs clearly share a subject: the same form, an "and", and no pronoun or mark between them."""
    return (
        parse.deps[verb] == "conj"
        and above < verb
        # Present tense and infinitive look the same, and taggers confuse them.
        and parse.tags[above].replace("VBP", "VB") == parse.tags[verb].replace("VBP", "VB")
        and "and" in (parse.lower_words[verb - 1], parse.lower_words[verb - 2])
        and not any(parse.pos[i] in ("PRON", "PUNCT") or parse.tags[i] == "VBG" for i in range(above + 1, verb))
    )


def _missing_part(parse: Parse, root: int) -> SoswapExclusionReason:
    """Determine which part is missing in a sentence without a subject-verb-object clause."""
    if parse.pos[root] not in ("VERB", "AUX"):
        return SoswapExclusionReason.NO_VERB
    deps = {parse.deps[child] for child in parse.children(root)}
    if "nsubj" not in deps:
        return SoswapExclusionReason.NO_SUBJECT
    return SoswapExclusionReason.PREPOSITIONAL if deps & {"prep", "prt"} else SoswapExclusionReason.NO_OBJECT


def _is_adverbial(parse: Parse, object_: int) -> bool:
    """Check whether the word that the parser reads as an object is adverbial: swims underwater, sits Indian style."""
    return parse.lower_words[object_] in _ADVERBIAL or parse.lemmas[parse.heads[object_]].lower() in INTRANSITIVE


def _has_subject(parse: Parse, verb: int) -> bool:
    return any(parse.deps[i] in ("nsubj", "nsubjpass", "csubj", "expl") for i in parse.children(verb))


def _is_scene(parse: Parse, verb: int) -> bool:
    """Check whether a verb belongs to a clause of the same time, after as, while or when."""
    return parse.deps[verb] == "advcl" and any(
        parse.deps[i] in ("mark", "advmod") and parse.lower_words[i] in ("as", "while", "when")
        for i in parse.children(verb)
    )


def _other_structure(parse: Parse, root: int) -> SoswapExclusionReason | None:
    """Determine the structure of a sentence whose root is not an active clause; None if the root is one."""
    deps = {parse.deps[child] for child in parse.children(root)}
    if "expl" in deps or "here" in parse.lower_words[: parse.first_word + 1]:
        return SoswapExclusionReason.EXPLETIVE
    if "nsubjpass" in deps or "csubjpass" in deps:
        return SoswapExclusionReason.PASSIVE
    # "A man is in the water" has a copula without an attribute.
    if deps & {"attr", "acomp"} or parse.lemmas[root] == "be":
        return SoswapExclusionReason.COPULA
    if parse.tags[root] == "VB" and not deps & {"nsubj", "csubj", "aux"}:
        return SoswapExclusionReason.IMPERATIVE
    return None


def _linked_verbs(parse: Parse, verb: int, deps: tuple[str, ...]) -> list[int]:
    """List a verb and the verbs linked to it by chains of the given dependencies, in order."""
    verbs = [verb]
    for above in verbs:  # the list grows during the loop: three coordinated verbs form a chain of two links
        verbs += [i for i in parse.children(above) if parse.deps[i] in deps and parse.pos[i] in ("VERB", "AUX")]
    return sorted(verbs)
