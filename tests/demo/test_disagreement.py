import numpy as np
import pytest

from unbag.data import demo
from unbag.data.labels import LABELS, get_label_id
from unbag.evaluation import demo as room

PAIRS = list(demo.iter_demo_pairs("validation"))


class Says:
    """Answers each pair with one label, a little surer the later it comes."""

    def __init__(self, labels):
        self.labels = labels

    def predict(self, premises, hypotheses):
        sure = np.linspace(0.5, 0.9, len(premises), dtype=np.float32)[:, None]
        return np.where(np.eye(3)[[get_label_id(label) for label in self.labels]] == 1, sure, (1 - sure) / 2)


@pytest.fixture
def between(monkeypatch, tmp_path):
    def ask(reader, bag):
        monkeypatch.setattr(room, "ReaderPredictor", lambda: Says(reader))
        monkeypatch.setattr(room, "load_predictor", lambda name, **_: (Says(bag), name))
        return room.find_disagreement(tmp_path)

    return ask


def test_who_is_right_where_two_differ_is_counted(between):
    gold = [pair.label for pair in PAIRS]
    other = [LABELS[(get_label_id(label) + 1) % 3] for label in gold]
    found = between([*gold[:700], *other[700:]], [*other[:600], *gold[600:]])
    assert found[:4] == (1500, 600 + 800, 600, 800)
    assert found.example.pair in PAIRS[:600]
    assert found.example.reader.label == found.example.pair.label != found.example.bag.label


def test_the_pair_shown_is_of_words_that_both_sentences_have(between):
    found = between([pair.label for pair in PAIRS], ["entailment"] * len(PAIRS))
    pair = found.example.pair
    assert sorted(pair.premise.lower().split()) == sorted(pair.hypothesis.lower().split())
    assert pair.label != "entailment"


def test_two_that_answer_alike_differ_nowhere(between):
    assert between(["neutral"] * 1500, ["neutral"] * 1500) == (1500, 0, 0, 0, None)


def test_no_pair_is_shown_where_the_reader_is_right_nowhere(between):
    wrong = [LABELS[(get_label_id(pair.label) + 1) % 3] for pair in PAIRS]
    assert between(wrong, [pair.label for pair in PAIRS]) == (1500, 1500, 0, 1500, None)
