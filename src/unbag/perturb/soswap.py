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

What is left out, beside other structures: `Refusal`, the first of which a premise meets is its reason. Much of it is
misread by the parser and would come out broken: an object that is a preposition's (walks down the road), a verb that
does not agree with its subject, a phrase that goes on after its end. Some are left out since the swapped sentence need
not contradict: verbs that hold both ways (meet), or may (watch, hold, of people), phrases of the same words, negation,
modals. And some since the object is no other participant, so that swapped they mean nothing: what is played, given, had
or taken (a game, a speech, a nap) and parts of the body.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from unbag.text.agreement import OBJECTIVE, SUBJECTIVE, Person, agreeing
from unbag.text.articles import ARTICLES
from unbag.text.capitals import lowered, raised
from unbag.text.determiners import determiners_fit
from unbag.text.negations import NEGATIONS
from unbag.text.nouns import BODY_PARTS, CLOTHES, COLOURS, HAPPENINGS, IDIOMS, SPORTS, UNCOUNTED
from unbag.text.parses import Parse
from unbag.text.people import ANIMALS, PEOPLE
from unbag.text.verbs import CATENATIVE, DIRECTIONS, INTRANSITIVE, MISREAD, MOTION, MUTUAL, SYMMETRIC, WITHOUT_TOOL


class Refusal(StrEnum):
    """Why a premise cannot be swapped."""

    DETERMINER = "a determiner that does not fit its noun"
    QUESTION = "a question"
    IMPERATIVE = "an imperative"
    EXPLETIVE = "an expletive (there is, here we have)"
    PASSIVE = "a passive"
    COPULA = "a copula"
    NO_VERB = "a noun phrase, or another phrase without a verb at its top"
    NO_SUBJECT = "a verb without a subject"
    PREPOSITIONAL = "objects of prepositions only"
    NO_OBJECT = "a verb without an object"
    LATER_VERB = "an object of another verb than the subject's (sits and reads)"
    PLACE = "an object that is a preposition's (walks down the road)"
    BROKEN = "a phrase with a gap, out of order, or cut off"
    ATTACHED = "a phrase that may be the object's or the verb's (carries a plate with food)"
    DISAGREES = "a verb that does not agree with its subject"
    PUNCTUATED = "punctuation within a phrase"
    HEAD = "a phrase that is not headed by a noun or pronoun"
    BARE = "a phrase that lacks its determiner"
    CAPITAL = "a first word that may be a name"
    PRONOUN = "a pronoun that cannot move"
    REFLEXIVE = "a reflexive or reciprocal"
    REFERS_BACK = "a phrase that refers to the other (another, own)"
    HAPPENING = "an object that is no thing (play a game, take a nap)"
    BODY = "an object that is a part of the body (raise a hand)"
    TWO_OBJECTS = "an indirect object before the direct one"
    CONTRACTED = "a contracted verb"
    MODAL = "a modal verb"
    NEGATED = "a negation"
    SAME_WORDS = "both phrases have the same words"
    BOTH_WAYS = "a verb that may hold both ways"


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


class _Clause(NamedTuple):
    """The tokens of a clause: its verb, the heads of its subject and object, and all verbs that share the subject."""

    verb: int
    subject: int
    object: int
    verbs: tuple[int, ...]


def soswap(parse: Parse) -> Swap | Refusal:
    """Swap subject and object of a sentence, or say why not."""
    if parse.words and parse.words[-1] == "?":
        return Refusal.QUESTION
    clause = _clause(parse)
    if isinstance(clause, Refusal):
        return clause
    if not determiners_fit(parse):
        return Refusal.DETERMINER
    subject, object_ = _subject(parse, clause), _object(parse, clause)
    for span in (subject, object_):
        if isinstance(span, Refusal):
            return span
    assert isinstance(subject, range)
    assert isinstance(object_, range)
    if refusal := _unfit_verb(parse, clause, subject, object_) or _unfit_phrases(parse, clause, subject, object_):
        return refusal
    words = list(parse.words)
    person = _person(parse, clause.object, object_)
    for verb in clause.verbs:
        finite = _finite(parse, verb)
        if finite is not None:
            words[finite] = _agreeing(parse, finite, person)
    _change_case(words, clause.subject, subject, OBJECTIVE)
    _change_case(words, clause.object, object_, SUBJECTIVE)
    repaired = words != list(parse.words)
    first = parse.first_word
    if subject.start == first and parse.words[first][:1].isupper():
        words[first] = lowered(words[first], parse.pos[first])
        words[object_.start] = raised(words[object_.start])
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


def _clause(parse: Parse) -> _Clause | Refusal:
    """Find the first clause with a subject and a direct object."""
    root = parse.deps.index("ROOT") if "ROOT" in parse.deps else 0
    if refusal := _other_structure(parse, root):
        return refusal
    top = _together(parse, root, ("conj", "xcomp"))
    scenes = [child for verb in top for child in parse.children(verb) if _is_scene(parse, child)]
    later = False
    for verbs in (top, *([scene] for scene in scenes)):
        bearer, subject = verbs[0], None
        for verb in verbs:
            own = _child(parse, verb, "nsubj")
            if own is not None:
                bearer, subject = verb, own
            object_ = _child(parse, verb, "dobj")
            if object_ is None or _is_adverbial(parse, object_) or parse.pos[verb] not in ("VERB", "AUX"):
                continue
            if subject is not None and _is_one_action(parse, bearer, verb):
                sharing = [v for v in _together(parse, bearer, ("conj",))[1:] if not _has_subject(parse, v)]
                return _Clause(verb, subject, object_, (bearer, *sharing))
            later = later or subject is not None
    return Refusal.LATER_VERB if later else _without(parse, root)


def _is_one_action(parse: Parse, bearer: int, verb: int) -> bool:
    """Tell whether a verb is a subject's own, or one that it has as well (sits and reads, tries to open)."""
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
            return False  # learn how to open
        verb = above
    return True


def _is_coordinated(parse: Parse, above: int, verb: int) -> bool:
    """Tell whether two verbs plainly have one subject: of one form, with an "and", and no pronoun that tells of it."""
    return (
        parse.deps[verb] == "conj"
        and above < verb
        and parse.tags[above].replace("VBP", "VB") == parse.tags[verb].replace("VBP", "VB")
        and "and" in (parse.lower_words[verb - 1], parse.lower_words[verb - 2])
        and not any(parse.pos[i] in ("PRON", "PUNCT") or parse.tags[i] == "VBG" for i in range(above + 1, verb))
    )


def _without(parse: Parse, root: int) -> Refusal:
    """Say what a sentence lacks in which no verb has a subject and a direct object."""
    if parse.pos[root] not in ("VERB", "AUX"):
        return Refusal.NO_VERB
    deps = {parse.deps[child] for child in parse.children(root)}
    if "nsubj" not in deps:
        return Refusal.NO_SUBJECT
    return Refusal.PREPOSITIONAL if deps & {"prep", "prt"} else Refusal.NO_OBJECT


def _is_adverbial(parse: Parse, object_: int) -> bool:
    """Tell whether what is read as a direct object is none: swims underwater, sits Indian style."""
    return parse.lower_words[object_] in _ADVERBIAL or parse.lemmas[parse.heads[object_]].lower() in INTRANSITIVE


def _has_subject(parse: Parse, verb: int) -> bool:
    return any(parse.deps[i] in ("nsubj", "nsubjpass", "csubj", "expl") for i in parse.children(verb))


def _is_scene(parse: Parse, verb: int) -> bool:
    """Tell whether a verb is that of a clause that goes on at the same time: as, while or when."""
    return parse.deps[verb] == "advcl" and any(
        parse.deps[i] in ("mark", "advmod") and parse.lower_words[i] in ("as", "while", "when")
        for i in parse.children(verb)
    )


def _other_structure(parse: Parse, root: int) -> Refusal | None:
    """Say what a sentence is that has no active clause at its top."""
    deps = {parse.deps[child] for child in parse.children(root)}
    if "expl" in deps or "here" in parse.lower_words[: parse.first_word + 1]:
        return Refusal.EXPLETIVE
    if "nsubjpass" in deps or "csubjpass" in deps:
        return Refusal.PASSIVE
    if deps & {"attr", "acomp"} or parse.lemmas[root] == "be":
        return Refusal.COPULA
    if parse.tags[root] == "VB" and not deps & {"nsubj", "csubj", "aux"}:
        return Refusal.IMPERATIVE
    return None


def _together(parse: Parse, verb: int, deps: tuple[str, ...]) -> list[int]:
    """Return a verb and the verbs that depend on it, or on one of these, in one of some ways, in order."""
    verbs = [verb]
    for above in verbs:  # which grows: a list of three is a chain of two
        verbs += [i for i in parse.children(above) if parse.deps[i] in deps and parse.pos[i] in ("VERB", "AUX")]
    return sorted(verbs)


def _child(parse: Parse, head: int, dep: str) -> int | None:
    return next((i for i in parse.children(head) if parse.deps[i] == dep), None)


def _subject(parse: Parse, clause: _Clause) -> range | Refusal:
    """Return the tokens of a clause's subject.

    "A man in a coat and jeans holds …" is read as two subjects now and then, a man in a coat, and jeans: it is one.
    """
    inside = parse.subtree(clause.subject)
    nested = any(parse.deps[i] in ("prep", "acl") for i in parse.children(clause.subject))
    if parse.deps[inside[-1]] == "cc" and nested and _finite(parse, clause.verbs[0]) is not None:
        for other in parse.children(parse.heads[clause.subject]):
            more = parse.subtree(other)
            if parse.deps[other] == "nsubj" and more[0] == inside[-1] + 1:
                return _span(parse, clause.subject, [*inside, *more])
    return _span(parse, clause.subject, inside)


def _object(parse: Parse, clause: _Clause) -> range | Refusal:
    """Return the tokens of a clause's object, but for phrases at its end that may as well be the verb's.

    They stay where they are, which reads well whosever they are: carries | a ball | in its mouth.
    """
    inside = parse.subtree(clause.object)
    for i in reversed(parse.children(clause.object)):
        begin = _begins(parse, i)
        if i < clause.object or not _may_be_the_verbs(parse, clause, i):
            break
        inside = [j for j in inside if j < begin]
    if inside[-1] > clause.object and parse.deps[inside[-1]] == "cc":
        del inside[-1]  # wears a coat | and standing there
    left = [i for i in parse.subtree(clause.object) if i > inside[-1]]
    if not _OF_SIGNS.isdisjoint(parse.lower_words[i] for i in left) or any(
        _may_be_the_verbs(parse, clause, i) for i in parse.children(clause.object) if clause.object < i <= inside[-1]
    ):
        return Refusal.ATTACHED
    return _span(parse, clause.object, inside)


def _may_be_the_verbs(parse: Parse, clause: _Clause, i: int) -> bool:
    """Tell whether what hangs on an object may be rather its verb's."""
    if parse.tags[i] == "VBG" and parse.deps[i] == "conj":
        return parse.tags[clause.verb] == "VBG"
    if _animate(parse, clause.object) and not _is_of_the_body(parse, i):
        return False
    if parse.tags[i] == "VBG" and parse.deps[i] == "acl":
        return parse.lemmas[i].lower() not in _OF_THINGS
    word = parse.lower_words[i]
    if parse.deps[i] != "prep" or word in _OF_NOUNS:
        return False
    verb = parse.lemmas[clause.verb].lower()
    return verb != "use" and (word != "with" or verb not in WITHOUT_TOOL or _is_of_the_body(parse, i))


_OF_NOUNS: Final = frozenset("about between for including like of".split())
_OF_SIGNS: Final = frozenset("read reads say says".split())
_OF_THINGS: Final = frozenset("contain depict describe feature hang read say show".split())


def _span(parse: Parse, head: int, inside: list[int]) -> range | Refusal:
    """Return the run of tokens that is the phrase of a head."""
    span = range(inside[0], inside[-1] + 1)
    if len(span) != len(inside):
        return Refusal.BROKEN
    if parse.pos[head] not in ("NOUN", "PROPN", "PRON", "NUM"):
        return Refusal.HEAD
    if parse.deps[span[-1]] in ("cc", "mark", "prep", "det", "aux") or parse.pos[span[0]] in ("ADP", "AUX", "SCONJ"):
        return Refusal.BROKEN
    if _is_cut_off(parse, head, span):
        return Refusal.BROKEN
    if any(_is_out_of_place(parse, i, span) for i in range(span.start + 1, head)):
        return Refusal.BROKEN
    for i in span:
        if parse.tags[i] == "VBG" and parse.deps[i] == "conj" and parse.pos[parse.heads[i]] in ("NOUN", "PROPN"):
            return Refusal.BROKEN  # holding a cup and talking
        if parse.lower_words[i] in ("as", "while", "when"):  # parsers hang the next clause here
            return Refusal.BROKEN
        if parse.deps[i] in ("amod", "compound", "conj", "nmod") and parse.lower_words[i] in MISREAD:
            return Refusal.BROKEN  # a guitar and sings
        if parse.pos[i] in ("PUNCT", "SPACE") and not _harmless(parse, i, span):
            return Refusal.PUNCTUATED
    return span


def _is_cut_off(parse: Parse, head: int, span: range) -> bool:
    """Tell whether a phrase has too little of the words around it, or too much, by what stands at its end."""
    last = span[-1]
    if last > head and parse.heads[last] == head and (parse.pos[last] == "ADV" or parse.tags[last] == "RP"):
        return True  # raises her hand up |
    if span.stop == len(parse.words) or parse.deps[head] != "dobj":
        return False
    if parse.pos[span.stop] in ("NOUN", "PROPN", "ADJ", "DET", "PRON", "AUX"):
        return True  # a red ring | chew toy
    if parse.tags[span.stop] in ("VB", "VBD", "VBZ", "VBP"):
        return True
    if parse.lower_words[span.stop] in ("of", "that", "which", "who"):
        return True
    if _animate(parse, head) and (parse.tags[span.stop] == "VBG" or _is_worn(parse, span.stop)):
        return True  # the boys | running; his opponent | in black shorts
    after = parse.lower_words[span.stop : span.stop + 2]
    return (
        "with" in parse.words[head : span.stop]
        and after[0] in ("in", "on")
        and not _PERSONAL.isdisjoint(after[1:])  # a coat with flowers | on it
    )


def _is_worn(parse: Parse, preposition: int) -> bool:
    """Tell whether a preposition begins what tells a person: in black shorts, with glasses."""
    inner = _child(parse, preposition, "pobj")
    if inner is None or parse.lower_words[preposition] not in ("in", "with"):
        return False
    colours = any(parse.lower_words[i] in COLOURS for i in (inner, *parse.children(inner)))
    return colours or parse.lemmas[inner].lower() in CLOTHES


def _is_out_of_place(parse: Parse, i: int, span: range) -> bool:
    """Tell whether a token before a noun begins another phrase, or counts what is read as a part of its name.

    "catches a wave", read as a wave of catches; "a girls shoe", which lacks its apostrophe.
    """
    if parse.tags[i] in ("DT", "PRP$") and parse.heads[i] in span:
        before = parse.lower_words[i - 1]
        return before not in _BEFORE_ARTICLES and parse.deps[i - 1] not in ("cc", "prep", "punct")
    return parse.deps[i] == "compound" and parse.tags[i] == "NNS" and parse.lemmas[i].lower() in _ANIMATE


def _harmless(parse: Parse, i: int, span: range) -> bool:
    """Tell whether a punctuation mark may stay in a phrase: a hyphen, or a comma between adjectives or in a list."""
    if not span.start < i < span.stop - 1:
        return False
    if parse.words[i] == "-":
        return not parse.spaces[i] and not parse.spaces[i - 1]
    between_adjectives = parse.pos[i - 1] == "ADJ" and parse.pos[i + 1] in ("ADJ", "NOUN")
    return parse.words[i] == "," and (
        between_adjectives or any(_begins(parse, j) - i in (1, 2) for j in _listed(parse, i, span))
    )


def _listed(parse: Parse, comma: int, span: range) -> list[int]:
    """Return the coordinated nouns after a comma."""
    return [j for j in span if j > comma and parse.deps[j] == "conj" and parse.pos[j] in ("NOUN", "PROPN")]


def _begins(parse: Parse, head: int) -> int:
    return parse.subtree(head)[0]


def _unfit_verb(parse: Parse, clause: _Clause, subject: range, object_: range) -> Refusal | None:
    """Say what stands against a clause's verb."""
    bearer = clause.verbs[0]
    # Only auxiliaries and adverbs may stand between a subject and its verb; an auxiliary before it makes a question.
    if not subject.stop <= bearer <= clause.verb < object_.start or any(
        parse.pos[i] not in ("AUX", "ADV", "PART") for i in range(subject.stop, bearer)
    ):
        return Refusal.BROKEN
    if _goes_to_a_place(parse, clause.verb, range(clause.verb + 1, object_.start + 1)):
        return Refusal.PLACE
    if any(parse.deps[i] == "aux" and i < subject.start for i in parse.children(bearer)):
        return Refusal.QUESTION
    for verb in (clause.verb, bearer):
        children = parse.children(verb)
        if "expl" in {parse.deps[i] for i in children}:
            return Refusal.EXPLETIVE
        if any(parse.lower_words[i] in NEGATIONS for i in children):
            return Refusal.NEGATED
        if any(parse.tags[i] == "MD" for i in children if parse.deps[i] == "aux"):
            return Refusal.MODAL
    if _is_participle(parse, bearer, clause.verb, object_):
        return Refusal.BROKEN
    finites = [finite for verb in clause.verbs if (finite := _finite(parse, verb)) is not None]
    if any(parse.words[finite][0] in "'’" or parse.lower_words[finite] == "ai" for finite in finites):
        return Refusal.CONTRACTED
    # Verbs of one subject that differ in number are not of one subject.
    if {"VBZ", "VBP"} <= {parse.tags[finite] for finite in finites}:
        return Refusal.BROKEN
    if not all(_agrees(parse, finite, clause.subject) for finite in finites):
        return Refusal.DISAGREES
    # "gives her a flower"; "gives a flower to her" is no such thing.
    if any(
        parse.deps[i] == "dative" and parse.pos[i] != "ADP" and i < clause.object for i in parse.children(clause.verb)
    ):
        return Refusal.TWO_OBJECTS
    lemma = parse.lemmas[clause.verb].lower()
    if lemma in SYMMETRIC or (lemma in MUTUAL and _animate(parse, clause.object)):
        return Refusal.BOTH_WAYS
    return None


def _goes_to_a_place(parse: Parse, verb: int, between: range) -> bool:
    """Tell whether what is read as a verb's object is where it goes: walks down a road, gets out of a van.

    Of a motion the particle is a preposition; elsewhere (picks up a box) it is the verb's.
    """
    moves = parse.lemmas[verb].lower() in MOTION
    return any(parse.lower_words[i] in DIRECTIONS and (moves or parse.deps[i] != "prt") for i in between)


def _is_participle(parse: Parse, bearer: int, verb: int, object_: range) -> bool:
    """Tell whether what is read as a subject's verb is a participle after it: men dressed up playing music."""
    if any(parse.deps[i] in ("aux", "auxpass") for i in parse.children(bearer)):
        return False
    if parse.tags[bearer] == "VBN":
        return True
    # Taggers take the participle for the past; a past before a gerund (began playing) is lost with it.
    return parse.tags[bearer] == "VBD" and "VBG" in (parse.tags[object_.start], parse.tags[verb])


def _agrees(parse: Parse, finite: int, subject: int) -> bool:
    """Tell whether a verb's number is its subject's, where both are certain: if not, one of them is misread."""
    if parse.tags[finite] == "VBZ":  # "a man in a hat and boots" is read as two subjects now and then
        return parse.tags[subject] != "NNS" or _of(parse, subject) is not None
    collective = parse.lemmas[subject].lower() in _COLLECTIVE or _of(parse, subject) is not None
    whole = range(len(parse.words))
    return (
        parse.tags[finite] not in ("VB", "VBP") or collective or _person(parse, subject, whole) is not Person.SINGULAR
    )


_REFERRING: Final = frozenset("another other others own each respective same".split())
_ADVERBIAL: Final = frozenset(
    "downstairs downtown home indoors inside midair outdoors outside overhead underwater upstairs".split()
)
"""Words that parsers take for an object."""
_PERCEPTION: Final = frozenset("hear help observe see watch".split())
_INDEFINITE: Final = frozenset(
    f"{every}{one}" for every in ("some", "every", "any") for one in ("one", "body", "thing")
)


def _unfit_phrases(parse: Parse, clause: _Clause, subject: range, object_: range) -> Refusal | None:
    """Say what stands against a clause's subject and object."""
    words = parse.lower_words
    if any(word.endswith(("self", "selves")) for word in words):
        return Refusal.REFLEXIVE
    for head, span in ((clause.subject, subject), (clause.object, object_)):
        if words[head] in NEGATIONS or any(words[i] in NEGATIONS for i in parse.children(head)):
            return Refusal.NEGATED
        if words[head] in ("other", "another") and len(span) > 1:
            return Refusal.REFLEXIVE  # each other
        if any(words[i] in _REFERRING for i in span):
            return Refusal.REFERS_BACK
        questions = [i for i in span if parse.tags[i] in ("WP", "WDT", "WP$")]
        if questions and not any(parse.deps[i] == "relcl" for i in span):
            return Refusal.PRONOUN  # one of which
        if "who" in words[span.start : span.stop] and not _animate(parse, head):
            return Refusal.BROKEN
        if parse.pos[head] in ("PRON", "NUM") and words[head] not in _PERSONAL | _INDEFINITE:
            return Refusal.PRONOUN  # some, one, those: they stand for what was said before
        # A pronoun within a larger phrase ("he and a friend") has its case from there.
        personal = [i for i in span if parse.pos[i] == "PRON" and words[i] in _PERSONAL and parse.deps[i] != "poss"]
        alone = len(span) == 1 and personal == [head]
        if personal and not alone and head in (*personal, *(parse.heads[i] for i in personal)):
            return Refusal.PRONOUN
        if alone and parse.tags[clause.verbs[0]] == "VBG" and _finite(parse, clause.verbs[0]) is None:
            return Refusal.PRONOUN  # a caption without a finite verb: "him chasing a dog"
    if not NEGATIONS.isdisjoint(words[i] for i in object_):
        return Refusal.NEGATED  # gray shorts and no shirt
    if parse.lemmas[clause.verb].lower() in _PERCEPTION and any(
        parse.deps[i] == "compound" and _animate(parse, i) for i in parse.children(clause.object)
    ):
        return Refusal.BROKEN  # watch a woman dance, where the dance is read as a woman's
    if refusal := _unfit_object(parse, clause, object_):
        return refusal
    if not _has_determiner(parse, clause.subject):
        # Without a finite verb it would be read as one name: cement pouring workers.
        caption = parse.pos[clause.subject] == "NOUN" and _finite(parse, clause.verbs[0]) is None
        if parse.tags[clause.subject] == "NN" or (caption and parse.tags[clause.verbs[0]] == "VBG"):
            return Refusal.BARE
    # Taggers take a sentence's first word for a name if it lacks an article ("Dogs run"); two in a row are names.
    first = parse.first_word
    if subject.start == first and parse.pos[first] == "PROPN":
        if len(subject) == 1 or parse.pos[first + 1] != "PROPN":
            return Refusal.CAPITAL
    # "picks up a ball", but "picks her up": the pronoun would follow the particle.
    between = range(clause.verb + 1, object_.start)
    if words[clause.subject] in _PERSONAL and any(parse.deps[i] == "prt" for i in between):
        return Refusal.PRONOUN
    if _content(words, subject) == _content(words, object_):
        return Refusal.SAME_WORDS
    return None


def _unfit_object(parse: Parse, clause: _Clause, object_: range) -> Refusal | None:
    """Say what stands against an object: that it is no thing, or not all of the object or more than it."""
    head = clause.object
    lemma, verb = parse.lemmas[head].lower(), parse.lemmas[clause.verb].lower()
    if parse.lower_words[head] in _INDEFINITE:
        return Refusal.PRONOUN  # that a man holds something does not rule out that something holds a man
    bare = parse.tags[head] == "NN" and not _has_determiner(parse, head)
    if lemma in BODY_PARTS and parse.lower_words[head - 1] not in ("cliff", "rock"):  # a cliff face
        return Refusal.BODY
    if lemma in HAPPENINGS or (bare and lemma in SPORTS):
        return Refusal.HAPPENING
    if lemma in IDIOMS.get(verb, ()):
        return Refusal.HAPPENING
    if bare and lemma not in UNCOUNTED:
        return Refusal.BARE
    if _is_loosely_attached(parse, clause, object_):
        return Refusal.ATTACHED
    return None


def _is_loosely_attached(parse: Parse, clause: _Clause, object_: range) -> bool:
    """Tell whether a phrase after an object may be cut off from it, or one in it may be the verb's."""
    after = object_.stop
    if after < len(parse.words) and parse.lower_words[after] == "with" and not _is_of_the_body(parse, after):
        if parse.lemmas[clause.verb].lower() in WITHOUT_TOOL:
            return True  # carries a plate | with food
    return any(
        _is_of_the_body(parse, i)
        or (parse.pos[i] == "PRON" and parse.deps[i] != "poss" and parse.lower_words[i] in _PERSONAL)
        for i in range(clause.object + 1, after)
    )


def _is_of_the_body(parse: Parse, preposition: int) -> bool:
    """Tell whether a token is a preposition before a part of the body: in its mouth, on her head, with both hands."""
    inner = _child(parse, preposition, "pobj")
    return inner is not None and parse.lemmas[inner].lower() in BODY_PARTS


def _has_determiner(parse: Parse, noun: int) -> bool:
    # A mass noun needs none, but as the subject of an action it is mostly a caption's "Man rides horse".
    return any(parse.deps[i] in ("det", "poss", "nummod", "predet") for i in parse.children(noun))


_BEFORE_ARTICLES: Final = frozenset("all both half just of such quite what".split())
_PERSONAL: Final = frozenset(word.lower() for pair in OBJECTIVE.items() for word in pair)
_DETERMINERS: Final = frozenset("a an the one some this that these those".split())


def _content(words: Sequence[str], span: range) -> list[str]:
    return [words[i] for i in span if words[i] not in _DETERMINERS]


def _finite(parse: Parse, verb: int) -> int | None:
    """Return the token that agrees with a verb's subject: its first auxiliary, or itself; None if none does."""
    auxiliaries = [i for i in parse.children(verb) if parse.deps[i] in ("aux", "auxpass") and i < verb]
    first = auxiliaries[0] if auxiliaries else verb
    if parse.tags[first] in ("VBZ", "VBP"):
        return first
    # Taggers take a plural verb for an infinitive now and then.
    if parse.tags[first] == "VB" and not auxiliaries:
        above = parse.heads[verb]
        if parse.deps[verb] != "conj" or parse.tags[above] != "VB" or _finite(parse, above) == above:
            return first
    return first if parse.lower_words[first] in ("was", "were") else None


def _agreeing(parse: Parse, finite: int, person: Person) -> str:
    third = parse.tags[finite] == "VBZ"
    return agreeing(parse.words[finite], parse.lemmas[finite].lower(), person, third=third)


_PLURAL: Final = frozenset("you we they us them both many few several others these those people police cattle".split())
_OF_MANY: Final = frozenset("lot number couple bunch variety majority dozen handful all some most half plenty".split())


def _person(parse: Parse, head: int, span: range) -> Person:
    """Return what a phrase makes of the verb whose subject it is."""
    word = parse.lower_words[head]
    if word in ("i", "me"):
        return Person.I
    children = parse.children(head)
    # "a helmet and clothing" is read as "helmet-and-clothing" now and then.
    nouns = [head, *(i for i in children if parse.deps[i] in ("nmod", "compound") and parse.pos[i] == "NOUN")]
    for noun in nouns:  # which grows: a list of three is a chain of two
        nouns += [i for i in parse.children(noun) if parse.deps[i] == "conj" and i in span]
    conjunctions = {
        parse.lower_words[i] for noun in nouns for i in parse.children(noun) if parse.deps[i] == "cc" and i in span
    }
    if "and" in conjunctions or "&" in conjunctions:
        return Person.PLURAL
    if word in _OF_MANY:
        inner = _of(parse, head)
        return Person.SINGULAR if inner is None else _person(parse, inner, span)
    counted = any(parse.deps[i] == "nummod" and parse.lower_words[i] not in ("one", "1") for i in children)
    counted = counted and not any(parse.lower_words[i] in ARTICLES for i in children)  # a four wheeler
    many = parse.tags[head] in ("NNS", "NNPS") or word in _PLURAL or counted
    if parse.pos[head] == "NUM":
        many = word not in ("one", "1")
    return Person.PLURAL if many else Person.SINGULAR


def _of(parse: Parse, head: int) -> int | None:
    """Return the noun that a phrase has after `of`."""
    of = next((i for i in parse.children(head) if parse.lower_words[i] == "of"), None)
    return None if of is None else _child(parse, of, "pobj")


def _change_case(words: list[str], head: int, span: range, cases: dict[str, str]) -> None:
    if len(span) == 1:
        word = words[head] if words[head] == "I" else words[head].lower()
        words[head] = cases.get(word, words[head])


_ANIMATE: Final = PEOPLE | ANIMALS | {"him", "her", "me", "them", "us", "you"}
_COLLECTIVE: Final = frozenset(
    """audience band choir class club company couple crew crowd family force gang group line majority orchestra pair
    party police squad staff team throng trio troop troupe""".split()
)
"""Nouns whose verb may be plural."""


def _animate(parse: Parse, head: int) -> bool:
    if parse.pos[head] == "PROPN":
        return not any(parse.deps[i] == "det" for i in parse.children(head))  # but a Frisbee
    return parse.lemmas[head].lower() in _ANIMATE or parse.lower_words[head] in _ANIMATE
