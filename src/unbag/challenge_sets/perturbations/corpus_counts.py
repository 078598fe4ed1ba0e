"""Counts of a corpus: its words, its bigrams, and which words meet in its contradictions."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Final, NamedTuple

from unbag.data.labels import CONTRADICTION
from unbag.data.sources import LONGEST_SENTENCE, Example
from unbag.data.text.tokens import words
from unbag.utils.safe_io import DataError, lines

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


ENDINGS: Final = (".txt", ".txt.gz")
"""What the name of a text or a table ends in."""


class Bigrams(NamedTuple):
    """Counts of bigrams; words are in lower case.

    Attributes:
        counts: how often a word is followed by another, or by an end (`corpus_counts.EDGE`).
        with_ends: whether ends of sentences and marks count as neighbours; tables have none.
    """

    counts: Counter[tuple[str, str]]
    with_ends: bool = True

    def attests(self, pair: tuple[str, str], least: int) -> bool:
        """Tell whether a bigram occurs often enough; one with an end does where ends were not counted.

        >>> Bigrams(Counter({("a", "dog"): 3})).attests(("a", "dog"), 3)
        True
        """
        return (not self.with_ends and EDGE in pair) or self.counts[pair] >= least


def of_examples(examples: Iterable[Example]) -> Bigrams:
    """Count the bigrams of a corpus of pairs."""
    return Bigrams(count_corpus(examples).bigrams)


def is_text(name: str) -> bool:
    """Tell by its name whether a file is a text or a table.

    >>> is_text("wikipedia.txt.gz"), is_text("pairs.jsonl")
    (True, False)
    """
    return name.endswith(ENDINGS)


def of_file(path: Path) -> Bigrams:
    """Count the bigrams of a text, whose lines are sentences, or read a table of counts.

    A table has on each line two words and a number, tabs between, or a space between the words. Case is folded.

    Raises:
        DataError: if it cannot be read, or a line of a table is something else.
    """
    texts = _texts(path)
    first = next(texts, "")
    every = chain([first], texts)
    if _is_counted(first):
        return Bigrams(_table(path, every), with_ends=False)
    counts: Counter[tuple[str, str]] = Counter()
    for line in every:
        counts.update(pairwise(with_edges(line)))
    return Bigrams(counts)


def _texts(path: Path) -> Iterator[str]:
    for number, line in lines(path):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise DataError(f"{path}, line {number}: cannot be read as text ({error})") from None
        yield from [text] if len(text) <= LONGEST_SENTENCE else []  # no sentence, whatever it is


def together(some: Iterable[Bigrams]) -> Bigrams:
    """Return the counts of several; ends count only where all of them have ends."""
    counts: Counter[tuple[str, str]] = Counter()
    with_ends = True
    for each in some:
        counts.update(each.counts)
        with_ends = with_ends and each.with_ends
    return Bigrams(counts, with_ends)


def _is_counted(line: str) -> bool:
    *words, last = line.rstrip("\n").split("\t")
    return bool(words) and last.strip().isdecimal()


def _table(path: Path, lines: Iterable[str]) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for number, line in enumerate(lines, start=1):
        words = line.lower().split()
        if len(words) != 3 or not words[2].isdecimal():
            raise DataError(
                f"{path}, line {number}: expected two words and how often the one follows the other, as on the first "
                f"line, found {line.strip()!r}"
            )
        counts[words[0], words[1]] += int(words[2])
    return counts
