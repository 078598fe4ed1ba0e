"""A sentence as the bag of all its words."""

from functools import lru_cache

from unbag.data.text.tokens import tokenize

Words = tuple[str, ...]
"""Words of a sentence that count: lower-cased, each once, sorted."""


def all_words(sentence: str, language: str) -> Words:
    """Return every word of a sentence that is not punctuation: of a sentence and its permutations the same ones.

    >>> all_words("The dog isn't the cat.", "en")
    ('cat', 'dog', 'is', "n't", 'the')
    """
    tokens = tokenize(sentence, language)
    parts = (part for position in tokens.words for part in _parts(tokens.texts[position], language))
    return tuple(sorted({part.lower() for part in parts}))


@lru_cache(maxsize=1 << 16)
def _parts(token: str, language: str) -> tuple[str, ...]:
    """Return what a token is cut into where it stands alone, and those parts likewise.

    The tokenizer cuts "id" in two, but not in "x-id": without this a sentence's tokens, put in another order with
    spaces between them, would not be cut into themselves.
    """
    tokens = tokenize(token, language)
    if tokens.texts == (token,):
        return (token,) if tokens.words else ()
    return tuple(part for position in tokens.words for part in _parts(tokens.texts[position], language))
