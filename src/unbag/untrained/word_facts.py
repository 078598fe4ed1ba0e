"""What is known of the words of a vocabulary beside their vectors: spelling, stem, usual part of speech, relations."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.text.tagging import Tagger
from unbag.models.word_tokenizer import SPECIAL, words_of

Tables = dict[str, NDArray[Any]]
"""Buffers of `models.embeddings.WordEmbeddings` by name."""

_LONGEST: Final = (
    24  # bytes of a word that are kept: of the 11,671 words of 22,590 pairs of SNLI, all but 2 are shorter
)


def spelling(words: Sequence[str]) -> Tables:
    """Return each word in UTF-8, cut to some bytes; special tokens have no letters."""
    table = np.zeros((len(SPECIAL) + len(words), _LONGEST), dtype=np.uint8)
    for row, word in zip(table[len(SPECIAL) :], words, strict=True):
        letters = word.encode()[:_LONGEST].decode(errors="ignore").encode()  # no half of a letter
        row[: len(letters)] = np.frombuffer(letters, dtype=np.uint8)
    return {"spelling": table}


def stems(words: Sequence[str]) -> Tables:
    """Return a number for each word, equal for words of one stem (Snowball's English stemmer).

    Raises:
        ImportError: without NLTK.
    """
    try:
        from nltk.stem.snowball import SnowballStemmer
    except ImportError as error:
        raise ImportError("stems need NLTK: pip install 'unbag[wordnet]'") from error
    stem = SnowballStemmer("english").stem
    numbers: dict[str, int] = {}
    of_words = [len(SPECIAL) + numbers.setdefault(stem(word), len(numbers)) for word in words]
    return {"stem": np.array([*range(len(SPECIAL)), *of_words], dtype=np.int64)}


def tags(words: Sequence[str], sentences: Iterable[str], tagger: Tagger) -> tuple[Tables, int]:
    """Return the fine tag that each word has most often in sentences, and how many tags there are.

    Tag 0 is that of special tokens and of words that no sentence has. Of tags equally frequent the first one by the
    alphabet counts.
    """
    names = {name: number for number, name in enumerate(sorted(tagger.fine), start=1)}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for tagged in tagger.fine_tags(sentences).values():
        for token, tag in tagged:
            for word in words_of(token):
                counts[word][tag] += 1
    table = np.zeros(len(SPECIAL) + len(words), dtype=np.int64)
    for number, word in enumerate(words, start=len(SPECIAL)):
        if word in counts:
            most = min(counts[word], key=lambda tag: (-counts[word][tag], tag))
            table[number] = names.get(most, 0)
    return {"tag": table}, 1 + len(names)


def relations(words: Sequence[str]) -> Tables:
    """Return the WordNet relations of words to each other (`relations.word_relations`).

    Raises:
        ImportError: without NLTK.
        ValueError: without WordNet; the message names the step that installs it.
    """
    from unbag.baselines.wordnet.database import open_wordnet
    from unbag.untrained.relations import word_relations

    size = len(SPECIAL) + len(words)
    pairs, features = word_relations(words, open_wordnet())
    first, second = (pairs + len(SPECIAL)).T
    # Of no word to none: so that the tables are never empty.
    none = np.zeros(1, dtype=np.int64), np.zeros((1, features.shape[1]), dtype=np.float32)
    return {
        "related": np.concatenate([none[0], first * size + second]),
        "relation": np.concatenate([none[1], features]),
    }
