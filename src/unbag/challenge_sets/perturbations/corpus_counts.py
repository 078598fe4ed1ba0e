"""Corpus counts: words, bigrams, and word pairs that occur together in contradictions."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Final, NamedTuple

from unbag.data.labels import CONTRADICTION
from unbag.data.sources import MAX_SENTENCE_CHARACTERS, Example
from unbag.data.text.tokens import tokenize_words
from unbag.utils.safe_io import DataError, iter_lines

BOUNDARY: Final = ""
"""Neighbour of the first and the last word of a sentence, and of words next to a punctuation mark."""


class CorpusCounts(NamedTuple):
    """Counts of words and bigrams in a corpus, and of word pairs in its contradiction examples.

    A word pair consists of a word of the premise and a word of the hypothesis. All words are in lower case.
    """

    # Occurrences of each word in premises and hypotheses. A premise that consecutive examples share counts once.
    words: Counter[str]
    # Occurrences of each pair of adjacent words, counted alike; `BOUNDARY` is also a neighbour.
    bigrams: Counter[tuple[str, str]]
    # Contradiction examples with the first word in the premise and the second in the hypothesis, for given words.
    pairs: Counter[tuple[str, str]]


def count_words_and_bigrams(examples: Iterable[Example], vocabulary: Collection[str] = ()) -> CorpusCounts:
    """Count the words and bigrams of a corpus, and the word pairs in its contradiction examples.

    Only pairs of lower-case words in the vocabulary are counted (default: none). Memory use grows with the number of
    distinct bigrams, not with the number of sentences.
    """
    counts = CorpusCounts(Counter(), Counter(), Counter())
    paired = frozenset(vocabulary)
    # Consecutive examples often share a premise, which is tokenized and counted only once.
    premise, old = None, frozenset[str]()
    for example in examples:
        if example.premise != premise:
            premise = example.premise
            old = paired.intersection(_count(premise, counts))
        new = paired.intersection(_count(example.hypothesis, counts))
        # `old` and `new` are sets, so each example counts a pair of words at most once.
        if example.label == CONTRADICTION:
            counts.pairs.update((one, other) for one in old for other in new if one != other)
    return counts


def split_with_boundaries(sentence: str) -> list[str]:
    """Split a sentence into lower-case words. `BOUNDARY` is added at both ends and replaces punctuation marks.

    >>> split_with_boundaries("Red, I say.")
    ['', 'red', '', 'i', 'say', '']
    """
    tokens = [BOUNDARY if word.is_mark else word.text.lower() for word in tokenize_words(sentence)]
    return [BOUNDARY, *tokens] if tokens and tokens[-1] == BOUNDARY else [BOUNDARY, *tokens, BOUNDARY]


def _count(sentence: str, counts: CorpusCounts) -> Sequence[str]:
    tokens = split_with_boundaries(sentence)
    counts.words.update(tokens)
    counts.bigrams.update(pairwise(tokens))
    return tokens


BIGRAM_FILE_SUFFIXES: Final = (".txt", ".txt.gz")
"""File name endings of texts and tables of counts."""


class BigramCounts(NamedTuple):
    """Counts of lower-case bigrams."""

    counts: Counter[tuple[str, str]]  # number of occurrences of each pair of adjacent words, `BOUNDARY` included
    has_sentence_ends: bool = True  # whether the counts include `BOUNDARY` as a neighbour. Tables of counts do not.

    def is_attested(self, pair: tuple[str, str], min_count: int) -> bool:
        """Check whether a bigram occurs at least `min_count` times.

        Bigrams with `BOUNDARY` pass if the counts lack sentence ends.

        >>> BigramCounts(Counter({("a", "dog"): 3})).is_attested(("a", "dog"), 3)
        True
        """
        return (not self.has_sentence_ends and BOUNDARY in pair) or self.counts[pair] >= min_count


def is_bigram_file(name: str) -> bool:
    """Check whether a file name has an extension that `read_bigrams` supports.

    >>> is_bigram_file("wikipedia.txt.gz"), is_bigram_file("pairs.jsonl")
    (True, False)
    """
    return name.endswith(BIGRAM_FILE_SUFFIXES)


def read_bigrams(path: Path) -> BigramCounts:
    """Read bigram counts from a text file with one sentence per line, or from a table of bigram counts.

    Each line of a table has two words and a number, separated by tabs; a space may separate the words. Words are
    converted to lower case. The first line determines whether the file is a table.

    Raises:
        DataError: If the file is not readable text, or a line of a table has another form.
    """
    texts = _texts(path)
    first = next(texts, "")
    all_lines = chain([first], texts)
    *words, last = first.rstrip("\n").split("\t")
    if words and last.strip().isdecimal():
        return BigramCounts(_parse_table(path, all_lines), has_sentence_ends=False)
    counts: Counter[tuple[str, str]] = Counter()
    for line in all_lines:
        counts.update(pairwise(split_with_boundaries(line)))
    return BigramCounts(counts)


def _texts(path: Path) -> Iterator[str]:
    for number, line in iter_lines(path):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}, line {number}: expected UTF-8 text, got {error}; convert the file to UTF-8"
            ) from None
        if len(text) <= MAX_SENTENCE_CHARACTERS:  # a longer line is not a sentence
            yield text


def merge_bigram_counts(corpus_counts: Iterable[BigramCounts]) -> BigramCounts:
    """Sum the bigram counts of several corpora. The result includes sentence boundaries only if all inputs do."""
    merged = BigramCounts(Counter())
    for each in corpus_counts:
        merged.counts.update(each.counts)
        merged = merged._replace(has_sentence_ends=merged.has_sentence_ends and each.has_sentence_ends)
    return merged


def _parse_table(path: Path, lines: Iterable[str]) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for number, line in enumerate(lines, start=1):
        words = line.lower().split()
        if len(words) != 3 or not words[2].isdecimal():
            raise DataError(
                f"{path}, line {number}: expected two words and the count of the bigram, as on the first line, got "
                f"{line.strip()!r}"
            )
        counts[words[0], words[1]] += int(words[2])
    return counts
