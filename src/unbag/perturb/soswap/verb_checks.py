"""What stands against swapping around a clause's verb."""

from unbag.data.text.grammar import DIRECTIONS, MOTION, MUTUAL, NEGATIONS, SYMMETRIC
from unbag.data.text.parses import Parse
from unbag.perturb.soswap.clause import Clause
from unbag.perturb.soswap.kinds import is_animate
from unbag.perturb.soswap.number import agrees, finite_of
from unbag.perturb.soswap.refusal import Refusal


def unfit_verb(parse: Parse, clause: Clause, subject: range, object_: range) -> Refusal | None:
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
    finites = [finite for verb in clause.verbs if (finite := finite_of(parse, verb)) is not None]
    if any(parse.words[finite][0] in "'’" or parse.lower_words[finite] == "ai" for finite in finites):
        return Refusal.CONTRACTED
    # Verbs of one subject that differ in number are not of one subject.
    if {"VBZ", "VBP"} <= {parse.tags[finite] for finite in finites}:
        return Refusal.BROKEN
    if not all(agrees(parse, finite, clause.subject) for finite in finites):
        return Refusal.DISAGREES
    # "gives her a flower"; "gives a flower to her" is no such thing.
    if any(
        parse.deps[i] == "dative" and parse.pos[i] != "ADP" and i < clause.object for i in parse.children(clause.verb)
    ):
        return Refusal.TWO_OBJECTS
    lemma = parse.lemmas[clause.verb].lower()
    if lemma in SYMMETRIC or (lemma in MUTUAL and is_animate(parse, clause.object)):
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
