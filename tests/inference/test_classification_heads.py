"""Tests of classification heads of further architectures with tiny random models: label order and padding."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs unbag[models]")
transformers = pytest.importorskip("transformers", reason="needs unbag[models]")

from tests.training.tiny_networks import ORDER, PAIRS, tiny_network, tiny_tokenizer  # noqa: E402
from unbag.data.labels import LABELS  # noqa: E402
from unbag.evaluation.model_loading import load_predictor  # noqa: E402

MODERN = {"cls_token_id": 0, "sep_token_id": 2}
HEADS = {
    "modernbert": {**MODERN, "global_attn_every_n_layers": 2, "local_attention": 8},
    "modernbert with mean pooling": {**MODERN, "classifier_pooling": "mean"},
    "deberta-v2": {"max_relative_positions": 16, "position_biased_input": True},
    "deberta-v2 as v3": {
        **{"position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True, "type_vocab_size": 0},
        **{"max_relative_positions": 16, "position_biased_input": False},
    },
    "bart": {},
    "t5": {},
}


@pytest.mark.parametrize("head", HEADS)
def test_predictions_ignore_padding_and_follow_labels(head, tmp_path):
    tiny_network(head.split()[0], **HEADS[head]).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    predictor, _ = load_predictor(tmp_path)
    assert (predictor.order, predictor.label_space) == (ORDER, LABELS)
    premises, hypotheses = (list(side) for side in zip(*PAIRS, strict=True))
    together = predictor.predict(premises, hypotheses)
    alone = np.concatenate([predictor.predict([premise], [hypothesis]) for premise, hypothesis in PAIRS])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert np.ptp(together, axis=0).max() > 1e-3, "too alike to show a mistake"
    network = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for row, (premise, hypothesis) in enumerate(PAIRS):
        with torch.inference_mode():
            outputs = network(**tokenizer(premise, hypothesis, return_tensors="pt")).logits.softmax(-1)[0]
        expected = [outputs[ORDER.index(label)].item() for label in LABELS]
        np.testing.assert_allclose(alone[row], expected, atol=1e-5)
