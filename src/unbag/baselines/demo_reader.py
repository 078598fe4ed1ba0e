"""The demonstration's reader: a small network that reads both sentences word by word, in NumPy alone.

It is no more than the demonstration needs, and knows the words of its captions only. Each word is read with those
around it (gated convolutions), so that it is known who does what to whom. Each looks in the other sentence for those it
answers to (attention), and what it has that they have not, and the other way round, is what the answer is made of.

It is trained in torch by `tools/demo_reader` in the repository, on the demonstration's training pairs and nothing else.
It is also taught to be undecided where words are shuffled; `tools/demo_reader/training.py` says how and why.
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
from unbag.utils.hashing import file_hash

WEIGHTS: Final = Path(__file__).parents[1] / "data" / "demo" / "demo-reader.safetensors"
RECORD: Final = "unbag"
"""The key of the weights' metadata with what else there is, as JSON: the `words` in the order of their numbers."""

PADDING, UNKNOWN, FIRST = 0, 1, 2  # the numbers of no word, of one that it does not know, and of the first that it does
SUMS: Final = 0.1  # times which the sums over a sentence's words are about as great as their greatest
_AT_ONCE: Final = 32  # pairs: what a processor's cache holds

Floats = NDArray[np.float64]


def words(sentence: str) -> list[str]:
    """Return the words and the punctuation of a sentence, in small letters; a space where there are none.

    >>> words("A dog, too.")
    ['a', 'dog', ',', 'too', '.']
    """
    return re.findall(r"\w+|[^\w\s]", sentence.lower()) or [" "]


def numbers(sentences: Sequence[str], known: Mapping[str, int]) -> NDArray[np.int64]:
    """Return the numbers of the words of n sentences, shape (n, words of the longest)."""
    cut = [words(sentence) for sentence in sentences]
    rows = np.full((len(cut), max(map(len, cut))), PADDING, dtype=np.int64)
    for row, sentence in zip(rows, cut, strict=True):
        row[: len(sentence)] = [known.get(word, UNKNOWN) for word in sentence]
    return rows


class ReaderPredictor:
    """The reader as a predictor.

    It computes in float64, so that the demonstration is the same on every processor.
    """

    label_space: ClassVar[tuple[str, ...]] = labels.LABELS

    def __init__(self, path: Path = WEIGHTS) -> None:
        with safe_open(path, framework="np") as file:
            self._weights: dict[str, Floats] = {name: file.get_tensor(name).astype(np.float64) for name in file.keys()}
            record: dict[str, Any] = json.loads(file.metadata()[RECORD])
        self._known = {word: number for number, word in enumerate(record["words"], start=FIRST)}
        self._reach: list[int] = record["reach"]
        self._heads: int = record["heads"]
        self.identity: Mapping[str, str] = {
            "name": "reader",
            "kind": "reader",
            "weights": file_hash(path),
            "training": record["training"],
            "command": "unbag demo",
        }

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of n pairs, shape (n, 3)."""
        premises, hypotheses = validate_pairs(premises, hypotheses)
        answers = [np.empty((0, len(labels.LABELS)))]
        with threadpool_limits(1):  # threads wait for each other longer than such small products take
            for start in range(0, len(premises), _AT_ONCE):
                sides = (numbers(side[start : start + _AT_ONCE], self._known) for side in (premises, hypotheses))
                answers.append(self._ask(*sides))
        return np.concatenate(answers).astype(np.float32)

    def _ask(self, premises: NDArray[np.int64], hypotheses: NDArray[np.int64]) -> Floats:
        """Return the probabilities of n pairs from the numbers of their words, (n, p) and (n, h); shape (n, 3)."""
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
        says = np.concatenate([alone, role], axis=2)
        compared = [role]
        keys = self._linear("align", np.concatenate([alone, read], axis=2))
        for key in np.split(keys, self._heads, axis=2):
            scores = key @ key[other].transpose(0, 2, 1) / key.shape[2] ** 0.5
            found = _softmax(scores, is_word[other].transpose(0, 2, 1)) @ says[other]
            compared += [np.maximum(says - found, 0), np.maximum(found - says, 0), says * found]
        each = np.maximum(self._linear("compare", np.concatenate(compared, axis=2)), 0) * is_word
        sides = np.concatenate([each.max(axis=1), each.sum(axis=1) * SUMS], axis=1)
        hidden = np.maximum(self._linear("judge", np.concatenate([sides[n:], sides[:n]], axis=1)), 0)
        return _softmax(self._linear("answer", hidden))

    def _linear(self, name: str, x: Floats) -> Floats:
        """Return x times a layer's weights, with its bias where it has one."""
        y: Floats = x.reshape(-1, x.shape[-1]) @ self._weights[f"{name}.weight"].T  # one product, not one a pair
        y = y.reshape(*x.shape[:-1], -1)
        return y + self._weights[f"{name}.bias"] if f"{name}.bias" in self._weights else y


def _softmax(scores: Floats, counts: NDArray[np.bool_] | bool = True) -> Floats:
    """Return probabilities along the last axis, 0 where a place does not count."""
    counted = np.where(counts, scores, -np.inf)
    powers = np.exp(counted - counted.max(axis=-1, keepdims=True))
    probabilities: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return probabilities
