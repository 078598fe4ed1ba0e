"""Tests of the NumPy reader: its output equals that of torch, and its weights those of the training tool."""

import json

import numpy as np
import pytest
from safetensors import safe_open

from unbag.baselines import demo_reader
from unbag.baselines.demo_reader import DemoNetworkPredictor
from unbag.challenge_sets.request import read_exported_set
from unbag.data import demo
from unbag.data.labels import LABELS, get_label_id

PAIRS = list(demo.iter_demo_pairs("validation"))
ODD = [("", "..."), ("A zebra!", "a zebra"), ("He isn't here", "x " * 60), ("A dog.", "")]


@pytest.fixture(scope="module")
def predictor():
    return DemoNetworkPredictor()


def predict(pairs):
    return [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs]


def test_probabilities_equal_torch(predictor):
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file

    from tools.demo_reader.network import Reader

    weights = {name: tensor.float() for name, tensor in load_file(demo_reader.WEIGHTS).items()}
    network = Reader(len(weights["words.weight"]))
    network.load_state_dict(weights)
    premises, hypotheses = (list(side) for side in zip(*zip(*predict(PAIRS[:100]), strict=True), *ODD, strict=True))
    with safe_open(demo_reader.WEIGHTS, framework="np") as file:
        known = {
            word: n
            for n, word in enumerate(json.loads(file.metadata()[demo_reader.RECORD])["words"], demo_reader.FIRST)
        }
    with torch.no_grad():
        logits = network.eval()(
            *(torch.from_numpy(demo_reader.encode_words(side, known)) for side in (premises, hypotheses))
        )
    np.testing.assert_allclose(predictor.predict(premises, hypotheses), logits.softmax(dim=1), atol=1e-5)


def test_weights_are_made_by_current_tool_and_pairs():
    pytest.importorskip("torch")
    from tools.demo_reader.__main__ import compute_training_hash

    with safe_open(demo_reader.WEIGHTS, framework="np") as file:
        record = json.loads(file.metadata()[demo_reader.RECORD])
    assert record["made_by"] == compute_training_hash(), "run `python -m tools.demo_reader`"


def test_reader_is_accurate_on_grammar_pairs(predictor):
    gold = np.array([get_label_id(pair.label) for pair in PAIRS])
    assert (predictor.predict(*predict(PAIRS)).argmax(axis=1) == gold).mean() > 0.88


def test_reader_distinguishes_subject_and_object(predictor):
    """A model that ignores word order predicts the same label for a premise with itself and with its swap."""
    rows = read_exported_set(demo.BUILT_SETS["soswap_addamod"]).rows.filter(lambda row: row["kind"] == "soswap")
    premises = list(rows["premise"])
    same, swapped = (predictor.predict(premises, list(side)).argmax(axis=1) for side in (premises, rows["hypothesis"]))
    entailment, contradiction = map(get_label_id, ("entailment", "contradiction"))
    assert (same == entailment).mean() > 0.9
    assert (swapped == contradiction).mean() > 0.7


def test_reader_distinguishes_roles_in_every_construction(predictor):
    premise = "A girl is chasing a dog in the park."
    same = ["The girl is chasing the dog.", "A dog is being chased by a girl.", "There is a girl running after a dog."]
    turned = [
        "The dog is chasing the girl.",
        "A girl is being chased by a dog.",
        "There is a dog running after a girl.",
    ]
    answers = predictor.predict([premise] * 6, same + turned).argmax(axis=1)
    assert [LABELS[answer] for answer in answers] == ["entailment"] * 3 + ["contradiction"] * 3


def test_reader_uses_negation(predictor):
    premises = ["A girl is chasing a dog in the park."] * 2 + ["No dog is being chased by a girl."] * 2
    hypotheses = ["A girl is chasing a dog.", "A girl is not chasing a dog."] * 2
    answers = predictor.predict(premises, hypotheses).argmax(axis=1)
    assert [LABELS[answer] for answer in answers] == ["entailment", "contradiction", "contradiction", "entailment"]


def test_batch_does_not_change_predictions(predictor):
    premises, hypotheses = predict(PAIRS[:30])
    together = predictor.predict([*premises, "a " * 200], [*hypotheses, "."])
    alone = [
        predictor.predict([premise], [hypothesis]) for premise, hypothesis in zip(premises, hypotheses, strict=True)
    ]
    np.testing.assert_allclose(together[:30], np.concatenate(alone), atol=1e-5)


def test_any_text_and_empty_batch_are_accepted(predictor):
    answers = predictor.predict(*zip(*ODD, strict=True))
    assert answers.shape == (4, 3)
    assert answers.dtype == np.float32
    np.testing.assert_allclose(answers.sum(axis=1), 1, atol=1e-6)
    assert predictor.predict([], []).shape == (0, 3)


def test_pair_without_text_is_rejected(predictor):
    with pytest.raises(ValueError, match="expected text in column 'hypothesis', got None in row 0"):
        predictor.predict(["A dog."], [None])
