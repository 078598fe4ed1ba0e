"""The lexical model: what a bag of words already knows of a pair (Nie et al. 2019, section 5)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.lexical.bag import Words
from unbag.baselines.lexical.contributions import Contribution as Contribution
from unbag.baselines.lexical.contributions import misleading
from unbag.baselines.lexical.features import Vocabulary
from unbag.baselines.lexical.regression import COARSE_TOLERANCE, SoftmaxRegression, fit
from unbag.data.labels import LABELS, label_id
from unbag.utils import checksums, rng
from unbag.utils.files import atomic_write, read_json_object
from unbag.utils.hashing import text_hash
from unbag.utils.safe_io import DataError, validate_file

PENALTIES: Final = (20.0, 10.0, 5.0, 2.0, 1.0)
"""The L2 penalties tried, strongest first: it converges soonest."""

HELD_OUT: Final = 0.1  # share of the pairs on which penalties are compared
WEIGHTS_FILE: Final = "model.safetensors"
CONFIG_FILE: Final = "config.json"
MODEL_TYPE: Final = "unbag_lexical"
"""What tells the folder from a transformer's: `model_type` in `config.json`."""
_FORMAT: Final = 4
"""2 had words by universal tags in context, and did not say so; 3 had weights in float32, from a fit less converged."""
_LOSS_DECIMALS: Final = 4
"""Of the held-out losses: penalties are compared by the rounded ones, so that every machine chooses the same."""


@dataclass(frozen=True)
class LexicalModel:
    """Softmax regression on the words of a pair.

    Attributes:
        vocabulary: the features it has weights for.
        regression: the weights.
        record: how it was made: `l2`, the held-out losses it was chosen by, `pairs`, and what the caller adds.
    """

    vocabulary: Vocabulary
    regression: SoftmaxRegression
    record: dict[str, Any]

    @property
    def recipe(self) -> str:
        """What identifies the model: a hash of all that decided it, which processors agree on, and not of the weights.

        The last digits of weights depend on the processor that fitted them; predictions agree to some ten decimals.
        """
        return text_hash([(str(_FORMAT), json.dumps(self.record, sort_keys=True))])

    def probabilities(self, pairs: Sequence[tuple[Words, Words]]) -> NDArray[np.float64]:
        """Return the probabilities of `data.labels.LABELS` for pairs of content words, shape (n, 3)."""
        return self.regression.probabilities(self.vocabulary.matrix(pairs))

    def misleading(
        self,
        pairs: Sequence[tuple[Words, Words]],
        probabilities: NDArray[np.float64],
        gold: Sequence[str],
        top: int,
    ) -> list[list[Contribution]]:
        """Return, for each pair, the features that most favour the likeliest wrong label over the gold one (Figure 2).

        Args:
            pairs: content words of premise and hypothesis.
            probabilities: of the labels, shape (n, 3), by which a wrong label is the likeliest.
            gold: the gold labels' names.
            top: how many, strongest first; only those that favour the wrong label at all.
        """
        matrix = self.vocabulary.matrix(pairs)
        right = np.array([label_id(label) for label in gold], dtype=np.int64)
        return misleading(self.vocabulary, self.regression.weights, matrix, probabilities, right, top)

    def save(self, folder: Path) -> None:
        """Write `model.safetensors` and `config.json`: numbers and text, nothing that runs."""
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
        checksums.seal(folder, (WEIGHTS_FILE, CONFIG_FILE))  # last: a folder that is sealed is complete

    @classmethod
    def load(cls, folder: Path) -> "LexicalModel":
        """Read what `save` wrote.

        Raises:
            ValueError: if the folder has no lexical model, a damaged one, or one of another format: an older one's
                words are others.
        """
        if not (folder / CONFIG_FILE).is_file():
            raise ValueError(f"expected a lexical model in {folder}, found no {CONFIG_FILE}")
        config = read_json_object(folder / CONFIG_FILE)
        expected = {"model_type": MODEL_TYPE, "format": _FORMAT, "labels": list(LABELS)}
        actual = {name: config.get(name) for name in expected}
        if actual["format"] in range(_FORMAT):
            raise ValueError(
                f"{folder}: expected a lexical model of format {_FORMAT}, found format {actual['format']} of an "
                "earlier version, whose scores are not comparable; fit it again with `unbag lexical fit`"
            )
        if actual != expected:
            raise ValueError(f"{folder}: expected a lexical model with {expected}, found {actual}")
        # One from the Hub comes without: it was checked on its way.
        if checksums.is_sealed(folder) and (damage := checksums.find_damage(folder)):
            raise ValueError(f"{damage}; fit it again, or take another copy of it")
        return _made_of(folder, config)


def _made_of(folder: Path, config: dict[str, Any]) -> LexicalModel:
    """Return the model in a folder whose config is of our format; whoever wrote it, its parts must fit."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    weights_file = folder / WEIGHTS_FILE
    try:
        tensors = load_file(validate_file(weights_file))
        codes, weights, bias = (tensors[name] for name in ("codes", "weights", "bias"))
    except DataError as error:
        raise ValueError(f"a lexical model has weights; {error}") from None
    except (OSError, KeyError, SafetensorError) as error:
        raise ValueError(f"{weights_file} cannot be read ({type(error).__name__}: {error})") from None
    words, record = config.get("words"), config.get("record")
    if not (isinstance(words, list) and all(isinstance(word, str) for word in words) and isinstance(record, dict)):
        raise ValueError(f"{folder / CONFIG_FILE}: expected a list of words and a record, found something else")
    if (
        codes.dtype != np.int64
        or codes.ndim != 1
        or not (np.issubdtype(weights.dtype, np.floating) and np.issubdtype(bias.dtype, np.floating))
        or (weights.shape, bias.shape) != ((len(codes), len(LABELS)), (len(LABELS),))
        or not (np.isfinite(weights).all() and np.isfinite(bias).all())
    ):
        raise ValueError(
            f"{weights_file}: expected {len(LABELS)} finite weights for each feature, found codes of shape "
            f"{codes.shape}, weights of {weights.shape} and biases of {bias.shape}, or numbers that are none"
        )
    vocabulary = Vocabulary(words, codes)
    if not vocabulary.is_sound:
        raise ValueError(f"{folder}: expected features of its {len(words)} words in ascending order, found others")
    return LexicalModel(vocabulary, SoftmaxRegression(weights, bias, steps=0), record)


def fit_lexical_model(
    pairs: Sequence[tuple[Words, Words]], labels: Sequence[str], *, l2: float | None = None, seed: int = 0
) -> LexicalModel:
    """Fit the lexical model.

    The penalty is chosen by one rule for everyone: a tenth of the pairs, drawn by the seed and their position, is held
    out; of `PENALTIES` the one with the lowest cross-entropy there is taken; then all pairs are fitted with it.

    Args:
        pairs: content words of premise and hypothesis.
        labels: their gold labels by name.
        l2: a penalty to take without choosing.
        seed: decides what is held out.

    Raises:
        ValueError: if the lengths differ, or there are too few pairs to hold some out.
    """
    gold = np.array([label_id(label) for label in labels], dtype=np.int64)
    if len(pairs) != len(gold):
        raise ValueError(f"expected one label a pair, found {len(pairs)} pairs and {len(gold)} labels")
    vocabulary, matrix = Vocabulary.fitted(pairs)
    record: dict[str, Any] = {"pairs": len(pairs), "features": len(vocabulary), "seed": seed}
    if l2 is None:
        lots = rng.numbers(rng.key(seed, "held out"), np.arange(len(gold)))
        held_out = lots < np.uint64(int(HELD_OUT * 2**64))
        if not held_out.any() or held_out.all():
            raise ValueError(
                f"expected enough pairs to hold some out, found {len(pairs)}; name a penalty instead (l2=…)"
            )
        losses = {}
        for penalty in PENALTIES:
            model = fit(matrix[~held_out], gold[~held_out], l2=penalty, tolerance=COARSE_TOLERANCE)
            probabilities = model.probabilities(matrix[held_out])
            loss = float(-np.log(probabilities[np.arange(len(probabilities)), gold[held_out]]).mean())
            losses[penalty] = round(loss, _LOSS_DECIMALS)
        l2 = min(losses, key=losses.__getitem__)
        record["held_out_loss"] = {f"{penalty:g}": loss for penalty, loss in losses.items()}
    return LexicalModel(vocabulary, fit(matrix, gold, l2=l2), {**record, "l2": l2})
