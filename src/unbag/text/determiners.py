"""English determiners and numbers that do not fit their noun: a slip of the writer's, or a misread noun."""

from typing import Final

from unbag.text.articles import ARTICLES, fits
from unbag.text.parses import Parse

_OF_SEVERAL: Final = frozenset(
    "two three four five six seven eight nine ten eleven twelve several many few various numerous these those".split()
)
_QUANTITIES: Final = frozenset("couple dozen few great hundred lot many million number pair thousand".split())
_BOTH_NUMBERS: Final = frozenset("aircraft deer fish foot gi offspring police series sheep".split())


def determiners_fit(parse: Parse) -> bool:
    """Tell whether every indefinite article fits the sound of the next word, and every determiner its noun's number.

    "a owl", "two woman", "a boys"; also "a coat waits" where the verb is read as a noun.
    """
    for i, word in enumerate(parse.lower_words):
        if word not in _DETERMINERS:
            continue
        following = parse.words[i + 1 : i + 2]
        if word in ARTICLES and following and following[0][:1].isalnum() and not fits(word, following[0]):
            return False
        if not _fits(parse, i):
            return False
    return True


_OF_ONE: Final = ARTICLES | {"one"}
_DETERMINERS: Final = _OF_ONE | _OF_SEVERAL


def _fits(parse: Parse, i: int) -> bool:
    noun = parse.heads[i]
    if i >= noun or parse.deps[i] not in ("det", "nummod", "amod") or parse.pos[noun] != "NOUN":
        return True
    between = set(parse.lower_words[i + 1 : noun])
    if "CCONJ" in parse.pos[i:noun] or not between.isdisjoint(_QUANTITIES) or not parse.words[noun].isalpha():
        return True
    if parse.lower_words[i] in _OF_ONE:
        return parse.tags[noun] != "NNS" or "-" in between
    # A compound counts what its noun has: a two man team.
    return (
        parse.tags[noun] != "NN"
        or parse.deps[noun] in ("compound", "nmod")
        or not ARTICLES.isdisjoint(parse.lower_words[:i][-1:])
        or parse.lemmas[noun].lower() in _BOTH_NUMBERS
    )
