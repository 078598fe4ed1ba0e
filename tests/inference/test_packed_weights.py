import numpy as np
import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

import torch
from torch import nn

from tests.inference.conftest import PAIRS, MakeModel
from unbag.inference import TransformerPredictor
from unbag.inference.optimizations import PackedLinear, pack_linear_weights

WEIGHTS = "unbag.inference.optimizations"
PREMISES, HYPOTHESES = map(list, zip(*PAIRS, strict=True))


def load_unoptimized_predictor(
    monkeypatch: pytest.MonkeyPatch, folder: object, **options: object
) -> TransformerPredictor:
    with monkeypatch.context() as patched:
        patched.setattr("unbag.inference.transformer.pack_linear_weights", lambda model, inputs, rows: False)
        return TransformerPredictor.load(folder, **options)  # type: ignore[arg-type]


@pytest.fixture
def simulated_packing(monkeypatch):
    """Simulate the packed layout with the plain one for a dtype that this processor does not support."""

    def simulate(dtype: torch.dtype) -> None:
        if not torch.backends.mkldnn.is_available() or (
            dtype is torch.bfloat16 and not torch.ops.mkldnn._is_mkldnn_bf16_supported()
        ):
            monkeypatch.setattr(f"{WEIGHTS}._packed", lambda weight, rows: weight.clone())
            monkeypatch.setattr(f"{WEIGHTS}._product", nn.functional.linear)

    return simulate


@pytest.mark.parametrize(("dtype", "atol"), [("float32", 1e-5), ("bfloat16", 2e-2)])
@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "mpnet"])
def test_output_equals_plain_weights(make_model: MakeModel, monkeypatch, simulated_packing, kind: str, dtype, atol):
    simulated_packing(getattr(torch, dtype))
    folder = make_model(kind)
    packed, plain = (
        TransformerPredictor.load(folder, dtype=dtype),
        load_unoptimized_predictor(monkeypatch, folder, dtype=dtype),
    )
    assert packed.identity["weight_layout"] == "packed"
    assert plain.identity["weight_layout"] == "plain"
    expected = plain.predict(PREMISES, HYPOTHESES)
    np.testing.assert_allclose(packed.predict(PREMISES, HYPOTHESES), expected, atol=atol)
    sizes = [sum(weights.numel() for weights in each.model.parameters()) for each in (packed, plain)]
    assert sizes[0] == sizes[1]


def test_output_equals_plain_weights_of_real_model(shared_model, monkeypatch):
    pairs = ["A man sleeps.", "Two dogs run over a wide green field in the rain.", "It rains."]
    packed, plain = TransformerPredictor.load(shared_model), load_unoptimized_predictor(monkeypatch, shared_model)
    np.testing.assert_allclose(packed.predict(pairs, pairs[::-1]), plain.predict(pairs, pairs[::-1]), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(24,), (3, 24), (2, 3, 24), (0, 24)])
def test_packed_layer_equals_original_layer(simulated_packing, dtype, shape):
    simulated_packing(dtype)
    layer = nn.Linear(24, 5).to(dtype)
    inputs = torch.randn(shape).to(dtype)
    with torch.inference_mode():
        torch.testing.assert_close(PackedLinear(layer, 100)(inputs), layer(inputs), atol=1e-2, rtol=1e-2)
    assert type(layer) is nn.Linear


def test_unsupported_dtype_leaves_model_plain(make_model: MakeModel, monkeypatch):
    def no_instructions(weight: torch.Tensor, rows: int) -> torch.Tensor:
        raise RuntimeError("mkldnn_reorder_linear_weight: bf16 path needs the cpu support avx_ne_convert or avx512bw")

    monkeypatch.setattr(f"{WEIGHTS}._packed", no_instructions)
    predictor = TransformerPredictor.load(make_model(), dtype="bfloat16")
    assert predictor.identity["weight_layout"] == "plain"
    assert not any(isinstance(module, PackedLinear) for module in predictor.model.modules())
    assert np.isfinite(predictor.predict(PREMISES, HYPOTHESES)).all()


def test_model_that_reads_weights_directly_is_unchanged(make_model: MakeModel, monkeypatch):
    model = load_unoptimized_predictor(monkeypatch, make_model()).model
    head = model.classifier
    dense = model.bert.pooler.dense
    model.bert.pooler.forward = lambda hidden: nn.functional.linear(hidden[:, 0], model.bert.pooler.dense.weight)
    inputs = {"input_ids": torch.tensor([[2, 7, 8, 3]]), "attention_mask": torch.ones(1, 4, dtype=torch.long)}
    assert not pack_linear_weights(model, inputs, 100)
    assert model.classifier is head
    assert model.bert.pooler.dense is dense
    assert model(**inputs).logits.isfinite().all()


def test_half_precision_without_operators_is_unchanged(make_model: MakeModel):
    assert TransformerPredictor.load(make_model(), dtype="float16").identity["weight_layout"] == "plain"
