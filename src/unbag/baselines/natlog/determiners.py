r"""Determiners as predicates over two set sizes, the relations between them, and their projections.

A determiner Q relates a set X (its noun phrase, the restrictor) to a set Y (the rest of its clause, the scope). For all
determiners in this module, the truth of Q(X, Y) depends only on n = |X ∩ Y| and m = |X \ Y|:

| kind | holds if | |
|---|---|---|
| some | n ≥ k | a, the, some, two, at least two, several (k = 2), many (k = 3), names and bare plurals |
| exactly | n = k | also about, around and between, which are only known to be non-monotone |
| every | m = 0 and n ≥ 1 | all, each, every; X is not empty (Akoju et al. 2023, section 3.3, 1) |
| not every | m > 0 | |
| all but | m = k | |
| at most | n ≤ k | no (k = 0), few (k = 2), fewer than three |
| most | n > m | more than half of |
| half | n = m | |
| share | n ≥ k % of n + m | |
| other | unknown | every other, both, enough: no relation is derived |

The module enumerates small models to derive the relations between determiners, and the projection of a relation through
a determiner ("projectivity", MacCartney & Manning 2009, section 4.2). These models have as many members in each set as
a determiner can distinguish. The number of a vague determiner (many, several, few) is a placeholder for the intended
number; `is_vague` prevents comparisons with other numbers.

Multi-word determiners are replaced before parsing, because parsers analyze "at least three students", "most of the
people" and "every one of the two dogs" differently. Each becomes a `Determiner`, and the parser receives the word
`some` (or `no`) instead, so that the tree is that of "some students". "Nobody", "everything" and similar pronouns
become "no person" and "some thing".
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, partial
from itertools import product
from typing import Final, NamedTuple

from unbag.baselines.natlog.relations import Monotonicity, Region, Relation, classify_relation, project_relation


class DeterminerKind(Enum):
    """Type of a determiner, such as "every" or "at most k" (see the table in the module docstring)."""

    SOME = "some"
    EXACTLY = "exactly"
    EVERY = "every"
    NOT_EVERY = "not every"
    ALL_BUT = "all but"
    AT_MOST = "at most"
    MOST = "most"
    HALF = "half"
    SHARE = "share"
    OTHER = "other"


@dataclass(frozen=True)
class Determiner:
    """Determiner, such as "every" or "at most two", defined by a condition on the sizes of two sets."""

    kind: DeterminerKind
    number: int = 1  # number k in the condition
    is_vague: bool = False  # whether k is a placeholder for an unspecified number
    # Whether the phrase refers to individuals that the other sentence may also refer to: a, the, two, no determiner.
    # Captions describe existing things, and two sentences contradict each other only if they are about the same event
    # (de Marneffe, Rafferty & Manning 2008, section 3).
    is_named: bool = False
    is_free_choice: bool = False  # whether it is `any`, which means "some" under a negation and "every" otherwise
    words: str = ""  # text of a determiner with the condition `OTHER`; empty for all other determiners

    def is_satisfied_by(self, n: int, m: int) -> bool:
        """Check whether the determiner is satisfied if n members of X are in Y and m members of X are not."""
        k = self.number
        match self.kind:
            case DeterminerKind.SOME:
                return n >= k
            case DeterminerKind.EXACTLY:
                return n == k
            case DeterminerKind.EVERY:
                return m == 0 and n >= 1
            case DeterminerKind.NOT_EVERY:
                return m > 0
            case DeterminerKind.ALL_BUT:
                return m == k
            case DeterminerKind.AT_MOST:
                return n <= k
            case DeterminerKind.MOST:
                return n > m
            case DeterminerKind.HALF:
                return n == m
            case DeterminerKind.SHARE:
                return 100 * n >= k * (n + m)
            case DeterminerKind.OTHER:
                raise ValueError(
                    f"determiner: expected known truth conditions, got {self.words!r} with kind OTHER; use another kind"
                )

    @property
    def is_existential(self) -> bool:
        """Whether Q(X, Y) requires a member of X in Y, so that "he sang in Q cities" entails "he sang"."""
        return self.kind is not DeterminerKind.OTHER and not any(
            self.is_satisfied_by(0, m) for m in range(1, self.number + 2)
        )


A: Final = Determiner(DeterminerKind.SOME, is_named=True)
NO: Final = Determiner(DeterminerKind.AT_MOST, 0)
EVERY: Final = Determiner(DeterminerKind.EVERY)
ANY: Final = Determiner(DeterminerKind.EVERY, is_free_choice=True)
FEW: Final = Determiner(DeterminerKind.AT_MOST, 2, is_vague=True)

Projection = Callable[[Relation], Relation]
"""Map from the relation of two phrases to the relation of two sentences that contain them in the same context."""

_SIZES: Final = 3  # Maximum set size: if k is at most 1, no determiner distinguishes larger sets.
_HALF: Final = 50
"""Percentage that represents all percentages, because small models cannot distinguish other ones."""


def compute_determiner_relation(first: Determiner, second: Determiner) -> Relation | None:
    """Compute the relation of Q(X, Y) to R(X, Y) for two determiners Q and R. Return None if unknown.

    >>> [compute_determiner_relation(*pair).value for pair in ((EVERY, A), (NO, A), (EVERY, NO))]
    ['forward_entailment', 'negation', 'alternation']
    """
    if first == second:
        return Relation.EQUIVALENCE
    if DeterminerKind.OTHER in (first.kind, second.kind):
        return None
    if first.is_vague != second.is_vague and _counts(first) and _counts(second):
        return None
    most = max(first.number, second.number) + 2
    worlds = [(n, m) for n, m in product(range(most + 1), repeat=2) if n + m]
    return (
        classify_relation((first.is_satisfied_by(n, m), second.is_satisfied_by(n, m)) for n, m in worlds)
        or Relation.INDEPENDENCE
    )


def _counts(determiner: Determiner) -> bool:
    """Check whether the meaning of a determiner includes a number, unlike "a", "every" and "no"."""
    plain = {DeterminerKind.SOME: 1, DeterminerKind.AT_MOST: 0}
    return determiner.kind not in (
        DeterminerKind.EVERY,
        DeterminerKind.NOT_EVERY,
        DeterminerKind.MOST,
        DeterminerKind.HALF,
        DeterminerKind.SHARE,
    ) and (determiner.number != plain.get(determiner.kind))


def build_restrictor_projection(determiner: Determiner) -> Projection:
    """Build the function that maps the relation of X to X' onto the relation of Q(X, Y) to Q(X', Y).

    >>> build_restrictor_projection(EVERY)(Relation.FORWARD_ENTAILMENT).value
    'reverse_entailment'
    """
    if determiner.is_named:
        return _project_named
    inside = _inside_projection(determiner, first=True)
    return partial(_project_weak, inside, _project_named) if determiner.kind in _WEAK else inside


def build_scope_projection(determiner: Determiner) -> Projection:
    """Build the function that maps the relation of Y to Y' onto the relation of Q(X, Y) to Q(X, Y').

    >>> build_scope_projection(EVERY)(Relation.NEGATION).value
    'alternation'
    >>> build_scope_projection(NO)(Relation.FORWARD_ENTAILMENT).value
    'reverse_entailment'
    """
    if determiner.is_named:
        return project_identity
    inside = _inside_projection(determiner, first=False)
    return partial(_project_weak, inside, project_identity) if determiner.kind in _WEAK else inside


_WEAK: Final = (DeterminerKind.SOME, DeterminerKind.EXACTLY)
"""Conditions of determiners that refer to the same individuals in both sentences if their phrases are exclusive."""


def _project_weak(inside: Projection, outside: Projection, relation: Relation) -> Relation:
    return outside(relation) if relation in (Relation.NEGATION, Relation.ALTERNATION) else inside(relation)


def project_identity(relation: Relation) -> Relation:
    """Return the relation unchanged, for contexts that preserve it, such as the verb phrase in "the dog runs"."""
    return relation


def project_negation(relation: Relation) -> Relation:
    """Project a relation through a negation."""
    return relation.complement_relation


def _project_named(relation: Relation) -> Relation:
    """Project through a noun phrase with the same referent in both sentences: an empty pool is not a full pool."""
    if relation is Relation.NEGATION:
        return Relation.ALTERNATION
    return Relation.INDEPENDENCE if relation is Relation.COVER else relation


def _inside_projection(determiner: Determiner, *, first: bool) -> Projection:
    if determiner.kind is DeterminerKind.OTHER:
        return partial(project_relation, monotonicity=Monotonicity.NON_MONOTONE)
    # A larger number would have the same projection, but needs larger models.
    number = _HALF if determiner.kind is DeterminerKind.SHARE else min(determiner.number, 1)
    return partial(_projected_relation, determiner.kind, number, first)


@cache
def _projected_relation(kind: DeterminerKind, number: int, first: bool, relation: Relation) -> Relation:
    """Compute the relation of two sentences that differ in X (`first`) or in Y."""
    determiner = Determiner(kind, number)
    # A region is (in X, in X', in the shared set), or the same with Y and Y'.
    parts = [part for part in product((True, False), repeat=3) if part[:2] not in relation.empty_regions]
    outcomes: set[Region] = set()
    for sizes in product(range(_SIZES), repeat=len(parts)):
        world = [(part, size) for part, size in zip(parts, sizes, strict=True) if size]
        # As in MacCartney & Manning, the shared set is neither empty nor the whole universe, and X and X' are not empty
        # (below).
        if {part[2] for part, _ in world} != {True, False}:
            continue
        truths = []
        for side in (0, 1):
            counted = {True: 0, False: 0}
            for part, size in world:
                restricted, does = (part[side], part[2]) if first else (part[2], part[side])
                if restricted:
                    counted[does] += size
            truths.append(determiner.is_satisfied_by(counted[True], counted[False]) if any(counted.values()) else None)
        premise, hypothesis = truths
        if premise is not None and hypothesis is not None:
            outcomes.add((premise, hypothesis))
    return classify_relation(outcomes) or Relation.INDEPENDENCE


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
"""Numbers of at least ten after "over", "under" and "about": "jumps over two fences" describes a place, not a count."""
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
    """Build a determiner whose condition is unknown."""
    return Determiner(DeterminerKind.OTHER)


# The first matching pattern counts, so longer and more specific phrases come first.
_RULES: Final[tuple[tuple[str, Callable[[int], Determiner]], ...]] = (
    (rf"(?:at (?:the )?least )?{_SHARE}", lambda n: Determiner(DeterminerKind.SHARE, n)),
    (rf"(?:[\w]+ (?:than|most) |only |exactly |about |around |almost |nearly |up to |under |over ){_SHARE}", _unknown),
    (rf"(?:{'|'.join(NUMBERS)}|\d+) (?:out of|in) (?:every )?(?:{'|'.join(NUMBERS)}|\d+)", _unknown),
    (r"every (?:other|second|third|fourth|fifth|few)", _unknown),
    (rf"every {_N}(?= (?:second|minute|hour|day|week|month|year|night|morning|evening)s\b)", _unknown),
    (rf"(?:almost|nearly|virtually|practically) (?:every single|every|each|all|no){_OF}", _unknown),
    (rf"all (?:but|except)(?: for)? {_N}{_OF}", lambda n: Determiner(DeterminerKind.ALL_BUT, n)),
    (
        rf"not (?:every ?one|every single|every|each one|each|all the|all){_OF}",
        lambda _: Determiner(DeterminerKind.NOT_EVERY),
    ),
    (rf"(?:(?:no|not) more than|at (?:the )?most|up to) {_N}{_OF}", lambda n: Determiner(DeterminerKind.AT_MOST, n)),
    (rf"{_N} or (?:fewer|less)", lambda n: Determiner(DeterminerKind.AT_MOST, n)),
    (rf"(?:(?:no|not) (?:fewer|less) than|at (?:the )?least) {_N}{_OF}", lambda n: Determiner(DeterminerKind.SOME, n)),
    (rf"{_N} or more", lambda n: Determiner(DeterminerKind.SOME, n)),
    (r"(?:fewer|less) than half(?: of)?(?: the| these| those)?|a minority of(?: the)?", lambda _: FEW),
    (r"(?:more than|over) half(?: of)?(?: the| these| those)?", lambda _: Determiner(DeterminerKind.MOST)),
    (rf"(?:most|(?:the|a) (?:vast )?majority){_OF}", lambda _: Determiner(DeterminerKind.MOST)),
    (rf"(?:more than {_N}|over {_MANY}){_OF}", lambda n: Determiner(DeterminerKind.SOME, n + 1)),
    (rf"(?:(?:fewer|less) than {_N}|under {_MANY}){_OF}", lambda n: Determiner(DeterminerKind.AT_MOST, n - 1)),
    (rf"(?:exactly|precisely|only|just) {_N}{_OF}", lambda n: Determiner(DeterminerKind.EXACTLY, n)),
    (
        rf"(?:(?:approximately|roughly|almost|nearly|between [\w,]+ and) {_N}|(?:about|around|some) {_MANY}){_OF}",
        lambda n: Determiner(DeterminerKind.EXACTLY, n, is_vague=True),
    ),
    (r"at least half(?: of)?(?: the| these| those)?", lambda _: Determiner(DeterminerKind.SHARE, 50)),
    (r"half of(?: the)?|half the", lambda _: Determiner(DeterminerKind.HALF)),
    (rf"(?:none|not one|neither one|neither){_OF}|not a(?: single)?", lambda _: NO),
    (rf"(?:hardly|scarcely|barely) (?:any{_OF}|an?)|(?:very |only a )?few{_OF}", lambda _: FEW),
    (rf"(?:quite )?a few{_OF}|several{_OF}", lambda _: Determiner(DeterminerKind.SOME, 2, is_vague=True)),
    (
        rf"a (?:great |good |large )?(?:number|lot) of(?: the)?|(?:a great |very )?many{_OF}|"
        r"(?:lots|plenty|dozens|hundreds) of(?: the)?|numerous",
        lambda _: Determiner(DeterminerKind.SOME, 3, is_vague=True),
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
"""Words that cannot follow a determiner: "no longer", "at least in Rome"."""
_TIMES: Final = frozenset(
    "day night morning afternoon evening week weekend month year summer winter spring autumn time".split()
)
"""Nouns before which "all" is not a quantifier: "all day" is a single day."""
_NOT_AFTER: Final = frozenset("the how as too so my his her its our their your".split())
"""Words after which a candidate is not a determiner: "the most beautiful", "how many", "the few"."""
_FLOATING: Final = re.compile(r"(?:\w+s|men|women|children|people|they|we|you|are|were|have|will|can)", re.IGNORECASE)
"""Words before a floating "all" or "each", which modifies the subject: "the boys all sang", "they were all tired"."""
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


class QuantifiedSentence(NamedTuple):
    """Sentence whose determiners are replaced with single words."""

    text: str  # for the parser
    # Determiners and their original words, by character offset of the replacement in `text`.
    determiners: dict[int, tuple[Determiner, str]]


def replace_determiners(sentence: str) -> QuantifiedSentence:
    """Replace each determiner of a sentence with a single word.

    >>> replace_determiners("At most three of the boys saw nobody.").text
    'Some boys saw no person.'
    """
    pieces: list[str] = []
    determiners: dict[int, tuple[Determiner, str]] = {}
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
        determiners[length] = (determiner, sentence[start:stop])
        put(instead.capitalize() if start == 0 else instead)
        end = stop
    put(sentence[end:])
    return QuantifiedSentence("".join(pieces), determiners)


def _is_something_else(before: list[str], rest: str, length: int) -> bool:
    """Check whether the word before a candidate, or the rest of the sentence, shows that it is not a determiner."""
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
        return match.end(), replace(determiner, words=words) if determiner.kind is DeterminerKind.OTHER else determiner
    return None


def _value(groups: Mapping[str, str | None]) -> int:
    if share := groups.get("share"):
        return _number(share)
    if part := groups.get("part"):
        return _number(groups.get("parts") or "a") * _PARTS[part.lower()]
    return _number(groups.get("n") or groups.get("m") or "a")


def _number(words: str) -> int:
    word = words.lower().replace(",", "")
    return int(word) if word.isdecimal() else _VALUES[word]
