import numpy as np
import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

import torch

from tests.inference.conftest import PAIRS, MakeModel
from unbag.inference import TransformerPredictor
from unbag.inference.optimizations import shorten_last_layer

PREMISES, HYPOTHESES = map(list, zip(*PAIRS, strict=True))


def load_unoptimized_predictor(monkeypatch: pytest.MonkeyPatch, folder: object) -> TransformerPredictor:
    with monkeypatch.context() as patched:
        patched.setattr("unbag.inference.transformer.shorten_last_layer", lambda model, inputs: False)
        return TransformerPredictor.load(folder)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "electra"])
def test_output_equals_plain_forward_with_padding(make_model: MakeModel, monkeypatch, kind: str):
    folder = make_model(kind)
    short, plain = TransformerPredictor.load(folder), load_unoptimized_predictor(monkeypatch, folder)
    assert short.identity["last_layer"] == "first-token"
    assert plain.identity["last_layer"] == "none"
    expected = plain.predict(PREMISES, HYPOTHESES)  # one batch with padding
    assert np.ptp(expected, axis=0).max() > 0.05, "all pairs look alike to this model, so this test would show nothing"
    np.testing.assert_allclose(short.predict(PREMISES, HYPOTHESES), expected, atol=1e-5)


def test_output_equals_plain_forward_of_real_model(shared_model, monkeypatch):
    pairs = ["A man sleeps.", "Two dogs run over a wide green field in the rain.", "It rains."]
    short, plain = TransformerPredictor.load(shared_model), load_unoptimized_predictor(monkeypatch, shared_model)
    assert short.identity["last_layer"] == "first-token"
    np.testing.assert_allclose(short.predict(pairs, pairs[::-1]), plain.predict(pairs, pairs[::-1]), atol=1e-5)


def test_unknown_architecture_is_unchanged(make_model: MakeModel):
    assert TransformerPredictor.load(make_model("mpnet")).identity["last_layer"] == "none"


def test_head_that_reads_all_tokens_is_unchanged(make_model: MakeModel):
    """A supported class with a modified head. The comparison of logits detects it, and the plain forward is used."""
    folder = make_model()
    model = TransformerPredictor.load(folder).model
    plain = model.bert.encoder.layer[-1].layer
    model.bert.encoder.layer[-1] = plain
    model.bert.pooler.forward = lambda hidden: hidden.mean(dim=1)
    inputs = {
        "input_ids": torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]]),
        "attention_mask": torch.tensor([[1] * 4, [1, 1, 1, 0]]),
    }
    assert not shorten_last_layer(model, inputs)
    assert model.bert.encoder.layer[-1] is plain
