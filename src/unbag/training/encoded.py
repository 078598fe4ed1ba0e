"""Pairs as a network takes them: token ids kept in little memory, and padded batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.sources import Example
from unbag.inference.loading import Classifier
from unbag.inference.tokenization import Padding, encode_pairs

if TYPE_CHECKING:
    from torch import Tensor

_AT_ONCE: Final = 10_000  # pairs tokenized together: some MB of Python lists

Tokens = tuple[list[int], list[int] | None]
"""Token ids and token type ids of one pair."""


class EncodedPairs:
    """Token ids of n pairs in one array: 131 bytes a pair of SNLI, where Python lists take 1,300.

    Attributes:
        lengths: tokens of each pair, shape (n,).
        truncated: how many of the pairs lost tokens.
    """

    def __init__(
        self, ids: NDArray[np.int32], types: NDArray[np.int8] | None, lengths: NDArray[np.intp], cut: int
    ) -> None:
        self._ids, self._types, self.lengths, self.truncated = ids, types, lengths, cut
        self._starts = np.concatenate([np.zeros(1, np.intp), np.cumsum(lengths)])

    def tokens(self, row: int) -> Tokens:
        """Return one pair's tokens."""
        span = slice(self._starts[row], self._starts[row + 1])
        return self._ids[span].tolist(), None if self._types is None else self._types[span].tolist()


@dataclass(frozen=True)
class PairEncoder:
    """A network's tokenizer and what the network wants of it.

    Attributes:
        limit: the most tokens of a pair; None where nothing limits it.
    """

    tokenizer: Any
    padding: Padding
    limit: int | None

    @classmethod
    def of(cls, classifier: Classifier, max_length: int | None = None) -> "PairEncoder":
        """Return a classifier's encoder.

        Raises:
            ModelError: if the model cannot read `max_length` tokens.
        """
        limit = classifier.tokens_read(max_length)
        return cls(classifier.tokenizer, Padding.of(classifier.tokenizer, classifier.network), limit)

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """Tokenize a few pairs."""
        if not pairs:
            return []
        premises, hypotheses = zip(*pairs, strict=True)
        encodings = encode_pairs(self.tokenizer, premises, hypotheses, self.limit)
        if encodings.token_type_ids is None:
            return [(ids, None) for ids in encodings.input_ids]
        return list(zip(encodings.input_ids, encodings.token_type_ids, strict=True))

    def encode_all(self, examples: Sequence[Example]) -> EncodedPairs:
        """Tokenize many pairs."""
        ids: list[NDArray[np.int32]] = []
        types: list[NDArray[np.int8]] = []
        lengths: list[int] = []
        cut = 0
        for start in range(0, len(examples), _AT_ONCE):
            some = examples[start : start + _AT_ONCE]
            encodings = encode_pairs(
                self.tokenizer, [each.premise for each in some], [each.hypothesis for each in some], self.limit
            )
            ids.append(np.array([token for row in encodings.input_ids for token in row], dtype=np.int32))
            if encodings.token_type_ids is not None:
                types.append(np.array([kind for row in encodings.token_type_ids for kind in row], dtype=np.int8))
            lengths += encodings.lengths
            cut += encodings.truncated
        return EncodedPairs(
            np.concatenate(ids), np.concatenate(types) if types else None, np.array(lengths, dtype=np.intp), cut
        )

    def padded(self, tokens: Sequence[Tokens]) -> "dict[str, Tensor]":
        """Return the network's arguments for b pairs, each of shape (b, longest of them)."""
        import torch

        ids = [pair[0] for pair in tokens]
        types = [pair[1] for pair in tokens if pair[1] is not None]
        arrays = self.padding.arrays(ids, types if len(types) == len(ids) else None)
        return {name: torch.from_numpy(array) for name, array in arrays.items()}
