import numpy as np
import pytest

from unbag.baselines.demo_reader import tokenize_words
from unbag.data import demo
from unbag.data.labels import LABELS, get_label_id
from unbag.evaluation import demo as room

PAIRS = list(demo.iter_demo_pairs("validation"))


class FixedPredictor:
    """Predicts a given label for each pair, with a probability that increases slightly with the position."""

    def __init__(self, labels):
        self.labels = labels

    def predict(self, premises, hypotheses):
        sure = np.linspace(0.5, 0.9, len(premises), dtype=np.float32)[:, None]
        return np.where(np.eye(3)[[get_label_id(label) for label in self.labels]] == 1, sure, (1 - sure) / 2)


@pytest.fixture
def find_disagreements(monkeypatch, tmp_path):
    def ask(reader, bag):
        monkeypatch.setattr(room, "DemoNetworkPredictor", lambda: FixedPredictor(reader))
        monkeypatch.setattr(room, "load_predictor", lambda name, **_: (FixedPredictor(bag), name))
        return room.compare_demo_models(tmp_path)

    return ask


def test_correct_predictions_are_counted_where_models_differ(find_disagreements):
    gold = [pair.label for pair in PAIRS]
    other = [LABELS[(get_label_id(label) + 1) % 3] for label in gold]
    found = find_disagreements([*gold[:700], *other[700:]], [*other[:600], *gold[600:]])
    assert found[:4] == (2400, 600 + 1700, 600, 1700)
    assert found.example.pair in PAIRS[:600]
    assert found.example.reader.label == found.example.pair.label != found.example.bag.label


def test_shown_pair_has_same_words_in_both_sentences(find_disagreements):
    found = find_disagreements([pair.label for pair in PAIRS], ["entailment"] * len(PAIRS))
    pair = found.example.pair
    assert set(tokenize_words(pair.premise)) == set(tokenize_words(pair.hypothesis))
    assert pair.label != "entailment"


def test_equal_predictions_have_no_disagreement(find_disagreements):
    assert find_disagreements(["neutral"] * 2400, ["neutral"] * 2400) == (2400, 0, 0, 0, None)


def test_no_pair_is_shown_if_reader_is_never_right(find_disagreements):
    wrong = [LABELS[(get_label_id(pair.label) + 1) % 3] for pair in PAIRS]
    assert find_disagreements(wrong, [pair.label for pair in PAIRS]) == (2400, 2400, 0, 2400, None)
