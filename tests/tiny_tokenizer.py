"""A fast tokenizer over a few words, in BERT's form, for tiny models that are saved with one of their own."""

from collections.abc import Mapping
from typing import Any

SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


def tiny_tokenizer(vocabulary: Mapping[str, int]) -> Any:
    """Return a `PreTrainedTokenizerFast` over a vocabulary that has `SPECIAL`'s tokens, at any ids."""
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
