"""Datasets of tokenized pairs, the sampler of batches and the collator, for `transformers.Trainer`.

All three are independent of the recipes and work with any `Trainer`. The content of an epoch and the order of its pairs
are pure functions of seed and epoch, so that a resumed run sees the same batches.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from scipy import special
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from unbag.data.labels import LABELS
from unbag.data.sources import Example
from unbag.inference.loading import Classifier
from unbag.inference.tokenization import BatchPadding, encode_pairs
from unbag.training.batching import build_epoch_batches, find_augmented_units
from unbag.training.bias import BIAS, BiasFeatures, Columns
from unbag.training.data import PairDataset, mix_datasets

_AT_ONCE: Final = 10_000  # pairs per call of the tokenizer, which returns Python lists of several MB

Tokens = tuple[list[int], list[int] | None]
"""Token ids and token type ids of a pair; None for models without token types."""

Item = dict[str, Any]
"""Item of a dataset: `tokens`, `label` (an output of the network), `extra` (tokens of unlabelled pairs), features."""


class EncodedPairArray(NamedTuple):
    """Token ids of n pairs in Arrow lists, which need a tenth of the memory that Python lists need."""

    ids: pa.ListArray
    types: pa.ListArray | None  # None for models without token types
    truncated: int  # number of truncated pairs

    @property
    def lengths(self) -> NDArray[np.intp]:
        """Number of tokens of each pair, shape (n,)."""
        lengths: NDArray[np.intp] = self.ids.value_lengths().to_numpy().astype(np.intp)
        return lengths

    def get_tokens(self, row: int) -> Tokens:
        """Get the token ids and token type ids of one pair."""
        ids: list[int] = self.ids[row].values.to_numpy().tolist()
        return ids, None if self.types is None else self.types[row].values.to_numpy().tolist()


@dataclass(frozen=True)
class PairEncoder:
    """Tokenizer with the padding settings and maximum length of a network."""

    tokenizer: Any
    padding: BatchPadding
    limit: int | None  # maximum number of tokens per pair; None for no limit

    @classmethod
    def from_classifier(cls, classifier: Classifier, max_length: int | None = None) -> "PairEncoder":
        """Build the encoder for a classifier. Raises a `ModelError` if the model cannot read `max_length` tokens."""
        limit = classifier.resolve_max_length(max_length)
        return cls(classifier.tokenizer, BatchPadding.from_model(classifier.tokenizer, classifier.network), limit)

    def encode(self, pairs: Sequence[tuple[str, str]]) -> EncodedPairArray:
        """Tokenize pairs of premise and hypothesis."""
        ids, types, cut = [pa.array([], pa.list_(pa.int32()))], [], 0
        for start in range(0, len(pairs), _AT_ONCE):
            premises, hypotheses = zip(*pairs[start : start + _AT_ONCE], strict=True)
            encodings = encode_pairs(self.tokenizer, premises, hypotheses, self.limit)
            ids.append(pa.array(encodings.input_ids, pa.list_(pa.int32())))
            if encodings.token_type_ids is not None:
                types.append(pa.array(encodings.token_type_ids, pa.list_(pa.int8())))
            cut += encodings.truncated
        return EncodedPairArray(pa.concat_arrays(ids), pa.concat_arrays(types) if types else None, cut)

    def pad(self, tokens: Sequence[Tokens]) -> dict[str, Tensor]:
        """Pad the tokens of b pairs to equal length. Returns the network's inputs, shape (b, length)."""
        ids = [pair[0] for pair in tokens]
        types = [pair[1] for pair in tokens if pair[1] is not None]
        arrays = self.padding.build_arrays(ids, types if len(types) == len(ids) else None)
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


@dataclass(frozen=True)
class PairCollator:
    """Collator that pads the items of a batch.

    The inputs have the b pairs of the batch first, and after them the extra pairs of all items. Therefore `labels` and
    the features have b rows, the inputs of the network b + extra.
    """

    encoder: PairEncoder

    def __call__(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """Build `labels`, the padded inputs of the network, and the features."""
        tokens = [item["tokens"] for item in items]
        tokens += [pair for item in items for pair in item.get("extra", ())]
        batch = self.encoder.pad(tokens)
        batch["labels"] = torch.tensor([item["label"] for item in items])
        for name in items[0].keys() - {"tokens", "extra", "label"}:
            batch[name] = torch.from_numpy(np.stack([item[name] for item in items]))
        return batch


class TrainingPairs(Dataset[Item]):
    """Dataset of the training pairs of one epoch. `set_epoch` changes the epoch; accelerate's data loader calls it.

    The number of pairs is the same in every epoch.
    """

    epoch: int  # from 0
    truncated: int  # number of truncated pairs in the first epoch
    bias_accuracy: float | None = None  # of the biased model on the first epoch; None without predictions
    examples: list[Example]  # pairs of the epoch, with added pairs
    encoded: EncodedPairArray
    features: Columns  # by name, with labels in the order of the network's outputs

    def __init__(
        self,
        datasets: Sequence[PairDataset],
        encoder: PairEncoder,
        label_order: Sequence[str],
        *,
        seed: int,
        augmenter: Callable[[int], list[Example]] | None = None,
        features: BiasFeatures | None = None,
        transform: Callable[[Example, int], Example] | None = None,
        build_extra_pairs: Callable[[Example, int], list[tuple[str, str]]] | None = None,
    ) -> None:
        """Build the first epoch. Epochs are numbered from 0.

        Args:
            label_order: Labels in the order of the network's outputs.
            augmenter: Builds the pairs that are added to an epoch.
            features: Features of the pairs that the loss needs.
            transform: Changes an example in an epoch.
            build_extra_pairs: Builds unlabelled pairs of an example in an epoch, which are appended to the batch.
        """
        self._datasets, self._encoder, self._order, self._seed = datasets, encoder, tuple(label_order), seed
        self._augmenter, self._features = augmenter, features
        self._transform, self._build_extra_pairs = transform, build_extra_pairs
        self._build(0)
        self.truncated = self.encoded.truncated
        if BIAS in self.features:
            predictions = self.features[BIAS]
            is_correct = predictions.argmax(axis=1) == [self._order.index(example.label) for example in self.examples]
            # A weak learner has uniform values, thus no prediction, for its own training pairs.
            if (is_decided := predictions.max(axis=1) > predictions.min(axis=1)).any():
                self.bias_accuracy = float(is_correct[is_decided].mean())

    def set_epoch(self, epoch: int) -> None:
        """Change to the pairs of another epoch."""
        if epoch == self.epoch:
            return
        if self._augmenter is None and not any(dataset.weight % 1 for dataset in self._datasets):
            self.epoch = epoch  # the same pairs in every epoch, tokenized once
        else:
            self._build(epoch)

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, row: int) -> Item:
        example, encoded, place = self.examples[row], self.encoded, row
        if self._transform is not None:
            example = self._transform(example, self.epoch)
            encoded, place = self._encoder.encode([(example.premise, example.hypothesis)]), 0
        item = {"tokens": encoded.get_tokens(place), "label": self._order.index(example.label)}
        if self._build_extra_pairs is not None:
            extra = self._encoder.encode(self._build_extra_pairs(example, self.epoch))
            item["extra"] = [extra.get_tokens(number) for number in range(len(extra.ids))]
        return item | {name: values[row] for name, values in self.features.items()}

    def _build(self, epoch: int) -> None:
        self.epoch = epoch
        self.examples = mix_datasets(self._datasets, seed=self._seed, epoch=epoch)
        if self._augmenter is not None:
            self.examples += self._augmenter(epoch)
        self.encoded = self._encoder.encode([(each.premise, each.hypothesis) for each in self.examples])
        self.features = {}
        if self._features is not None:
            # Features have the columns of `LABELS`, logits the order of the network.
            outputs = [LABELS.index(label) for label in self._order]
            self.features = {
                # Selecting columns returns a Fortran-ordered array, in which the values of a pair are scattered.
                name: values if values.ndim == 1 else np.ascontiguousarray(values[:, outputs])
                for name, values in self._features(self.examples).items()
            }


class BatchSampler(Sampler[int]):
    """Sampler that orders the pairs of an epoch so that each `batch_size` consecutive pairs are one batch.

    A batch is one step of all processes and accumulation steps, which cut it into `n_parts` parts of equal length.
    Pairs of a batch have similar lengths, and groups of added pairs stay together (`training.batching`). If
    `stratified`, added pairs are spread evenly by kind and label. The order is a function of seed and epoch. It does
    not depend on the number of processes.
    """

    def __init__(
        self, pairs: TrainingPairs, batch_size: int, *, seed: int, n_parts: int = 1, stratified: bool = False
    ) -> None:
        self._pairs, self._batch_size, self._seed = pairs, batch_size, seed
        self._n_parts, self._stratified = n_parts, stratified
        list(self)  # a group that fits into no batch is an error before the first step

    def __len__(self) -> int:
        return len(self._pairs)

    def __iter__(self) -> Iterator[int]:
        for batch in build_epoch_batches(
            self._pairs.encoded.lengths,
            self._batch_size,
            seed=self._seed,
            epoch=self._pairs.epoch,
            strata=find_augmented_units(self._pairs.examples, stratified=self._stratified),
        ):
            for part in range(self._n_parts):
                # The batch is sorted by length, so strided parts need equal work.
                yield from batch[part :: self._n_parts].tolist()


class HeldOutPairs(Dataset[Item]):
    """Dataset of held-out pairs, the longest first. It also computes the metrics of their logits."""

    def __init__(self, datasets: Sequence[PairDataset], encoder: PairEncoder, label_order: Sequence[str]) -> None:
        examples = [example for dataset in datasets for example in dataset.examples]
        self._encoded = encoder.encode([(example.premise, example.hypothesis) for example in examples])
        # Pairs of similar length need little padding. With the longest first, a lack of memory shows in the first
        # batch.
        self._rows = np.argsort(-self._encoded.lengths, kind="stable")
        self._labels = np.array([label_order.index(example.label) for example in examples], np.intp)
        self._names = [dataset.name for dataset in datasets]
        self._dataset = np.repeat(np.arange(len(datasets)), [len(dataset.examples) for dataset in datasets])

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Item:
        row = self._rows[index]
        return {"tokens": self._encoded.get_tokens(row), "label": int(self._labels[row])}

    def compute_metrics(self, predictions: tuple[NDArray[np.float32], Any]) -> dict[str, float]:
        """Compute `NAME/accuracy`, `NAME/loss` and `NAME/pairs` for each dataset and `all`, from logits and labels."""
        # float64: in float32, a sum over many pairs would depend on its order.
        logits = predictions[0].astype(np.float64)
        gold = self._labels[self._rows]
        losses = -special.log_softmax(logits, axis=1)[np.arange(len(gold)), gold]
        is_correct = logits.argmax(axis=1) == gold
        of = self._dataset[self._rows]
        subsets = {name: of == number for number, name in enumerate(self._names)} | {ALL: np.ones(len(gold), bool)}
        metrics: dict[str, float] = {}
        for name, rows in subsets.items():
            n = int(rows.sum())
            metrics[f"{name}/accuracy"] = float(is_correct[rows].mean()) if n else 0.0
            metrics[f"{name}/loss"] = float(losses[rows].mean()) if n else 0.0
            metrics[f"{name}/pairs"] = n
        return metrics


ALL: Final = "all"
"""Name of the metrics over all held-out pairs."""

Metrics = dict[str, dict[str, float]]
"""Metrics by name of the dataset, including `all`: `accuracy`, `loss` (mean cross-entropy) and `pairs`."""


def group_metrics(flat: Mapping[str, float]) -> Metrics:
    """Group the metrics of `HeldOutPairs.compute_metrics` by dataset. Trainer's prefix `eval_` is removed.

    >>> group_metrics({"eval_snli/accuracy": 0.5, "eval_snli/pairs": 2, "eval_runtime": 1.0})
    {'snli': {'accuracy': 0.5, 'pairs': 2}}
    """
    grouped: Metrics = {}
    for key, value in flat.items():
        name, slash, measure = key.removeprefix("eval_").rpartition("/")
        if slash:
            grouped.setdefault(name, {})[measure] = value
    return grouped
