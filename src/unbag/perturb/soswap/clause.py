"""The first clause of a sentence with a subject and a direct object, or what the sentence is instead."""

from typing import Final, NamedTuple

from unbag.data.text.grammar import CATENATIVE, INTRANSITIVE
from unbag.data.text.parses import Parse
from unbag.perturb.soswap.refusal import Refusal

_ADVERBIAL: Final = frozenset(
    "downstairs downtown home indoors inside midair outdoors outside overhead underwater upstairs".split()
)
"""Words that parsers take for an object."""


class Clause(NamedTuple):
    """The tokens of a clause: its verb, the heads of its subject and object, and all verbs that share the subject."""

    verb: int
    subject: int
    object: int
    verbs: tuple[int, ...]


def find_clause(parse: Parse) -> Clause | Refusal:
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
            own = parse.child(verb, "nsubj")
            if own is not None:
                bearer, subject = verb, own
            object_ = parse.child(verb, "dobj")
            if object_ is None or _is_adverbial(parse, object_) or parse.pos[verb] not in ("VERB", "AUX"):
                continue
            if subject is not None and _is_one_action(parse, bearer, verb):
                sharing = [v for v in _together(parse, bearer, ("conj",))[1:] if not _has_subject(parse, v)]
                return Clause(verb, subject, object_, (bearer, *sharing))
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
