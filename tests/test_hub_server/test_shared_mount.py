"""The data sets and models beside the checkout, served in place: real sizes, real loaders."""

from __future__ import annotations

import pytest

from tests.hub_server.client_process import runs_in
from tests.hub_server.corpora import PINS

SNLI_PIN = PINS["dataset", "stanfordnlp/snli"]


@pytest.mark.parametrize("revision", [None, SNLI_PIN])
@runs_in("shared_hub_client")
def test_snli_loads(revision: str | None) -> None:
    from datasets import load_dataset

    pairs = load_dataset("stanfordnlp/snli", split="validation", revision=revision)
    assert pairs.num_rows == 10_000
    assert pairs.column_names == ["premise", "hypothesis", "label"]


@runs_in("shared_hub_client")
def test_snli_can_be_streamed() -> None:
    from datasets import load_dataset

    stream = load_dataset("stanfordnlp/snli", split="test", streaming=True)
    assert len(list(stream.take(100))) == 100


@runs_in("shared_hub_client")
def test_sick_loads_from_its_parquet_ref() -> None:
    from datasets import load_dataset

    splits = load_dataset("RobZamp/sick", revision="refs/convert/parquet")
    assert {name: rows.num_rows for name, rows in splits.items()} == {"train": 4439, "validation": 495, "test": 4906}


@runs_in("shared_hub_client")
def test_the_classifier_loads() -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained("nli-fixtures/minilm-l6-snli")
    tokenizer = AutoTokenizer.from_pretrained("nli-fixtures/minilm-l6-snli")
    pair = tokenizer(["A man sleeps."], ["Nobody is asleep."], return_tensors="pt")
    assert model(**pair).logits.shape == (1, 3)
    assert list(model.config.id2label.values()) == ["contradiction", "entailment", "neutral"]


@runs_in("shared_hub_client")
def test_the_parser_loads() -> None:
    import spacy
    from huggingface_hub import snapshot_download

    parser = spacy.load(snapshot_download("spacy/en_core_web_sm"))
    assert [token.dep_ for token in parser("A man sleeps.")] == ["det", "nsubj", "ROOT", "punct"]
