from unbag.challenge_sets.perturbations.corpus_counts import BOUNDARY, count_words_and_bigrams
from unbag.data.sources import Example

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
