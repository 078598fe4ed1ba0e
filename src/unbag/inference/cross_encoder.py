"""Predictor for cross-encoders made of sentence-transformers modules, such as a pooling, a dense layer or a prompt.

A `CrossEncoder` that is a sequence classifier alone is run by `inference.transformer`.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch

from unbag.inference.hub_files import ModelIdentity, ModelOrigin
from unbag.inference.loading import build_classifier, has_classification_head, load_config
from unbag.inference.options import Dtype
from unbag.inference.pair_classifier import PairClassifier
from unbag.inference.predictor import ModelError
from unbag.inference.single_output import Threshold
from unbag.inference.tokenization import EncodedPairs, choose_batch_tokens
from unbag.inference.transformer import DTYPES, resolve_device
from unbag.utils.redaction import extract_first_line

_PACKAGE: Final = "sentence_transformers."


def is_modular_cross_encoder(origin: ModelOrigin) -> bool:
    """Check whether a model is a `CrossEncoder` with more than a sequence classifier: other modules, or a prompt."""
    folder = origin.download()
    if not (folder / "modules.json").is_file():
        return False
    config = _read(folder / "config_sentence_transformers.json")
    modules = _read(folder / "modules.json")
    types = [str(module.get("type", "")) for module in modules] if isinstance(modules, list) else []
    is_classifier = has_classification_head(load_config(origin))
    kind = config.get("model_type", "SentenceTransformer")
    if kind != "CrossEncoder":
        if is_classifier:
            return False
        raise ModelError(
            f"{origin}: expected a classifier or a CrossEncoder, got a {kind}, which embeds each text by itself; pass "
            "a function that scores pairs by their embeddings"
        )
    if not origin.trust_remote_code and (other := [each for each in types if not each.startswith(_PACKAGE)]):
        raise ModelError(
            f"{origin}: expected modules of sentence-transformers, got {', '.join(other)}, which is not trusted; "
            "review its code, then pass --trust-remote-code"
        )
    prompt = (config.get("prompts") or {}).get(config.get("default_prompt_name"))
    return len(types) != 1 or bool(prompt) or not is_classifier


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(
            f"{path}: expected JSON, got an error ({extract_first_line(error)}); download the model again"
        ) from error


class CrossEncoderPredictor(PairClassifier):
    """Predictor that runs a `CrossEncoder` of sentence-transformers, with its modules and its default prompt."""

    def __init__(
        self,
        model: Any,
        identity: ModelIdentity,
        *,
        label_map: Mapping[str, str] | None = None,
        threshold: Threshold | None = None,
        max_length: int | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        import sentence_transformers

        network = model.model
        if network.config.num_labels != model.num_labels:  # the outputs are those of the last module
            network.config.num_labels = model.num_labels
        classifier = build_classifier(network, model.tokenizer, identity, label_map=label_map, threshold=threshold)
        super().__init__(classifier, max_length)
        if max_length is not None or model.max_seq_length is None:
            model.max_seq_length = self.max_length
        self.max_length = model.max_seq_length
        self.model = model.eval()
        self.batch_tokens = batch_tokens or choose_batch_tokens(model.device)
        self._prompt = (model.prompts or {}).get(model.default_prompt_name) or ""
        self._pairs: list[tuple[str, str]] = []
        self._set_identity(
            "cross-encoder",
            classifier,
            modules=",".join(type(module).__name__ for module in model),
            prompt=self._prompt,
            dtype=str(model.dtype).removeprefix("torch."),
            device=model.device.type,
            torch=torch.__version__,
            sentence_transformers=sentence_transformers.__version__,
        )

    @classmethod
    def load(
        cls,
        origin: ModelOrigin,
        *,
        dtype: Dtype = "float32",
        device: str | None = None,
        **options: Any,
    ) -> "CrossEncoderPredictor":
        """Load a model for which `is_modular_cross_encoder` is true. Options are those of the constructor."""
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise ImportError(
                f"{origin} is a CrossEncoder made of modules, which requires sentence-transformers: "
                "pip install 'sentence-transformers>=6'"
            ) from error
        device = resolve_device(dtype, device)
        folder = origin.download(weights=True)
        try:
            model = CrossEncoder(
                str(folder),
                device=device,
                local_files_only=True,
                trust_remote_code=origin.trust_remote_code,
                model_kwargs={"dtype": DTYPES[dtype]},
            )
        except Exception as error:  # files of strangers raise errors of any kind
            raise ModelError(f"cannot load {origin} as a CrossEncoder: {extract_first_line(error)}") from error
        return cls(model.to(DTYPES[dtype]), origin.compute_identity(), **options)

    def _encode(self, premises: Sequence[str], hypotheses: Sequence[str]) -> EncodedPairs:
        """Encode pairs to find their lengths, and keep their texts, which the model encodes itself."""
        self._pairs = list(zip(premises, hypotheses, strict=True))
        # The tokens of the prompt count for the size of the batches.
        return super()._encode([self._prompt + premise for premise in premises], hypotheses)

    def _logits(self, pairs: EncodedPairs, rows: Sequence[int]) -> torch.Tensor:
        logits: torch.Tensor = self.model.predict(
            [self._pairs[row] for row in rows],
            batch_size=len(rows),
            activation_fn=torch.nn.Identity(),  # logits, as of the other classifiers
            convert_to_tensor=True,
            show_progress_bar=False,
        )
        # For a model of one output, the shape is (b,).
        return logits.reshape(len(rows), -1).float()
