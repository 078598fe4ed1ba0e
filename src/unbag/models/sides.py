"""Conversion of a batch of pairs to a batch of premises and a batch of hypotheses."""

from typing import NamedTuple

import torch
from torch import Tensor


class SentenceBatch(NamedTuple):
    """Premises or hypotheses of a batch of pairs."""

    ids: Tensor  # token ids, shape (b, t)
    mask: Tensor  # False at padding, which is on the right, shape (b, t)
    special: Tensor  # True at special tokens, such as the token at the beginning of each sentence, shape (b, t)

    @property
    def words(self) -> Tensor:
        """Mask that is True for words and False for padding and special tokens, shape (b, t)."""
        return self.mask & ~self.special


def split_premises_and_hypotheses(
    input_ids: Tensor, attention_mask: Tensor | None, start_token_id: int
) -> tuple[SentenceBatch, SentenceBatch]:
    """Split encoded pairs into premises and hypotheses, each padded on the right.

    The split uses the token at the beginning of each sentence, not token type ids. Callers that do not pass token type
    ids therefore get the same result.

    Args:
        input_ids: Token ids of pairs, shape (b, t).
        attention_mask: 0 at padding, shape (b, t); None means no padding.
        start_token_id: Id of the token at the beginning of each sentence.
    """
    real = torch.ones_like(input_ids, dtype=torch.bool) if attention_mask is None else attention_mask.bool()
    begins = (input_ids == start_token_id) & real
    number = begins.long().cumsum(dim=1)
    return _side(input_ids, begins, real & (number <= 1)), _side(input_ids, begins, real & (number > 1))


def _side(ids: Tensor, begins: Tensor, mask: Tensor) -> SentenceBatch:
    longest = max(1, int(mask.sum(dim=1).max()))
    # A stable sort of the inverted mask moves the tokens to the left without changing their order.
    order = (~mask).long().argsort(dim=1, stable=True)[:, :longest]
    is_token = mask.gather(1, order)
    return SentenceBatch(ids.gather(1, order).masked_fill(~is_token, 0), is_token, begins.gather(1, order) & is_token)
