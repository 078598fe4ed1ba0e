"""A batch of pairs as two batches of sentences."""

from typing import NamedTuple

import torch
from torch import Tensor


class Side(NamedTuple):
    """The premises of a batch, or its hypotheses.

    Attributes:
        ids: token ids, shape (b, t).
        mask: False at padding, shape (b, t). Sentences begin at position 0.
        special: True at tokens that are no words, such as the one each sentence begins with, shape (b, t).
    """

    ids: Tensor
    mask: Tensor
    special: Tensor

    @property
    def words(self) -> Tensor:
        """True where a word stands, shape (b, t)."""
        return self.mask & ~self.special


def both_sides(input_ids: Tensor, attention_mask: Tensor | None, start: int) -> tuple[Side, Side]:
    """Return premises and hypotheses, each padded to its own longest sentence, at the right.

    The sides are told by the token that each begins with, not by token type ids: whoever calls a model with no more
    than ids and mask gets the same.

    Args:
        input_ids: shape (b, t).
        attention_mask: 0 at padding, shape (b, t); without it nothing is padding.
        start: the id of the token that each side begins with.
    """
    real = torch.ones_like(input_ids, dtype=torch.bool) if attention_mask is None else attention_mask.bool()
    begins = (input_ids == start) & real
    number = begins.long().cumsum(dim=1)
    return _side(input_ids, begins, real & (number <= 1)), _side(input_ids, begins, real & (number > 1))


def _side(ids: Tensor, begins: Tensor, mask: Tensor) -> Side:
    longest = max(1, int(mask.sum(dim=1).max()))
    order = (~mask).long().argsort(dim=1, stable=True)[:, :longest]
    kept = mask.gather(1, order)
    return Side(ids.gather(1, order).masked_fill(~kept, 0), kept, begins.gather(1, order) & kept)
