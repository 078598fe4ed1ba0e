"""Model of the demonstration: a small neural network that uses word order, implemented in NumPy.

The network is as small as the demonstration permits, and its vocabulary contains only the words of the captions. Gated
convolutions combine each word with adjacent words, which encodes who does what to whom. Attention aligns each word with
words of the other sentence. The prediction uses the differences and products of aligned words.

`tools/demo_reader` in the repository trains the network with PyTorch, on the training pairs of the demonstration only.
The network is also trained to predict near-uniform probabilities for shuffled words; `tools/demo_reader/training.py`
explains how and why.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from threadpoolctl import threadpool_limits

from unbag.data import labels
from unbag.inference.predictor import validate_pairs
from unbag.utils.hashing import hash_file

WEIGHTS: Final = Path(__file__).parents[1] / "data" / "demo" / "demo-reader.safetensors"
RECORD: Final = "unbag"
"""Key of the JSON record in the metadata of the weights, with the vocabulary (`words`, in the order of their ids)."""

PADDING, UNKNOWN, FIRST = 0, 1, 2  # ids of padding, of unknown words, and of the first word in the vocabulary
SUMS: Final = 0.1  # scales sums over words to a magnitude similar to that of maxima
_BATCH_SIZE: Final = 32  # pairs; their activations fit into the processor cache

Floats = NDArray[np.float64]


def tokenize_words(sentence: str) -> list[str]:
    """Split a sentence into lowercase words and punctuation marks. Returns a single space if there are none.

    >>> tokenize_words("A dog, too.")
    ['a', 'dog', ',', 'too', '.']
    """
    return re.findall(r"\w+|[^\w\s]", sentence.lower()) or [" "]


def encode_words(sentences: Sequence[str], word_ids: Mapping[str, int]) -> NDArray[np.int64]:
    """Encode n sentences as word ids, padded with `PADDING`, shape (n, longest)."""
    tokenized = [tokenize_words(sentence) for sentence in sentences]
    rows = np.full((len(tokenized), max(map(len, tokenized))), PADDING, dtype=np.int64)
    for row, sentence in zip(rows, tokenized, strict=True):
        row[: len(sentence)] = [word_ids.get(word, UNKNOWN) for word in sentence]
    return rows


class ReaderPredictor:
    """Predictor that runs the small neural network of `unbag demo`.

    The network is evaluated in float64, so that the rounded scores of the demonstration are the same on every
    processor.
    """

    label_space: ClassVar[tuple[str, ...]] = labels.LABELS

    def __init__(self, path: Path = WEIGHTS) -> None:
        with safe_open(path, framework="np") as file:
            self._weights: dict[str, Floats] = {name: file.get_tensor(name).astype(np.float64) for name in file.keys()}
            record: dict[str, Any] = json.loads(file.metadata()[RECORD])
        self._word_ids = {word: number for number, word in enumerate(record["words"], start=FIRST)}
        self._reach: list[int] = record["reach"]
        self._heads: int = record["heads"]
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
        # Pairs with similar lengths share a batch, to reduce padding.
        lengths = [
            max(len(tokenize_words(sentence)) for sentence in pair) for pair in zip(premises, hypotheses, strict=True)
        ]
        order = np.argsort(np.array(lengths, dtype=np.int64), kind="stable")
        probabilities = np.empty((len(order), len(labels.LABELS)), dtype=np.float32)
        with threadpool_limits(1):  # for such small products, synchronizing threads takes longer than the computation
            for start in range(0, len(order), _BATCH_SIZE):
                batch = order[start : start + _BATCH_SIZE]
                pairs = ([side[row] for row in batch] for side in (premises, hypotheses))
                probabilities[batch] = self._forward(*(encode_words(side, self._word_ids) for side in pairs))
        return probabilities

    def _forward(self, premises: NDArray[np.int64], hypotheses: NDArray[np.int64]) -> Floats:
        """Compute the probabilities of n pairs, shape (n, 3), from word ids of shapes (n, p) and (n, h)."""
        # Premises and hypotheses are encoded as one batch of 2n sentences. `other` maps each row to the row of the
        # other sentence in the pair.
        n, length = len(premises), max(premises.shape[1], hypotheses.shape[1])
        both = np.full((2 * n, length), PADDING)
        both[:n, : premises.shape[1]], both[n:, : hypotheses.shape[1]] = premises, hypotheses
        is_word, other = (both != PADDING)[..., None], np.roll(np.arange(2 * n), n)
        alone = read = self._weights["words.weight"][both]
        for layer, reach in enumerate(self._reach):
            words_read = read * is_word
            padded = np.pad(words_read, ((0, 0), (reach, reach), (0, 0)))
            around = [padded[:, step * reach : step * reach + length] for step in range(3)]
            around.append(np.broadcast_to(words_read.max(axis=1, keepdims=True, initial=0), read.shape))
            change, gate = np.split(self._linear(f"layers.{layer}", np.concatenate(around, axis=2)), 2, axis=2)
            read = read + change / (1 + np.exp(-gate))
        role = self._linear("role", read)
        content = np.concatenate([alone, role], axis=2)
        compared = [role]
        keys = self._linear("align", np.concatenate([alone, read], axis=2))
        for key in np.split(keys, self._heads, axis=2):
            scores = key @ key[other].transpose(0, 2, 1) / key.shape[2] ** 0.5
            attended = _softmax(scores, is_word[other].transpose(0, 2, 1)) @ content[other]
            compared += [np.maximum(content - attended, 0), np.maximum(attended - content, 0), content * attended]
        each = np.maximum(self._linear("compare", np.concatenate(compared, axis=2)), 0) * is_word
        sides = np.concatenate([each.max(axis=1), each.sum(axis=1) * SUMS], axis=1)
        hidden = np.maximum(self._linear("judge", np.concatenate([sides[n:], sides[:n]], axis=1)), 0)
        return _softmax(self._linear("answer", hidden))

    def _linear(self, name: str, x: Floats) -> Floats:
        """Apply a linear layer, with bias if it has one."""
        # One large product is faster than one product per pair, which NumPy would compute for three-dimensional arrays.
        y: Floats = x.reshape(-1, x.shape[-1]) @ self._weights[f"{name}.weight"].T
        y = y.reshape(*x.shape[:-1], -1)
        return y + self._weights[f"{name}.bias"] if f"{name}.bias" in self._weights else y


def _softmax(scores: Floats, counts: NDArray[np.bool_] | bool = True) -> Floats:
    """Compute the softmax along the last axis. Masked positions get 0."""
    counted = np.where(counts, scores, -np.inf)
    powers = np.exp(counted - counted.max(axis=-1, keepdims=True))
    probabilities: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return probabilities
