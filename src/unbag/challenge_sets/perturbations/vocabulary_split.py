"""Two halves of a vocabulary: what training pairs are made with, and what is held out to test with.

A generator that trained a model tells little of it: pairs of the same words made in the same way are learnt by heart.
So every word, of the word lists too, and every template of a negation is in one of two halves, and a pair is of a half
if all that its maker chose it by is: verb and nouns of SOSwap, adjective and nouns of AddAmod, the old and the new word
of a substitution, the template of a negation. Pairs of one word of each half are of neither.

The half is a bit of a hash of the word's stem, the same on every machine and for ever: BLAKE2b of `SEED` and the stem.
Forms of one word (dog, dogs; sits, sitting) are in the same half, whoever cut off their endings; that some different
words share a stem (universe, university would not; hop, hope do) does no harm.

The sentences of the official sets, Breaking NLI and SICCK, are known by their hashes: no training pair may have
them.

Their files are their authors' and are downloaded to be evaluated on only; a training run knows their sentences without.
`python -m tools.official_sentences` writes the hashes, and a test holds them to the files.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.text.tokens import words
from unbag.utils import rng

ALL: Final = "all"
TRAINING: Final = "training"
HELD_OUT: Final = "held_out"
WORDS: Final = (ALL, TRAINING, HELD_OUT)

SEED: Final = 13
"""Chosen once, so that both halves have enough of what SNLI's sentences say most; no model was asked."""

_IRREGULAR: Final = {
    **{"children": "child", "people": "person", "feet": "foot", "teeth": "tooth"},
    **{"mice": "mouse", "geese": "goose", "knives": "knife", "leaves": "leaf", "wives": "wife", "wolves": "wolf"},
    **{"scarves": "scarf", "shelves": "shelf", "loaves": "loaf", "lying": "lie", "tying": "tie", "dying": "die"},
}
_ENDINGS: Final = ("ing", "ed", "es", "s")
_LEAST: Final = 3  # letters that a stem keeps: "king" and "bus" have no ending
_VOWEL: Final = re.compile("[aeiouy]")
_TWICE: Final = re.compile(r"([b-df-hj-np-tv-z])\1$")


@lru_cache(maxsize=1 << 16)
def half(word: str) -> str:
    """Return the half of a word, a phrase or a template: `training` or `held_out`.

    >>> half("dogs") == half("Dog"), half("sitting") == half("sits")
    (True, True)
    """
    return HELD_OUT if int(rng.key(SEED, "half", stem(word))) % 2 else TRAINING


def are_in(words: str, chosen: Iterable[str]) -> bool:
    """Tell whether all words of a pair are in a half, one of `WORDS`.

    >>> are_in("all", ["dog", "chase"]), are_in(half("dog"), ["dog"])
    (True, True)
    """
    return words == ALL or all(half(word) == words for word in chosen)


def check(words: str) -> None:
    """Refuse what is no half.

    Raises:
        ValueError: if it is none of `WORDS`.
    """
    if words not in WORDS:
        raise ValueError(f"expected words of {', '.join(WORDS)}, found {words!r}")


def stem(phrase: str) -> str:
    """Return what the forms of a word have in common, or those of a phrase's last word.

    >>> [stem(word) for word in ("Dogs", "sitting", "sits", "cities", "riding", "ride", "living rooms", "women")]
    ['dog', 'sit', 'sit', 'citi', 'rid', 'rid', 'living room', 'woman']
    """
    *before, last = phrase.lower().split() or [""]
    return " ".join([*before, _stem(last)])


def _stem(word: str) -> str:
    word = _IRREGULAR.get(word, word)
    if word.endswith("men"):  # and women, firemen
        word = word.removesuffix("en") + "an"
    for ending in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= _LEAST - (ending == "ing") and _VOWEL.search(rest):
            word = rest
            break
    if len(word) < _LEAST:
        return word
    word = _TWICE.sub(r"\1", word.removesuffix("e"))
    return word[:-1] + "i" if word.endswith("y") else word


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
