"""Tests of the optimizations of a network: the outputs are equal, and a network that they do not fit is unchanged."""

import numpy as np
import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

import torch
from torch import nn

from tests.inference.fixtures import PAIRS, MakeModel
from unbag.inference.optimizations import PackedLinear, pack_linear_weights, shorten_last_layer
from unbag.inference.transformer import TransformerPredictor

WEIGHTS = "unbag.inference.optimizations"
PREMISES, HYPOTHESES = map(list, zip(*PAIRS, strict=True))


def load_plain_predictor(monkeypatch: pytest.MonkeyPatch, folder: object, **options: object) -> TransformerPredictor:
    with monkeypatch.context() as patched:
        for name in ("pack_linear_weights", "shorten_last_layer"):
            patched.setattr(f"unbag.inference.transformer.{name}", lambda *_: False)
        return TransformerPredictor.load(folder, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "dtype", "last_layer"),
    [
        ("bert", "float32", "first-token"),
        ("bert", "bfloat16", "first-token"),
        ("roberta", "float32", "first-token"),
        ("electra", "float32", "first-token"),
        ("mpnet", "float32", "none"),  # an unknown architecture
    ],
)
def test_output_equals_plain_network(make_model: MakeModel, monkeypatch, kind, dtype, last_layer):
    mkldnn = torch.backends.mkldnn.is_available()
    if not mkldnn or (dtype == "bfloat16" and not torch.ops.mkldnn._is_mkldnn_bf16_supported()):
        # Simulate the packed layout with the plain one for a dtype that this processor does not support.
        monkeypatch.setattr(f"{WEIGHTS}._packed", lambda weight, rows: weight.clone())
        monkeypatch.setattr(f"{WEIGHTS}._product", nn.functional.linear)
    fast = TransformerPredictor.load(make_model(kind), dtype=dtype)
    plain = load_plain_predictor(monkeypatch, make_model(kind), dtype=dtype)
    assert (fast.identity["weight_layout"], fast.identity["last_layer"]) == ("packed", last_layer)
    assert (plain.identity["weight_layout"], plain.identity["last_layer"]) == ("plain", "none")
    expected = plain.predict(PREMISES, HYPOTHESES)  # one batch with padding
    assert np.ptp(expected, axis=0).max() > 0.05, "all pairs look alike to this model, so this test would show nothing"
    atol = 1e-5 if dtype == "float32" else 2e-2
    np.testing.assert_allclose(fast.predict(PREMISES, HYPOTHESES), expected, atol=atol)
    sizes = [sum(weights.numel() for weights in each.model.parameters()) for each in (fast, plain)]
    assert sizes[0] == sizes[1]


def test_unsupported_dtype_leaves_model_plain(make_model: MakeModel, monkeypatch):
    def no_instructions(weight: torch.Tensor, rows: int) -> torch.Tensor:
        raise RuntimeError("mkldnn_reorder_linear_weight: bf16 path needs the cpu support avx_ne_convert or avx512bw")

    assert TransformerPredictor.load(make_model(), dtype="float16").identity["weight_layout"] == "plain"
    monkeypatch.setattr(f"{WEIGHTS}._packed", no_instructions)
    predictor = TransformerPredictor.load(make_model(), dtype="bfloat16")
    assert predictor.identity["weight_layout"] == "plain"
    assert not any(isinstance(module, PackedLinear) for module in predictor.model.modules())
    assert np.isfinite(predictor.predict(PREMISES, HYPOTHESES)).all()


def test_modified_network_is_unchanged(make_model: MakeModel, monkeypatch):
    """A pooler that reads all tokens, or weights directly, is detected by a comparison of the logits."""
    model = load_plain_predictor(monkeypatch, make_model()).model
    pooler, layer = model.bert.pooler, model.bert.encoder.layer[-1]
    inputs = {
        "input_ids": torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]]),
        "attention_mask": torch.tensor([[1] * 4, [1, 1, 1, 0]]),
    }
    dense = pooler.dense
    pooler.forward = lambda hidden: nn.functional.linear(hidden[:, 0], pooler.dense.weight)
    assert not pack_linear_weights(model, inputs, 100)
    pooler.forward = lambda hidden: hidden.mean(dim=1)
    assert not shorten_last_layer(model, inputs)
    assert (pooler.dense, model.bert.encoder.layer[-1]) == (dense, layer)
    assert model(**inputs).logits.isfinite().all()
