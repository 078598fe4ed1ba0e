"""Words and marks of an English sentence with their positions, without any trained pipeline.

Not spaCy's tokens: those cut "don't" in two, and a sentence in which a word is replaced has to be put together again as
it was.
"""

import re
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


class Word(NamedTuple):
    """A word, a number or a mark, and where it is: `sentence[start:end]`."""

    text: str
    start: int
    end: int

    @property
    def is_mark(self) -> bool:
        """Whether it is punctuation."""
        return not self.text[0].isalnum()


def words(sentence: str) -> list[Word]:
    """Return the words and marks of a sentence.

    >>> [word.text for word in words("The dog's toy isn't sun-lit.")]
    ['The', "dog's", 'toy', "isn't", 'sun', '-', 'lit', '.']
    """
    return [Word(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(sentence)]
