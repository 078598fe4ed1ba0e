"""Additional exclusion criteria of SOSwap for written text, in which sentences are longer than captions.

The parser misreads long sentences more often: it cuts coordinated phrases, and takes one of two objects for the only
one. These criteria apply only to a user's own text, because the rules for captions were written and checked without
them.
"""

from typing import Final

from unbag.challenge_sets.perturbations.soswap.clause import SoswapExclusionReason, TransitiveClause
from unbag.data.text.parses import Parse

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
