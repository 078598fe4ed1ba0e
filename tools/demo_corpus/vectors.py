"""Word vectors computed from sentences: positive pointwise mutual information with frequent words."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Final

from unbag.data.text.tokens import tokenize

DIMENSIONS: Final = 200
"""Number of context words, the most frequent ones. With ReSNLI's bag-of-words model fitted to the validation pairs, the
accuracy on these pairs is 59 %. It is 47 % with 64 dimensions, and 63 % with one dimension per word."""


def build_vector_lines(sentences: Iterable[str]) -> list[str]:
    """Compute word vectors as lines in GloVe's text format, sorted by descending word frequency.

    A component is the positive pointwise mutual information of two words, max(0, ln p(w, c) / p(w) p(c)). The
    probability p is the share of sentences that contain the words. The value for a word and itself is 0. Counts and
    logarithms with two decimals are equal on all machines, unlike the results of a matrix factorization.

    >>> build_vector_lines(["A dog runs.", "A cat sits.", "A dog barks."])[2]
    'dog 0.00 0.00 0.00 0.41 0.00 0.41 0.00'
    """
    having: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    n = 0
    for sentence in sentences:
        n += 1
        words = {token.lower() for token in tokenize(sentence).texts}
        having.update(words)
        together.update((word, other) for word in words for other in words if word != other)
    vocabulary = sorted(having, key=lambda word: (-having[word], word))
    contexts = vocabulary[:DIMENSIONS]

    def information(word: str, context: str) -> float:
        found = together[word, context]
        return max(0.0, math.log(found * n / (having[word] * having[context]))) if found else 0.0

    return [" ".join([word, *(f"{information(word, context):.2f}" for context in contexts)]) for word in vocabulary]
