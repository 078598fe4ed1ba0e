"""A fast BERT-style tokenizer with a small vocabulary, for tiny models."""

from collections.abc import Mapping
from typing import Any

SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


def tiny_tokenizer(vocabulary: Mapping[str, int]) -> Any:
    """Return a `PreTrainedTokenizerFast` for a vocabulary that contains the tokens `SPECIAL` with any ids."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordPiece(dict(vocabulary), unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, **SPECIAL)
