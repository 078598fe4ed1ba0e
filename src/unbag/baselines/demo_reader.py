"""Model of `unbag demo`: a small neural network that uses word order, implemented in NumPy.

The network is as small as the demonstration permits, and its vocabulary contains only the words of the captions. Gated
convolutions combine each word with adjacent words, which encodes who does what to whom. Attention aligns each word with
words of the other sentence. The prediction uses the differences and products of aligned words.

`tools/demo_reader` in the repository trains the network with PyTorch on 27,913 pairs, of which the demonstration
includes 6,000. The network is also trained to predict near-uniform probabilities for shuffled words;
`tools/demo_reader/training.py` explains how and why.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from threadpoolctl import threadpool_limits

from unbag.data import labels
from unbag.inference.predictor import LabelSource, validate_pairs
from unbag.utils.hashing import hash_file

WEIGHTS: Final = Path(__file__).parents[1] / "data" / "demo" / "demo-reader.safetensors"
RECORD: Final = "unbag"
"""Key of the JSON record in the metadata of the weights, with the vocabulary (`words`, in the order of their ids)."""

PADDING, UNKNOWN, FIRST = 0, 1, 2  # ids of padding, of unknown words, and of the first word in the vocabulary
SUMS: Final = 0.1  # scales sums over words to a magnitude similar to that of maxima
_BATCH_SIZE: Final = 32  # pairs; their activations fit into the processor cache
_PAIRS_IN_MEMORY: Final = 2_000  # their encoded words take about 50 MB

Floats = NDArray[np.float64]
EncodedSide = tuple[Floats, Floats, NDArray[np.bool_]]
"""One sentence of each of n pairs: content and attention keys, shapes (n, l, d), and a mask of words, (n, l, 1)."""


def tokenize_words(sentence: str) -> list[str]:
    """Split a sentence into lowercase words and punctuation marks. Returns `[" "]` for a blank sentence.

    >>> tokenize_words("A dog, too.")
    ['a', 'dog', ',', 'too', '.']
    """
    return re.findall(r"\w+|[^\w\s]", sentence.lower()) or [" "]


def encode_words(sentences: Sequence[str], word_ids: Mapping[str, int]) -> NDArray[np.int64]:
    """Encode n sentences as word ids, shape (n, maximum length). Shorter sentences are padded with `PADDING`."""
    encoded = [_get_word_ids(sentence, word_ids) for sentence in sentences]
    rows = np.full((len(encoded), max(map(len, encoded))), PADDING, dtype=np.int64)
    for row, ids in zip(rows, encoded, strict=True):
        row[: len(ids)] = ids
    return rows


def _get_word_ids(sentence: str, word_ids: Mapping[str, int]) -> list[int]:
    return [word_ids.get(word, UNKNOWN) for word in tokenize_words(sentence)]


class DemoNetworkPredictor:
    """Predictor that runs the small neural network of `unbag demo`.

    The network is evaluated in float64, so that the rounded scores of the demonstration are the same on every
    processor.
    """

    label_space: ClassVar[tuple[str, ...]] = labels.LABELS
    label_source: ClassVar[LabelSource] = "fitted"

    def __init__(self, path: Path = WEIGHTS) -> None:
        with safe_open(path, framework="np") as file:
            self._weights: dict[str, Floats] = {name: file.get_tensor(name).astype(np.float64) for name in file.keys()}
            record: dict[str, Any] = json.loads(file.metadata()[RECORD])
        self._word_ids = {word: number for number, word in enumerate(record["words"], start=FIRST)}
        self._reach: list[int] = record["reach"]
        self._heads: int = record["heads"]
        self._width, self._roles = self._weights["words.weight"].shape[1], self._weights["role.weight"].shape[0]
        self.identity: Mapping[str, str] = {
            "name": "reader",
            "kind": "reader",
            "weights": hash_file(path),
            "training": record["training"],
            "command": "unbag demo",
        }

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict the label probabilities of n pairs, shape (n, 3)."""
        premises, hypotheses = validate_pairs(premises, hypotheses)
        probabilities = np.empty((len(premises), len(labels.LABELS)), dtype=np.float32)
        with threadpool_limits(1):  # for such small products, synchronizing threads takes longer than the computation
            for start in range(0, len(premises), _PAIRS_IN_MEMORY):
                part = slice(start, start + _PAIRS_IN_MEMORY)
                probabilities[part] = self._predict_part(premises[part], hypotheses[part])
        return probabilities

    def _predict_part(self, premises: Sequence[str], hypotheses: Sequence[str]) -> Floats:
        """Compute the probabilities of n pairs, shape (n, 3). Each distinct sentence is encoded once."""
        numbers = {text: number for number, text in enumerate(dict.fromkeys((*premises, *hypotheses)))}
        ids = [_get_word_ids(text, self._word_ids) for text in numbers]
        lengths = np.array([len(each) for each in ids], dtype=np.int64)
        # The words of all sentences, one after the other. Row 0 is the padding of every sentence.
        words = np.array([PADDING, *chain.from_iterable(ids)])
        starts = 1 + np.cumsum(lengths) - lengths
        content = np.zeros((len(words), self._width + self._roles))
        keys = np.zeros((len(words), self._weights["align.weight"].shape[0]))

        # Sentences with similar lengths share a batch, to reduce padding. The same holds for pairs below.
        for batch in _split(np.argsort(lengths, kind="stable"), 2 * _BATCH_SIZE):
            rows = _build_row_index(starts[batch], lengths[batch])
            is_word = rows > 0
            batch_content, batch_keys = self._encode(words[rows])
            content[rows[is_word]], keys[rows[is_word]] = batch_content[is_word], batch_keys[is_word]

        probabilities = np.empty((len(premises), len(labels.LABELS)))
        p, h = (np.array([numbers[text] for text in side], dtype=np.int64) for side in (premises, hypotheses))
        for batch in _split(np.lexsort((lengths[h], lengths[p])), _BATCH_SIZE):
            sides = [_build_row_index(starts[side[batch]], lengths[side[batch]]) for side in (p, h)]
            premise, hypothesis = ((content[rows], keys[rows], (rows > 0)[..., None]) for rows in sides)
            compared = [self._compare(hypothesis, premise), self._compare(premise, hypothesis)]
            hidden = np.maximum(self._linear("judge", np.concatenate(compared, axis=1)), 0)
            probabilities[batch] = _softmax(self._linear("answer", hidden))
        return probabilities

    def _encode(self, ids: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Encode n padded sentences of word ids, shape (n, l), as content and attention keys, shapes (n, l, d)."""
        is_word, length = (ids != PADDING)[..., None], ids.shape[1]
        alone = read = self._weights["words.weight"][ids]
        for layer, reach in enumerate(self._reach):
            words_read = read * is_word
            padded = np.pad(words_read, ((0, 0), (reach, reach), (0, 0)))
            around = [padded[:, step * reach : step * reach + length] for step in range(3)]
            around.append(np.broadcast_to(words_read.max(axis=1, keepdims=True, initial=0), read.shape))
            change, gate = np.split(self._linear(f"layers.{layer}", np.concatenate(around, axis=2)), 2, axis=2)
            read = read + change / (1 + np.exp(-gate))
        content = np.concatenate([alone, self._linear("role", read)], axis=2)
        return content, self._linear("align", np.concatenate([alone, read], axis=2))

    def _compare(self, side: EncodedSide, other: EncodedSide) -> Floats:
        """Compare the words of n sentences with aligned words of the other sentences. Return features, shape (n, d)."""
        content, keys, is_word = side
        other_content, other_keys, other_is_word = other
        compared = [content[..., self._width :]]  # the roles
        for key, other_key in zip(*(np.split(each, self._heads, axis=2) for each in (keys, other_keys)), strict=True):
            scores = key @ other_key.transpose(0, 2, 1) / key.shape[2] ** 0.5
            attended = _softmax(scores, other_is_word.transpose(0, 2, 1)) @ other_content
            compared += [np.maximum(content - attended, 0), np.maximum(attended - content, 0), content * attended]
        each = np.maximum(self._linear("compare", np.concatenate(compared, axis=2)), 0) * is_word
        return np.concatenate([each.max(axis=1), each.sum(axis=1) * SUMS], axis=1)

    def _linear(self, name: str, x: Floats) -> Floats:
        """Apply a linear layer, with bias if it has one."""
        # One large product is faster than one product per pair, which NumPy would compute for three-dimensional arrays.
        y: Floats = x.reshape(-1, x.shape[-1]) @ self._weights[f"{name}.weight"].T
        y = y.reshape(*x.shape[:-1], -1)
        return y + self._weights[f"{name}.bias"] if f"{name}.bias" in self._weights else y


def _split(order: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(order), size):
        yield order[start : start + size]


def _build_row_index(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Build the rows of the words of n sentences, shape (n, longest), with row 0 as padding."""
    steps = np.arange(lengths.max())
    return np.where(steps < lengths[:, None], starts[:, None] + steps, 0)


def _softmax(scores: Floats, counts: NDArray[np.bool_] | bool = True) -> Floats:
    """Compute the softmax along the last axis. Masked positions get 0."""
    counted = np.where(counts, scores, -np.inf)
    powers = np.exp(counted - counted.max(axis=-1, keepdims=True))
    probabilities: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return probabilities
