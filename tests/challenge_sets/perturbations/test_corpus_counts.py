import gzip
from collections import Counter

import pytest

from unbag.challenge_sets.perturbations.corpus_counts import (
    BOUNDARY,
    BigramCounts,
    count_words_and_bigrams,
    merge_bigram_counts,
    read_bigrams,
)
from unbag.data.sources import Example
from unbag.utils.safe_io import DataError

EXAMPLES = [
    Example("a", "A red dog runs.", "A dog is asleep.", "contradiction"),
    Example("b", "A red dog runs.", "A cat runs.", "contradiction"),
    Example("c", "A red dog runs.", "A dog, a cat.", "entailment"),
    Example("d", "Two cats run", "A red dog runs.", "neutral"),
]


def test_words_and_bigrams_count_shared_premise_once():
    found = count_words_and_bigrams(EXAMPLES)
    assert found.words["red"] == 2  # one premise and one hypothesis
    assert found.bigrams["red", "dog"] == 2
    assert found.bigrams["dog", BOUNDARY] == 1  # before the comma
    assert found.bigrams["run", BOUNDARY] == 1  # at the end of the sentence
    assert found.bigrams[BOUNDARY, "a"] == 6
    assert not found.bigrams["dog", "cat"]


def test_word_pairs_are_counted_in_contradictions():
    found = count_words_and_bigrams(EXAMPLES, {"dog", "cat", "red"})
    assert found.pairs == {("dog", "cat"): 1, ("red", "dog"): 1, ("red", "cat"): 1}


def test_read_bigrams_text_counts_each_line(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("A red dog runs.\nThe dog runs, too.\n")
    found = read_bigrams(text)
    assert found.counts["dog", "runs"] == 2
    assert not found.counts["runs", "the"]
    assert not found.is_attested(("runs", "too"), 1)  # a comma between


def test_read_bigrams_table_has_no_sentence_ends(tmp_path):
    table = tmp_path / "bigrams.txt.gz"
    with gzip.open(table, "wt") as file:
        file.write("red dog\t12\nRed\tDog\t3\ndog runs\t1\n")
    found = read_bigrams(table)
    assert found.counts == {("red", "dog"): 15, ("dog", "runs"): 1}
    assert found.is_attested(("dog", BOUNDARY), 10)  # sentence ends are unknown, so they count as attested
    assert not found.is_attested(("dog", "runs"), 2)


def test_read_bigrams_invalid_line_error_names_line(tmp_path):
    table = tmp_path / "bigrams.txt"
    table.write_text("red dog\t12\na sentence\n")
    with pytest.raises(
        DataError, match=r"bigrams.txt, line 2: expected two words and the count of the bigram.*'a sentence'"
    ):
        read_bigrams(table)
    with pytest.raises(DataError, match=r"other.txt: expected a file, got no such file"):
        read_bigrams(tmp_path / "other.txt")


def test_merge_bigrams_adds_counts_and_combines_ends():
    one = BigramCounts(Counter({("a", "dog"): 2}))
    table = BigramCounts(Counter({("a", "dog"): 3}), has_sentence_ends=False)
    assert merge_bigram_counts([one, one]) == BigramCounts(Counter({("a", "dog"): 4}))
    assert merge_bigram_counts([one, table]) == BigramCounts(Counter({("a", "dog"): 5}), has_sentence_ends=False)
