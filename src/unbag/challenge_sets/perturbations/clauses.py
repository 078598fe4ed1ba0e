"""Clauses of a parsed sentence: the first with a subject and a direct object, their phrases, and number agreement."""

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
from unbag.data.text.parses import OBJECTIVE, GrammaticalPerson, Parse

PERSONAL: Final = frozenset(word.lower() for pair in OBJECTIVE.items() for word in pair)
"""Subject and object forms of personal pronouns."""
_ANIMATE: Final = PEOPLE | ANIMALS | {"him", "her", "me", "them", "us", "you"}
_VERBS: Final = ("VERB", "AUX")

DETERMINER: Final = "a determiner that does not fit its noun"
DISAGREES: Final = "a verb that does not agree with its subject"
EXPLETIVE: Final = "an expletive (there is, here we have)"
LATER_VERB: Final = "an object of a verb other than the subject's (sits and reads)"
BROKEN: Final = "a phrase with a gap, out of order, or cut off"
ATTACHED: Final = "a phrase that may modify the object or the verb (carries a plate with food)"
PUNCTUATED: Final = "punctuation within a phrase"
NO_HEAD: Final = "a phrase that is not headed by a noun or pronoun"


class ExcludedSentence(Exception):
    """Exception for a sentence that an operator cannot change. The message is the reason."""


def exclude_if(condition: object, reason: str) -> None:
    """Raise `ExcludedSentence` with a reason if a condition holds."""
    if condition:
        raise ExcludedSentence(reason)


def is_animate(parse: Parse, head: int) -> bool:
    """Check whether a noun, pronoun or name denotes people or animals."""
    if parse.pos[head] == "PROPN":
        return not parse.has_child(head, "det")  # a name with an article is a thing: a Frisbee
    return parse.lemmas[head].lower() in _ANIMATE or parse.lower_words[head] in _ANIMATE


def is_body_part_preposition(parse: Parse, preposition: int) -> bool:
    """Check whether a token is a preposition before a body part: in its mouth, on her head, with both hands."""
    inner = parse.child(preposition, "pobj")
    return inner is not None and parse.lemmas[inner].lower() in BODY_PARTS


class TransitiveClause(NamedTuple):
    """Token positions of the verb, the subject and the direct object of a clause."""

    verb: int  # verb of the object
    subject: int  # head of the subject
    object: int  # head of the object
    verbs: tuple[int, ...]  # verbs that share the subject, the first of which is the verb of the subject


def find_clause(parse: Parse) -> TransitiveClause:
    """Find the first clause with a subject and a direct object. Raise `ExcludedSentence` if there is none."""
    root = parse.deps.index("ROOT") if "ROOT" in parse.deps else 0
    deps = {parse.deps[child] for child in parse.children(root)}
    exclude_if("expl" in deps or "here" in parse.lower_words[: parse.first_word + 1], EXPLETIVE)
    exclude_if("nsubjpass" in deps or "csubjpass" in deps, "a passive")
    # "A man is in the water" has a copula without an attribute.
    exclude_if(deps & {"attr", "acomp"} or parse.lemmas[root] == "be", "a copula")
    exclude_if(parse.tags[root] == "VB" and not deps & {"nsubj", "csubj", "aux"}, "an imperative")
    top = _linked_verbs(parse, root, ("conj", "xcomp"))
    scenes = [child for verb in top for child in parse.children(verb) if _is_scene(parse, child)]
    has_other_verb = False
    for verbs in (top, *([scene] for scene in scenes)):
        bearer, subject = verbs[0], None
        for verb in verbs:
            own = parse.child(verb, "nsubj")
            if own is not None:
                bearer, subject = verb, own
            object_ = parse.child(verb, "dobj")
            if object_ is None or _is_adverbial(parse, object_) or parse.pos[verb] not in _VERBS:
                continue
            if subject is not None and _is_one_action(parse, bearer, verb):
                linked = _linked_verbs(parse, bearer, ("conj",))[1:]
                sharing = [v for v in linked if not parse.has_child(v, "nsubj", "nsubjpass", "csubj", "expl")]
                return TransitiveClause(verb, subject, object_, (bearer, *sharing))
            # The parser found both parts, but the verb of the object may have another subject.
            has_other_verb = has_other_verb or subject is not None
    exclude_if(has_other_verb, LATER_VERB)
    exclude_if(parse.pos[root] not in _VERBS, "a noun phrase or another fragment without a main verb")
    exclude_if("nsubj" not in deps, "a verb without a subject")
    exclude_if(deps & {"prep", "prt"}, "objects of prepositions only")
    raise ExcludedSentence("a verb without an object")


def _is_one_action(parse: Parse, bearer: int, verb: int) -> bool:
    """Check whether a verb has the same subject as its bearer (sits and reads, tries to open)."""
    while verb != bearer:
        above = parse.heads[verb]
        if not _is_coordinated(parse, above, verb):
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


_ADVERBIAL: Final = frozenset(
    "downstairs downtown home indoors inside midair outdoors outside overhead underwater upstairs".split()
)
"""Adverbs that parsers mistake for an object."""


def _is_adverbial(parse: Parse, object_: int) -> bool:
    """Check whether the word that the parser reads as an object is adverbial: swims underwater, sits Indian style."""
    return parse.lower_words[object_] in _ADVERBIAL or parse.lemmas[parse.heads[object_]].lower() in INTRANSITIVE


def _is_scene(parse: Parse, verb: int) -> bool:
    """Check whether a verb belongs to a clause of the same time, after as, while or when."""
    return parse.deps[verb] == "advcl" and any(
        parse.deps[i] in ("mark", "advmod") and parse.lower_words[i] in ("as", "while", "when")
        for i in parse.children(verb)
    )


def _linked_verbs(parse: Parse, verb: int, deps: tuple[str, ...]) -> list[int]:
    """List a verb and the verbs linked to it by chains of the given dependencies, in order."""
    verbs = [verb]
    for above in verbs:  # the list grows during the loop: three coordinated verbs form a chain of two links
        verbs += [i for i in parse.children(above) if parse.deps[i] in deps and parse.pos[i] in _VERBS]
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
    conjunctions = [i for noun in nouns for i in parse.children(noun) if parse.deps[i] == "cc" and i in span]
    if any(parse.lower_words[i] in ("and", "&") for i in conjunctions):
        return GrammaticalPerson.PLURAL
    if word in _OF_MANY:
        inner = find_of_complement(parse, head)
        return GrammaticalPerson.SINGULAR if inner is None else determine_person(parse, inner, span)
    if parse.pos[head] == "NUM":
        is_plural = word not in ("one", "1")
    else:
        is_counted = any(parse.deps[i] == "nummod" and parse.lower_words[i] not in ("one", "1") for i in children)
        # "a four wheeler" is singular.
        is_counted = is_counted and not any(parse.lower_words[i] in ARTICLES for i in children)
        is_plural = parse.tags[head] in ("NNS", "NNPS") or word in _PLURAL or is_counted
    return GrammaticalPerson.PLURAL if is_plural else GrammaticalPerson.SINGULAR


def find_of_complement(parse: Parse, head: int) -> int | None:
    """Find the noun after the `of` of a phrase. Return None if there is none."""
    of = next((i for i in parse.children(head) if parse.lower_words[i] == "of"), None)
    return None if of is None else parse.child(of, "pobj")


def has_number_agreement(parse: Parse, finite: int, subject: int) -> bool:
    """Check whether a verb agrees with its subject in number. Uncertain cases count as agreement."""
    has_complement = find_of_complement(parse, subject) is not None
    if parse.tags[finite] == "VBZ":  # parsers sometimes read "a man in a hat and boots" as two subjects
        return parse.tags[subject] != "NNS" or has_complement
    return (
        parse.tags[finite] not in ("VB", "VBP")
        or has_complement
        or parse.lemmas[subject].lower() in _COLLECTIVE
        or determine_person(parse, subject, range(len(parse.words))) is not GrammaticalPerson.SINGULAR
    )


_OF_NOUNS: Final = frozenset("about between for including like of".split())
_OF_SIGNS: Final = frozenset("read reads say says".split())
_OF_THINGS: Final = frozenset("contain depict describe feature hang read say show".split())
_BEFORE_ARTICLES: Final = frozenset("all both half just of such quite what".split())


def find_subject_span(parse: Parse, clause: TransitiveClause) -> range:
    """Find the tokens of a clause's subject. Raise `ExcludedSentence` if they cannot move as a phrase.

    Parsers sometimes read "A man in a coat and jeans holds …" as two subjects, "a man in a coat" and "jeans". The
    function joins them to one.
    """
    inside = parse.subtree(clause.subject)
    is_nested = parse.has_child(clause.subject, "prep", "acl")
    if parse.deps[inside[-1]] == "cc" and is_nested and find_finite_verb(parse, clause.verbs[0]) is not None:
        for other in parse.children(parse.heads[clause.subject]):
            more = parse.subtree(other)
            if parse.deps[other] == "nsubj" and more[0] == inside[-1] + 1:
                return _find_span(parse, clause.subject, [*inside, *more])
    return _find_span(parse, clause.subject, inside)


def find_object_span(parse: Parse, clause: TransitiveClause) -> range:
    """Find the tokens of a clause's object. Raise `ExcludedSentence` if they cannot move as a phrase.

    Final phrases that may also belong to the verb are not part of the result. They stay in place, which is grammatical
    for both attachments: carries | a ball | in its mouth.
    """
    subtree = parse.subtree(clause.object)
    inside = subtree
    for i in reversed(parse.children(clause.object)):
        if i < clause.object or not _may_be_the_verbs(parse, clause, i):
            break
        start = parse.subtree(i)[0]
        inside = [j for j in inside if j < start]
    if inside[-1] > clause.object and parse.deps[inside[-1]] == "cc":
        inside = inside[:-1]  # "wears a coat | and standing there"
    exclude_if(any(parse.lower_words[i] in _OF_SIGNS for i in subtree if i > inside[-1]), ATTACHED)
    attached = (i for i in parse.children(clause.object) if clause.object < i <= inside[-1])
    exclude_if(any(_may_be_the_verbs(parse, clause, i) for i in attached), ATTACHED)
    return _find_span(parse, clause.object, inside)


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


def _find_span(parse: Parse, head: int, inside: list[int]) -> range:
    """Determine the contiguous tokens of a head's phrase."""
    span = range(inside[0], inside[-1] + 1)
    exclude_if(len(span) != len(inside), BROKEN)
    exclude_if(parse.pos[head] not in ("NOUN", "PROPN", "PRON", "NUM"), NO_HEAD)
    exclude_if(parse.deps[span[-1]] in ("cc", "mark", "prep", "det", "aux"), BROKEN)
    exclude_if(parse.pos[span[0]] in ("ADP", "AUX", "SCONJ") or _is_cut_off(parse, head, span), BROKEN)
    exclude_if(any(_is_out_of_place(parse, i, span) for i in range(span.start + 1, head)), BROKEN)
    for i in span:
        is_of_noun = parse.pos[parse.heads[i]] in ("NOUN", "PROPN")
        exclude_if(parse.tags[i] == "VBG" and parse.deps[i] == "conj" and is_of_noun, BROKEN)  # a cup and talking
        exclude_if(parse.lower_words[i] in ("as", "while", "when"), BROKEN)  # the next clause
        is_inner = parse.deps[i] in ("amod", "compound", "conj", "nmod")
        exclude_if(is_inner and parse.lower_words[i] in MISREAD, BROKEN)  # "a guitar and sings"
        exclude_if(parse.pos[i] in ("PUNCT", "SPACE") and not _is_allowed_mark(parse, i, span), PUNCTUATED)
    return span


def _is_cut_off(parse: Parse, head: int, span: range) -> bool:
    """Check by the words at its end whether a phrase lacks words that follow, or contains words that it should not."""
    last, after = span[-1], span.stop
    if last > head and parse.heads[last] == head and (parse.pos[last] == "ADV" or parse.tags[last] == "RP"):
        return True  # "raises her hand up |"
    if after == len(parse.words) or parse.deps[head] != "dobj":
        return False
    following = parse.lower_words[after : after + 2]
    return (
        parse.pos[after] in ("NOUN", "PROPN", "ADJ", "DET", "PRON", "AUX")  # "a red ring | chew toy"
        or parse.tags[after] in ("VB", "VBD", "VBZ", "VBP")
        or following[0] in ("of", "that", "which", "who")
        # "the boys | running", "his opponent | in black shorts"
        or (is_animate(parse, head) and (parse.tags[after] == "VBG" or _is_worn(parse, after)))
        # "a coat with flowers | on it"
        or (
            "with" in parse.words[head:after]
            and following[0] in ("in", "on")
            and not PERSONAL.isdisjoint(following[1:])
        )
    )


def _is_worn(parse: Parse, preposition: int) -> bool:
    """Check whether a preposition introduces clothes or colours of a person: in black shorts, with glasses."""
    inner = parse.child(preposition, "pobj")
    if inner is None or parse.lower_words[preposition] not in ("in", "with"):
        return False
    has_colour = any(parse.lower_words[i] in COLORS for i in (inner, *parse.children(inner)))
    return has_colour or parse.lemmas[inner].lower() in CLOTHES


def _is_out_of_place(parse: Parse, i: int, span: range) -> bool:
    """Check whether a token before a noun starts another phrase, or is a plural that the parser reads as a compound."""
    # Examples: "catches a wave", which the parser reads as a compound; "a girls shoe", which lacks its apostrophe.
    if parse.tags[i] in ("DT", "PRP$") and parse.heads[i] in span:
        before = parse.lower_words[i - 1]
        return before not in _BEFORE_ARTICLES and parse.deps[i - 1] not in ("cc", "prep", "punct")
    return parse.deps[i] == "compound" and parse.tags[i] == "NNS" and parse.lemmas[i].lower() in _ANIMATE


def _is_allowed_mark(parse: Parse, i: int, span: range) -> bool:
    """Check whether a punctuation mark may stay in a phrase: a hyphen, or a comma between adjectives or in a list."""
    if not span.start < i < span.stop - 1:
        return False
    if parse.words[i] == "-":
        return not parse.spaces[i] and not parse.spaces[i - 1]
    nouns = [j for j in span if j > i and parse.deps[j] == "conj" and parse.pos[j] in ("NOUN", "PROPN")]
    is_between_adjectives = parse.pos[i - 1] == "ADJ" and parse.pos[i + 1] in ("ADJ", "NOUN")
    is_in_list = any(parse.subtree(j)[0] - i in (1, 2) for j in nouns)
    return parse.words[i] == "," and (is_between_adjectives or is_in_list)
