"""What `--augment` may say: kinds of pairs, and how many of each; nothing heavy is imported here."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

KINDS: Final = ("soswap", "addamod", "reversed", "swapped", "negated", "substituted")
"""Kinds of pairs; `training.augmented`, too heavy for a help page, makes them."""
OF_WORDNET: Final = frozenset({"reversed", "negated", "substituted"})
"""Those that are made, or proved, with WordNet."""


def numbered(entry: str) -> tuple[str, float | None]:
    """Split a kind from how many: a number, a share of the training pairs below 1, or None.

    Raises:
        ValueError: if there is no such kind, or what follows it is neither.

    >>> numbered("soswap=1500"), numbered("negated=0.1"), numbered("swapped")
    (('soswap', 1500.0), ('negated', 0.1), ('swapped', None))
    """
    kind, equals, text = entry.partition("=")
    if kind not in KINDS:
        raise ValueError(f"expected augment of {', '.join(KINDS)}, found {entry}")
    if not equals:
        return kind, None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (0 < number < 1 or (number >= 1 and number.is_integer())):
        raise ValueError(f"expected a number of pairs after {kind}=, or a share between 0 and 1, found {text!r}")
    return kind, number


def problems(entries: Sequence[str]) -> Iterator[str]:
    """Yield what is impossible: what was expected, and what was found."""
    kinds = []
    for entry in entries:
        try:
            kinds.append(numbered(entry)[0])
        except ValueError as error:
            yield str(error)
    if twice := sorted({kind for kind in kinds if kinds.count(kind) > 1}):
        yield f"expected each kind of augment once, found {', '.join(twice)} several times"


def asks_wordnet(kinds: Iterable[str]) -> bool:
    """Tell whether some kinds, with or without their numbers, are made with WordNet."""
    return not OF_WORDNET.isdisjoint(kind.partition("=")[0] for kind in kinds)


def require_english(languages: Collection[str]) -> None:
    """Refuse pairs in other languages than the one that pairs can be made in.

    Raises:
        ValueError: naming what they are in.
    """
    if set(languages) != {"en"}:
        raise ValueError(f"augment makes pairs of English sentences only; found {', '.join(sorted(languages))}")


def pairs_of(entries: Sequence[str], default: int, training_pairs: int) -> dict[str, int]:
    """Return how many pairs an epoch has of each kind.

    Args:
        entries: what `--augment` says.
        default: of a kind that names no number.
        training_pairs: an epoch's, which a share is of.

    >>> pairs_of(["soswap=30", "negated=0.1", "swapped"], 500, 1000)
    {'soswap': 30, 'negated': 100, 'swapped': 500}
    """
    numbers = {kind: default if n is None else n for kind, n in map(numbered, entries)}
    return {kind: max(1, round(n * training_pairs)) if n < 1 else int(n) for kind, n in numbers.items()}
