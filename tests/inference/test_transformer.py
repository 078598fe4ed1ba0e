"""Tests of transformers classifiers from folders, the Hub and memory: outputs, identity and optimizations."""

import json
import random
import re
import shutil

import numpy as np
import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

import torch
import transformers

from tests.fake_hub.client_process import runs_in
from tests.training.tiny_networks import ORDER, PAIRS, tiny_network, tiny_tokenizer
from unbag.data.labels import LABELS, LabelError
from unbag.evaluation.model_loading import load_predictor
from unbag.inference.hub_files import compute_folder_revision
from unbag.inference.optimizations import PackedLinear, pack_linear_weights, shorten_last_layer
from unbag.inference.predictor import ModelError
from unbag.inference.tokenization import build_token_batches, compute_length_limit, encode_pairs, pad_sequences
from unbag.inference.transformer import TransformerPredictor

PREMISES, HYPOTHESES = map(list, zip(*PAIRS, strict=True))
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
def test_probabilities_equal_transformers_output_in_any_batch_and_order(head, tmp_path):
    tiny_network(head.split()[0], **HEADS[head]).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    predictor, _ = load_predictor(tmp_path, batch_tokens=60)
    assert (predictor.order, predictor.label_space) == (ORDER, LABELS)
    pairs = random.Random(0).sample(PAIRS, len(PAIRS))
    found = predictor.predict(*map(list, zip(*pairs, strict=True)))
    assert np.ptp(found, axis=0).max() > 1e-3, "too alike to show a mistake"
    network = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for row, (premise, hypothesis) in zip(found, pairs, strict=True):
        with torch.inference_mode():
            outputs = network(**tokenizer(premise, hypothesis, return_tensors="pt")).logits.softmax(-1)[0]
        expected = [outputs[ORDER.index(label)].item() for label in LABELS]
        np.testing.assert_allclose(row, expected, atol=1e-5)


def test_model_without_trained_head_is_rejected(tiny_bert, tmp_path):
    """transformers would initialize a random head with only a warning."""
    transformers.AutoModel.from_pretrained(tiny_bert).save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "architectures": ["BertForSequenceClassification"]}))
    with pytest.raises(ModelError, match=r"no weights for \['classifier.bias', 'classifier.weight'\].*random"):
        TransformerPredictor.load(tmp_path)


def test_folder_without_model_is_rejected(tmp_path, tiny_bert):
    with pytest.raises(ModelError, match="absent, which does not exist"):
        TransformerPredictor.load(tmp_path / "absent")
    for name, advice in (
        ("notes.txt", "got only ['notes.txt']; pass a folder written by save_pretrained"),
        ("model.onnx", "got only ['model.onnx', 'notes.txt']; copy config.json and the tokenizer files"),
    ):
        (tmp_path / name).touch()
        with pytest.raises(ModelError, match=re.escape(f"expected a model folder with config.json, {advice}")):
            TransformerPredictor.load(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "of-the-future"}))
    with pytest.raises(ModelError, match="expected a config that transformers can load"):
        TransformerPredictor.load(tmp_path)
    with pytest.raises(ModelError, match="expected no revision for a folder"):
        TransformerPredictor.load(tiny_bert, revision="main")


def test_truncation_uses_model_limit_and_is_counted(make_model):
    """The limit in the tokenizer's files is 8 tokens, the limit of the model is 24."""
    folder = make_model(positions=24)
    predictor = TransformerPredictor.load(folder)
    assert predictor.max_length == 24
    premise = "the old man reads and the young woman sleeps"  # 9 words; 12 tokens with one word more and special tokens
    predictor.predict([premise], ["a"])
    assert predictor.truncated == 0
    cut = predictor.predict([premise] * 2, ["no " * 40, "a"])
    assert predictor.truncated == 1
    kept = 24 - 3 - 9  # the longer side is truncated, the shorter is complete
    np.testing.assert_allclose(cut[:1], predictor.predict([premise], ["no " * kept]), atol=1e-6)
    shorter = TransformerPredictor.load(folder, max_length=11)
    shorter.predict([premise], ["a"])
    assert shorter.truncated == 1
    with pytest.raises(ModelError, match="expected 1 to 24 tokens, got 25"):
        TransformerPredictor.load(folder, max_length=25)


@pytest.mark.parametrize(("kind", "limit"), [("bert", 64), ("roberta", 62)])
def test_maximum_length_of_each_family(make_model, kind, limit):
    """RoBERTa's first position is its padding id plus one, so 64 tokens would exceed its position table."""
    predictor = TransformerPredictor.load(make_model(kind))
    assert compute_length_limit(predictor.tokenizer, predictor.model) == limit
    assert predictor.predict(["a " * 100], ["the " * 100]).shape == (1, 3)
    assert encode_pairs(predictor.tokenizer, ["a " * 100], ["the " * 100], limit).lengths == [limit]


def test_batches_cover_rows_within_token_budget_by_length_then_row():
    draw = random.Random(0)
    lengths = [draw.randint(1, 60) for _ in range(500)]
    batches = [batch.tolist() for batch in build_token_batches(lengths, max_tokens=256)]
    assert sorted(row for batch in batches for row in batch) == list(range(500))
    assert all(len(batch) * max(lengths[row] for row in batch) <= 256 for batch in batches)
    assert [batch.tolist() for batch in build_token_batches([2, 5, 2, 50, 5], max_tokens=8)] == [[3], [1], [4], [0, 2]]
    with pytest.raises(ValueError, match="at least 1 token"):
        list(build_token_batches([1], max_tokens=0))
    assert pad_sequences([[1], [2, 3]], 9, "left").tolist() == [[9, 1], [2, 3]]


def test_identity_depends_on_tokenizer_and_weights(tiny_bert, tmp_path):
    copy = tmp_path / "elsewhere"
    shutil.copytree(tiny_bert, copy)
    for name in ("README.md", "training.json"):
        (copy / name).write_text("a card or record")
    identity = TransformerPredictor.load(tiny_bert).identity
    assert identity is not None
    assert TransformerPredictor.load(copy).identity == identity  # a copy is the same model, with or without a card
    label_map = {"0": "neutral", "1": "entailment", "2": "contradiction"}
    for options in ({"dtype": "bfloat16"}, {"max_length": 20}, {"label_map": label_map}):
        assert TransformerPredictor.load(tiny_bert, **options).identity != identity
    tokenizer = copy / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"old"', '"aged"'))
    changed = TransformerPredictor.load(copy).identity["revision"]
    assert changed != identity["revision"]
    (copy / "2_Dense").mkdir()
    (copy / "2_Dense" / "model.safetensors").touch()
    assert compute_folder_revision(copy) not in (changed, identity["revision"])


COMMIT = "c0ffee" + "0" * 34


def test_cached_hub_model_is_pinned_to_commit_offline(tiny_bert, tmp_path, monkeypatch):
    """The cache has the layout of the Hub client: the commit behind `main` is recorded, and loads as a revision."""
    repo = tmp_path / "models--org--tiny"
    shutil.copytree(tiny_bert, repo / "snapshots" / COMMIT)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for module in ("huggingface_hub.constants", "transformers.utils.hub", "transformers.configuration_utils"):
        monkeypatch.setattr(f"{module}.HF_HUB_CACHE", str(tmp_path), raising=False)
    identity = TransformerPredictor.load("org/tiny").identity
    assert (identity["model"], identity["revision"]) == ("org/tiny", COMMIT)
    assert TransformerPredictor.load("org/tiny", revision=COMMIT).identity == identity
    with pytest.raises(ModelError, match="cannot read nobody/no-such-model"):
        TransformerPredictor.load("nobody/no-such-model")


@runs_in("hub_client")
def test_hub_model_is_pinned_to_commit(tiny_bert, repo_id):
    from huggingface_hub import HfApi

    HfApi().create_repo(repo_id)
    commit = HfApi().upload_folder(repo_id=repo_id, folder_path=tiny_bert).oid
    assert TransformerPredictor.load(repo_id).identity["revision"] == commit
    for missing in ("org/missing", "missing"):
        expected = f"^model {missing}: expected a repository on the Hub, got none; check the spelling, or if it is priv"
        with pytest.raises(ModelError, match=expected):
            TransformerPredictor.load(missing)
    with pytest.raises(ModelError, match=f"^the model {repo_id} has no revision 'v9'"):
        TransformerPredictor.load(repo_id, revision="v9")


OPTIMIZATIONS = "unbag.inference.optimizations"


def load_plain_predictor(monkeypatch, folder, **options):
    with monkeypatch.context() as patched:
        for name in ("pack_linear_weights", "shorten_last_layer"):
            patched.setattr(f"unbag.inference.transformer.{name}", lambda *_: False)
        return TransformerPredictor.load(folder, **options)


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
def test_optimized_output_equals_plain_network(make_model, monkeypatch, kind, dtype, last_layer):
    mkldnn = torch.backends.mkldnn.is_available()
    if not mkldnn or (dtype == "bfloat16" and not torch.ops.mkldnn._is_mkldnn_bf16_supported()):
        # Simulate the packed layout with the plain one for a dtype that this processor does not support.
        monkeypatch.setattr(f"{OPTIMIZATIONS}._packed", lambda weight, rows: weight.clone())
        monkeypatch.setattr(f"{OPTIMIZATIONS}._product", torch.nn.functional.linear)
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


def test_unsupported_dtype_is_not_optimized(make_model, monkeypatch):
    def no_instructions(weight, rows):
        raise RuntimeError("mkldnn_reorder_linear_weight: bf16 path needs the cpu support avx_ne_convert or avx512bw")

    assert TransformerPredictor.load(make_model(), dtype="float16").identity["weight_layout"] == "plain"
    monkeypatch.setattr(f"{OPTIMIZATIONS}._packed", no_instructions)
    predictor = TransformerPredictor.load(make_model(), dtype="bfloat16")
    assert predictor.identity["weight_layout"] == "plain"
    assert not any(isinstance(module, PackedLinear) for module in predictor.model.modules())
    assert np.isfinite(predictor.predict(PREMISES, HYPOTHESES)).all()


def test_modified_network_is_not_optimized(make_model, monkeypatch):
    """A pooler that reads all tokens, or weights directly, is detected by a comparison of the logits."""
    model = load_plain_predictor(monkeypatch, make_model()).model
    pooler, layer = model.bert.pooler, model.bert.encoder.layer[-1]
    inputs = {
        "input_ids": torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0]]),
        "attention_mask": torch.tensor([[1] * 4, [1, 1, 1, 0]]),
    }
    dense = pooler.dense
    pooler.forward = lambda hidden: torch.nn.functional.linear(hidden[:, 0], pooler.dense.weight)
    assert not pack_linear_weights(model, inputs, 100)
    pooler.forward = lambda hidden: hidden.mean(dim=1)
    assert not shorten_last_layer(model, inputs)
    assert (pooler.dense, model.bert.encoder.layer[-1]) == (dense, layer)
    assert model(**inputs).logits.isfinite().all()


def load_cross_encoder(folder, **options):
    return pytest.importorskip("sentence_transformers").CrossEncoder(str(folder), device="cpu", **options)


def load_pipeline(folder, **options):
    return transformers.pipeline("text-classification", model=str(folder), device="cpu", **options)


BOTH = pytest.mark.parametrize("made", [load_cross_encoder, load_pipeline])


def compute_library_probabilities(model):
    """Return the probabilities of a CrossEncoder or pipeline in the order of `LABELS`."""
    if hasattr(model, "tokenizer") and hasattr(model, "task"):
        pairs = [{"text": premise, "text_pair": hypothesis} for premise, hypothesis in PAIRS]
        said = [{each["label"]: each["score"] for each in found} for found in model(pairs, top_k=None)]
        return np.array([[found[label] for label in LABELS] for found in said])
    scores = model.predict(PAIRS, apply_softmax=True)
    return scores[:, [ORDER.index(label) for label in LABELS]]


@BOTH
def test_model_in_memory_gives_probabilities_of_library_and_is_unchanged(made, make_model):
    folder = make_model()
    file = folder / "tokenizer.json"  # of a tokenizer that does not truncate, as in a pipeline
    file.write_text(json.dumps(json.loads(file.read_text()) | {"truncation": None}))
    model = made(folder)
    weights, expected = list(model.model.state_dict()), compute_library_probabilities(model)
    for _ in range(2):
        predictor, name = load_predictor(model)
        np.testing.assert_allclose(predictor.predict(PREMISES, HYPOTHESES), expected, atol=1e-5)
    assert name == folder.name
    assert predictor.identity["kind"] == "transformer", "so its labels are probed"
    assert predictor.identity["label_order"] == ",".join(ORDER)
    assert list(model.model.state_dict()) == weights
    assert (compute_library_probabilities(model) == expected).all()


def test_float16_weights_on_cpu_are_copied_to_float32(tiny_bert, caplog):
    model = load_pipeline(tiny_bert)
    model.model.half()
    predictor, _ = load_predictor(model)
    assert predictor.identity["dtype"] == "float32"
    assert {each.dtype for each in model.model.parameters()} == {torch.float16}, "what was handed in is left as it is"
    rounded = load_pipeline(tiny_bert)
    rounded.model.half().float()
    expected = load_predictor(rounded)[0].predict(PREMISES, HYPOTHESES)
    np.testing.assert_allclose(predictor.predict(PREMISES, HYPOTHESES), expected, atol=1e-6)
    assert "has float16 weights, which are slow on a CPU: evaluating a float32 copy" in caplog.text


@BOTH
def test_identity_of_model_in_memory_depends_on_weights_and_tokenizer(made, tiny_bert, make_model):
    model = made(tiny_bert)
    first = load_predictor(model)[0].identity
    compute_library_probabilities(model)  # sets truncation and padding of the tokenizer
    assert load_predictor(model)[0].identity == first
    assert load_predictor(made(tiny_bert))[0].identity == first
    others = [load_predictor(made(make_model(seed=1)))[0].identity]
    with torch.no_grad():
        next(model.model.parameters())[0, 0] += 1
    others.append(load_predictor(model)[0].identity)
    model.tokenizer.add_tokens(["unheard"])
    others.append(load_predictor(model)[0].identity)
    assert len({each["revision"] for each in (first, *others)}) == 4
    assert str(tiny_bert.parent) not in str(first)


def test_maximum_length_of_model_in_memory_is_kept(tiny_bert):
    assert load_predictor(load_cross_encoder(tiny_bert, max_length=16))[0].max_length == 16
    assert load_predictor(load_pipeline(tiny_bert, truncation=True, max_length=16))[0].max_length == 16
    assert load_predictor(load_pipeline(tiny_bert), max_length=12)[0].max_length == 12


def test_unknown_label_order_is_rejected(make_model):
    unnamed = make_model(order=("LABEL_0", "LABEL_1", "LABEL_2"))
    for model in (load_pipeline(unnamed), load_cross_encoder(unnamed), unnamed):
        with pytest.raises(LabelError, match=r"expected label names in the model's id2label.*--label-map"):
            load_predictor(model)
        mapped, _ = load_predictor(model, label_map=dict(zip("012", ORDER, strict=True)))
        assert mapped.order == ORDER
    two, _ = load_predictor(load_pipeline(make_model(order=("entailment", "not_entailment"))))
    assert two.label_space == ("entailment", "not_entailment")
    with pytest.raises(ModelError, match="has one output, like rerankers"):
        load_predictor(load_pipeline(make_model(order=("LABEL_0",))))
