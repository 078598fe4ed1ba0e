"""Determiners of several words, found before a sentence is parsed, and put as one word that a parser knows.

"At least three students", "most of the people", "every one of the two dogs": parsers hang these up in a different way
each time. Here each is read as a `Determiner`, and `some` (or `no`) stands in its place in the sentence that is parsed,
so that the tree is that of "some students". Nobody, everything and the like become "no person", "some thing".
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from unbag.natlog.determiners import ANY, EVERY, FEW, NO, A, Determiner, Kind

NUMBERS: Final[Mapping[str, int]] = {
    **{
        word: number
        for number, word in enumerate(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen twenty".split()
        )
    },
    **{"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90},
}
_ARTICLED: Final = {"a": 1, "an": 1, "a single": 1, "a dozen": 12, "a hundred": 100, "a thousand": 1000}
_VALUES: Final = {**NUMBERS, **_ARTICLED}
_BY_LENGTH: Final = sorted(_VALUES, key=len, reverse=True)
_N: Final = rf"(?P<n>\d[\d,]*|{'|'.join(_BY_LENGTH)})"
_MANY: Final = rf"(?P<m>\d{{2,}}|{'|'.join(word for word, number in NUMBERS.items() if number > 9)})"
"""Who jumps over two fences does not jump two fences and more."""
_OF: Final = r"(?: of(?: the| these| those)?)?"
_PARTS: Final = {
    name: 100 // number
    for number, names in ((2, "half"), (3, "third"), (4, "quarter fourth"), (5, "fifth"), (10, "tenth"))
    for name in names.split()
}
_SHARE: Final = (
    rf"(?:(?P<share>\d+|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})(?: percent| per cent|%)"
    rf"|(?P<parts>a|one|two|three|four) (?P<part>{'|'.join(_PARTS)})s?) of(?: the| these| those)?"
)


def _unknown(_: int) -> Determiner:
    """Build a determiner that no condition is known of."""
    return Determiner(Kind.OTHER)


_RULES: Final[tuple[tuple[str, Callable[[int], Determiner]], ...]] = (
    (rf"(?:at (?:the )?least )?{_SHARE}", lambda n: Determiner(Kind.SHARE, n)),
    (rf"(?:[\w]+ (?:than|most) |only |exactly |about |around |almost |nearly |up to |under |over ){_SHARE}", _unknown),
    (rf"(?:{'|'.join(NUMBERS)}|\d+) (?:out of|in) (?:every )?(?:{'|'.join(NUMBERS)}|\d+)", _unknown),
    (r"every (?:other|second|third|fourth|fifth|few)", _unknown),
    (rf"every {_N}(?= (?:second|minute|hour|day|week|month|year|night|morning|evening)s\b)", _unknown),
    (rf"(?:almost|nearly|virtually|practically) (?:every single|every|each|all|no){_OF}", _unknown),
    (rf"all (?:but|except)(?: for)? {_N}{_OF}", lambda n: Determiner(Kind.ALL_BUT, n)),
    (rf"not (?:every ?one|every single|every|each one|each|all the|all){_OF}", lambda _: Determiner(Kind.NOT_EVERY)),
    (rf"(?:(?:no|not) more than|at (?:the )?most|up to) {_N}{_OF}", lambda n: Determiner(Kind.AT_MOST, n)),
    (rf"{_N} or (?:fewer|less)", lambda n: Determiner(Kind.AT_MOST, n)),
    (rf"(?:(?:no|not) (?:fewer|less) than|at (?:the )?least) {_N}{_OF}", lambda n: Determiner(Kind.SOME, n)),
    (rf"{_N} or more", lambda n: Determiner(Kind.SOME, n)),
    (r"(?:fewer|less) than half(?: of)?(?: the| these| those)?|a minority of(?: the)?", lambda _: FEW),
    (r"(?:more than|over) half(?: of)?(?: the| these| those)?", lambda _: Determiner(Kind.MOST)),
    (rf"(?:most|(?:the|a) (?:vast )?majority){_OF}", lambda _: Determiner(Kind.MOST)),
    (rf"(?:more than {_N}|over {_MANY}){_OF}", lambda n: Determiner(Kind.SOME, n + 1)),
    (rf"(?:(?:fewer|less) than {_N}|under {_MANY}){_OF}", lambda n: Determiner(Kind.AT_MOST, n - 1)),
    (rf"(?:exactly|precisely|only|just) {_N}{_OF}", lambda n: Determiner(Kind.EXACTLY, n)),
    (
        rf"(?:(?:approximately|roughly|almost|nearly|between [\w,]+ and) {_N}|(?:about|around|some) {_MANY}){_OF}",
        lambda n: Determiner(Kind.EXACTLY, n, vague=True),
    ),
    (r"at least half(?: of)?(?: the| these| those)?", lambda _: Determiner(Kind.SHARE, 50)),
    (r"half of(?: the)?|half the", lambda _: Determiner(Kind.HALF)),
    (rf"(?:none|not one|neither one|neither){_OF}|not a(?: single)?", lambda _: NO),
    (rf"(?:hardly|scarcely|barely) (?:any{_OF}|an?)|(?:very |only a )?few{_OF}", lambda _: FEW),
    (rf"(?:quite )?a few{_OF}|several{_OF}", lambda _: Determiner(Kind.SOME, 2, vague=True)),
    (
        rf"a (?:great |good |large )?(?:number|lot) of(?: the)?|(?:a great |very )?many{_OF}|"
        r"(?:lots|plenty|dozens|hundreds) of(?: the)?|numerous",
        lambda _: Determiner(Kind.SOME, 3, vague=True),
    ),
    (r"(?:a|the|one) (?:small |large |big |huge )?(?:group|bunch|crowd|couple|pair|kind|sort|type) of", lambda _: A),
    (rf"(?:every ?one|each one) of(?: the| these| those)?(?: {_N})?", lambda _: EVERY),
    (rf"every single|every|each{_OF}|all(?: of)? (?:the|these|those)(?: {_N})?|all{_OF}", lambda _: EVERY),
    (rf"any(?: one)?{_OF}|either of(?: the| these| those)?", lambda _: ANY),
    (r"at least|(?:some|one) of(?: the| these| those)?|some|certain", lambda _: A),
    (r"no", lambda _: NO),
)
_NOT_BEFORE: Final = frozenset(
    "but over right alone around at once longer more doubt matter the of in on to from by and or".split()
)
"""What a determiner does not stand before: "no longer", "at least in Rome"."""
_TIMES: Final = frozenset(
    "day night morning afternoon evening week weekend month year summer winter spring autumn time".split()
)
"""What "all" does not stand before as a determiner: "all day" is one day."""
_NOT_AFTER: Final = frozenset("the how as too so my his her its our their your".split())
"""What makes something else of a word: "the most beautiful", "at all", "how many", "the few"."""
_FLOATING: Final = re.compile(r"(?:\w+s|men|women|children|people|they|we|you|are|were|have|will|can)", re.IGNORECASE)
"""What stands before an "all" or "each" of a subject: "the boys all sang", "they were all singing"."""
_PRONOUNS: Final = {
    **dict.fromkeys(("nobody", "no one", "no-one"), ("no person", NO)),
    "nothing": ("no thing", NO),
    **dict.fromkeys(("everybody", "everyone"), ("some person", EVERY)),
    "everything": ("some thing", EVERY),
    **dict.fromkeys(("somebody", "someone"), ("some person", A)),
    "something": ("some thing", A),
    **dict.fromkeys(("anybody", "anyone"), ("some person", ANY)),
    "anything": ("some thing", ANY),
}
_WORD: Final = re.compile(r"(?<![\w'’-])[\w]")
_PATTERNS: Final = [
    (re.compile(rf"(?:{pattern})(?= (?P<next>[\w]+))", re.IGNORECASE), read) for pattern, read in _RULES
]
_PRONOUN: Final = re.compile(
    rf"(?:{'|'.join(sorted(_PRONOUNS, key=len, reverse=True))})(?![\w-]|['’](?!s\b)| of\b)", re.IGNORECASE
)


class Quantified(NamedTuple):
    """A sentence whose determiners are one word each.

    Attributes:
        text: the sentence to parse.
        determiners: what was found, with the words that said it, by the place in `text` of the word that stands for it.
    """

    text: str
    determiners: dict[int, tuple[Determiner, str]]


def quantified(sentence: str) -> Quantified:
    """Find a sentence's determiners.

    >>> quantified("At most three of the boys saw nobody.").text
    'Some boys saw no person.'
    """
    pieces: list[str] = []
    found: dict[int, tuple[Determiner, str]] = {}
    length = end = 0

    def put(text: str) -> None:
        nonlocal length
        pieces.append(text)
        length += len(text)

    for start in [match.start() for match in _WORD.finditer(sentence)]:
        if start < end:
            continue
        before = sentence[:start].split()[-1:]
        if pronoun := _PRONOUN.match(sentence, start):
            instead, determiner = _PRONOUNS[pronoun[0].lower()]
            stop = pronoun.end()
        elif (match := _first(sentence, start)) and not _is_something_else(before, sentence[start:], match[0] - start):
            stop, determiner = match
            instead = "no" if determiner == NO else "some"
        else:
            continue
        put(sentence[end:start])
        found[length] = (determiner, sentence[start:stop])
        put(instead.capitalize() if start == 0 else instead)
        end = stop
    put(sentence[end:])
    return Quantified("".join(pieces), found)


def _is_something_else(before: list[str], rest: str, length: int) -> bool:
    """Check whether the word before makes something else of a determiner.

    Args:
        before: The word before, if there is one.
        rest: The sentence from the determiner on.
        length: Length of the determiner.
    """
    if not before:
        return False
    word, determiner = before[0].lower(), rest[:length].lower()
    if word in _NOT_AFTER or (word == "at" and determiner == "all"):
        return True
    following = rest[length:].split()[0].rstrip(",.;:!")
    return determiner in ("all", "each") and bool(_FLOATING.fullmatch(word)) and not following.endswith("s")


def _first(sentence: str, start: int) -> tuple[int, Determiner] | None:
    for pattern, read in _PATTERNS:
        match = pattern.match(sentence, start)
        if match is None or match["next"].lower() in _NOT_BEFORE:
            continue
        words = match[0].lower()
        if words in ("all", "each") and match["next"].lower() in (_TIMES if words == "all" else ("other",)):
            continue
        determiner = read(_value(match.groupdict()))
        return match.end(), replace(determiner, words=words) if determiner.kind is Kind.OTHER else determiner
    return None


def _value(groups: Mapping[str, str | None]) -> int:
    if share := groups.get("share"):
        return _number(share)
    if part := groups.get("part"):
        return _number(groups.get("parts") or "a") * _PARTS[part.lower()]
    return _number(groups.get("n") or groups.get("m") or "a")


def _number(words: str) -> int:
    word = words.lower().replace(",", "")
    return int(word) if word.isdigit() else _VALUES[word]
