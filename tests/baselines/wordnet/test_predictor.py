import numpy as np
import pytest

from tests.baselines.wordnet.tiny_lexicon import TinyLexicon
from unbag.baselines.wordnet.predictor import WordNetPredictor
from unbag.data.labels import LABELS
from unbag.inference.predictor import Predictor, validate_probabilities


@pytest.fixture
def predictor():
    return WordNetPredictor(TinyLexicon())


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("A dog runs.", "A hound runs.", "entailment"),
        ("Two poodles run.", "Two animals run.", "entailment"),
        ("An animal runs.", "A dog runs.", "neutral"),
        ("A hot day.", "A cold day.", "contradiction"),
        ("A dog runs.", "A cat runs.", "contradiction"),
        ("A dog in the living room.", "A dog in the kitchen.", "contradiction"),
        ("He stands near the wall.", "He stands far away from the wall.", "contradiction"),  # because of the part "far"
        ("A dog runs.", "A rose runs.", None),
        ("A dog runs.", "A dog runs.", None),
        ("A dog runs.", "A dog sits while it is hot.", None),
    ],
)
def test_label_follows_relation_of_replaced_words(predictor, premise, hypothesis, expected):
    assert predictor.predict_label(premise, hypothesis) == expected


def test_predictions_are_labels_or_ties(predictor):
    assert isinstance(predictor, Predictor)
    found = predictor.predict(["A hot day.", "A dog runs."], ["A cold day.", "A rose runs."])
    assert np.array_equal(found, validate_probabilities(found, 2, LABELS))
    assert found[0].tolist() == [float(label == "contradiction") for label in LABELS]
    assert len(set(found[1].tolist())) == 1
    assert not predictor.has_probabilities
    assert predictor.predict([], []).shape == (0, 3)


def test_edges_limit_relation_distance(predictor):
    # poodle - dog - canine - carnivore: 3 edges, one more than in the paper.
    assert predictor.predict_label("A poodle runs.", "A cat runs.") is None
    assert WordNetPredictor(TinyLexicon(), edges=3).predict_label("A poodle runs.", "A cat runs.") == "contradiction"
    with pytest.raises(ValueError, match="edges: expected at least 1, got 0"):
        WordNetPredictor(TinyLexicon(), edges=0)


def test_predictor_identity_contains_wordnet_and_edges(wordnet):
    predictor = WordNetPredictor.load(edges=3)
    assert predictor.identity == {"kind": "wordnet", "wordnet": wordnet.identity, "edges": "3"}
    assert predictor.identity != WordNetPredictor.load().identity
    assert predictor.predict_label("A man drinks champagne.", "A man drinks wine.") == "entailment"


def test_unnamed_lexicon_has_no_identity(predictor):
    assert predictor.identity is None
