"""Training of the demonstration's network on 24,000 pairs of the grammar, of which the demonstration has 6,000.

The first stage repeats these 6,000 pairs, and the second stage adds the others, which teach the scope of a negation.

The loss adds the negative entropy of predictions for pairs with shuffled words to the cross-entropy, as in section 8 of
Sinha et al. (2021; `unbag train max-entropy`). Without it, the network is confident about most shuffled pairs, and
learns slowly who does what to whom, which determines the label of one in sixteen pairs. For the same reason, pairs
whose hypothesis has few new words have a higher weight.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Final

import torch
from torch import nn
from torch.nn import functional as F

from tools.demo_reader.network import Reader
from unbag.baselines.demo_reader import FIRST, encode_words, tokenize_words
from unbag.data.labels import get_label_id
from unbag.data.sources import Example
from unbag.training.max_entropy import compute_entropies

STAGES: Final = ((6_000, 24, 4e-3), (24_000, 4, 2e-3))
"""Number of pairs, number of epochs and maximum learning rate of each stage."""
_SEED: Final = 13
_BATCH: Final = 64
_WARMUP: Final = 0.1  # share of the steps of a stage after which the learning rate is at its maximum
_DECAY: Final = 0.02
_DROPOUT: Final = 0.2
_UNKNOWN: Final = 0.02
_CLIP: Final = 1.0
_SHUFFLED: Final = 4  # one in this number of pairs also occurs with shuffled words
_ENTROPY: Final = 0.3  # weight of the mean entropy of shuffled pairs
_NEW_WORDS: Final = 3  # maximum number of new words in the hypothesis of a pair with a higher weight
_MORE: Final = 3.0  # the higher weight
_LIKE_LENGTH: Final = 12  # batches that are sorted by length together, to reduce padding


def vocabulary(pairs: Sequence[Example]) -> list[str]:
    """List the words of pairs in alphabetical order."""
    return sorted({word for pair in pairs for side in (pair.premise, pair.hypothesis) for word in tokenize_words(side)})


def train(pairs: Sequence[Example], *, stages: Sequence[tuple[int, int, float]] = STAGES, seed: int = _SEED) -> Reader:
    """Train a network on pairs. The last bits of the weights may depend on the number of cores.

    Args:
        pairs: Training pairs.
        stages: See `STAGES`. The first stage determines the vocabulary.
        seed: Random seed.
    """
    torch.manual_seed(seed)
    known = {word: number for number, word in enumerate(vocabulary(pairs[: stages[0][0]]), start=FIRST)}
    network = Reader(FIRST + len(known), dropout=_DROPOUT, unknown=_UNKNOWN)
    for stage, (n, epochs, rate) in enumerate(stages):
        _train_stage(network, pairs[:n], known, epochs, rate, seed + stage)
    return network.eval()


def _train_stage(
    network: Reader, pairs: Sequence[Example], known: Mapping[str, int], epochs: int, rate: float, seed: int
) -> None:
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=_DECAY)
    steps = epochs * -(-len(pairs) // _BATCH)
    mean_weight = sum(map(_weight, pairs)) / len(pairs)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=_WARMUP)
    for _ in range(epochs):
        for batch in _batches(pairs, rng):
            shuffled = [_shuffled(pair, rng) for pair in batch[::_SHUFFLED]]
            asked = [*((pair.premise, pair.hypothesis) for pair in batch), *shuffled]
            logits = network(*(torch.from_numpy(encode_words(side, known)) for side in zip(*asked, strict=True)))
            gold = torch.tensor([get_label_id(pair.label) for pair in batch])
            weights = torch.tensor([_weight(pair) / mean_weight for pair in batch])
            cross = (F.cross_entropy(logits[: len(batch)], gold, reduction="none") * weights).mean()
            loss = cross - _ENTROPY * compute_entropies(logits[len(batch) :]).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
            optimizer.step()
            schedule.step()


def _batches(pairs: Sequence[Example], rng: random.Random) -> list[list[Example]]:
    """Split the pairs into random batches of pairs with similar lengths."""
    order = rng.sample(pairs, len(pairs))
    batches = []
    for start in range(0, len(order), _BATCH * _LIKE_LENGTH):
        some = sorted(order[start : start + _BATCH * _LIKE_LENGTH], key=lambda pair: len(pair.premise))
        batches += [some[i : i + _BATCH] for i in range(0, len(some), _BATCH)]
    return rng.sample(batches, len(batches))


def _shuffled(pair: Example, rng: random.Random) -> tuple[str, str]:
    """Shuffle the words of both sentences, except for the period."""
    sides = (tokenize_words(side) for side in (pair.premise, pair.hypothesis))
    premise, hypothesis = (" ".join([*rng.sample(side[:-1], len(side) - 1), side[-1]]) for side in sides)
    return premise, hypothesis


def _weight(pair: Example) -> float:
    return _MORE if len({*tokenize_words(pair.hypothesis)} - {*tokenize_words(pair.premise)}) <= _NEW_WORDS else 1.0
