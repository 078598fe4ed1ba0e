"""Lexical model: softmax regression on the bag of words of a pair (Nie et al. 2019, section 5)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.lexical.features import FeatureVocabulary, Words
from unbag.baselines.lexical.regression import COARSE_TOLERANCE, SoftmaxRegression, fit_softmax_regression
from unbag.baselines.lexical.words import ALL, BY_TYPE, WordSelector
from unbag.data.labels import LABELS, get_label_id
from unbag.utils import checksums, rng
from unbag.utils.files import atomic_write, read_json_object
from unbag.utils.hashing import hash_texts
from unbag.utils.safe_io import DataError, validate_file

PENALTIES: Final = (20.0, 10.0, 5.0, 2.0, 1.0)
"""Candidates for the L2 penalty, in descending order, because a strong penalty converges fastest."""

HELD_OUT: Final = 0.1  # share of pairs that are held out to compare penalties
WEIGHTS_FILE: Final = "model.safetensors"
CONFIG_FILE: Final = "config.json"
MODEL_TYPE: Final = "unbag_lexical"
"""Value of `model_type` in `config.json`, which distinguishes the folder from that of a transformer."""
_FORMAT: Final = 4  # version of the files
_LOSS_DECIMALS: Final = 4
"""Number of decimals of held-out losses. Rounded losses make all machines select the same penalty."""


@dataclass(frozen=True)
class LexicalModel:
    """Fitted softmax regression on the words of a pair."""

    vocabulary: FeatureVocabulary
    regression: SoftmaxRegression
    # The provenance: `l2`, the held-out losses of all candidates, `pairs`, and fields that the caller adds.
    record: dict[str, Any]

    @property
    def record_hash(self) -> str:
        """Hash of the provenance of the model (`record`), which identifies the model. The weights are not hashed.

        The last digits of the weights depend on the processor; predictions agree to about ten decimals.
        """
        return hash_texts([(str(_FORMAT), json.dumps(self.record, sort_keys=True))])

    def probabilities(self, pairs: Sequence[tuple[Words, Words]]) -> NDArray[np.float64]:
        """Predict the probabilities of `data.labels.LABELS` for n pairs of word lists, shape (n, 3)."""
        return self.regression.probabilities(self.vocabulary.matrix(pairs))

    def select_words(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[tuple[Words, Words]]:
        """Select the words of n pairs of sentences, as for the training pairs (`record`)."""
        words = self.selector.select_words({*premises, *hypotheses})
        sides = [()] * len(premises) if self.record["hypothesis_only"] else [words[text] for text in premises]
        return list(zip(sides, (words[text] for text in hypotheses), strict=True))

    @cached_property
    def selector(self) -> WordSelector:
        """Selector of the words of new pairs.

        For a model with words by type, all words are selected, because other words are not in its vocabulary.
        """
        is_by_type = self.record["tags"] == BY_TYPE
        return WordSelector(ALL if is_by_type else self.record["pipeline"], self.record["language"])

    def save(self, folder: Path) -> None:
        """Save the model to a folder as `model.safetensors` and `config.json`, without executable code."""
        from safetensors.numpy import save_file

        tensors: dict[str, NDArray[Any]] = {
            "codes": self.vocabulary.codes,
            "weights": np.ascontiguousarray(self.regression.weights),
            "bias": self.regression.bias,
        }
        with atomic_write(folder / WEIGHTS_FILE) as tmp:
            save_file(tensors, tmp)
        config = {
            "model_type": MODEL_TYPE,
            "format": _FORMAT,
            "labels": LABELS,
            "record": self.record,
            "words": self.vocabulary.words,
        }
        with atomic_write(folder / CONFIG_FILE) as tmp:
            tmp.write_text(json.dumps(config, ensure_ascii=False) + "\n", encoding="utf-8")
        # Last, so that a folder with checksums is complete.
        checksums.write_folder_checksums(folder, (WEIGHTS_FILE, CONFIG_FILE))

    @classmethod
    def load(cls, folder: Path) -> "LexicalModel":
        """Load a model from a folder written by `save`."""
        if not (folder / CONFIG_FILE).is_file():
            raise ValueError(f"{folder}: expected a lexical model, got a folder without {CONFIG_FILE}")
        config = read_json_object(folder / CONFIG_FILE)
        expected = {"model_type": MODEL_TYPE, "format": _FORMAT, "labels": list(LABELS)}
        actual = {name: config.get(name) for name in expected}
        if actual != expected:
            raise ValueError(
                f"{folder}: expected a lexical model with {expected}, got {actual}; fit it with `unbag lexical fit`"
            )
        # Downloads have no checksums file, because the Hub client verifies them.
        if checksums.has_checksums(folder) and (damage := checksums.find_corruption(folder)):
            raise ValueError(f"{damage}; fit the model again, or use another copy of the model")
        return _load_weights(folder / WEIGHTS_FILE, config)


def _load_weights(weights_file: Path, config: dict[str, Any]) -> LexicalModel:
    """Load the weights, and check that they are consistent with the config, because they are untrusted input."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    expected = f"{weights_file}: expected the weights of a lexical model"
    try:
        tensors = load_file(validate_file(weights_file))
        codes, weights, bias = (tensors[name] for name in ("codes", "weights", "bias"))
    except (OSError, KeyError, SafetensorError, DataError) as error:
        raise ValueError(f"{expected}, got an unreadable file ({type(error).__name__}: {error})") from None
    words, record = config.get("words"), config.get("record")
    if not (
        isinstance(words, list)
        and all(isinstance(word, str) for word in words)
        and isinstance(record, dict)
        and codes.dtype == np.int64
        and codes.ndim == 1
        and (weights.shape, bias.shape) == ((len(codes), len(LABELS)), (len(LABELS),))
        and {weights.dtype.kind, bias.dtype.kind} == {"f"}
        and np.isfinite(weights).all()
        and np.isfinite(bias).all()
        and FeatureVocabulary(words, codes).is_valid
    ):
        raise ValueError(f"{expected} with the words in {CONFIG_FILE}, got other types, shapes or values")
    return LexicalModel(FeatureVocabulary(words, codes), SoftmaxRegression(weights, bias, steps=0), record)


def fit_lexical_model(
    pairs: Sequence[tuple[Words, Words]], labels: Sequence[str], *, l2: float | None = None, seed: int = 0
) -> LexicalModel:
    """Fit a lexical model to the words and the gold labels of n pairs.

    The same rule selects the penalty of all models. A tenth of the pairs, which depends on the seed and the positions,
    is held out. The penalty in `PENALTIES` with the lowest held-out cross-entropy is used to fit all pairs. A given
    `l2` needs no held-out pairs.
    """
    gold = np.array([get_label_id(label) for label in labels], dtype=np.int64)
    if len(pairs) != len(gold):
        raise ValueError(f"labels: expected one label per pair, got {len(pairs)} pairs and {len(gold)} labels")
    vocabulary, matrix = FeatureVocabulary.fit(pairs)
    record: dict[str, Any] = {"pairs": len(pairs), "features": len(vocabulary), "seed": seed}
    if l2 is None:
        keys = rng.generate_random_numbers(rng.compute_key(seed, "held out"), np.arange(len(gold)))
        # The keys are uniform 64-bit numbers, so this share of them is below the bound.
        held_out = keys < np.uint64(int(HELD_OUT * 2**64))
        if not held_out.any() or held_out.all():
            raise ValueError(f"pairs: expected enough pairs for a held-out set, got {len(pairs)}; set a penalty (l2=…)")
        losses = {}
        for penalty in PENALTIES:
            model = fit_softmax_regression(matrix[~held_out], gold[~held_out], l2=penalty, tolerance=COARSE_TOLERANCE)
            probabilities = model.probabilities(matrix[held_out])
            loss = float(-np.log(probabilities[np.arange(len(probabilities)), gold[held_out]]).mean())
            losses[penalty] = round(loss, _LOSS_DECIMALS)
        l2 = min(losses, key=losses.__getitem__)
        record["held_out_loss"] = {f"{penalty:g}": loss for penalty, loss in losses.items()}
    return LexicalModel(vocabulary, fit_softmax_regression(matrix, gold, l2=l2), {**record, "l2": l2})
