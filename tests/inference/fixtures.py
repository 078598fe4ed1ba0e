"""Tiny random models with a tokenizer, and an OpenAI-compatible endpoint."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fake_llm import Endpoint, running_endpoint

WORDS = "a the man woman boy dog cat is are not no sleeps runs reads sees eats old young red and in on with".split()
ORDER = ("contradiction", "entailment", "neutral")  # deliberately different from the order of unbag
PAIRS = [
    ("the old man reads", "a man reads"),
    ("a dog runs and a cat sleeps on the red dog", "a cat sleeps"),
    ("the boy eats", "the young boy eats with the old woman and the dog and the cat"),
    ("no woman sees the man", "a woman sees the man in red"),
    ("a cat", "a dog"),
    ("the woman is young and the man is old and the dog is not red", "the boy is not in"),
]

SIZES = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
MakeModel = Callable[..., Path]


def tiny_tokenizer(vocabulary: Mapping[str, int], *, pair: str = "[CLS] $A [SEP] $B:1 [SEP]:1", **options: Any) -> Any:
    """Return a `PreTrainedTokenizerFast` for a vocabulary that contains the tokens `SPECIAL` with any ids."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordPiece(dict(vocabulary), unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair=pair,
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, **SPECIAL, **options)


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> MakeModel:
    """Return a function that saves a tiny random classifier and returns its folder."""
    for package in ("torch", "transformers"):
        pytest.importorskip(package, reason="needs unbag[models]")
    from tests.training.tiny_networks import tiny_network

    def make(kind: str = "bert", *, order: tuple[str, ...] = ORDER, seed: int = 0, positions: int = 64) -> Path:
        pad = 1 if kind == "roberta" else 0  # RoBERTa's positions start after its padding id
        special = ["[UNK]", "[PAD]", "[CLS]", "[SEP]"] if pad else ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
        vocabulary = {word: number for number, word in enumerate(special + WORDS)}
        names = ["input_ids", "attention_mask", *(["token_type_ids"] if kind == "bert" else [])]
        tokenizer = tiny_tokenizer(vocabulary, model_input_names=names)
        tokenizer.backend_tokenizer.enable_truncation(8)  # a setting left over from training, as in the real fixture
        shape = {"vocab_size": len(vocabulary), "max_position_embeddings": positions, "type_vocab_size": 2}
        network = tiny_network(kind, dropout=None, bias=0.0, seed=seed, order=order, pad_token_id=pad, **shape)
        folder = tmp_path_factory.mktemp(kind)
        network.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def tiny_bert(make_model: MakeModel) -> Path:
    """Return the folder of a tiny BERT, which tests must not change."""
    return make_model()


_CODE = """
from transformers import BertConfig, BertForSequenceClassification
from pathlib import Path
Path({ran!r}).touch()
class OwnConfig(BertConfig):
    model_type = "own-bert"
class OwnForSequenceClassification(BertForSequenceClassification):
    config_class = OwnConfig
"""


def save_model_with_code(folder: Path, model: Path, *, ran: Path) -> Path:
    """Copy a BERT to a folder whose config requires code of the folder, which writes the file `ran` when it runs."""
    shutil.copytree(model, folder)
    (folder / "own.py").write_text(_CODE.format(ran=str(ran)))
    auto_map = {"AutoConfig": "own.OwnConfig", "AutoModelForSequenceClassification": "own.OwnForSequenceClassification"}
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "own-bert", "auto_map": auto_map}))
    return folder


def export_graph(
    path: Path, network: Any, names: list[str], *, tokens: int = 96, fixed: bool = False, has_softmax: bool = False
) -> None:
    """Export a network, for batches of 2 with this number of tokens if `fixed`, and remove weights in its folder."""
    torch = pytest.importorskip("torch", reason="needs unbag[models]")
    pytest.importorskip("onnx", reason="needs the dev group")
    pytest.importorskip("onnxruntime", reason="needs unbag[onnx]")
    ids = torch.full((2, tokens), 5)
    mask = torch.ones_like(ids)
    mask[1, -2:] = 0

    class Graph(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, *inputs: Any) -> Any:
            logits = self.network(**dict(zip(names, inputs, strict=True))).logits
            return logits.softmax(dim=-1) if has_softmax else logits

    torch.onnx.export(
        Graph().eval(),
        (ids, mask, torch.zeros_like(ids))[: len(names)],
        str(path),
        input_names=names,
        output_names=["logits"],
        dynamic_axes=None if fixed else {name: {0: "batch", 1: "tokens"} for name in names},
        opset_version=17,
        dynamo=False,
    )
    (path.parent / "model.safetensors").unlink(missing_ok=True)


@pytest.fixture(scope="session")
def _endpoint() -> Iterator[Endpoint]:
    with running_endpoint() as running:
        yield running


@pytest.fixture
def endpoint(_endpoint: Endpoint, empty_caches: None, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    """Return an endpoint with default settings and no requests. Clients store no answers yet and retry at once."""
    client = pytest.importorskip("openai._base_client", reason="needs unbag[llm]")
    monkeypatch.setattr(client, "INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr(client, "MAX_RETRY_DELAY", 0.02)
    _endpoint.reset()
    return _endpoint
