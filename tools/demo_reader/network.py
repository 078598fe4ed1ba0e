"""Network of the demonstration in PyTorch, for training. `unbag.baselines.demo_reader` implements the same in NumPy."""

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unbag.baselines.demo_reader import PADDING, SUMS, UNKNOWN

REACH: Final = (1, 2, 4, 8)
"""Dilation of each convolution (kernel size 3). The receptive field is fifteen words on either side, so that the verb
is visible from a noun despite phrases such as "in a yellow raincoat"."""
HEADS: Final = 2
"""Number of attention heads for the alignment of words."""
_SIZE: Final = 48  # word embeddings
_ALIGNED: Final = 32  # attention keys
_ROLE: Final = 32  # features for the role of a word in its sentence
_HIDDEN: Final = 56


class Reader(nn.Module):
    """Classifier of sentence pairs, given as word ids.

    Args:
        known: Number of word ids, including padding and the unknown word.
        dropout: Dropout rate of the features of words and layers in training. Both sentences of a pair have the same
            mask, so that equal words have equal features.
        unknown: Probability of replacing a word with the unknown word in training.
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
        """Compute the logits of `data.labels.LABELS` for n pairs, shape (n, 3), from word ids, (n, p) and (n, h)."""
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
            # Max-pooling over the sentence, for properties such as the passive. Clamped to at least the padding value.
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
        """Apply dropout to the features of n premises and n hypotheses, with the same mask for both sentences."""
        if not (self.training and share):
            return features
        n, *places, size = features.shape
        kept = (torch.rand(n // 2, *(1 for _ in places), size) >= share).float()
        dropped: Tensor = features * torch.cat([kept, kept]) / (1 - share)
        return dropped
