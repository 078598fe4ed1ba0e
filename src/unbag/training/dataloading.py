"""Data loading: compact storage of token ids, and distribution of batches over processes."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from unbag.data.labels import LABELS
from unbag.data.sources import Example
from unbag.inference.loading import Classifier
from unbag.inference.tokenization import BatchPadding, encode_pairs
from unbag.training.batching import (
    build_epoch_batches,
    find_augmented_groups,
    find_augmented_strata,
    select_micro_batch,
)
from unbag.training.bias import BIAS, Columns, PairFeatures
from unbag.training.config import TrainConfig
from unbag.training.data import AugmentedPairBuilder, ExtraPairBuilder, PairDataset, mix_datasets
from unbag.utils import parallel

_AT_ONCE: Final = 10_000  # pairs per call of the tokenizer, which returns Python lists of several MB

Tokens = tuple[list[int], list[int] | None]
"""Token ids and token type ids of a pair; None for models without token types."""


class EncodedPairArray:
    """Token ids of n pairs in one array, which needs a tenth of the memory that Python lists need.

    Attributes:
        lengths: Number of tokens of each pair, shape (n,).
        truncated: Number of truncated pairs.
    """

    def __init__(
        self, ids: NDArray[np.int32], types: NDArray[np.int8] | None, lengths: NDArray[np.intp], cut: int
    ) -> None:
        self._ids, self._types, self.lengths, self.truncated = ids, types, lengths, cut
        self._starts = np.concatenate([np.zeros(1, np.intp), np.cumsum(lengths)])

    def get_tokens(self, row: int) -> Tokens:
        """Get the token ids and token type ids of one pair."""
        span = slice(self._starts[row], self._starts[row + 1])
        return self._ids[span].tolist(), None if self._types is None else self._types[span].tolist()


@dataclass(frozen=True)
class PairEncoder:
    """Tokenizer with the padding settings and maximum length of a network.

    Attributes:
        limit: Maximum number of tokens per pair; None for no limit.
    """

    tokenizer: Any
    padding: BatchPadding
    limit: int | None

    @classmethod
    def from_classifier(cls, classifier: Classifier, max_length: int | None = None) -> "PairEncoder":
        """Build the encoder for a classifier.

        Raises:
            ModelError: If the model cannot read `max_length` tokens.
        """
        limit = classifier.resolve_max_length(max_length)
        return cls(classifier.tokenizer, BatchPadding.from_model(classifier.tokenizer, classifier.network), limit)

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """Tokenize a small number of pairs into Python lists."""
        if not pairs:
            return []
        premises, hypotheses = zip(*pairs, strict=True)
        encodings = encode_pairs(self.tokenizer, premises, hypotheses, self.limit)
        if encodings.token_type_ids is None:
            return [(ids, None) for ids in encodings.input_ids]
        return list(zip(encodings.input_ids, encodings.token_type_ids, strict=True))

    def encode_all(self, examples: Sequence[Example]) -> EncodedPairArray:
        """Tokenize many pairs into one array."""
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
        return EncodedPairArray(
            np.concatenate(ids), np.concatenate(types) if types else None, np.array(lengths, dtype=np.intp), cut
        )

    def pad(self, tokens: Sequence[Tokens]) -> dict[str, Tensor]:
        """Pad the tokens of b pairs to equal length. Returns the network's inputs, shape (b, length)."""
        ids = [pair[0] for pair in tokens]
        types = [pair[1] for pair in tokens if pair[1] is not None]
        arrays = self.padding.build_arrays(ids, types if len(types) == len(ids) else None)
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


@dataclass(frozen=True)
class PairCollator:
    """Collator that builds the labels and the padded inputs of a batch from its examples.

    Attributes:
        encoder: Tokenizer with padding settings.
        label_order: Labels in the order of the network's outputs.
        build_extra_pairs: Function that builds the extra pairs of the objective (`Objective.build_extra_pairs`).
        transform: Function that changes an example in an epoch, given by its number; None for no changes.
    """

    encoder: PairEncoder
    label_order: Sequence[str]
    build_extra_pairs: ExtraPairBuilder | None = None
    transform: Callable[[Example, int], Example] | None = None

    def __call__(
        self, examples: Sequence[Example], tokens: Sequence[Tokens], epoch: int
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Collate the examples of a batch.

        Args:
            examples: Examples, b in number.
            tokens: Tokens of each example, used if no transformation changes the example.
            epoch: Number of the epoch, from 0.

        Returns:
            `labels` and `encoded`, see `Batch`.
        """
        if self.transform is not None:
            examples = [self.transform(example, epoch) for example in examples]
            tokens = self.encoder.encode([(example.premise, example.hypothesis) for example in examples])
        extra_pairs = self.build_extra_pairs(examples, epoch) if self.build_extra_pairs else []
        labels = torch.tensor([self.label_order.index(example.label) for example in examples])
        return labels, self.encoder.pad([*tokens, *self.encoder.encode(extra_pairs)])


class Batch(NamedTuple):
    """Input of one forward pass in one process.

    Attributes:
        labels: Output of the network that is the gold label of each of the b examples, shape (b,).
        encoded: Token ids and masks of the b examples and of the extra pairs, shape (b + extra, length).
        features: Features of each example, by name, shape (b,), or (b, k) in the order of the network's outputs.
        weight: b divided by the mean size of the parts of the batch. Weighted by it, the mean over the parts is the
            mean over all pairs, however the batch is cut.
    """

    labels: Tensor
    encoded: dict[str, Tensor]
    features: dict[str, Tensor]
    weight: float


@dataclass(frozen=True)
class ProcessPlacement:
    """Rank of the process, number of processes, and number of forward passes per step."""

    rank: int
    world_size: int
    gradient_accumulation_steps: int

    @property
    def n_parts(self) -> int:
        """Number of parts per batch: number of processes × gradient accumulation steps."""
        return self.world_size * self.gradient_accumulation_steps


@dataclass(frozen=True, eq=False)
class EpochDataset(Dataset[Batch]):
    """Dataset of the batches of one epoch for one process.

    Item i belongs to batch `i // gradient_accumulation_steps`.
    """

    examples: Sequence[Example]
    encoded: EncodedPairArray
    features: Columns  # labels in the order of the network's outputs
    batches: Sequence[NDArray[np.intp]]
    epoch: int
    place: ProcessPlacement
    collator: PairCollator

    def __len__(self) -> int:
        return len(self.batches) * self.place.gradient_accumulation_steps

    def compute_bias_accuracy(self) -> float | None:
        """Compute the accuracy of the biased model on the pairs for which its probabilities are not uniform.

        Returns None if there are no such pairs.
        """
        if BIAS not in self.features:
            return None
        predictions = self.features[BIAS]
        gold = np.array([self.collator.label_order.index(example.label) for example in self.examples])
        # A weak learner has uniform values, thus no prediction, for its own training pairs.
        decided = predictions.max(axis=1) > predictions.min(axis=1)
        return float((predictions.argmax(axis=1) == gold)[decided].mean()) if decided.any() else None

    def __getitem__(self, item: int) -> Batch:
        number, part = divmod(item, self.place.gradient_accumulation_steps)
        batch = self.batches[number]
        rows = select_micro_batch(batch, self.place.n_parts, part * self.place.world_size + self.place.rank).tolist()
        tokens = [self.encoded.get_tokens(row) for row in rows]
        labels, encoded = self.collator([self.examples[row] for row in rows], tokens, self.epoch)
        return Batch(
            labels=labels,
            encoded=encoded,
            features={name: torch.from_numpy(values[rows]) for name, values in self.features.items()},
            weight=len(rows) * self.place.n_parts / len(batch),
        )

    def iter_items(self, start: int, *, num_workers: int, pin_memory: bool) -> Iterator[Batch]:
        """Iterate over the items from index `start`, with `num_workers` background processes."""
        return iter(
            DataLoader(
                self,
                # Items are complete batches, which the loader must not collate.
                batch_size=None,
                sampler=range(start, len(self)),
                num_workers=num_workers,
                multiprocessing_context=parallel.START_METHOD if num_workers else None,
                pin_memory=pin_memory,
                worker_init_fn=_without_tracebacks,
                # Without a generator of its own, the loader would draw from torch's global one, which dropout uses.
                generator=torch.Generator(),
            )
        )


def _without_tracebacks(_: int) -> None:
    """Suppress a worker's traceback when the training that reads its batches has ended first.

    A worker passes tensors in a thread, which prints a traceback when the other side of its pipe is closed.
    """
    print_traceback = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        if not isinstance(error, ConnectionError | EOFError):
            print_traceback(kind, error, where)

    sys.excepthook = excepthook


class EpochBatches:
    """Batches of all epochs of a run, built on demand.

    Attributes:
        pairs: Number of pairs per epoch, the same in every epoch.
        steps: Number of batches per epoch.
        truncated: Number of truncated pairs in the first epoch.
        bias_accuracy: Accuracy of the biased model on the first epoch; None if there is no biased model or it has no
            predictions.
    """

    def __init__(
        self,
        datasets: Sequence[PairDataset],
        config: TrainConfig,
        collator: PairCollator,
        *,
        rank: int = 0,
        world_size: int = 1,
        augmenter: AugmentedPairBuilder | None = None,
        features: PairFeatures | None = None,
    ) -> None:
        """Build the first epoch.

        Args:
            datasets: Training pairs.
            config: Training options, of which those for batches, data loading and the seed have an effect.
            collator: Collator that builds the inputs of the network.
            rank: Rank of this process.
            world_size: Number of processes.
            augmenter: Builder of pairs that are added to each epoch; None for no added pairs.
            features: Features of the pairs that the objective needs; None for none.

        Raises:
            ValueError: If a batch has fewer pairs than parts.
        """
        self._datasets, self._config, self._collator = datasets, config, collator
        self._place = place = ProcessPlacement(rank, world_size, config.gradient_accumulation_steps)
        self._augmenter, self._features = augmenter, features
        self._last: EpochDataset | None = None
        first = self.build_epoch(0)
        self.pairs = len(first.examples)
        self.steps = len(first.batches)
        self.truncated = first.encoded.truncated
        self.bias_accuracy = first.compute_bias_accuracy()
        smallest = min(map(len, first.batches), default=0)
        if smallest < place.n_parts:
            raise ValueError(
                f"batch_size: expected batches of at least {place.n_parts} pairs ({place.world_size} processes × "
                f"gradient_accumulation_steps = {place.gradient_accumulation_steps}), got {smallest} ({self.pairs} "
                f"pairs in batches of {config.batch_size}); decrease gradient_accumulation_steps, or use more pairs"
            )

    def build_epoch(self, epoch: int) -> EpochDataset:
        """Build the dataset of one epoch. The most recent dataset is cached."""
        last, config = self._last, self._config
        if last is not None and last.epoch == epoch:
            return last
        examples = mix_datasets(self._datasets, seed=config.seed, epoch=epoch)
        groups, strata = [], []
        if self._augmenter is not None:
            examples += self._augmenter(epoch)
            if config.augment_batches == "stratified":
                strata = find_augmented_strata(examples)
            else:
                groups = find_augmented_groups(examples)
        has_new_pairs = self._augmenter is not None or any(dataset.weight % 1 for dataset in self._datasets)
        # Without new pairs every epoch has the same ones, so they are tokenized once.
        if last is not None and not has_new_pairs:
            encoded, features = last.encoded, last.features
        else:
            encoded, features = self._collator.encoder.encode_all(examples), self._compute_features(examples)
        batches = build_epoch_batches(
            encoded.lengths, config.batch_size, seed=config.seed, epoch=epoch, groups=groups, strata=strata
        )
        self._last = EpochDataset(examples, encoded, features, batches, epoch, self._place, self._collator)
        return self._last

    def _compute_features(self, examples: Sequence[Example]) -> Columns:
        """Compute the features of pairs, with labels in the order of the network's outputs."""
        if self._features is None:
            return {}
        outputs = [LABELS.index(label) for label in self._collator.label_order]
        return {
            name: values if values.ndim == 1 else np.ascontiguousarray(values[:, outputs])
            for name, values in self._features(examples).items()
        }

    def iter_batches(self, step: int, *, pin_memory: bool) -> Iterator[Batch]:
        """Iterate endlessly over this process's parts of the batches, starting at a given step."""
        epoch, done = divmod(step, self.steps)
        while True:
            yield from self.build_epoch(epoch).iter_items(
                done * self._config.gradient_accumulation_steps,
                num_workers=self._config.dataloader_num_workers,
                pin_memory=pin_memory,
            )
            epoch, done = epoch + 1, 0
