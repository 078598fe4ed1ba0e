"""Pairs as token ids: one rule for truncation, whatever the tokenizer's files say."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from unbag.inference.batching import pad

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_KNOWS_NO_LIMIT = 1_000_000  # a tokenizer without a limit says 1e30


@dataclass(frozen=True)
class EncodedPairs:
    """Token ids of n pairs, special tokens included, not padded."""

    input_ids: list[list[int]]
    token_type_ids: list[list[int]] | None  # None where the tokenizer makes none
    truncated: int  # how many of the pairs lost tokens

    @property
    def lengths(self) -> list[int]:
        """Tokens of each pair, shape (n,)."""
        return [len(ids) for ids in self.input_ids]


def length_limit(tokenizer: "PreTrainedTokenizerBase", model: "PreTrainedModel") -> int | None:
    """Return the most tokens the model reads, special tokens included; None where nothing limits it.

    The smaller of what the tokenizer states and what the model has positions for. Models of the RoBERTa family begin
    to count positions after the padding id, so 514 positions are 512 tokens; their position table has a padding row,
    which is how they are told here.
    """
    limits = []
    if tokenizer.model_max_length < _KNOWS_NO_LIMIT:
        limits.append(int(tokenizer.model_max_length))
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if positions is not None and positions > 0:  # XLNet says -1
        padding_rows = [
            module.padding_idx
            for name, module in model.named_modules()
            if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None
        ]
        limits.append(int(positions) - (int(padding_rows[0]) + 1 if padding_rows else 0))
    return min(limits, default=None)


def encode_pairs(
    tokenizer: "PreTrainedTokenizerBase", premises: Sequence[str], hypotheses: Sequence[str], limit: int | None
) -> EncodedPairs:
    """Tokenize pairs, cutting the longer side of those above `limit` tokens.

    A saved tokenizer may carry a truncation of its own (`max_length` in its config, a `truncation` section in
    tokenizer.json), left over from training: it would cut pairs that the model can read, unseen. So all pairs are
    tokenized whole first, and those too long once more, to our limit.
    """
    whole = tokenizer(
        list(premises),
        list(hypotheses),
        padding=False,
        truncation=False,
        return_attention_mask=False,
        verbose=False,  # the warning about long sequences is about those that are cut below
    )
    input_ids: list[list[int]] = whole["input_ids"]
    token_type_ids: list[list[int]] | None = whole.get("token_type_ids")
    long = [] if limit is None else [row for row, ids in enumerate(input_ids) if len(ids) > limit]
    if long:
        cut = tokenizer(
            [premises[row] for row in long],
            [hypotheses[row] for row in long],
            padding=False,
            truncation="longest_first",
            max_length=limit,
            stride=0,
            return_attention_mask=False,
        )
        for row, ids in zip(long, cut["input_ids"], strict=True):
            input_ids[row] = ids
        if token_type_ids is not None:
            for row, types in zip(long, cut["token_type_ids"], strict=True):
                token_type_ids[row] = types
    return EncodedPairs(input_ids, token_type_ids, truncated=len(long))


@dataclass(frozen=True)
class Padding:
    """How a model wants the pairs of a batch to be of one length.

    Attributes:
        pad_id: the token id that fills up.
        side: where it stands.
        takes_types: whether the model reads token type ids; some tokenizers make them for models that do not.
    """

    pad_id: int
    side: Literal["left", "right"]
    takes_types: bool

    @classmethod
    def of(cls, tokenizer: "PreTrainedTokenizerBase", model: Any) -> "Padding":
        """Return what a model and its tokenizer want."""
        side: Literal["left", "right"] = "left" if tokenizer.padding_side == "left" else "right"
        pad_id = model.config.pad_token_id
        pad_id = tokenizer.pad_token_id if pad_id is None else pad_id
        return cls(pad_id, side, "token_type_ids" in inspect.signature(model.forward).parameters)

    def arrays(
        self, input_ids: Sequence[Sequence[int]], token_type_ids: Sequence[Sequence[int]] | None
    ) -> dict[str, NDArray[np.int64]]:
        """Return the model's arguments for b pairs, each of shape (b, longest of them)."""
        arrays = {
            "input_ids": pad(input_ids, self.pad_id, self.side),
            "attention_mask": pad([[1] * len(tokens) for tokens in input_ids], 0, self.side),
        }
        if self.takes_types and token_type_ids is not None:
            arrays["token_type_ids"] = pad(token_type_ids, 0, self.side)
        return arrays

    def arrays_of(self, pairs: EncodedPairs, rows: Sequence[int]) -> dict[str, NDArray[np.int64]]:
        """Return the model's arguments for some of the pairs, each of shape (b, longest of them)."""
        types = pairs.token_type_ids
        return self.arrays(
            [pairs.input_ids[row] for row in rows], None if types is None else [types[row] for row in rows]
        )
