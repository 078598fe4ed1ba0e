"""Tokenization of pairs with the same truncation rule for all tokenizers, and batching by length.

Batches of pairs with similar lengths need little padding, and are small enough for the processor's cache.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from unbag.inference.segments import SEGMENT_IDS, find_position_padding

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


CPU_BATCH_TOKENS: Final = 1024
"""Tokens per batch on a CPU. With MiniLM-L6 on two cores (27 tokens per pair), the speed relative to this value was
0.71 with 128 tokens, 0.84 with 256, 0.97 with 512, 1.00 with 2,048 and 0.91 with 4,096. Smaller batches leave the
kernels idle, and larger batches do not fit into the cache."""

GPU_BATCH_TOKENS: Final = 16_384
"""Tokens per batch on other devices: enough to fill a GPU, and at most 0.4 GB of activations per layer of a large
model."""


def choose_batch_tokens(device: Any) -> int:
    """Choose the tokens per batch for a `torch.device`."""
    return CPU_BATCH_TOKENS if device.type == "cpu" else GPU_BATCH_TOKENS


def build_token_batches(lengths: Sequence[int], max_tokens: int) -> Iterator[NDArray[np.intp]]:
    """Split rows into batches of rows with similar lengths. The batches with the longest rows come first.

    Deterministic: rows of equal length keep their order. The longest come first, so that a batch too large for the
    memory fails at once and not after hours.

    Args:
        lengths: Tokens of each row, shape (n,).
        max_tokens: Maximum tokens per batch, padding included. A longer row is a batch of its own.

    >>> [batch.tolist() for batch in build_token_batches([3, 9, 3, 4], max_tokens=9)]
    [[1], [3, 0], [2]]
    """
    if max_tokens < 1:
        raise ValueError(f"expected a budget of at least 1 token per batch, got {max_tokens}")
    sizes = np.asarray(lengths, dtype=np.intp)
    order = np.argsort(-sizes, kind="stable")  # an unstable sort may order equal lengths by platform
    start = 0
    while start < len(order):
        longest = max(1, int(sizes[order[start]]))
        stop = start + max(1, max_tokens // longest)
        yield order[start:stop]
        start = stop


def pad_sequences(
    sequences: Sequence[Sequence[int]], padding_value: int, padding_side: Literal["left", "right"]
) -> NDArray[np.int64]:
    """Pad n sequences with `padding_value` to equal length, shape (n, longest).

    >>> pad_sequences([[5, 6], [7]], padding_value=0, padding_side="right").tolist()
    [[5, 6], [7, 0]]
    """
    longest = max(len(sequence) for sequence in sequences)
    array = np.full((len(sequences), longest), padding_value, dtype=np.int64)
    for row, sequence in zip(array, sequences, strict=True):
        if padding_side == "right":
            row[: len(sequence)] = sequence
        else:
            row[longest - len(sequence) :] = sequence
    return array


_NO_LIMIT = 1_000_000  # `model_max_length` of a tokenizer without a limit is 1e30


@dataclass(frozen=True)
class EncodedPairs:
    """Token ids of n pairs, including special tokens, without padding."""

    input_ids: list[list[int]]
    token_type_ids: list[list[int]] | None  # None if the tokenizer has none
    truncated: int  # number of truncated pairs

    @property
    def lengths(self) -> list[int]:
        """Number of tokens in each pair, shape (n,)."""
        return [len(ids) for ids in self.input_ids]


def compute_length_limit(tokenizer: "PreTrainedTokenizerBase", model: "PreTrainedModel") -> int | None:
    """Compute a model's maximum input length in tokens, including special tokens. Return None if there is no limit.

    It is the smaller one of the tokenizer's limit and the model's number of positions. Models of the RoBERTa family
    count positions from the padding id + 1, so 514 positions are 512 tokens.
    """
    limits = []
    if tokenizer.model_max_length < _NO_LIMIT:
        limits.append(int(tokenizer.model_max_length))
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if positions is not None and positions > 0:  # XLNet has -1
        padding = find_position_padding(model)
        limits.append(int(positions) - (0 if padding is None else padding + 1))
    return min(limits, default=None)


_ENCODING: Final[dict[str, Any]] = {"padding": False, "return_attention_mask": False, "verbose": False}


def encode_pairs(
    tokenizer: "PreTrainedTokenizerBase", premises: Sequence[str], hypotheses: Sequence[str], max_length: int | None
) -> EncodedPairs:
    """Tokenize pairs. If a pair has more than `max_length` tokens, its longer sentence is truncated.

    A saved tokenizer may have truncation settings left over from training (`max_length` in its config, a `truncation`
    section in tokenizer.json), which would silently truncate pairs that the model can read. So all pairs are first
    tokenized without truncation, and those above the limit once more with it.
    """
    whole = tokenizer(list(premises), list(hypotheses), truncation=False, **_ENCODING)
    input_ids: list[list[int]] = whole["input_ids"]
    token_type_ids: list[list[int]] | None = whole.get("token_type_ids")
    long = [] if max_length is None else [row for row, ids in enumerate(input_ids) if len(ids) > max_length]
    if long:
        pairs = [premises[row] for row in long], [hypotheses[row] for row in long]
        cut = tokenizer(*pairs, truncation="longest_first", max_length=max_length, stride=0, **_ENCODING)
        for place, row in enumerate(long):
            input_ids[row] = cut["input_ids"][place]
            if token_type_ids is not None:
                token_type_ids[row] = cut["token_type_ids"][place]
    return EncodedPairs(input_ids, token_type_ids, truncated=len(long))


def encode_texts(
    tokenizer: "PreTrainedTokenizerBase",
    build_text: Callable[[str, str], str],
    premises: Sequence[str],
    hypotheses: Sequence[str],
    max_length: int | None,
) -> EncodedPairs:
    """Tokenize one text per pair. If a text has more than `max_length` tokens, its longer sentence is truncated."""
    pairs = list(zip(premises, hypotheses, strict=True))
    texts = [build_text(*pair) for pair in pairs]
    input_ids: list[list[int]] = tokenizer(texts, truncation=False, **_ENCODING)["input_ids"]
    long = [] if max_length is None else [row for row, ids in enumerate(input_ids) if len(ids) > max_length]
    for row in long:
        pair = pairs[row]
        while (over := len(input_ids[row]) - (max_length or 0)) > 0:
            if not any(pair):
                raise ValueError(
                    f"max_length (--max-length): expected at least {len(input_ids[row])} tokens, the length of the "
                    f"template, got {max_length}; shorten the template"
                )
            pair = shorten_longer_sentence(*pair, over)
            input_ids[row] = tokenizer(build_text(*pair), truncation=False, **_ENCODING)["input_ids"]
    return EncodedPairs(input_ids, None, truncated=len(long))


def shorten_longer_sentence(premise: str, hypothesis: str, n: int) -> tuple[str, str]:
    """Remove the last n characters of the longer sentence of a pair. A token has at least one character.

    >>> shorten_longer_sentence("A man sleeps.", "He rests.", 8)
    ('A man', 'He rests.')
    """
    if len(premise) >= len(hypothesis):
        return premise[: max(0, len(premise) - n)], hypothesis
    return premise, hypothesis[: max(0, len(hypothesis) - n)]


@dataclass(frozen=True)
class BatchPadding:
    """Padding settings of a model."""

    pad_id: int
    side: Literal["left", "right"]
    takes_types: bool  # some tokenizers return token type ids for models that do not take them

    @classmethod
    def from_model(cls, tokenizer: "PreTrainedTokenizerBase", model: Any) -> "BatchPadding":
        """Read the padding settings of a model and its tokenizer."""
        side: Literal["left", "right"] = "left" if tokenizer.padding_side == "left" else "right"
        pad_id = model.config.get_text_config().pad_token_id
        pad_id = tokenizer.pad_token_id if pad_id is None else pad_id
        takes_types = SEGMENT_IDS in inspect.signature(model.forward).parameters
        # A network with one segment, or none, reads nothing from them; some tokenizers return 1 for it all the same.
        return cls(pad_id, side, takes_types and getattr(model.config, "type_vocab_size", 2) not in (0, 1))

    def build_arrays(
        self, input_ids: Sequence[Sequence[int]], token_type_ids: Sequence[Sequence[int]] | None
    ) -> dict[str, NDArray[np.int64]]:
        """Build the padded model inputs for b pairs, as arrays of shape (b, longest)."""
        arrays = {
            "input_ids": pad_sequences(input_ids, self.pad_id, self.side),
            "attention_mask": pad_sequences([[1] * len(tokens) for tokens in input_ids], 0, self.side),
        }
        if self.takes_types and token_type_ids is not None:
            arrays["token_type_ids"] = pad_sequences(token_type_ids, 0, self.side)
        return arrays

    def build_pair_arrays(self, pairs: EncodedPairs, rows: Sequence[int]) -> dict[str, NDArray[np.int64]]:
        """Build the padded model inputs for b pairs, given by their indices `rows`, as arrays of shape (b, longest)."""
        types = pairs.token_type_ids
        return self.build_arrays(
            [pairs.input_ids[row] for row in rows], None if types is None else [types[row] for row in rows]
        )
