"""Replacement of a number in a sentence with another value of the same kind or with an equivalent notation.

A changed value contradicts the sentence, under Breaking NLI's assumption that both sentences describe the same event
(Glockner et al. 2018). An equivalent notation (twelve, 12) is entailed. Both operations prefer no pair to a doubtful
one: a number counts only in a context that shows its kind, and the value is not changed under a bound ("at least
twelve"), in a range, a part of a whole, a name or an idiom. *One* is never a number, since it is also a pronoun.

A changed quantity is larger: where three dogs run, two dogs run too.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from enum import StrEnum
from math import ceil
from typing import Final, NamedTuple

from unbag.baselines.wordnet.relations import WordNetRelation
from unbag.challenge_sets.perturbations.substitution import SubstitutedSentence
from unbag.utils import rng

DEFAULT_SEED: Final = 13

VALUES: Final = "number_values"
"""Category of pairs with a changed value."""
NOTATIONS: Final = "number_notations"
"""Category of pairs with an equivalent notation."""


class NumberKind(StrEnum):
    """Kind of a number, e.g. a year or a percentage. Changing a number preserves its kind."""

    CURRENCY = "currency"
    PERCENTAGE = "percentage"
    DATE = "date"
    YEAR = "year"
    ORDINAL = "ordinal"
    QUANTITY = "quantity"  # of things or units


class NumberMention(NamedTuple):
    """An occurrence of a number in a sentence."""

    start: int
    end: int  # position after its last character, currency sign, percent sign and scale ("million") included
    kind: NumberKind
    numeral: str  # digits or word, without sign and scale; of a date, the day
    value: Decimal  # value, scale included; of a date, the day
    unit: str  # what the value counts: currency, `%`, month, unit or noun
    scale: str = ""  # word after the numeral ("million"), or empty


_ONES: Final = "two three four five six seven eight nine".split()
_TEENS: Final = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS: Final = {
    **{n: word for n, word in enumerate([*_ONES, *_TEENS], start=2)},
    **{10 * n: word for n, word in enumerate(_TENS, start=2)},
    **{
        10 * n + m: f"{ten}-{one}"
        for n, ten in enumerate(_TENS, start=2)
        for m, one in enumerate(["one", *_ONES], start=1)
    },
}
_VALUES: Final = {word: n for n, word in _WORDS.items()}
_ORDINALS: Final = dict(
    enumerate(
        "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
        "sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        start=3,
    )
)
_ORDINAL_VALUES: Final = {word: n for n, word in _ORDINALS.items()}
_SCALES: Final = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_CURRENCIES: Final = {"$": "dollars", "£": "pounds", "€": "euros"}
_MONTHS: Final = "January|February|March|April|May|June|July|August|September|October|November|December"
_ABBREVIATIONS: Final = frozenset({"km", "kg", "mph", "cm"})

_DIGITS: Final = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_WORD: Final = "|".join(sorted(_VALUES, key=len, reverse=True))
_SCALE: Final = "|".join(_SCALES)
_OPEN: Final = r"(?<![\w$£€#.,/:'’\-–—%&+(])"
_CLOSE: Final = r"(?![\w\-–—/:'’°]|[.,]\d)"
_ORDINAL: Final = rf"{_OPEN}(?P<numeral>{'|'.join(_ORDINAL_VALUES)}|\d\d?(?:rd|th))"
_AMOUNT: Final = rf"{_OPEN}(?P<numeral>{_DIGITS}|(?i:{_WORD}))(?: (?P<scale>{_SCALE}))?"
_PATTERNS: Final = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (NumberKind.CURRENCY, rf"{_OPEN}(?P<unit>[$£€])(?P<numeral>{_DIGITS})(?: (?P<scale>{_SCALE}))?{_CLOSE}"),
        (NumberKind.CURRENCY, rf"{_AMOUNT} (?P<unit>dollars|euros){_CLOSE}"),
        (NumberKind.PERCENTAGE, rf"{_OPEN}(?P<numeral>{_DIGITS}|(?i:{_WORD}))(?P<unit>%| percent| per cent){_CLOSE}"),
        (NumberKind.DATE, rf"{_OPEN}(?P<unit>{_MONTHS}) (?P<numeral>\d\d?)(?P<year>, [12]\d{{3}}\b)?{_CLOSE}"),
        (NumberKind.DATE, rf"{_OPEN}(?P<numeral>\d\d?) (?P<unit>{_MONTHS})(?P<year> [12]\d{{3}}\b)?{_CLOSE}"),
        (NumberKind.YEAR, rf"(?<=\b[Ii]n )(?P<numeral>1[1-9]\d\d|20[0-2]\d){_CLOSE}"),
        (NumberKind.ORDINAL, rf"{_ORDINAL}(?= (?P<unit>[a-z]+)\b)"),
        (NumberKind.ORDINAL, rf"{_ORDINAL}(?=-(?P<unit>century) )"),
        (NumberKind.QUANTITY, rf"{_AMOUNT}{_CLOSE}(?= (?:[a-z]+ )?(?P<unit>[a-z]+)\b)"),
    )
)
_NUMERAL: Final = rf"(?:[$£€]?(?:{_DIGITS})|(?i:one|half|quarter|third|dozen|{_WORD}|{_SCALE}))"

_NOT_PLURAL: Final = frozenset(
    "as is was has does this his its us always perhaps less plus yes thus across unless besides sometimes afterwards "
    "previous various serious famous christmas news series times thirds fourths fifths quarters halves "
    "tenths hundreds thousands millions billions dozens process business address class access loss success press glass "
    "mass cross boss grass dress basis analysis crisis campus bus lens gas".split()
)
_PLURALS: Final = frozenset("people men women children feet teeth mice police fish sheep km kg mph cm".split())
_FUNCTION: Final = frozenset(
    "a an the and or but of to in on at by for from with as is was are were be been has have had that which who when "
    "while where if than then so it he she they we you i this these those not no per into over under after before "
    "because since until during between against about their his her its our your my very more most less all each "
    "some would could will can may might should must do did does there out up down off also later earlier ago "
    "old".split()
)
_NOT_ADJECTIVE: Final = frozenset({"times", "per", "odd", "plus", "point", "dozen", "percentage", "people", "men"})
_LABELS: Final = re.compile(
    r"\b(?:sections?|chapters?|pages?|numbers?|no\.|nos\.|figures?|tables?|paragraphs?|parts?|articles?|titles?|rooms?"
    r"|routes?|highways?|versions?|steps?|items?|exhibits?|appendix|flights?|channels?|grades?|levels?|types?|phases?"
    r"|class|lines?|volumes?|footnotes?|notes?|questions?|rules?|verses?|codes?|box|age|aged|bus|interstate|p\.|pp\.)"
    r" $",
    re.IGNORECASE,
)
_BOUND_BEFORE: Final = re.compile(
    r"\b(?:than|at (?:the )?(?:very )?(?:least|most)|minimum(?: of)?|maximum(?: of)?|limit of"
    r"|as (?:many|few|much|little|high|low|long|far) as|up to|(?:close|next) to|over|under|above|below|beyond|within"
    r"|between|among|until|till|by|since|before|after|past|about|around|near|nearly|almost|approximately|roughly|some"
    r"|estimated|maybe|perhaps|probably|possibly|like|say|even|only|just|another|other|additional|more|extra|every|each"
    r"|any|no|either|first|last|next|previous|following|top|all|both|these|those|half|from|through|towards?|a|an|or|to"
    r"|exceed(?:s|ed|ing)?|exactly|virtually|essentially|fewer|less|whole|full|good|couple|few|ago|as|and) "
    r"(?:the |a |an |his |her |its |their |our |my |these |those |another |every )?$",
    re.IGNORECASE,
)
"""Expressions before a number whose change need not contradict: a bound, an approximation, a range, a choice."""
_PARTITIVE: Final = re.compile(
    rf"\b(?:{_NUMERAL}|\w+(?:th|rd)|first|second|some|most|many|few|each|any|none|part|all|percent|several|out|rest"
    r"|majority|member)s? (?:of|in)(?: the| these| those| its| his| her| their| our| every)? $",
    re.IGNORECASE,
)
_BOUND_AFTER: Final = re.compile(
    r"\b(?:or (?:more|less|fewer|so|older|younger|longer|higher|lower|better|greater|over|under)|and (?:more|up|over"
    r"|above|older|younger|under)|at (?:least|most)|plus|minimum|maximum|at a time|or thereabouts|otherwise)\b"
)
_RANGE_AFTER: Final = re.compile(
    rf" ?(?:to|or|and|through|by|out of|in|of|x|times|-|–|/|point)? ?(?:the |every |(?:more|less) than )?{_NUMERAL}\b"
)
_RANGE_BEFORE: Final = re.compile(
    rf"{_NUMERAL}(?:th|rd|st|nd|%| percent)?(?:[ \-–]|,? ?-?(?:to|or|and|through|by|versus|vs\.|in|out of|-|–) |, )$"
)
_TIME_BOUND: Final = re.compile(
    r"\b(?:[Bb]y|[Uu]ntil|till|[Ss]ince|[Bb]efore|[Aa]fter|as|[Ff]rom|than|to|through|between|and|or)"
    r" (?:the |his |her |its |their )?(?:\w+ of the )?(?:early |late |mid )?$"
)
_RATE_AFTER: Final = re.compile(r" [a-z]+ (?:a|per|each|every|out|of the) [a-z]+")
_SCOPE: Final = re.compile(
    r"\b(?:no|not|never|nobody|none|neither|nor|without|nothing|cannot|hardly|if|unless|whether|or|except|but|every|each"
    r"|any|all|few|both|other|others|another|respectively|total|totals?|twice|half|double|average|sum|versus|rather"
    r"|instead|can|might|may|maybe|perhaps|could|would|example|instance|such|e\.g|sometimes|often|usually)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words with which a changed value need not contradict: negations, quantifiers, choices, sums, possibilities."""
_NATURAL: Final = frozenset(
    "hands eyes legs arms ears parents sides halves ends sexes worlds houses corners seasons cheers cents senses "
    "dimensions continents oceans genders wings poles decimals cylinders wheels digits letters sons-in-law bill bills "
    "note notes coin coins points point stars star".split()
)
"""Nouns whose number is fixed by nature or by convention, or is a rank."""
_IDIOM_AFTER: Final = re.compile(r" (?:minds|cents|worlds|seas|sides of the same|cheers|thumbs|shakes)\b")
_LIST_AFTER: Final = re.compile(r"[^.;]{0,60}?(?::|[A-Z]\w+,? (?:\w+,? )*and [A-Z]|\((?:\w+ )?[$£€]?\d)")
"""A list of the counted things or a converted value after a number: "two branches, Sunni and Shia", "2 m (7 ft)"."""
_ONCE: Final = re.compile(
    r"\b(?:born|died|built|rebuilt|founded|established|erected|constructed|completed|opened|reopened|closed|discovered"
    r"|invented|created|launched|began|started|ended|elected|appointed|killed|assassinated|murdered|executed|destroyed"
    r"|burned|conquered|captured|seized|occupied|annexed|married|published|signed|enacted|adopted|introduced|joined"
    r"|graduated|retired|resigned|arrived|moved|purchased|bought|sold|became|transferred|merged|succeeded|crowned"
    r"|abolished|converted|restored|unveiled|inaugurated|invaded|surrendered|fled|ratified|formed)\b"
)
"""Verbs of unique events, so that another year contradicts."""
_ORDINAL_IDIOMS: Final = frozenset(
    "of party parties person persons world degree wheel base and or to is was in on at rail estate sense hour column "
    "heaven quarter reading way thing power one ones day generation dimension amendment half parts part".split()
)
_OWNERS: Final = re.compile(r"\b(?:the|his|her|its|their|our|my)(?: early| late| mid)? $", re.IGNORECASE)
_ARTICLE: Final = re.compile(r"\b(?:an?) $", re.IGNORECASE)
_AFTER_HEAD: Final = re.compile(
    r"(?:$|[.,;!?)](?!\d)| (?:a|an|and|to|for|in|from|by|on|at|per|of|as|when|the|he|she|it|they|we|with|that|which|was"
    r"|were|is|are|had|but|because|while|after|before|during|until|each|last|this|into|toward|towards|under|through) )"
)
_YEAR: Final = re.compile(r"(?<![\d,$£€])(?:1[1-9]|20)\d\d(?![\d,])")


_MOST_CHARACTERS: Final = 500


def find_numbers(sentence: str) -> list[NumberMention]:
    """Find the numbers of a sentence and their kinds, such as year. Numbers of uncertain kind are omitted.

    >>> [(each.kind.value, str(each.value)) for each in find_numbers("In 1995, only twelve men paid $1.5 million.")]
    [('year', '1995'), ('quantity', '12'), ('currency', '1500000.0')]
    >>> find_numbers("One of them read page 12 of Three Men in a Boat.")
    []
    """
    if len(sentence) > _MOST_CHARACTERS:
        return []  # the patterns of the context take more than linear time
    found: list[NumberMention] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(sentence):
            groups = match.groupdict(default="")
            numeral, scale = groups["numeral"], groups.get("scale", "")
            value = parse_numeral(numeral) * _SCALES.get(scale, 1)
            unit = groups.get("unit", "").strip()
            mention = NumberMention(match.start(), match.end(), kind, numeral, value, unit, scale)
            overlaps = any(mention.start < each.end and each.start < mention.end for each in found)
            # The patterns are sorted by precedence: "$12 million" is an amount of money and not a quantity.
            if not overlaps and _is_plain(sentence, mention):
                found.append(mention)
    return sorted(found)


def change_number(sentence: str, seed: int = DEFAULT_SEED) -> SubstitutedSentence | None:
    """Change one number to another value of the same kind, so that the new sentence contradicts the old one.

    Return None if no change is certain to contradict the sentence. The draw depends on the seed and the sentence alone.

    >>> change_number("The farmer has twelve goats in the barn.").hypothesis
    'The farmer has sixteen goats in the barn.'
    >>> change_number("The farmer has at least twelve goats in the barn.") is None
    True
    """
    if _SCOPE.search(sentence):
        return None
    edits = []
    mentions = find_numbers(sentence)
    for mention in mentions:
        if _is_changeable(sentence, mention, mentions) and (texts := _other_values(sentence, mention)):
            text = texts[int(rng.compute_key(seed, "changed number", sentence, mention.start)) % len(texts)]
            edits.append(_edit(sentence, mention, text, VALUES, WordNetRelation.CO_HYPONYM))
    return edits[int(rng.compute_key(seed, "changed number", sentence)) % len(edits)] if edits else None


def rewrite_number(sentence: str, seed: int = DEFAULT_SEED) -> SubstitutedSentence | None:
    """Rewrite one number in an equivalent notation (twelve as 12). Return None if no number can be rewritten.

    The draw depends on the seed and the sentence alone.

    >>> rewrite_number("The farmer has at least twelve goats.").hypothesis
    'The farmer has at least 12 goats.'
    >>> rewrite_number("They paid $1.5 million for the house.").hypothesis
    'They paid $1,500,000 for the house.'
    """
    edits = []
    mentions = find_numbers(sentence)
    for mention in mentions:
        # Two notations in one sentence read badly: "60 percent, 10% and 30 percent".
        is_only = sum(each.kind is mention.kind for each in mentions) == 1
        if is_only and (text := _equivalent(sentence, mention)) is not None:
            edits.append(_edit(sentence, mention, text, NOTATIONS, WordNetRelation.SYNONYM))
    return edits[int(rng.compute_key(seed, "rewritten number", sentence)) % len(edits)] if edits else None


def build_number_pairs(premise: str, seed: int = DEFAULT_SEED) -> list[SubstitutedSentence]:
    """Build up to two pairs from a premise: one with a changed number, one with an equivalent notation of a number."""
    return [pair for pair in (change_number(premise, seed), rewrite_number(premise, seed)) if pair is not None]


def parse_numeral(text: str) -> Decimal:
    """Parse digits, a number word or an ordinal.

    >>> [str(parse_numeral(text)) for text in ("12,500", "Forty-two", "19th", "twelfth")]
    ['12500', '42', '19', '12']
    """
    lower = text.lower()
    if lower in _VALUES or lower in _ORDINAL_VALUES:
        return Decimal(_VALUES.get(lower) or _ORDINAL_VALUES[lower])
    return Decimal(re.sub(r",|rd$|th$", "", lower))


def _is_plain(sentence: str, mention: NumberMention) -> bool:
    """Check that a number is no part of a name, a label, a fraction or a range of its own kind."""
    before, after = sentence[: mention.start], sentence[mention.end :]
    if mention.kind is NumberKind.DATE:
        # Every month has 28 days.
        return 1 <= mention.value <= 28 and bool(_AFTER_HEAD.match(after)) and not re.search(r"(?:\d|the) $", before)
    if mention.kind is NumberKind.YEAR:
        return bool(_AFTER_HEAD.match(after))
    # "One" and "1" are often pronouns, and "zero" a negation.
    if _LABELS.search(before) or _follows_name(before) or mention.value < 2 or re.match(r" \(?[A-Z]", after):
        return False
    if _RANGE_AFTER.match(after) or _RANGE_BEFORE.search(before):
        return False
    if mention.kind is NumberKind.ORDINAL:
        is_century = mention.unit == "century"
        return (
            mention.unit not in _ORDINAL_IDIOMS
            and (is_century or (bool(_OWNERS.search(before)) and mention.value <= 20))
            and 3 <= mention.value <= 20
            and (mention.numeral in _ORDINAL_VALUES or mention.numeral == _suffixed(int(mention.value)))
        )
    if mention.kind is NumberKind.QUANTITY:
        return _counts_noun(after) and not _YEAR.fullmatch(mention.numeral) and not _IDIOM_AFTER.match(after)
    return mention.kind is not NumberKind.CURRENCY or not re.match(r" (?:bills?|notes?|coins?)\b", after)


def _suffixed(value: int) -> str:
    return f"{value}rd" if value == 3 else f"{value}th"


def _follows_name(before: str) -> bool:
    """Check whether a capitalised word stands before a number, except a function word that begins the sentence."""
    match = re.search(r"([A-Za-z][\w'’.]*) $", before)
    if match is None or not match[1][0].isupper():
        return False
    return match[1].lower() not in _FUNCTION


def _counts_noun(after: str) -> bool:
    """Check whether a plural noun follows a number, directly or after one adjective."""
    first, *others = re.findall(r"[^\s]+", after)[:2]
    bare = first.rstrip(".,;:!?)")
    if _is_plural(bare):
        return True
    if bare != first or not others or bare in _FUNCTION or bare in _NOT_PLURAL or bare in _NOT_ADJECTIVE:
        return False
    return bare.isalpha() and bare.islower() and _is_plural(others[0].rstrip(".,;:!?)"))


def _is_plural(word: str) -> bool:
    if not (word.isalpha() and word.islower()) or word in _NOT_PLURAL:
        return False
    return word in _PLURALS or (len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")))


def _is_changeable(sentence: str, mention: NumberMention, mentions: Sequence[NumberMention]) -> bool:
    """Check that another value contradicts: no bound, range, part or second number of the kind."""
    before, after = sentence[: mention.start], sentence[mention.end :]
    if sum(each.kind is mention.kind for each in mentions) > 1:
        return False
    if mention.kind in (NumberKind.DATE, NumberKind.YEAR):
        if len(_YEAR.findall(sentence)) > 1 or re.search(r"\b(?:from|between|to|until|through) (?:\w+ )?$", before):
            return False
        if mention.kind is NumberKind.YEAR:
            return _ONCE.search(sentence) is not None
        return re.search(r"\b[Oo]n $", before) is not None
    if _ARTICLE.search(before) or _PARTITIVE.search(before) or _BOUND_AFTER.search(after[:40]):
        return False
    if mention.kind is NumberKind.ORDINAL:
        return _TIME_BOUND.search(before) is None
    if _LIST_AFTER.match(after) or _NATURAL.intersection(re.findall(r"\w+", after)[:2]):
        return False
    return not (_BOUND_BEFORE.search(before) or _RATE_AFTER.match(after))


def _other_values(sentence: str, mention: NumberMention) -> list[str]:
    """List the texts of other values that the sentence does not contain."""
    number = parse_numeral(mention.numeral)
    texts = []
    for value in _candidates(mention, number):
        text = _write(value, mention)
        # In digits and in words, since the sentence may have the new number for something else.
        present = {text.lower(), str(value), _WORDS.get(int(value), text).lower()}
        if text and present.isdisjoint(re.findall(r"[\w,.\-]*\w", sentence.lower())):
            texts.append(_with_unit(sentence, mention, text))
    return texts


def _candidates(mention: NumberMention, number: Decimal) -> Iterator[Decimal]:
    if mention.kind is NumberKind.YEAR:
        century = int(number) // 100
        # At least three years apart, and in the same century, so that the new year is plausible.
        yield from (number + n for n in (-6, -5, -4, -3, 3, 4, 5, 6) if int(number + n) // 100 == century)
    elif mention.kind is NumberKind.DATE:
        yield from (Decimal(day) for day in range(2, 29) if abs(day - number) > 2)
    elif mention.kind is NumberKind.ORDINAL:
        low, high = (12, 20) if mention.unit == "century" and number >= 12 else (3, 12)
        yield from (Decimal(n) for n in range(low, high + 1) if abs(n - number) > 1)
    else:
        # Only larger values, since a smaller number may be true too: five dogs include three.
        for value in _larger(number):
            if mention.kind is not NumberKind.PERCENTAGE or value < 100:
                yield value


def _larger(number: Decimal) -> list[Decimal]:
    """List larger numbers that are as round as a number.

    >>> [str(value) for value in _larger(Decimal(3))], [str(value) for value in _larger(Decimal(500))]
    (['5', '6', '7', '8'], ['700', '800', '900', '1000'])
    """
    if number == int(number) and number <= 20:
        return [number + n for n in (2, 3, 4, 5)]
    _, digits, exponent = number.normalize().as_tuple()
    mantissa = int("".join(map(str, digits)))
    unit = Decimal(1).scaleb(int(exponent))
    if mantissa < 10:
        return [Decimal(f"{(mantissa + n) * unit:f}") for n in (2, 3, 4, 5)]
    return [Decimal(f"{m * unit:f}") for m in range(ceil(mantissa * 1.3), int(mantissa * 1.8) + 1)]


def _write(value: Decimal, mention: NumberMention) -> str:
    """Write a value in the notation of a mention; empty if that is impossible."""
    lower = mention.numeral.lower()
    if lower in _ORDINAL_VALUES:
        return _ORDINALS.get(int(value), "")
    if mention.kind is NumberKind.ORDINAL:
        return _suffixed(int(value))
    if lower in _VALUES:
        return _WORDS.get(int(value), "")
    if mention.kind in (NumberKind.YEAR, NumberKind.DATE):
        return str(value)
    decimals = len(mention.numeral.partition(".")[2])
    # Four digits are written with and without a comma, so that the original decides.
    grouped = "," in mention.numeral or value >= 10_000
    return f"{value:,.{decimals}f}" if grouped else f"{value:.{decimals}f}"


def _with_unit(sentence: str, mention: NumberMention, numeral: str) -> str:
    """Put a numeral in the place of that of a mention, sign and scale unchanged."""
    text = sentence[mention.start : mention.end]
    place = text.index(mention.numeral)
    return text[:place] + numeral + text[place + len(mention.numeral) :]


def _equivalent(sentence: str, mention: NumberMention) -> str | None:
    """Write a number in another notation of the same value, or None."""
    lower = mention.numeral.lower()
    text, after = sentence[mention.start : mention.end], sentence[mention.end :]
    if mention.start == 0:
        return None  # English prose does not begin a sentence with digits
    match mention.kind:
        case NumberKind.YEAR:
            return None
        case NumberKind.DATE:
            return _other_date(text)
        case NumberKind.ORDINAL:
            return _suffixed(int(mention.value)) if lower in _ORDINAL_VALUES else _ORDINALS[int(mention.value)]
        case NumberKind.PERCENTAGE if lower not in _VALUES:
            return f"{mention.numeral} percent" if mention.unit == "%" else f"{mention.numeral}%"
        case NumberKind.CURRENCY if mention.unit in _CURRENCIES and not mention.scale:
            is_whole = "." not in mention.numeral and mention.value > 1
            return f"{mention.numeral} {_CURRENCIES[mention.unit]}" if is_whole and _AFTER_HEAD.match(after) else None
    return _other_numeral(sentence, mention)


def _other_numeral(sentence: str, mention: NumberMention) -> str | None:
    """Exchange digits and words, or write a scale in digits."""
    lower = mention.numeral.lower()
    if mention.scale:
        sign = mention.unit if mention.unit in _CURRENCIES else ""
        tail = sentence[mention.start : mention.end].partition(mention.scale)[2]
        return f"{sign}{int(mention.value):,}{tail}" if mention.value == int(mention.value) else None
    if lower in _VALUES:
        return _with_unit(sentence, mention, str(mention.value))
    spelled = _WORDS.get(int(mention.value)) if mention.value == int(mention.value) else None
    if spelled is None or "." in mention.numeral or mention.unit in _ABBREVIATIONS:
        return None  # "ten km" is not written
    return _with_unit(sentence, mention, spelled)


def _other_date(text: str) -> str:
    month_first = re.fullmatch(rf"({_MONTHS}) (\d\d?)(?:, (\d{{4}}))?", text)
    if month_first:
        month, day, year = month_first.groups()
        return f"{day} {month}" + (f" {year}" if year else "")
    day, month, *rest = text.split()
    return f"{month} {day}" + "".join(f", {year}" for year in rest)


def _edit(
    sentence: str, mention: NumberMention, text: str, category: str, relation: WordNetRelation
) -> SubstitutedSentence:
    if mention.start == 0:
        text = text[0].upper() + text[1:]
    hypothesis = sentence[: mention.start] + text + sentence[mention.end :]
    old = sentence[mention.start : mention.end]
    return SubstitutedSentence(hypothesis, category, relation, old, text)
