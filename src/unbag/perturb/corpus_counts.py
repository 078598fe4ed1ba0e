"""Counts of a corpus: its words, its bigrams, and which words meet in its contradictions."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from unbag.data.labels import CONTRADICTION
from unbag.data.sources import Example
from unbag.data.text.tokens import words

EDGE: Final = ""
"""What stands beside the first and the last word of a sentence, and beside a mark."""


class CorpusCounts(NamedTuple):
    """Counts of a corpus; words are in lower case.

    Attributes:
        words: how often each word occurs in its premises and hypotheses. A premise that several examples in a row share
            counts once.
        bigrams: likewise, how often a word is followed by another; `EDGE` is a neighbour too.
        pairs: how many of its contradicting examples have the one word in the premise and the other in the hypothesis,
            for the words that were asked about.
    """

    words: Counter[str]
    bigrams: Counter[tuple[str, str]]
    pairs: Counter[tuple[str, str]]


def count_corpus(examples: Iterable[Example], vocabulary: Collection[str] = ()) -> CorpusCounts:
    """Count a corpus, one example at a time: memory grows with different bigrams, not with sentences.

    Args:
        examples: the corpus.
        vocabulary: words in lower case whose pairs are counted.
    """
    counts = CorpusCounts(Counter(), Counter(), Counter())
    paired = frozenset(vocabulary)
    premise, old = None, frozenset[str]()
    for example in examples:
        if example.premise != premise:
            premise = example.premise
            old = paired.intersection(_count(premise, counts))
        new = paired.intersection(_count(example.hypothesis, counts))
        if example.label == CONTRADICTION:
            counts.pairs.update((one, other) for one in old for other in new if one != other)
    return counts


def with_edges(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case, with `EDGE` at both ends and in place of marks.

    >>> with_edges("Red, I say.")
    ['', 'red', '', 'i', 'say', '']
    """
    tokens = [EDGE if word.is_mark else word.text.lower() for word in words(sentence)]
    return [EDGE, *tokens] if tokens and tokens[-1] == EDGE else [EDGE, *tokens, EDGE]


def _count(sentence: str, counts: CorpusCounts) -> Sequence[str]:
    tokens = with_edges(sentence)
    counts.words.update(tokens)
    counts.bigrams.update(pairwise(tokens))
    return tokens
