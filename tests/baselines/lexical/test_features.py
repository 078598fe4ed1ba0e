"""Tests of words and features of the lexical model."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbag.baselines.lexical import fitting
from unbag.baselines.lexical import words as lexical_words
from unbag.baselines.lexical.features import FeatureVocabulary, _ranked
from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model, load_lexical_model
from unbag.baselines.lexical.model import LexicalModel
from unbag.baselines.lexical.scorer import score_examples
from unbag.baselines.lexical.words import BY_CONTEXT, BY_TYPE, WordSelector, select_content_words
from unbag.data.corpora import CORPORA
from unbag.data.labels import LABELS
from unbag.data.sources import Example, open_data
from unbag.data.text.tagging import Tagger
from unbag.data.text.tokens import tokenize

PIECES = ["dogs", "x-wed", "id", "don't", "cannot", "8am", "(well)", "U.S.", "it's", "-", "sun-lit", "Wed,", "gonna."]


class _SuffixTagger:
    """A stub tagger for tokens such as "dog_NN", whose suffix is the tag."""

    identity = "a test"
    fine = lexical_words.PENN

    def __init__(self, *_):
        pass

    def tag(self, sentences, **options):
        return {text: tuple(tuple(token.split("_")) for token in text.split()) for text in sentences}


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.randoms())
def test_permuted_sentence_has_same_words(pieces, random):
    """The tokens are permuted and joined by spaces as in `permuted`, then tokenized again."""
    sentence = " ".join(pieces)
    tokens = list(tokenize(sentence).texts)
    random.shuffle(tokens)
    reader = WordSelector("all", "en")
    assert set(reader.select_words([" ".join(tokens)]).values()) == set(reader.select_words([sentence]).values())


def test_word_has_its_most_frequent_tag(monkeypatch):
    monkeypatch.setattr(lexical_words, "Tagger", _SuffixTagger)
    reader = WordSelector("any", "en", BY_TYPE)
    # "like" is a preposition twice and a verb once. "Left" is an adjective once and a verb once; both are content
    # words.
    reader.count_tags(["a_DT dog_NN like_IN this_DT", "cats_NNS like_VBP like_IN", "the_DT Left_JJ left_VBD not_RB"])
    sentence = "They like the left dog, not a mouse."
    assert reader.select_words([sentence]) == {sentence: ("dog", "left", "not")}, "a word without a tag does not count"
    reader.count_tags(["I_PRP like_VBP", "I_PRP like_VBP"])
    assert reader.select_words(["I like it"]) == {"I like it": ("like",)}


def test_type_model_needs_no_tagger(monkeypatch):
    monkeypatch.setattr(lexical_words, "Tagger", None)
    vocabulary, _ = FeatureVocabulary.fit([(("dog",), ("dog",))])
    for record in ({"tags": BY_TYPE, "pipeline": "any"}, {"tags": None, "pipeline": "all"}):
        model = LexicalModel(vocabulary, None, {**record, "language": "en", "hypothesis_only": False})
        assert model.select_words(["The dog."], ["A dog."]) == [(("dog", "the"), ("a", "dog"))]


def test_unsuitable_pipeline_or_language_raises(monkeypatch):
    monkeypatch.setattr(lexical_words, "Tagger", type("Other", (_SuffixTagger,), {"fine": frozenset({"NN", "VERB"})}))
    with pytest.raises(ValueError, match=r"Penn Treebank tags for English, got 'mine' without EX, JJ.*'all'"):
        WordSelector("mine", "en")
    with pytest.raises(ValueError, match="tags='type': expected English pairs, got the language 'zh'; use tags in con"):
        WordSelector("any", "zh", BY_TYPE)


def test_words_of_figure_2_are_selected(pipeline, empty_caches):
    """All words that are features in Figure 2 of Nie et al. are content words for the tagger."""
    assert Tagger(pipeline).fine >= lexical_words.PENN
    sentences = [
        "Two people are sitting in a station.",
        "A couple of people are inside and not standing.",
        "A group of people prepare hot air balloons for takeoff.",
        "There are hot air balloons on the ground and air.",
    ]
    found = WordSelector(pipeline, "en").select_words(sentences)
    words = ({"sitting"}, {"not", "standing"}, {"hot", "balloons"}, {"there", "hot", "balloons"})
    for sentence, expected in zip(sentences, words, strict=True):
        assert expected <= set(found[sentence])


def test_not_there_and_auxiliaries_are_content_words():
    """In Figure 2 of Nie et al. 2019, *not* and *there* are features; *will* and *that* have other tags."""
    tagged = (("There", "EX"), ("are", "VBP"), ("n't", "RB"), ("will", "MD"), ("that", "WDT"), ("when", "WRB"))
    assert select_content_words(tagged) == ("are", "n't", "there")


WORDS = st.lists(st.sampled_from(["dog", "cat", "run", "red", "old"]), unique=True).map(
    lambda some: tuple(sorted(some))
)


def _iter_features(premise, hypothesis):
    """Yield the features of a pair (Nie et al. 2019, section 5): each word of a side, and each pair of words."""
    yield from ((word, None) for word in premise)
    yield from ((None, word) for word in hypothesis)
    yield from product(premise, hypothesis)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=8))
def test_matrix_contains_exactly_the_features(pairs):
    vocabulary, matrix = FeatureVocabulary.fit(pairs)
    assert (vocabulary.matrix(pairs) != matrix).nnz == 0
    for row, (premise, hypothesis) in enumerate(pairs):
        names = vocabulary.get_features(matrix[row].indices)
        assert Counter(names) == Counter(_iter_features(premise, hypothesis))
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


@pytest.mark.nightly
@pytest.mark.slow
def test_scores_agree_with_figure_2(shared, pipeline, monkeypatch, empty_caches):
    """The model of the paper is fitted to SNLI and MNLI, this one to a sample, so the third feature is not compared."""
    [path] = (shared / "hub" / "datasets" / CORPORA["snli"].hub_id).glob("*/train-*.parquet")
    monkeypatch.setattr(
        fitting, "open_training_sources", lambda names, language: [open_data(path, labels=CORPORA["snli"].labels)]
    )
    recipe = LexicalTrainingOptions((str(path),), pipeline=pipeline, tags=BY_CONTEXT, max_train_pairs=11_294, l2=10.0)
    model = load_lexical_model(fit_or_load_lexical_model(recipe))

    pair = ("Two people are sitting in a station.", "A couple of people are inside and not standing.")
    [score] = score_examples([model], [Example("", *pair, "entailment")])
    assert LABELS[score.probabilities.argmax()] == "contradiction"
    assert {each.label for each in score.misleading} == {"contradiction"}
    features = [each[:2] for each in score.misleading]
    assert features[0] == ("sitting", "standing")
    assert (None, "not") in features

    pair = (
        "A group of people prepare hot air balloons for takeoff.",
        "There are hot air balloons on the ground and air.",
    )
    [score] = score_examples([model], [Example("", *pair, "neutral")])
    assert LABELS[score.probabilities.argmax()] == "entailment"
    assert score.misleading[0][:3] == (None, "there", "entailment")
