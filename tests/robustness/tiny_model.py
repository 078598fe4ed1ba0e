"""A tiny classifier whose vocabulary contains only the words of the label probe."""

import re
from pathlib import Path

from tests.tiny_tokenizer import SPECIAL, tiny_tokenizer
from unbag.data.labels import LABELS
from unbag.inference.label_probe import PAIRS


def save_tiny_model(folder: Path) -> Path:
    """Save a random two-layer BERT with a word tokenizer, and return its folder."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    texts = [text for premise, hypothesis, _ in PAIRS["en"] for text in (premise, hypothesis)]
    words = sorted({word for text in texts for word in re.findall(r"\w+", text)})
    vocabulary = {word: number for number, word in enumerate([*SPECIAL.values(), *words])}
    config = BertConfig(
        hidden_size=32,
        num_attention_heads=4,
        num_hidden_layers=2,
        intermediate_size=64,
        vocab_size=len(vocabulary),
        max_position_embeddings=64,
        id2label=dict(enumerate(LABELS)),
        label2id={label: output for output, label in enumerate(LABELS)},
    )
    torch.manual_seed(0)
    BertForSequenceClassification(config).save_pretrained(folder)
    tiny_tokenizer(vocabulary).save_pretrained(folder)
    return folder
