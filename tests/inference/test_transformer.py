import json
import random
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

import torch
import transformers

from tests.fake_hub.running import running_hub
from tests.fork_server import PYTHON
from tests.inference.fixtures import ORDER, PAIRS, MakeModel
from unbag.data.labels import LABELS, LabelError
from unbag.inference.predictor import ModelError
from unbag.inference.tokenization import compute_length_limit, encode_pairs
from unbag.inference.transformer import TransformerPredictor

PREMISES, HYPOTHESES = map(list, zip(*PAIRS, strict=True))


def test_missing_torch_error_names_extra(tmp_path):
    code = """
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
absent = ("torch", "transformers", "accelerate")
PathFinder.find_spec = staticmethod(lambda name, *rest: None if name.split(".")[0] in absent else find(name, *rest))
import datasets
from unbag.inference.function import CallablePredictor
from unbag.inference.runner import predict_rows
rows = datasets.Dataset.from_dict({name: ["a"] for name in ("id", "source_id", "premise", "hypothesis")})
print(predict_rows(rows, CallablePredictor(lambda p, h: ["neutral"]), sys.argv[1]).table["neutral"].to_pylist())
try:
    from unbag.inference.transformer import TransformerPredictor
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[0] == "[1.0]"
    assert "pip install 'unbag[models]'" in run.stdout.splitlines()[1]


def test_probabilities_equal_transformers_output(tiny_bert):
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tiny_bert).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_bert)
    batch = tokenizer(PREMISES, HYPOTHESES, padding=True, truncation=False, return_tensors="pt")
    with torch.no_grad():
        expected = model(**batch).logits.softmax(-1)[:, [ORDER.index(label) for label in LABELS]].numpy()
    predictor = TransformerPredictor.load(tiny_bert)
    assert predictor.label_space == LABELS
    assert predictor.order == ORDER
    assert np.ptp(expected, axis=0).min() > 0.05, "all pairs look alike to this model, so this test would show nothing"
    np.testing.assert_allclose(predictor.predict(PREMISES, HYPOTHESES), expected, atol=1e-5)


def test_row_order_and_batch_have_no_effect(tiny_bert):
    predictor = TransformerPredictor.load(tiny_bert, batch_tokens=40)
    together = predictor.predict(PREMISES, HYPOTHESES)
    order = random.Random(0).sample(range(len(PAIRS)), len(PAIRS))
    assert order != sorted(order)
    shuffled = predictor.predict([PREMISES[row] for row in order], [HYPOTHESES[row] for row in order])
    np.testing.assert_allclose(shuffled, together[order], atol=1e-5)
    alone = np.concatenate([predictor.predict([p], [h]) for p, h in PAIRS])
    np.testing.assert_allclose(alone, together, atol=1e-5)


def test_generic_label_names_require_label_map(make_model: MakeModel):
    folder = make_model(order=("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(LabelError, match="--label-map"):
        TransformerPredictor.load(folder)
    label_map = {"0": "neutral", "1": "entailment", "2": "contradiction"}
    assert TransformerPredictor.load(folder, label_map=label_map).order == ("neutral", "entailment", "contradiction")


@pytest.mark.parametrize(
    ("architectures", "message"),
    [
        (["BertModel"], r"got an encoder without a classification head \(BertModel\)"),
        (["BertForSequenceClassification"], r"no weights for \['classifier.bias', 'classifier.weight'\].*random"),
    ],
)
def test_model_without_trained_head_is_rejected(tiny_bert, tmp_path, architectures, message):
    """transformers would initialize a random head with only a warning."""
    bare = transformers.AutoModel.from_pretrained(tiny_bert)
    bare.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "architectures": architectures}))
    with pytest.raises(ModelError, match=message):
        TransformerPredictor.load(tmp_path)


def test_folder_without_model_is_rejected(tmp_path, tiny_bert):
    with pytest.raises(ModelError, match="absent, which does not exist"):
        TransformerPredictor.load(tmp_path / "absent")
    (tmp_path / "notes.txt").write_text("nothing here")
    with pytest.raises(ModelError, match=re.escape("expected a model folder with config.json, got only ['notes.txt']")):
        TransformerPredictor.load(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "of-the-future"}))
    with pytest.raises(ModelError, match="expected a config that transformers can load"):
        TransformerPredictor.load(tmp_path)
    with pytest.raises(ModelError, match="expected no revision for a folder"):
        TransformerPredictor.load(tiny_bert, revision="main")


def test_uncached_model_is_rejected_offline(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="cannot read nobody/no-such-model"):
        TransformerPredictor.load("nobody/no-such-model")


def test_truncation_uses_model_limit_and_is_counted(make_model: MakeModel):
    """The limit in the tokenizer's files is 8 tokens, the limit of the model is 24."""
    predictor = TransformerPredictor.load(make_model(positions=24))
    assert predictor.max_length == 24
    premise = "the old man reads and the young woman sleeps"  # 9 words; 12 tokens with one word more and special tokens
    predictor.predict([premise], ["a"])
    assert predictor.truncated == 0
    cut = predictor.predict([premise] * 2, ["no " * 40, "a"])
    assert predictor.truncated == 1
    kept = 24 - 3 - 9  # the longer side is truncated, the shorter is complete
    np.testing.assert_allclose(cut[:1], predictor.predict([premise], ["no " * kept]), atol=1e-6)


def test_max_length_above_model_limit_is_rejected(tiny_bert):
    predictor = TransformerPredictor.load(tiny_bert, max_length=10)
    predictor.predict(["the old man reads"], ["a man sees the old dog"])
    assert predictor.truncated == 1
    with pytest.raises(ModelError, match="expected 1 to 64 tokens, got 65"):
        TransformerPredictor.load(tiny_bert, max_length=65)


@pytest.mark.parametrize(("kind", "limit"), [("bert", 64), ("roberta", 62)])
def test_maximum_length_of_each_family(make_model: MakeModel, kind: str, limit: int):
    """RoBERTa's first position is its padding id plus one, so 64 tokens would exceed its position table."""
    predictor = TransformerPredictor.load(make_model(kind))
    assert compute_length_limit(predictor.tokenizer, predictor.model) == limit
    assert predictor.predict(["a " * 100], ["the " * 100]).shape == (1, 3)
    assert encode_pairs(predictor.tokenizer, ["a " * 100], ["the " * 100], limit).lengths == [limit]


def test_identity_depends_on_tokenizer_and_weights(tiny_bert, tmp_path):
    copy = tmp_path / "elsewhere"
    shutil.copytree(tiny_bert, copy)
    (copy / "README.md").write_text("a card")
    identity = TransformerPredictor.load(tiny_bert).identity
    assert identity is not None
    assert TransformerPredictor.load(copy).identity == identity  # a copy is the same model, with or without a card
    for changed in (
        TransformerPredictor.load(tiny_bert, dtype="bfloat16").identity,
        TransformerPredictor.load(tiny_bert, max_length=20).identity,
        TransformerPredictor.load(
            tiny_bert, label_map={"0": "neutral", "1": "entailment", "2": "contradiction"}
        ).identity,
    ):
        assert changed != identity
    tokenizer = copy / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"old"', '"aged"'))
    assert TransformerPredictor.load(copy).identity != identity


def test_cached_hub_model_is_pinned_to_commit_offline(tiny_bert, tmp_path, monkeypatch):
    """The cache has the layout of the Hub client: the commit behind `main` is recorded, and loads as a revision."""
    commit = "c0ffee" + "0" * 34
    repo = tmp_path / "models--org--tiny"
    shutil.copytree(tiny_bert, repo / "snapshots" / commit)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for module in ("huggingface_hub.constants", "transformers.utils.hub", "transformers.configuration_utils"):
        monkeypatch.setattr(f"{module}.HF_HUB_CACHE", str(tmp_path), raising=False)
    identity = TransformerPredictor.load("org/tiny").identity
    assert (identity["model"], identity["revision"]) == ("org/tiny", commit)
    assert TransformerPredictor.load("org/tiny", revision=commit).identity == identity


def test_hub_model_is_pinned_to_commit(tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, tmp_path / "hub/models/org/tiny")
    commit = "c0ffee" + "0" * 34
    code = """
from unbag.inference.predictor import ModelError
from unbag.inference.transformer import TransformerPredictor
print(TransformerPredictor.load("org/tiny").identity["revision"])
for asked in ({"model": "org/missing"}, {"model": "missing"}, {"model": "org/tiny", "revision": "v9"}):
    try:
        TransformerPredictor.load(**asked)
    except ModelError as error:
        print(error)
"""
    with running_hub(mount=tmp_path / "hub", pins={("model", "org/tiny"): commit}) as hub:
        run = PYTHON.run("-c", code, env=hub.env(tmp_path / "home"), check=True)
    found, missing, plain_404, without_revision = run.stdout.splitlines()
    assert found == commit
    assert missing.startswith(
        "model org/missing: expected a repository on the Hub, got none; check the spelling, or if it is private, "
    )
    assert plain_404.startswith(
        "model missing: expected a repository on the Hub, got none; check the spelling, or if it is private, "
    )
    assert without_revision.startswith("the model org/tiny has no revision 'v9'")
