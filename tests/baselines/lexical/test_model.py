import json

import numpy as np
import pytest

from unbag.baselines.lexical.model import LexicalModel, fit_lexical_model
from unbag.baselines.lexical.regression import compute_lms

RNG = np.random.default_rng(0)
NOUNS, VERBS = ["cat", "dog", "man", "girl", "boy"], ["nap", "run", "sing", "walk"]


def _sample_pairs(n=300):
    """Build pairs in which *nap* with *run* is a contradiction, and equal verbs are an entailment."""
    pairs, labels = [], []
    for _ in range(n):
        noun = str(RNG.choice(NOUNS))
        label = str(RNG.choice(["entailment", "neutral", "contradiction"]))
        verbs = {"entailment": ("run", "run"), "contradiction": ("nap", "run"), "neutral": ("sing", "walk")}[label]
        pairs.append((tuple(sorted((noun, verbs[0]))), tuple(sorted((noun, verbs[1])))))
        labels.append(label)
    return pairs, labels


@pytest.fixture(scope="module")
def model():
    return fit_lexical_model(*_sample_pairs())


def test_lexical_model_predicts_labels_from_words(model):
    probabilities = model.probabilities([(("dog", "nap"), ("dog", "run")), (("dog", "run"), ("dog", "run"))])
    assert probabilities.argmax(axis=1).tolist() == [2, 0]
    assert probabilities.sum(axis=1) == pytest.approx(1)


def test_penalty_minimizes_held_out_loss(model):
    losses = model.record["held_out_loss"]
    assert losses[f"{model.record['l2']:g}"] == min(losses.values())
    assert len(losses) == 5


def test_misleading_features_are_ranked(model):
    # The words of the pair indicate contradiction, but the gold label is entailment.
    pair = [(("girl", "nap"), ("girl", "run"))]
    [found] = model.rank_misleading(pair, model.probabilities(pair), ["entailment"], 5)
    assert {contribution.label for contribution in found} == {"contradiction"}
    assert found[0].logit == max(contribution.logit for contribution in found) > 0
    assert any("nap" in contribution.feature for contribution in found[:2])
    assert compute_lms(model.probabilities(pair), np.array([0]))[0] > 0.5


def test_saved_model_round_trips(model, tmp_path):
    model.save(tmp_path)
    again = LexicalModel.load(tmp_path)
    pairs, _ = _sample_pairs(20)
    assert again.probabilities(pairs).tobytes() == model.probabilities(pairs).tobytes()
    assert again.record == model.record
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checksums.json", "config.json", "model.safetensors"]


def test_load_other_folder_raises(tmp_path):
    with pytest.raises(ValueError, match=r"got a folder without config\.json"):
        LexicalModel.load(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"format": 7, "labels": []}))
    with pytest.raises(ValueError, match=r"got .*'format': 7.*; fit it with `unbag lexical fit`"):
        LexicalModel.load(tmp_path)


def test_fit_too_few_pairs_raises():
    with pytest.raises(ValueError, match="set a penalty"):
        fit_lexical_model([(("dog",), ("cat",))], ["neutral"])
    with pytest.raises(ValueError, match="got 1 pairs and 0 labels"):
        fit_lexical_model([(("dog",), ("cat",))], [])
