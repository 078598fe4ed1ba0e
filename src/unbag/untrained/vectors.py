"""The vectors of a vocabulary: from a table of static embeddings, or drawn."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag import counter_rng
from unbag.lexical.embeddings import Table
from unbag.models.network import SPREAD
from unbag.models.word_tokenizer import PAD_ID, SPECIAL


class Vectors(NamedTuple):
    """The vectors of a vocabulary, special tokens first.

    Attributes:
        table: shape (vocabulary, dimensions), float32; zeros of padding.
        found: how many words are in the table of embeddings; 0 without one.
    """

    table: NDArray[np.float32]
    found: int


def vectors_of(words: Sequence[str], embeddings: Table | None, *, dimensions: int, seed: int) -> Vectors:
    """Return the vectors of words: those of a table, and for the rest drawn ones of the same spread.

    Args:
        words: the words, whose rows begin after those of `SPECIAL`.
        embeddings: the table; one that cuts a word into pieces gives their mean.
        dimensions: of a vector where there is no table.
        seed: decides what is drawn.

    Raises:
        ValueError: if the table has none of the words.
    """
    width = dimensions if embeddings is None else embeddings.vectors.shape[1]
    rng = np.random.default_rng(int(counter_rng.key(seed, "vectors")))
    table = rng.standard_normal((len(SPECIAL) + len(words), width)).astype(np.float32) * np.float32(SPREAD)
    found = np.zeros(len(words), dtype=bool)
    if embeddings is not None:
        texts = [(word,) for word in words]
        found = embeddings.counts(texts).matrix.getnnz(axis=1) > 0
        if not found.any():
            raise ValueError(
                f"expected embeddings of some of the {len(words):,} words, found none; is it the right language?"
            )
        known = embeddings.means([text for text, has in zip(texts, found, strict=True) if has]).astype(np.float32)
        table *= known.std() / np.float32(SPREAD)
        table[np.concatenate([np.zeros(len(SPECIAL), dtype=bool), found])] = known
    table[PAD_ID] = 0
    return Vectors(table, int(found.sum()))
