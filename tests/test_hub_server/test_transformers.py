"""Models and tokenizers that `transformers` pushes and loads."""

from __future__ import annotations

import string
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.hub_server.accounts import ALICE, ALICE_READS
from tests.hub_server.client_process import runs_in

from .callers import alice

if TYPE_CHECKING:
    from transformers import BertForSequenceClassification

LABELS = ["contradiction", "entailment", "neutral"]
LETTERS = [*string.ascii_lowercase, *("##" + letter for letter in string.ascii_lowercase)]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS]


def _tiny_model() -> BertForSequenceClassification:
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        id2label=dict(enumerate(LABELS)),
        label2id={label: number for number, label in enumerate(LABELS)},
    )
    return BertForSequenceClassification(config).eval()


def _tiny_tokenizer(folder: Path) -> Any:
    from transformers import BertTokenizerFast

    (folder / "vocab.txt").write_text("\n".join(VOCABULARY))
    return BertTokenizerFast(vocab=str(folder / "vocab.txt"))


@runs_in("hub_client")
def test_a_pushed_model_computes_the_same(repo_id: str, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = _tiny_model()
    model.push_to_hub(repo_id, token=ALICE)
    _tiny_tokenizer(tmp_path).push_to_hub(repo_id, token=ALICE)
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(alice().list_repo_files(repo_id))
    loaded = AutoModelForSequenceClassification.from_pretrained(repo_id)
    pushed = model.state_dict()
    assert pushed.keys() == loaded.state_dict().keys()
    assert all(torch.equal(tensor, pushed[name]) for name, tensor in loaded.state_dict().items())
    pair = AutoTokenizer.from_pretrained(repo_id)(["a b c"], ["d e"], return_tensors="pt")
    with torch.no_grad():
        # Some processors add in another order where weights begin at another place in memory, as a file's do.
        torch.testing.assert_close(loaded(**pair).logits, model(**pair).logits, rtol=1e-5, atol=1e-7)
    assert loaded.config.id2label == dict(enumerate(LABELS))


@runs_in("hub_client")
def test_a_pipeline_loads_by_name(repo_id: str, tmp_path: Path) -> None:
    from transformers import pipeline

    _tiny_model().push_to_hub(repo_id, token=ALICE)
    _tiny_tokenizer(tmp_path).push_to_hub(repo_id, token=ALICE)
    answer = pipeline("text-classification", model=repo_id)({"text": "a b", "text_pair": "c"})
    assert answer["label"] in LABELS


@runs_in("hub_client")
def test_a_model_loads_at_a_revision(repo_id: str) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification

    first = _tiny_model()
    first.push_to_hub(repo_id, token=ALICE)
    revision = alice().model_info(repo_id).sha
    _tiny_model().push_to_hub(repo_id, token=ALICE)
    then = AutoModelForSequenceClassification.from_pretrained(repo_id, revision=revision)
    now = AutoModelForSequenceClassification.from_pretrained(repo_id)
    assert torch.equal(then.bert.embeddings.word_embeddings.weight, first.bert.embeddings.word_embeddings.weight)
    assert not torch.equal(now.bert.embeddings.word_embeddings.weight, first.bert.embeddings.word_embeddings.weight)


@runs_in("hub_client")
def test_a_private_model_needs_a_token(repo_id: str) -> None:
    from transformers import AutoModelForSequenceClassification

    _tiny_model().push_to_hub(repo_id, token=ALICE, private=True)
    with pytest.raises(OSError, match="not a valid model identifier"):
        AutoModelForSequenceClassification.from_pretrained(repo_id, token=False)
    assert AutoModelForSequenceClassification.from_pretrained(repo_id, token=ALICE_READS)
