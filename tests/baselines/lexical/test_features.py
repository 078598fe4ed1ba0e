from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unbag.baselines.lexical.features import FeatureVocabulary, LexicalFeature, _ranked, iter_features

WORDS = st.lists(st.sampled_from(["dog", "cat", "run", "red", "old"]), unique=True).map(
    lambda some: tuple(sorted(some))
)


@given(WORDS, WORDS)
def test_swapped_sentences_mirror_features(premise, hypothesis):
    mirrored = Counter(LexicalFeature(f.hypothesis, f.premise) for f in iter_features(premise, hypothesis))
    assert mirrored == Counter(iter_features(hypothesis, premise))


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=8))
def test_matrix_contains_exactly_the_features(pairs):
    vocabulary, matrix = FeatureVocabulary.fit(pairs)
    assert (vocabulary.matrix(pairs) != matrix).nnz == 0
    for row, (premise, hypothesis) in enumerate(pairs):
        names = vocabulary.get_features(matrix[row].indices)
        assert Counter(names) == Counter(iter_features(premise, hypothesis))
    assert set(matrix.data) <= {1.0}


def test_vocabulary_does_not_depend_on_batch_size(monkeypatch):
    words = ("dog", "cat", "run", "red", "old")
    pairs = [((words[n % 5], words[(n + 2) % 5]), tuple(words[n % 3 :])) for n in range(40)] + [((), ())]
    whole, expected = FeatureVocabulary.fit(pairs)
    monkeypatch.setattr("unbag.baselines.lexical.features._PAIRS", 7)
    vocabulary, matrix = FeatureVocabulary.fit(iter(pairs))
    assert (vocabulary.words, vocabulary.codes.tolist()) == (whole.words, whole.codes.tolist())
    assert matrix.shape == (41, len(vocabulary))
    assert matrix.indptr.tolist() == expected.indptr.tolist()
    assert matrix.indices.tolist() == expected.indices.tolist()


@given(st.lists(st.integers(0, 2**62) | st.integers(0, 5) | st.integers(0, 5).map(lambda word: word << 32)))
def test_code_ranks_equal_numpy(values):
    codes = np.array(values, dtype=np.int64)
    distinct, ranks = _ranked(codes)
    expected = np.unique(codes, return_inverse=True)
    assert distinct.tolist() == expected[0].tolist()
    assert ranks.tolist() == expected[1].tolist()


def test_matrix_ignores_words_outside_vocabulary():
    vocabulary, _ = FeatureVocabulary.fit([(("dog",), ("animal",))])
    row = vocabulary.matrix([(("dog", "unseen"), ("animal", "new"))])
    assert set(vocabulary.get_features(row.indices)) == {("dog", None), (None, "animal"), ("dog", "animal")}
    assert len(vocabulary) == 3


def test_vocabulary_is_rebuilt_from_words_and_codes():
    pairs = [(("dog", "run"), ("animal",)), (("cat",), ("sleep",))]
    vocabulary, matrix = FeatureVocabulary.fit(pairs)
    again = FeatureVocabulary(vocabulary.words, vocabulary.codes)
    assert (again.matrix(pairs) != matrix).nnz == 0
