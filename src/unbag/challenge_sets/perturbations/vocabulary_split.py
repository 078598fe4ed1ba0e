"""Split of the vocabulary into two halves: one for generated training pairs, one held out for evaluation.

A set from the generator that a model was trained with measures little, because the model can memorize pairs of the same
words. So every word, those of the word lists included, and every negation template belongs to one of two halves. A pair
belongs to a half if all words that the generator selected do: the verb and nouns of SOSwap, the adjective and nouns of
AddAmod, the old and new word of a substitution, or the template of a negation. A pair with words of both halves belongs
to neither.

The half of a word is one bit of a hash of its stem: BLAKE2b of `SEED` and the stem, identical on every machine and in
every version. Forms of one word (dog, dogs; sits, sitting) are in the same half. Some different words share a stem (hop
and hope do, universe and university do not), which does no harm.

No training pair may contain a sentence of the official sets Breaking NLI and SICCK. The files belong to their authors,
and are downloaded only for evaluation. A training run recognizes the sentences by stored hashes, without the files.
`python -m tools.official_sentences` writes the hashes, and a test compares them with the files.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from unbag.data.text.tokens import tokenize_words
from unbag.utils import rng

ALL: Final = "all"
TRAINING: Final = "training"
HELD_OUT: Final = "held_out"
Words = Literal["all", "training", "held_out"]

SEED: Final = 13
"""Chosen once, so that both halves contain enough frequent words of SNLI. No model's score influenced the choice."""

_IRREGULAR: Final = {
    **{"children": "child", "people": "person", "feet": "foot", "teeth": "tooth"},
    **{"mice": "mouse", "geese": "goose", "knives": "knife", "leaves": "leaf", "wives": "wife", "wolves": "wolf"},
    **{"scarves": "scarf", "shelves": "shelf", "loaves": "loaf", "lying": "lie", "tying": "tie", "dying": "die"},
}
_ENDINGS: Final = ("ing", "ed", "es", "s")
_MIN_STEM: Final = 3  # minimum number of letters of a stem: "king" and "bus" have no ending
_VOWEL: Final = re.compile("[aeiouy]")
_TWICE: Final = re.compile(r"([b-df-hj-np-tv-z])\1$")


@lru_cache(maxsize=1 << 16)
def get_vocabulary_half(word: str) -> str:
    """Determine the vocabulary half of a word, a phrase or a template: `training` or `held_out`.

    >>> get_vocabulary_half("dogs") == get_vocabulary_half("Dog")
    True
    >>> get_vocabulary_half("sitting") == get_vocabulary_half("sits")
    True
    """
    return HELD_OUT if int(rng.compute_key(SEED, "half", stem_phrase(word))) % 2 else TRAINING


def are_in_vocabulary_half(vocabulary_half: str, candidate_words: Iterable[str]) -> bool:
    """Check whether all words are in the requested half of the vocabulary. Return True if `vocabulary_half` is `all`.

    >>> are_in_vocabulary_half("all", ["dog", "chase"]), are_in_vocabulary_half(get_vocabulary_half("dog"), ["dog"])
    (True, True)
    """
    return vocabulary_half == ALL or all(get_vocabulary_half(word) == vocabulary_half for word in candidate_words)


@lru_cache(maxsize=1 << 16)  # a corpus has few distinct words
def stem_phrase(phrase: str) -> str:
    """Reduce a word, or the last word of a phrase, to a stem that all its inflected forms share.

    >>> [stem_phrase(word) for word in ("Dogs", "sitting", "sits", "cities", "riding", "ride", "living rooms", "women")]
    ['dog', 'sit', 'sit', 'citi', 'rid', 'rid', 'living room', 'woman']
    """
    *before, last = phrase.lower().split() or [""]
    return " ".join([*before, _stem(last)])


def _stem(word: str) -> str:
    word = _IRREGULAR.get(word, word)
    if word.endswith("men"):  # also women, firemen
        word = word.removesuffix("en") + "an"
    for ending in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= _MIN_STEM - (ending == "ing") and _VOWEL.search(rest):
            word = rest
            break
    if len(word) < _MIN_STEM:
        return word
    word = _TWICE.sub(r"\1", word.removesuffix("e"))
    return word[:-1] + "i" if word.endswith("y") else word


HASHES: Final = Path(__file__).with_name("official-sentences.u32")
"""File with a hash of 32 bits of each official sentence, sorted, little-endian. Of a million other sentences, about
three collide with a hash of the file."""


def is_official_sentence(sentence: str) -> bool:
    """Check whether a sentence occurs in the official Breaking NLI or SICCK set, ignoring case and punctuation."""
    return _hash(sentence) in _official()


def hash_sentences(sentences: Iterable[str]) -> NDArray[np.uint32]:
    """Compute the sorted distinct hashes of sentences, as little-endian 32-bit integers."""
    return np.array(sorted({_hash(sentence) for sentence in sentences}), dtype="<u4")


@cache
def _official() -> frozenset[int]:
    return frozenset(np.fromfile(HASHES, dtype="<u4").tolist())


def _hash(sentence: str) -> int:
    # Capitals and marks are ignored, so that variants of an official sentence are recognized too.
    text = " ".join(word.text.lower() for word in tokenize_words(sentence) if not word.is_mark)
    return int(rng.compute_key("official", text)) % 2**32
