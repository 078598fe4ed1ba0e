"""Tests of classification heads of further architectures with tiny random models: label order and padding."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs unbag[models]")
transformers = pytest.importorskip("transformers", reason="needs unbag[models]")

from tests.inference.conftest import ORDER, PAIRS, WORDS  # noqa: E402
from tests.tiny_tokenizer import tiny_tokenizer  # noqa: E402
from unbag.data.labels import LABELS  # noqa: E402
from unbag.evaluation.model_loading import load_predictor  # noqa: E402

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
ENCODER = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 64}
DISENTANGLED = {**ENCODER, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 16}
HEADS = {
    "modernbert": {**ENCODER, "initializer_range": 0.3, "global_attn_every_n_layers": 2, "local_attention": 8}
    | {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3},
    "modernbert with mean pooling": {**ENCODER, "initializer_range": 0.3, "classifier_pooling": "mean"}
    | {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3},
    "deberta-v2": {**DISENTANGLED, "initializer_range": 0.3},
    "deberta-v2 as v3": {
        **{**DISENTANGLED, "initializer_range": 0.3, "position_buckets": 8, "norm_rel_ebd": "layer_norm"},
        **{"share_att_key": True, "position_biased_input": False, "type_vocab_size": 0},
    },
    "bart": {
        **{"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4},
        **{"decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "init_std": 0.3},
        **{"bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 3, "forced_eos_token_id": 3},
    },
    "t5": {
        **{"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
        **{"eos_token_id": 3, "initializer_factor": 2.0},
    },
}


@pytest.fixture(params=list(HEADS))
def model(request, tmp_path):
    """Return the folder of a tiny random classifier with the given head."""
    kind = request.param.split()[0]
    vocabulary = {word: number for number, word in enumerate((*SPECIAL, *WORDS))}
    tokenizer = tiny_tokenizer(vocabulary)
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    config = transformers.AutoConfig.for_model(
        kind,
        **HEADS[request.param],
        vocab_size=len(vocabulary),
        max_position_embeddings=64,
        pad_token_id=0,
        id2label=dict(enumerate(ORDER)),
        label2id={label: output for output, label in enumerate(ORDER)},
    )
    torch.manual_seed(0)
    network = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return tmp_path


def test_predictions_ignore_padding_and_follow_labels(model):
    predictor, _ = load_predictor(model)
    assert (predictor.order, predictor.label_space) == (ORDER, LABELS)
    premises, hypotheses = (list(side) for side in zip(*PAIRS, strict=True))
    together = predictor.predict(premises, hypotheses)
    alone = np.concatenate([predictor.predict([premise], [hypothesis]) for premise, hypothesis in PAIRS])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert np.ptp(together, axis=0).max() > 1e-3, "too alike to show a mistake"
    network = transformers.AutoModelForSequenceClassification.from_pretrained(model).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    for row, (premise, hypothesis) in enumerate(PAIRS):
        with torch.inference_mode():
            outputs = network(**tokenizer(premise, hypothesis, return_tensors="pt")).logits.softmax(-1)[0]
        expected = [outputs[ORDER.index(label)].item() for label in LABELS]
        np.testing.assert_allclose(alone[row], expected, atol=1e-5)
