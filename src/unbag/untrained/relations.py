"""The WordNet relations of a vocabulary's words to each other, as KIM reads them (Chen et al. 2018, section 3.1)."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.wordnet.relations import Lexicon, ancestors

SYNONYM, ANTONYM, HYPERNYM, HYPONYM, CO_HYPONYM = range(5)
_FURTHEST: Final = 8
"""Edges at which a hypernym counts nothing: 1 − n/8."""


def word_relations(words: Sequence[str], lexicon: Lexicon) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return which words are related, and how.

    The features of a pair (w, v), each of the best of their senses:

    - synonym: 1 if they share a sense; a word with an entry is a synonym of itself;
    - antonym: 1 if v is an antonym of w, of adjectives an indirect one too (`wordnet.database`);
    - hypernym: 1 − n/8 if v is n < 8 edges above w;
    - hyponym: likewise below;
    - co-hyponym: 1 if they share a hypernym right above them, but no sense.

    Args:
        words: the words, all different.
        lexicon: where to look them up.

    Returns:
        The positions of both words of each pair, shape (n, 2), in ascending order, and its features, shape (n, 5).
    """
    senses = [frozenset(lexicon.senses(word)) for word in words]
    with_sense: dict[Hashable, list[int]] = defaultdict(list)
    right_below: dict[Hashable, list[int]] = defaultdict(list)
    for number, own in enumerate(senses):
        for sense in own:
            with_sense[sense].append(number)
        for above in {above for sense in own for above in lexicon.hypernyms(sense)}:
            right_below[above].append(number)
    found: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0] * 5)
    with_form: dict[str, list[int]] = defaultdict(list)
    for number, word in enumerate(words):
        for form in lexicon.base_forms(word):
            with_form[form].append(number)
    for w, word in enumerate(words):
        for sense, edges in ancestors(lexicon, senses[w], _FURTHEST - 1).items():
            for v in with_sense.get(sense, ()):
                if edges == 0:
                    found[w, v][SYNONYM] = 1.0
                    continue
                value = 1 - edges / _FURTHEST
                found[w, v][HYPERNYM] = max(found[w, v][HYPERNYM], value)
                found[v, w][HYPONYM] = max(found[v, w][HYPONYM], value)
        for antonym in lexicon.antonyms(word):
            for v in with_form.get(antonym, ()):
                found[w, v][ANTONYM] = 1.0
        for above in {above for sense in senses[w] for above in lexicon.hypernyms(sense)}:
            for v in right_below[above]:
                if senses[w].isdisjoint(senses[v]):
                    found[w, v][CO_HYPONYM] = 1.0
    pairs = sorted(found)
    features = [found[pair] for pair in pairs]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(features, dtype=np.float32).reshape(-1, 5)
