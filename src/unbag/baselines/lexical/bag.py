"""A sentence as the bag of all its words."""

from functools import lru_cache

from unbag.data.text.tokens import tokenize

Words = tuple[str, ...]
"""The counted words of a sentence: lower-cased, unique, sorted."""


def all_words(sentence: str, language: str) -> Words:
    """Collect all words of a sentence without punctuation; every permutation of the sentence has the same words.

    >>> all_words("The dog isn't the cat.", "en")
    ('cat', 'dog', 'is', "n't", 'the')
    """
    tokens = tokenize(sentence, language)
    parts = (part for position in tokens.words for part in _parts(tokens.texts[position], language))
    return tuple(sorted({part.lower() for part in parts}))


@lru_cache(maxsize=1 << 16)
def _parts(token: str, language: str) -> tuple[str, ...]:
    """Split a token, and its parts, as the tokenizer splits them without context.

    The tokenizer splits "id", but not in "x-id". Without this step, the tokens of a sentence in another order, joined
    by spaces, would be tokenized into other words.
    """
    tokens = tokenize(token, language)
    if tokens.texts == (token,):
        return (token,) if tokens.words else ()
    return tuple(part for position in tokens.words for part in _parts(tokens.texts[position], language))
