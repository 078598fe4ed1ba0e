"""Conversion of a sentence to a bag of words."""

from functools import lru_cache

from unbag.data.text.tokens import tokenize

Words = tuple[str, ...]
"""Words of a sentence that are used as features: lowercase, unique, sorted."""


def collect_words(sentence: str, language: str) -> Words:
    """Collect the distinct words of a sentence, without punctuation. The result does not depend on word order.

    >>> collect_words("The dog isn't the cat.", "en")
    ('cat', 'dog', 'is', "n't", 'the')
    """
    tokens = tokenize(sentence, language)
    parts = (part for position in tokens.words for part in _parts(tokens.texts[position], language))
    return tuple(sorted({part.lower() for part in parts}))


@lru_cache(maxsize=1 << 16)
def _parts(token: str, language: str) -> tuple[str, ...]:
    """Split a token recursively into the parts that the tokenizer finds without context.

    The tokenizer splits "id", but not in "x-id". Without this step, a permuted sentence, in which spaces join the
    tokens, would be tokenized into different words.
    """
    tokens = tokenize(token, language)
    if tokens.texts == (token,):
        return (token,) if tokens.words else ()
    return tuple(part for position in tokens.words for part in _parts(tokens.texts[position], language))
