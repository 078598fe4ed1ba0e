"""Training of the demonstration's network on 27,913 pairs of the grammar, of which the demonstration has 6,000.

The first stage has only single captions without negation, from which the network learns who does what to whom. The
second stage adds negations and premises of several captions. The third stage adds exchanged roles that the grammar
excludes, such as a ball that kicks a dog, because the challenge sets contain them. All stages contain more pairs with
exchanged roles, and fewer pairs with many new words in the hypothesis, than the grammar generates. Otherwise, the
network mostly ignores roles, which determine the label of one in twenty generated pairs.

The loss adds the negative entropy of predictions for pairs with shuffled words to the cross-entropy, as in section 8 of
Sinha et al. (2021; `unbag train max-entropy`). Without it, the network is confident about most shuffled pairs, and
learns roles slowly. For the same reason, pairs whose hypothesis has few new words have a higher weight.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import torch
from torch import nn
from torch.nn import functional as F

from tools.demo_corpus.corpus import SPLITS, DemoPair, ScenePair
from tools.demo_corpus.scenes import Caption, is_sound
from tools.demo_corpus.sentences import write_text
from tools.demo_reader.network import Reader
from unbag.baselines.demo_reader import FIRST, encode_words, tokenize_words
from unbag.data import labels
from unbag.data.labels import get_label_id
from unbag.data.sources import Example
from unbag.training.losses import compute_entropies

GENERATED: Final = 72_000
"""Number of generated pairs from which the training pairs are selected."""
STAGES: Final = ((10_000, 10, 4e-3), (24_000, 10, 3e-3), (26_000, 7, 3e-3))
"""Number of pairs, number of epochs and maximum learning rate of each stage."""
_BUNDLED: Final = SPLITS["train"]
_TEXTS: Final = 6_000  # pairs of the second stage with a negation or several captions, besides bundled pairs
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


def select_pairs(generated: Sequence[ScenePair]) -> tuple[list[Example], ...]:
    """Select the pairs of each stage from generated pairs, the first of which are the pairs of the demonstration."""
    bundled, others = generated[:_BUNDLED], generated[_BUNDLED:]
    exchanged = [each for each in others if _has_exchanged_roles(each)]
    similar = [each for each in others if _has_few_new_words(each.pair) and not _has_exchanged_roles(each)]
    plain = [each for each in similar if _is_plain(each)]
    texts = [each for each in similar if not _is_plain(each)]
    n_first, n_second, n_third = (n for n, *_ in STAGES)
    first = [each for each in (*bundled, *exchanged) if _is_plain(each)]
    first += plain[len(plain) - (n_first - len(first)) :]  # from the end, because the second stage has the others
    second = [*bundled, *exchanged, *texts[:_TEXTS]]
    second += plain[: n_second - len(second)]
    pairs = [[Example(*each.pair) for each in stage] for stage in (first, second)]
    return *pairs, [*pairs[-1], *islice(_exchange_roles(others), n_third - n_second)]


def _exchange_roles(generated: Iterable[ScenePair]) -> Iterator[Example]:
    """Generate pairs with the exchanged roles that the grammar excludes, such as "A ball is kicking a dog."."""
    rng = random.Random(_SEED)
    for meant in generated:
        scene = meant.premise[0].scene
        if not _is_plain(meant) or scene.patient is None or len(scene.agents) != 1:
            continue
        exchanged = scene._replace(agents=(scene.patient,), patient=scene.agents[0])
        if is_sound(exchanged):
            continue
        usual, unusual = (write_text([Caption(each)], rng, False) for each in (scene, exchanged))
        yield Example(f"{meant.pair.id}-a", usual, unusual, labels.CONTRADICTION)
        yield Example(f"{meant.pair.id}-b", unusual, usual, labels.CONTRADICTION)
        yield Example(f"{meant.pair.id}-c", unusual, write_text([Caption(exchanged)], rng), labels.ENTAILMENT)


def train(words: Sequence[str], stages: Sequence[tuple[Sequence[Example], int, float]], *, seed: int = _SEED) -> Reader:
    """Train a network. The last bits of the weights may depend on the number of cores.

    Each stage has its pairs, number of epochs and maximum learning rate.
    """
    torch.manual_seed(seed)
    known = {word: number for number, word in enumerate(words, start=FIRST)}
    network = Reader(FIRST + len(known), dropout=_DROPOUT, unknown=_UNKNOWN)
    for stage, (pairs, epochs, rate) in enumerate(stages):
        _train_stage(network, pairs, known, epochs, rate, seed + stage)
    return network.eval()


def _train_stage(
    network: Reader, pairs: Sequence[Example], known: Mapping[str, int], epochs: int, rate: float, seed: int
) -> None:
    torch.manual_seed(seed)
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
    return _MORE if _has_few_new_words(pair) else 1.0


def _has_few_new_words(pair: Example | DemoPair) -> bool:
    return len({*tokenize_words(pair.hypothesis)} - {*tokenize_words(pair.premise)}) <= _NEW_WORDS


def _is_plain(meant: ScenePair) -> bool:
    return len(meant.premise) == 1 and not any(caption.is_negated for caption in (*meant.premise, meant.hypothesis))


def _has_exchanged_roles(meant: ScenePair) -> bool:
    """Check whether the patient of the premise is an agent of the same action in the hypothesis."""
    premise, hypothesis = meant.premise[meant.evidence].scene, meant.hypothesis.scene
    if premise.patient is None or hypothesis.patient is None or premise.verb != hypothesis.verb:
        return False
    return premise != hypothesis and premise.patient.noun in {agent.noun for agent in hypothesis.agents}
