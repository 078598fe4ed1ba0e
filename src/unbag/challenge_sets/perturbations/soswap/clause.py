"""The first clause with a subject and a direct object, the phrases of both, and the agreement of the verb in number."""

from enum import StrEnum
from typing import Final, NamedTuple

from unbag.data.text.grammar import (
    ANIMALS,
    ARTICLES,
    BODY_PARTS,
    CATENATIVE,
    CLOTHES,
    COLORS,
    INTRANSITIVE,
    MISREAD,
    PEOPLE,
    WITHOUT_TOOL,
)
from unbag.data.text.parses import OBJECTIVE, GrammaticalPerson, Parse, conjugate_verb

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


_PLURAL: Final = frozenset("you we they us them both many few several others these those people police cattle".split())
_OF_MANY: Final = frozenset("lot number couple bunch variety majority dozen handful all some most half plenty".split())
_COLLECTIVE: Final = frozenset(
    """audience band choir class club company couple crew crowd family force gang group line majority orchestra pair
    party police squad staff team throng trio troop troupe""".split()
)
"""Collective nouns, whose verb may be plural."""


def find_finite_verb(parse: Parse, verb: int) -> int | None:
    """Find the finite verb of a clause: the first auxiliary, or else the verb. Return None if it is not finite."""
    auxiliaries = [i for i in parse.children(verb) if parse.deps[i] in ("aux", "auxpass") and i < verb]
    first = auxiliaries[0] if auxiliaries else verb
    if parse.tags[first] in ("VBZ", "VBP"):
        return first
    # Taggers sometimes mistake a plural verb for an infinitive.
    if parse.tags[first] == "VB" and not auxiliaries:
        above = parse.heads[verb]
        if parse.deps[verb] != "conj" or parse.tags[above] != "VB" or find_finite_verb(parse, above) == above:
            return first
    return first if parse.lower_words[first] in ("was", "were") else None


def conjugate_finite_verb(parse: Parse, finite: int, person: GrammaticalPerson) -> str:
    """Conjugate a verb found by `find_finite_verb` so that it agrees with a new subject."""
    third = parse.tags[finite] == "VBZ"
    return conjugate_verb(parse.words[finite], parse.lemmas[finite].lower(), person, is_third_person=third)


def determine_person(parse: Parse, head: int, span: range) -> GrammaticalPerson:
    """Determine the grammatical person of a verb whose subject is the given phrase."""
    word = parse.lower_words[head]
    if word in ("i", "me"):
        return GrammaticalPerson.I
    children = parse.children(head)
    # Parsers sometimes read "a helmet and clothing" as the compound "helmet-and-clothing".
    nouns = [head, *(i for i in children if parse.deps[i] in ("nmod", "compound") and parse.pos[i] == "NOUN")]
    for noun in nouns:  # the list grows during the loop: three coordinated nouns form a chain of two links
        nouns += [i for i in parse.children(noun) if parse.deps[i] == "conj" and i in span]
    conjunctions = {
        parse.lower_words[i] for noun in nouns for i in parse.children(noun) if parse.deps[i] == "cc" and i in span
    }
    if "and" in conjunctions or "&" in conjunctions:
        return GrammaticalPerson.PLURAL
    if word in _OF_MANY:
        inner = _of_complement(parse, head)
        return GrammaticalPerson.SINGULAR if inner is None else determine_person(parse, inner, span)
    counted = any(parse.deps[i] == "nummod" and parse.lower_words[i] not in ("one", "1") for i in children)
    counted = counted and not any(parse.lower_words[i] in ARTICLES for i in children)  # "a four wheeler" is singular
    many = parse.tags[head] in ("NNS", "NNPS") or word in _PLURAL or counted
    if parse.pos[head] == "NUM":
        many = word not in ("one", "1")
    return GrammaticalPerson.PLURAL if many else GrammaticalPerson.SINGULAR


def _of_complement(parse: Parse, head: int) -> int | None:
    """Find the noun after the `of` of a phrase; None if there is none."""
    of = next((i for i in parse.children(head) if parse.lower_words[i] == "of"), None)
    return None if of is None else parse.child(of, "pobj")


def has_number_agreement(parse: Parse, finite: int, subject: int) -> bool:
    """Check whether a verb agrees with its subject in number. Uncertain cases count as agreement."""
    if parse.tags[finite] == "VBZ":  # parsers sometimes read "a man in a hat and boots" as two subjects
        return parse.tags[subject] != "NNS" or _of_complement(parse, subject) is not None
    collective = parse.lemmas[subject].lower() in _COLLECTIVE or _of_complement(parse, subject) is not None
    whole = range(len(parse.words))
    return (
        parse.tags[finite] not in ("VB", "VBP")
        or collective
        or determine_person(parse, subject, whole) is not GrammaticalPerson.SINGULAR
    )


_OF_NOUNS: Final = frozenset("about between for including like of".split())
_OF_SIGNS: Final = frozenset("read reads say says".split())
_OF_THINGS: Final = frozenset("contain depict describe feature hang read say show".split())
_BEFORE_ARTICLES: Final = frozenset("all both half just of such quite what".split())


def find_subject_span(parse: Parse, clause: TransitiveClause) -> range | SoswapExclusionReason:
    """Find the tokens of a clause's subject, or the reason to exclude the clause.

    Parsers sometimes read "A man in a coat and jeans holds …" as two subjects, "a man in a coat" and "jeans". The
    function joins them to one.
    """
    inside = parse.subtree(clause.subject)
    nested = any(parse.deps[i] in ("prep", "acl") for i in parse.children(clause.subject))
    if parse.deps[inside[-1]] == "cc" and nested and find_finite_verb(parse, clause.verbs[0]) is not None:
        for other in parse.children(parse.heads[clause.subject]):
            more = parse.subtree(other)
            if parse.deps[other] == "nsubj" and more[0] == inside[-1] + 1:
                return _span(parse, clause.subject, [*inside, *more])
    return _span(parse, clause.subject, inside)


def find_object_span(parse: Parse, clause: TransitiveClause) -> range | SoswapExclusionReason:
    """Find the tokens of a clause's object, or the reason to exclude the clause.

    Final phrases that may also belong to the verb are not part of the result. They stay in place, which is grammatical
    for both attachments: carries | a ball | in its mouth.
    """
    inside = parse.subtree(clause.object)
    for i in reversed(parse.children(clause.object)):
        begin = _start(parse, i)
        if i < clause.object or not _may_be_the_verbs(parse, clause, i):
            break
        inside = [j for j in inside if j < begin]
    if inside[-1] > clause.object and parse.deps[inside[-1]] == "cc":
        del inside[-1]  # "wears a coat | and standing there"
    left = [i for i in parse.subtree(clause.object) if i > inside[-1]]
    if not _OF_SIGNS.isdisjoint(parse.lower_words[i] for i in left) or any(
        _may_be_the_verbs(parse, clause, i) for i in parse.children(clause.object) if clause.object < i <= inside[-1]
    ):
        return SoswapExclusionReason.ATTACHED
    return _span(parse, clause.object, inside)


def _may_be_the_verbs(parse: Parse, clause: TransitiveClause, i: int) -> bool:
    """Check whether a dependent of the object may belong to the verb instead."""
    if parse.tags[i] == "VBG" and parse.deps[i] == "conj":
        return parse.tags[clause.verb] == "VBG"
    if is_animate(parse, clause.object) and not is_body_part_preposition(parse, i):
        return False
    if parse.tags[i] == "VBG" and parse.deps[i] == "acl":
        return parse.lemmas[i].lower() not in _OF_THINGS
    word = parse.lower_words[i]
    if parse.deps[i] != "prep" or word in _OF_NOUNS:
        return False
    verb = parse.lemmas[clause.verb].lower()
    return verb != "use" and (word != "with" or verb not in WITHOUT_TOOL or is_body_part_preposition(parse, i))


def _span(parse: Parse, head: int, inside: list[int]) -> range | SoswapExclusionReason:
    """Determine the contiguous tokens of a head's phrase, or the reason for exclusion."""
    span = range(inside[0], inside[-1] + 1)
    if len(span) != len(inside):
        return SoswapExclusionReason.BROKEN
    if parse.pos[head] not in ("NOUN", "PROPN", "PRON", "NUM"):
        return SoswapExclusionReason.HEAD
    if parse.deps[span[-1]] in ("cc", "mark", "prep", "det", "aux") or parse.pos[span[0]] in ("ADP", "AUX", "SCONJ"):
        return SoswapExclusionReason.BROKEN
    if _is_cut_off(parse, head, span):
        return SoswapExclusionReason.BROKEN
    if any(_is_out_of_place(parse, i, span) for i in range(span.start + 1, head)):
        return SoswapExclusionReason.BROKEN
    for i in span:
        if parse.tags[i] == "VBG" and parse.deps[i] == "conj" and parse.pos[parse.heads[i]] in ("NOUN", "PROPN"):
            return SoswapExclusionReason.BROKEN  # "holding a cup and talking"
        if parse.lower_words[i] in ("as", "while", "when"):  # parsers attach the next clause to the phrase
            return SoswapExclusionReason.BROKEN
        if parse.deps[i] in ("amod", "compound", "conj", "nmod") and parse.lower_words[i] in MISREAD:
            return SoswapExclusionReason.BROKEN  # "a guitar and sings"
        if parse.pos[i] in ("PUNCT", "SPACE") and not _is_allowed_mark(parse, i, span):
            return SoswapExclusionReason.PUNCTUATED
    return span


def _is_cut_off(parse: Parse, head: int, span: range) -> bool:
    """Check by the words at its end whether a phrase lacks words that follow, or contains words that it should not."""
    last = span[-1]
    if last > head and parse.heads[last] == head and (parse.pos[last] == "ADV" or parse.tags[last] == "RP"):
        return True  # "raises her hand up |"
    if span.stop == len(parse.words) or parse.deps[head] != "dobj":
        return False
    if parse.pos[span.stop] in ("NOUN", "PROPN", "ADJ", "DET", "PRON", "AUX"):
        return True  # "a red ring | chew toy"
    if parse.tags[span.stop] in ("VB", "VBD", "VBZ", "VBP"):
        return True
    if parse.lower_words[span.stop] in ("of", "that", "which", "who"):
        return True
    if is_animate(parse, head) and (parse.tags[span.stop] == "VBG" or _is_worn(parse, span.stop)):
        return True  # "the boys | running", "his opponent | in black shorts"
    after = parse.lower_words[span.stop : span.stop + 2]
    return (
        "with" in parse.words[head : span.stop]
        and after[0] in ("in", "on")
        and not PERSONAL.isdisjoint(after[1:])  # "a coat with flowers | on it"
    )


def _is_worn(parse: Parse, preposition: int) -> bool:
    """Check whether a preposition introduces clothes or colours of a person: in black shorts, with glasses."""
    inner = parse.child(preposition, "pobj")
    if inner is None or parse.lower_words[preposition] not in ("in", "with"):
        return False
    colours = any(parse.lower_words[i] in COLORS for i in (inner, *parse.children(inner)))
    return colours or parse.lemmas[inner].lower() in CLOTHES


def _is_out_of_place(parse: Parse, i: int, span: range) -> bool:
    """Check whether a token before a noun starts another phrase, or is a plural that the parser reads as a compound."""
    # Examples: "catches a wave", which the parser reads as a compound; "a girls shoe", which lacks its apostrophe.
    if parse.tags[i] in ("DT", "PRP$") and parse.heads[i] in span:
        before = parse.lower_words[i - 1]
        return before not in _BEFORE_ARTICLES and parse.deps[i - 1] not in ("cc", "prep", "punct")
    return parse.deps[i] == "compound" and parse.tags[i] == "NNS" and parse.lemmas[i].lower() in ANIMATE


def _is_allowed_mark(parse: Parse, i: int, span: range) -> bool:
    """Check whether a punctuation mark may stay in a phrase: a hyphen, or a comma between adjectives or in a list."""
    if not span.start < i < span.stop - 1:
        return False
    if parse.words[i] == "-":
        return not parse.spaces[i] and not parse.spaces[i - 1]
    nouns = [j for j in span if j > i and parse.deps[j] == "conj" and parse.pos[j] in ("NOUN", "PROPN")]
    between_adjectives = parse.pos[i - 1] == "ADJ" and parse.pos[i + 1] in ("ADJ", "NOUN")
    return parse.words[i] == "," and (between_adjectives or any(_start(parse, j) - i in (1, 2) for j in nouns))


def _start(parse: Parse, head: int) -> int:
    return parse.subtree(head)[0]
