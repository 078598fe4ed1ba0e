"""What was replaced by what, where two sentences differ in one word or phrase."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from unbag.text.words import words

LONGEST: Final = 4
"""Words of the longest phrase that counts as replaced ("far away from" has three)."""
_CONTEXT: Final = 2  # words beside the difference that may belong to the phrase: "living" of "living room"


@dataclass(frozen=True, slots=True)
class Replacement:
    """The difference of two sentences.

    Attributes:
        old: the words of the premise that the hypothesis does not have; may be empty.
        new: the words of the hypothesis in their place; may be empty.
        left: up to two words before, which both share.
        right: up to two words after.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    left: tuple[str, ...]
    right: tuple[str, ...]

    def phrases(self) -> Iterator[tuple[str, str]]:
        """Yield what may have been replaced by what: the difference, then with ever more of the words around it.

        >>> difference = replacement("A dog in the living room.", "A dog in the dining room.")
        >>> list(difference.phrases())[:2]
        [('living', 'dining'), ('living room', 'dining room')]
        """
        sides = [(left, right) for left in range(len(self.left) + 1) for right in range(len(self.right) + 1)]
        for before, after in sorted(sides, key=lambda side: (sum(side), side)):
            around = self.left[len(self.left) - before :], self.right[:after]
            old, new = ((*around[0], *words, *around[1]) for words in (self.old, self.new))
            if old and new:
                yield " ".join(old), " ".join(new)


def replacement(premise: str, hypothesis: str) -> Replacement | None:
    """Return how two sentences differ, if it is in one word or phrase; None if they are equal or differ in more.

    The words are aligned (`difflib`). An article that had to follow ("a guitar", "an accordion") is no difference, nor
    are capitals. Where the same words are replaced several times, that counts as one replacement.

    >>> replacement("Two men play a violin.", "Two men play an electric guitar.").old
    ('violin',)
    """
    sides = [[word.text for word in words(sentence)] for sentence in (premise, hypothesis)]
    same = [[_compared(word) for word in side] for side in sides]
    matcher = SequenceMatcher(a=same[0], b=same[1], autojunk=False)
    blocks = [block[1:] for block in matcher.get_opcodes() if block[0] != "equal"]
    if not blocks:
        return None
    if len({(tuple(same[0][i:j]), tuple(same[1][k:m])) for i, j, k, m in blocks}) > 1:
        blocks = [(blocks[0][0], blocks[-1][1], blocks[0][2], blocks[-1][3])]  # all that lies between
    i, j, k, m = blocks[0]
    old, new = tuple(sides[0][i:j]), tuple(sides[1][k:m])
    if max(len(old), len(new)) > LONGEST or not all(map(_is_word, old + new)):
        return None
    return Replacement(old, new, tuple(_words(sides[0][:i][::-1]))[::-1], tuple(_words(sides[0][j:])))


def _compared(word: str) -> str:
    word = word.lower()
    return "a" if word == "an" else word


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token == "-"


def _words(tokens: list[str]) -> Iterator[str]:
    """Yield the first two tokens, up to a mark."""
    for token in tokens[:_CONTEXT]:
        if not token[0].isalnum():
            return
        yield token
