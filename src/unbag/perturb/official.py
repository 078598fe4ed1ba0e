"""The sentences of the official sets, Breaking NLI and SICCK, known by their hashes: nothing that trains may have them.

Their files are their authors' and are downloaded to be evaluated on only; a training run knows their sentences without.
`python -m tools.official_sentences` writes the hashes, and a test holds them to the files.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.text.tokens import words
from unbag.utils import rng

HASHES: Final = Path(__file__).with_name("official-sentences.u32")
"""32 bits of each sentence, sorted, little-endian: of a million others, three are taken for one of them."""


def is_official(sentence: str) -> bool:
    """Tell whether a sentence is one of an official set, but for capitals and punctuation."""
    return _hash(sentence) in _official()


def hashes(sentences: Iterable[str]) -> NDArray[np.uint32]:
    """Return the hashes of some sentences, each once, in order."""
    return np.array(sorted({_hash(sentence) for sentence in sentences}), dtype="<u4")


@cache
def _official() -> frozenset[int]:
    return frozenset(np.fromfile(HASHES, dtype="<u4").tolist())


def _hash(sentence: str) -> int:
    text = " ".join(word.text.lower() for word in words(sentence) if not word.is_mark)
    return int(rng.key("official", text)) % 2**32
