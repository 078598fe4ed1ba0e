"""Lexical features of a vocabulary: vectors, spelling, stems, part-of-speech tags, and WordNet relations."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.lexical.embeddings import EmbeddingTable
from unbag.baselines.wordnet.relations import Lexicon, compute_ancestor_distances
from unbag.data.text.tagging import Tagger
from unbag.models.network import SPREAD
from unbag.models.word_tokenizer import PAD_ID, SPECIAL, split_words
from unbag.utils import rng as counter_rng

_OF_WORD_PIECES: Final = frozenset({"transformer", "model2vec"})
"""Kinds of tables with the scale of transformer embeddings, far below the scale of word vectors. With MiniLM's at their
original scale, a standard deviation of 0.06, ESIM's accuracy on SNLI was 62.5 % after one epoch; scaled to 0.3, 69.8
%."""


class VocabularyEmbeddings(NamedTuple):
    """Embedding table of a vocabulary. Special tokens come first."""

    table: NDArray[np.float32]  # shape (vocabulary, dimensions); zeros for padding
    n_matched: int  # words in the table of embeddings; 0 without one
    scale: float  # factor of the vectors from the table


def build_vocabulary_embeddings(
    words: Sequence[str], embeddings: EmbeddingTable | None, *, dimensions: int, seed: int
) -> VocabularyEmbeddings:
    """Build the embedding table of a vocabulary. Words without a vector in `embeddings` get a random one.

    Random vectors have the same standard deviation. Word vectors stay unscaled. A table of word pieces gives the mean
    of a word's pieces, and one factor scales all its vectors to the standard deviation `SPREAD`.
    """
    width = dimensions if embeddings is None else embeddings.vectors.shape[1]
    rng = np.random.default_rng(int(counter_rng.compute_key(seed, "vectors")))
    # Drawn for all words, so that a word's random vector does not depend on which words have a vector.
    table = rng.standard_normal((len(SPECIAL) + len(words), width)).astype(np.float32) * np.float32(SPREAD)
    has_vector = np.zeros(len(words), dtype=bool)
    scale = 1.0
    if embeddings is not None:
        texts = [(word,) for word in words]
        has_vector = embeddings.count_tokens(texts).getnnz(axis=1) > 0
        if not has_vector.any():
            raise ValueError(
                f"expected embeddings for at least one of the {len(words):,} words of the vocabulary, got none; check "
                "the language of the embeddings"
            )
        matched_texts = [text for text, has in zip(texts, has_vector, strict=True) if has]
        matched = embeddings.compute_means(matched_texts).astype(np.float32)
        if embeddings.kind in _OF_WORD_PIECES:
            scale = SPREAD / float(matched.std())
            matched *= np.float32(scale)
        # Random vectors get the standard deviation of those from the table.
        table *= matched.std() / np.float32(SPREAD)
        table[np.concatenate([np.zeros(len(SPECIAL), dtype=bool), has_vector])] = matched
    table[PAD_ID] = 0
    return VocabularyEmbeddings(table, int(has_vector.sum()), scale)


SYNONYM, ANTONYM, HYPERNYM, HYPONYM, CO_HYPONYM = range(5)
_FURTHEST: Final = 8
"""Number of edges from which on a hypernym's feature 1 − n/8 is 0."""


def compute_word_relations(words: Sequence[str], lexicon: Lexicon) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Compute the WordNet relations between the words of a vocabulary (Chen et al. 2018, section 3.1).

    The features of a pair (w, v), each the best over their senses:

    - synonym: 1 if they share a sense; a word with an entry is a synonym of itself;
    - antonym: 1 if v is an antonym of w, for adjectives also an indirect one (`baselines.wordnet.database`);
    - hypernym: 1 − n/8 if v is n < 8 edges above w;
    - hyponym: 1 − n/8 if v is n < 8 edges below w;
    - co-hyponym: 1 if they share a direct hypernym, but no sense.

    Returns:
        Positions of both words of each pair, shape (n, 2), in ascending order, and features, shape (n, 5).
    """
    senses = [frozenset(lexicon.senses(word)) for word in words]
    with_sense: dict[Hashable, list[int]] = defaultdict(list)
    right_below: dict[Hashable, list[int]] = defaultdict(list)
    for number, own in enumerate(senses):
        for sense in own:
            with_sense[sense].append(number)
        for above in {above for sense in own for above in lexicon.hypernyms(sense)}:
            right_below[above].append(number)
    by_pair: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0] * 5)
    with_form: dict[str, list[int]] = defaultdict(list)
    for number, word in enumerate(words):
        for form in lexicon.base_forms(word):
            with_form[form].append(number)
    for w, word in enumerate(words):
        for sense, edges in compute_ancestor_distances(lexicon, senses[w], _FURTHEST - 1).items():
            for v in with_sense.get(sense, ()):
                # `compute_ancestor_distances` returns the senses themselves at distance 0.
                if edges == 0:
                    by_pair[w, v][SYNONYM] = 1.0
                    continue
                value = 1 - edges / _FURTHEST
                by_pair[w, v][HYPERNYM] = max(by_pair[w, v][HYPERNYM], value)
                by_pair[v, w][HYPONYM] = max(by_pair[v, w][HYPONYM], value)
        for antonym in lexicon.antonyms(word):
            for v in with_form.get(antonym, ()):
                by_pair[w, v][ANTONYM] = 1.0
        for above in {above for sense in senses[w] for above in lexicon.hypernyms(sense)}:
            for v in right_below[above]:
                if senses[w].isdisjoint(senses[v]):
                    by_pair[w, v][CO_HYPONYM] = 1.0
    pairs = sorted(by_pair)
    features = [by_pair[pair] for pair in pairs]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(features, dtype=np.float32).reshape(-1, 5)


Tables = dict[str, NDArray[Any]]
"""Buffers of `models.network.WordEmbeddings` by name."""

_LONGEST: Final = 24  # bytes per word; all but 2 of the 11,671 words of 22,590 pairs of SNLI are shorter


def build_spelling_table(words: Sequence[str]) -> Tables:
    """Build a table with the UTF-8 bytes of each word. Long words are truncated, and special tokens get zeros."""
    table = np.zeros((len(SPECIAL) + len(words), _LONGEST), dtype=np.uint8)
    for row, word in zip(table[len(SPECIAL) :], words, strict=True):
        letters = word.encode()[:_LONGEST].decode(errors="ignore").encode()  # drops a truncated last character
        row[: len(letters)] = np.frombuffer(letters, dtype=np.uint8)
    return {"spelling": table}


def build_stem_table(words: Sequence[str]) -> Tables:
    """Assign a stem id to each word, with Snowball's English stemmer. Requires NLTK."""
    from nltk.stem.snowball import SnowballStemmer

    stem = SnowballStemmer("english").stem
    numbers: dict[str, int] = {}
    word_stems = [len(SPECIAL) + numbers.setdefault(stem(word), len(numbers)) for word in words]
    return {"stem": np.array([*range(len(SPECIAL)), *word_stems], dtype=np.int64)}


def build_tag_table(words: Sequence[str], sentences: Iterable[str], tagger: Tagger) -> tuple[Tables, int]:
    """Find the most frequent part-of-speech tag of each word. Returns a table of tag ids and the number of tags.

    Special tokens and words that are in no sentence have tag 0. Of equally frequent tags, the first in alphabetical
    order counts.
    """
    names = {name: number for number, name in enumerate(sorted(tagger.fine), start=1)}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for tagged in tagger.tag(sentences, is_fine=True).values():
        for token, tag in tagged:
            for word in split_words(token):
                counts[word][tag] += 1
    table = np.zeros(len(SPECIAL) + len(words), dtype=np.int64)
    for number, word in enumerate(words, start=len(SPECIAL)):
        if word in counts:
            most = min(counts[word], key=lambda tag: (-counts[word][tag], tag))
            table[number] = names.get(most, 0)
    return {"tag": table}, 1 + len(names)


def build_relation_table(words: Sequence[str]) -> Tables:
    """Build the table of WordNet relations between words (`compute_word_relations`). Requires NLTK."""
    from unbag.baselines.wordnet.database import open_wordnet

    size = len(SPECIAL) + len(words)
    pairs, features = compute_word_relations(words, open_wordnet())
    first, second = (pairs + len(SPECIAL)).T
    # A first entry that relates no words keeps the tables from being empty.
    none = np.zeros(1, dtype=np.int64), np.zeros((1, features.shape[1]), dtype=np.float32)
    return {
        "related": np.concatenate([none[0], first * size + second]),
        "relation": np.concatenate([none[1], features]),
    }
