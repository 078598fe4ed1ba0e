"""The batches of one process in one epoch, each a pure function of its position.

Which pairs make a batch, which process takes which of them, and pairs as token ids in little memory with padded
batches.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from unbag.data.labels import LABELS
from unbag.data.sources import Example
from unbag.inference.loading import Classifier
from unbag.inference.tokenization import Padding, encode_pairs
from unbag.training.bias import BIAS, Columns, PairFeatures
from unbag.training.data import Added, Part, mixed
from unbag.utils import rng

if TYPE_CHECKING:
    from torch import Tensor


_SORTED_TOGETHER: Final = 64
"""Batches' worth of pairs that are sorted by length among themselves. Of 22,590 pairs of SNLI in batches of 32, 45 % is
padding unsorted, 8 % with 16 of them, 3 % with 64, 1 % with 256; fewer keep batches more random."""


def epoch_batches(lengths: NDArray[np.integer], size: int, *, seed: int, epoch: int) -> list[NDArray[np.intp]]:
    """Cut an epoch's pairs into batches of pairs of similar length, in random order.

    Every pair is in exactly one batch, and the batches' sizes differ by one at most: `ceil(n / size)` of them, so that
    no step learns from a few left-over pairs. Seed and epoch decide all of it, whatever the number of processes.

    Args:
        lengths: tokens of each pair, shape (n,).
        size: the most pairs a batch.
        seed: see above.
        epoch: see above.

    >>> [batch.tolist() for batch in epoch_batches(np.array([9, 3, 8, 4, 7]), 2, seed=0, epoch=0)]
    [[3, 4], [2, 0], [1]]
    """
    n = len(lengths)
    count = -(-n // size)
    key = rng.key(seed, "order", epoch)
    order = np.argsort(rng.numbers(key, np.zeros(1, np.int64), np.arange(n)), kind="stable")
    bounds = np.arange(count + 1) * n // max(count, 1)
    for first in range(0, count, _SORTED_TOGETHER):
        start, stop = bounds[first], bounds[min(first + _SORTED_TOGETHER, count)]
        chunk = order[start:stop]
        order[start:stop] = chunk[np.argsort(lengths[chunk], kind="stable")]
    batches = [order[bounds[i] : bounds[i + 1]] for i in range(count)]
    turns = np.argsort(rng.numbers(key, np.ones(1, np.int64), np.arange(count)), kind="stable")
    return [batches[i] for i in turns.tolist()]


def share(batch: NDArray[np.intp], parts: int, part: int) -> NDArray[np.intp]:
    """Return one part of a batch, cut so that the parts' sizes differ by one at most and their lengths hardly.

    >>> [share(np.arange(5), 2, part).tolist() for part in (0, 1)]
    [[0, 2, 4], [1, 3]]
    """
    return batch[part::parts]


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
        limit = classifier.resolve_max_length(max_length)
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


FurtherPairs = Callable[[Sequence[Example], int], list[tuple[str, str]]]
Transform = Callable[[Example, int], Example]


class Batch(NamedTuple):
    """What a process takes at once.

    Attributes:
        labels: the b examples' outputs of the network, shape (b,).
        encoded: token ids and masks of the b examples and the further pairs, shape (b + further, length).
        known: what is known of each example beside its label, by name, shape (b,) or (b, k) in the order of outputs.
        weight: b, relative to the mean over the parts of the whole batch: with it the mean over all parts is the mean
            over all pairs, however the batch is cut.
    """

    labels: Tensor
    encoded: dict[str, Tensor]
    known: dict[str, Tensor]
    weight: float


@dataclass(frozen=True)
class ProcessPlacement:
    """One process of some, and the parts in which each takes its share."""

    rank: int
    world: int
    accumulation: int

    @property
    def parts(self) -> int:
        """How many parts a batch is cut into."""
        return self.world * self.accumulation


@dataclass(frozen=True, eq=False)
class EpochStream(Dataset[Batch]):
    """One epoch's batches for one process: item i is part `i % accumulation` of batch `i // accumulation`."""

    examples: Sequence[Example]
    encoded: EncodedPairs
    batches: Sequence[NDArray[np.intp]]
    epoch: int
    place: ProcessPlacement
    encoder: PairEncoder
    order: Sequence[str]  # the label of each output of the network
    transform: Transform | None
    extra_pairs: FurtherPairs
    known: Columns  # in the order of the network's outputs

    def __len__(self) -> int:
        return len(self.batches) * self.place.accumulation

    def bias_accuracy(self) -> float | None:
        """Return the share of the pairs that the biased model is right on, of those that it says something of."""
        if BIAS not in self.known:
            return None
        said = self.known[BIAS]
        gold = np.array([self.order.index(example.label) for example in self.examples])
        decided = said.max(axis=1) > said.min(axis=1)  # a weak learner says nothing of what it has seen
        return float((said.argmax(axis=1) == gold)[decided].mean()) if decided.any() else None

    def __getitem__(self, item: int) -> Batch:
        number, part = divmod(item, self.place.accumulation)
        batch = self.batches[number]
        rows = share(batch, self.place.parts, part * self.place.world + self.place.rank).tolist()
        examples = [self.examples[row] for row in rows]
        if self.transform is None:
            tokens = [self.encoded.tokens(row) for row in rows]
        else:
            examples = [self.transform(example, self.epoch) for example in examples]
            tokens = self.encoder.encode([(example.premise, example.hypothesis) for example in examples])
        tokens += self.encoder.encode(self.extra_pairs(examples, self.epoch))
        return Batch(
            labels=torch.tensor([self.order.index(example.label) for example in examples]),
            encoded=self.encoder.padded(tokens),
            known={name: torch.from_numpy(values[rows]) for name, values in self.known.items()},
            weight=len(rows) * self.place.parts / len(batch),
        )

    def loader(self, start: int, *, workers: int, pin: bool) -> Iterator[Batch]:
        """Yield the items from `start` on, prepared by other processes if there are any."""
        return iter(
            DataLoader(
                self,
                batch_size=None,
                sampler=range(start, len(self)),
                num_workers=workers,
                pin_memory=pin,
                worker_init_fn=_without_tracebacks,
                # Its own, or it would draw a number from torch's, which is dropout's.
                generator=torch.Generator(),
            )
        )


def _without_tracebacks(_: int) -> None:
    """Let a worker print no traceback where the training that reads its batches has ended before it.

    It passes tensors by a thread of its own, which prints that the other side is gone, whatever the reason.
    """
    print_traceback = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        if not isinstance(error, ConnectionError | EOFError):
            print_traceback(kind, error, where)

    sys.excepthook = excepthook


class EpochBatches:
    """The epochs of a run, made as they are asked for.

    Attributes:
        accumulation: the parts in which this process takes its share of a batch.
        pairs: how many pairs an epoch has; all have as many.
        steps: how many batches an epoch has.
        truncated: how many pairs of the first epoch lost tokens.
        bias_accuracy: the share of the pairs of the first epoch that the biased model is right on; None where it
            says nothing, or there is none.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        batch_size: int,
        seed: int,
        place: ProcessPlacement,
        encoder: PairEncoder,
        order: Sequence[str],
        extra_pairs: FurtherPairs,
        transform: Transform | None = None,
        added: Added | None = None,
        known: PairFeatures | None = None,
        workers: int = 0,
    ) -> None:
        self._parts, self._batch_size, self._seed, self._workers = parts, batch_size, seed, workers
        self._place, self._encoder, self.accumulation = place, encoder, place.accumulation
        self._order, self._transform, self._further_pairs, self._added = order, transform, extra_pairs, added
        self._known = known
        self._last: tuple[int, EpochStream] | None = None
        first = self.epoch(0)
        self.pairs = len(first.examples)
        self.steps = len(first.batches)
        self.truncated = first.encoded.truncated
        self.bias_accuracy = first.bias_accuracy()
        smallest = min(map(len, first.batches), default=0)
        if smallest < place.parts:
            raise ValueError(
                f"expected batches of at least {place.parts} pairs, one for each of {place.world} processes × "
                f"{place.accumulation} parts; {self.pairs} pairs in batches of {batch_size} have {smallest}"
            )

    def epoch(self, number: int) -> EpochStream:
        """Return one epoch; the last one asked for is kept."""
        if self._last is not None and self._last[0] == number:
            return self._last[1]
        examples = mixed(self._parts, seed=self._seed, epoch=number)
        if self._added is not None:
            examples += self._added(number)
        changing = self._added is not None or any(part.weight % 1 for part in self._parts)
        # Whole weights give the same pairs each epoch: they are tokenized once.
        if self._last is not None and not changing:
            encoded, known = self._last[1].encoded, self._last[1].known
        else:
            encoded, known = self._encoder.encode_all(examples), self._known_of(examples)
        batches = epoch_batches(encoded.lengths, self._batch_size, seed=self._seed, epoch=number)
        stream = EpochStream(
            examples,
            encoded,
            batches,
            number,
            self._place,
            self._encoder,
            self._order,
            self._transform,
            self._further_pairs,
            known,
        )
        self._last = number, stream
        return stream

    def _known_of(self, examples: Sequence[Example]) -> Columns:
        """Return what is known of pairs, labels in the order of the network's outputs."""
        if self._known is None:
            return {}
        outputs = [LABELS.index(label) for label in self._order]
        return {
            name: values if values.ndim == 1 else np.ascontiguousarray(values[:, outputs])
            for name, values in self._known(examples).items()
        }

    def batches(self, step: int, *, pin: bool) -> Iterator[Batch]:
        """Yield this process's parts of the batches from a step on, without end."""
        number, done = divmod(step, self.steps)
        while True:
            yield from self.epoch(number).loader(done * self.accumulation, workers=self._workers, pin=pin)
            number, done = number + 1, 0
