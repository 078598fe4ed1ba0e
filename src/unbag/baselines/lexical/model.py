"""Lexical model, a softmax regression on the bag of words of a pair (Nie et al. 2019, section 5): fit and files."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict  # pydantic reads records by it

from unbag.baselines.lexical.features import FeatureVocabulary, Words
from unbag.baselines.lexical.regression import COARSE_TOLERANCE, SoftmaxRegression, fit_softmax_regression
from unbag.baselines.lexical.words import ALL, BY_TYPE, WordSelector
from unbag.data.labels import LABELS, get_label_id
from unbag.data.readers import is_hub_id
from unbag.data.sources import PairSource
from unbag.utils import checksums, rng
from unbag.utils.files import atomic_write, read_json_object
from unbag.utils.hashing import hash_texts
from unbag.utils.hub import HubReadError, read_from_hub
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


KNOWN_PIPELINES: Final = tuple(
    f"{place}{language}_{size}"
    for place in ("spacy/", "")
    for language in ("en_core_web", "zh_core_web")
    for size in ("sm", "md", "lg", "trf")
)
"""Trusted pipelines by the authors of spaCy, on the Hub or installed. A model may use them without user consent."""


class _Source(TypedDict):
    origin: str
    split: str
    revision: str


class _Record(TypedDict):
    """Required fields of `LexicalModel.record` in a file, which is untrusted input."""

    pipeline: str | None
    tags: Literal["type", "context"] | None
    language: str
    words: str
    hypothesis_only: bool
    pairs: int
    l2: float
    training: list[_Source]


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


def is_lexical_model(name: str | Path, *, revision: str | None = None) -> bool:
    """Check whether a folder or Hub repository contains a lexical model. Return False if neither exists."""
    config = Path(name) / CONFIG_FILE
    try:
        if is_hub_id(str(name)):
            from huggingface_hub import hf_hub_download

            what = f"the model {name}"
            config = Path(read_from_hub(what, lambda: hf_hub_download(str(name), CONFIG_FILE, revision=revision)))
        return config.is_file() and read_json_object(config).get("model_type") == MODEL_TYPE
    except HubReadError:
        raise
    except (OSError, ValueError):
        # Missing, private, damaged, or no network: loading it as another type of model then reports the error.
        return False


def locate_lexical_model(
    name: str | Path, *, revision: str | None = None, test_source: PairSource | None = None, pipeline: str | None = None
) -> Path:
    """Locate a fitted lexical model, in a folder or on the Hub, and download it if necessary. Returns its folder.

    The training data of the model must not include `test_source`. `pipeline` is trusted in addition to
    `KNOWN_PIPELINES`: loading the pipeline that tags the words of the model executes its code, so the caller must allow
    it.
    """
    if not is_lexical_model(name, revision=revision):
        raise ValueError(
            f"lexical model: expected a folder or Hub repository written by `unbag lexical fit`, got {str(name)!r}"
        )
    folder = Path(name)
    if is_hub_id(str(name)):
        from huggingface_hub import snapshot_download

        what, files = f"the lexical model {name}", [CONFIG_FILE, WEIGHTS_FILE]
        download = partial(snapshot_download, str(name), revision=revision, allow_patterns=files)
        folder = Path(read_from_hub(what, download))
    record = _record(folder / CONFIG_FILE)
    needed = record["pipeline"]
    if record["tags"] != BY_TYPE and needed not in (None, ALL, pipeline, *KNOWN_PIPELINES):
        raise ValueError(
            f"{name}: expected a pipeline by the authors of spaCy ({', '.join(KNOWN_PIPELINES[:2])}, …), got "
            f"{needed!r}, which would execute code on this machine; if you trust it, pass pipeline={needed!r}"
        )
    if test_source is not None and test_source.record in record["training"]:
        raise ValueError(
            f"{name}: expected a model that was not fitted to the scored pairs, got one fitted to "
            f"{test_source.origin} {test_source.split}; omit the model to score the pairs with cross-fitted models"
        )
    return folder


def _record(config: Path) -> _Record:
    """Load and validate the record of a model."""
    from pydantic import TypeAdapter, ValidationError  # slow to import

    try:
        return TypeAdapter(_Record).validate_python(read_json_object(config).get("record"), strict=True)
    except ValidationError as error:
        fault = error.errors(include_input=False)[0]
        place = ".".join(map(str, ("record", *fault["loc"])))
        raise ValueError(
            f"{config}: expected the record of a lexical model, got {place}: {fault['msg'].lower()}; fit the model "
            "again with `unbag lexical fit`"
        ) from None
