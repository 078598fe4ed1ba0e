"""The demonstration's reader in torch, as it is trained; `unbag.baselines.demo_reader` is the same in NumPy."""

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unbag.baselines.demo_reader import PADDING, SUMS, UNKNOWN

REACH: Final = (1, 2, 4, 8)
"""How far apart the three words are that each layer puts together: after the last, a word knows fifteen on either side,
so that a noun sees past "in a yellow raincoat" what is done by whom."""
HEADS: Final = 2
"""How many ways each word has of looking for those it answers to."""
_SIZE: Final = 48  # of a word
_ALIGNED: Final = 32  # of what a word is found by
_ROLE: Final = 32  # of what a word is in its sentence
_HIDDEN: Final = 56


class Reader(nn.Module):
    """Reads pairs of sentences, given as the numbers of their words.

    Args:
        known: how many numbers there are, padding and the unknown word among them.
        dropout: share of the features of words and layers that a pair goes without in training: the same ones in both
            sentences, or equal words would differ.
        unknown: share of the words that are taken for unknown in training.
    """

    def __init__(self, known: int, dropout: float = 0.0, unknown: float = 0.0) -> None:
        super().__init__()
        self.words = nn.Embedding(known, _SIZE, padding_idx=PADDING)
        self.layers = nn.ModuleList(nn.Linear(4 * _SIZE, 2 * _SIZE) for _ in REACH)
        self.align = nn.Linear(2 * _SIZE, HEADS * _ALIGNED, bias=False)
        self.role = nn.Linear(_SIZE, _ROLE)
        self.compare = nn.Linear(_ROLE + 3 * HEADS * (_SIZE + _ROLE), _HIDDEN)
        self.judge = nn.Linear(4 * _HIDDEN, _HIDDEN)
        self.answer = nn.Linear(_HIDDEN, 3)
        self._dropout, self._unknown = dropout, unknown

    def forward(self, premises: Tensor, hypotheses: Tensor) -> Tensor:
        """Return the logits of `data.labels.LABELS` for n pairs, shape (n, 3), from word numbers, (n, p) and (n, h)."""
        n, length = len(premises), max(premises.shape[1], hypotheses.shape[1])
        both = torch.cat([F.pad(side, (0, length - side.shape[1]), value=PADDING) for side in (premises, hypotheses)])
        is_word, other = (both != PADDING)[..., None], torch.arange(2 * n).roll(n)
        if self.training:
            both = torch.where((torch.rand(both.shape) < self._unknown) & is_word[..., 0], UNKNOWN, both)
        alone = read = self._dropped(self.words(both), self._dropout / 2)
        for layer, reach in zip(self.layers, REACH, strict=True):
            words_read = read * is_word
            padded = F.pad(words_read, (0, 0, reach, reach))
            around = [padded[:, step * reach : step * reach + length] for step in range(3)]
            # Of the whole sentence, as whether it is passive; never less than padding is.
            around.append(words_read.amax(dim=1, keepdim=True).clamp(min=0).expand(read.shape))
            read = read + self._dropped(F.glu(layer(torch.cat(around, dim=2)), dim=2), self._dropout)
        role = self.role(read)
        says = torch.cat([alone, role], dim=2)
        compared = [role]
        for key in self.align(torch.cat([alone, read], dim=2)).chunk(HEADS, dim=2):
            scores = key @ key[other].transpose(1, 2) / _ALIGNED**0.5
            found = scores.masked_fill(~is_word[other].transpose(1, 2), -torch.inf).softmax(dim=2) @ says[other]
            compared += [F.relu(says - found), F.relu(found - says), says * found]
        each = F.relu(self.compare(torch.cat(compared, dim=2))) * is_word
        sides = self._dropped(torch.cat([each.amax(dim=1), each.sum(dim=1) * float(SUMS)], dim=1), self._dropout)
        logits: Tensor = self.answer(F.relu(self.judge(torch.cat([sides[n:], sides[:n]], dim=1))))
        return logits

    def _dropped(self, features: Tensor, share: float) -> Tensor:
        """Return features of n premises and n hypotheses with a share set to 0, of a pair the same, the rest larger."""
        if not (self.training and share):
            return features
        n, *places, size = features.shape
        kept = (torch.rand(n // 2, *(1 for _ in places), size) >= share).float()
        dropped: Tensor = features * torch.cat([kept, kept]) / (1 - share)
        return dropped
