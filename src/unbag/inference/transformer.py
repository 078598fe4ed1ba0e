"""Predictor for sequence classifiers in the format of transformers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from huggingface_hub import is_offline_mode, snapshot_download

try:
    import torch
    import transformers
except ImportError as error:
    raise ImportError("running a model requires PyTorch and transformers: pip install 'unbag[models]'") from error

from unbag.inference.distributed import choose_default_device
from unbag.inference.hub_files import resolve_origin
from unbag.inference.llm.prompt_file import PromptFile
from unbag.inference.loading import (
    Classifier,
    build_classifier,
    build_missing_weights_message,
    has_classification_head,
    load_config,
    load_network,
    load_tokenizer,
    resolve_order,
    resolve_threshold,
    validate_classifier_config,
    validate_token_ids,
)
from unbag.inference.optimizations import pack_linear_weights, shorten_last_layer
from unbag.inference.options import Dtype, Head
from unbag.inference.pair_classifier import TEST_PAIRS, PairClassifier
from unbag.inference.predictor import ModelError
from unbag.inference.single_output import Threshold
from unbag.inference.tokenization import BatchPadding, EncodedPairs, choose_batch_tokens
from unbag.utils.hashing import hash_file
from unbag.utils.hub import read_from_hub
from unbag.utils.redaction import extract_first_line

if TYPE_CHECKING:
    from torch import Tensor

DTYPES: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

_PADDING_TOLERANCE: Final = {torch.float32: 1e-4, torch.bfloat16: 1e-1, torch.float16: 1e-2}
"""Maximum difference between logits with and without padding by rounding, relative to the logits."""


class TransformerPredictor(PairClassifier):
    """Predictor that runs a sequence classifier from transformers. Build it with `load`.

    The probabilities of a pair depend on that pair alone up to rounding: the other pairs of its batch change them by
    less than 1e-5 in float32. The same pairs together give the same bits on the same machine. A network that reads
    padding runs one pair at a time, unless `batch_tokens` is given.
    """

    def __init__(
        self,
        classifier: Classifier,
        *,
        device: str,
        max_length: int | None = None,
        batch_tokens: int | None = None,
        template: PromptFile | None = None,
    ) -> None:
        super().__init__(classifier, max_length, template)
        self.model = classifier.network.to(device)
        self.batch_tokens = batch_tokens or choose_batch_tokens(self.model.device)
        self._padding = BatchPadding.from_model(self.tokenizer, self.model)
        encoded = self._encode(*zip(*TEST_PAIRS, strict=True))
        validate_token_ids(encoded.input_ids, self.model, self.tokenizer)
        batch = self._inputs(encoded, range(len(TEST_PAIRS)))
        if batch_tokens is None and self._reads_padding(encoded, _PADDING_TOLERANCE[self.model.dtype]):
            self.batch_tokens = 1
        # Both change the rounding, so `identity` records whether they apply to this model and machine.
        shortened = shorten_last_layer(self.model, batch)
        packed = pack_linear_weights(self.model, batch, self.batch_tokens)
        self._set_identity(
            "transformer",
            classifier,
            dtype=str(self.model.dtype).removeprefix("torch."),
            device=self.model.device.type,
            attention=str(self.model.config._attn_implementation),
            last_layer="first-token" if shortened else "none",
            weight_layout="packed" if packed else "plain",
            torch=torch.__version__,
            **({} if template is None else {"template": f"sha256:{template.sha256}"}),
            **getattr(self.model, "extra_identity", dict)(),
        )

    @classmethod
    def load(
        cls,
        model: str | Path,
        *,
        revision: str | None = None,
        dtype: Dtype = "float32",
        device: str | None = None,
        label_map: Mapping[str, str] | None = None,
        max_length: int | None = None,
        batch_tokens: int | None = None,
        head: Head = "plain",
        threshold: Threshold | None = None,
        trust_remote_code: bool = False,
        template: str | Path | None = None,
    ) -> "TransformerPredictor":
        """Load a sequence classifier from the Hub or a folder.

        The options are those of `inference.options.ClassifierKwargs`. Half precision is faster if the processor has
        instructions for it, and changes the label of a few pairs in a thousand. The head `plain` is the model's own
        head; for a model trained by HEX it is f([h, 0]), by which its authors' code predicts. `residual`, only for a
        model trained by HEX, is that head without the part that the words alone explain: F_L, by which the paper's text
        predicts (see `unbag.models.hex`).

        Raises `ModelError`, or `labels.LabelError` if the config does not define the label of each output.
        """
        device = resolve_device(dtype, device)
        text = None if template is None else PromptFile.load(template, option="--template")
        if text is not None and not text.is_raw:
            raise ModelError(
                f"--template: expected raw: true in {template}, since the template is the whole input of a classifier, "
                "got none; add raw: true to its front matter"
            )
        origin = resolve_origin(model, revision, trust_remote_code=trust_remote_code)
        config = load_config(origin)
        validate_classifier_config(config, origin)
        threshold = resolve_threshold(config, threshold, origin.source)
        if has_classification_head(config):
            resolve_order(config, label_map)  # raises before gigabytes are downloaded
        network, missing = load_network(transformers.AutoModelForSequenceClassification, origin, DTYPES[dtype])
        if missing:
            raise ModelError(
                f"{build_missing_weights_message(missing, origin)}; pass a model that was fine-tuned for classification"
            )
        tokenizer, identity = load_tokenizer(origin), origin.compute_identity()
        classifier = build_classifier(network, tokenizer, identity, label_map=label_map, threshold=threshold)
        try:
            predictor = cls(classifier, device=device, max_length=max_length, batch_tokens=batch_tokens, template=text)
        except ValueError as error:
            raise ModelError(f"{model}: {error}") from error
        except Exception as error:  # the constructor runs the model once; its config may not fit its weights
            raise ModelError(f"{model} cannot be run: {type(error).__name__}: {extract_first_line(error)}") from error
        if head == "residual":
            predictor._attach_residual_head(model)
        return predictor

    def _attach_residual_head(self, model: str | Path) -> None:
        from unbag.models.hex import CONFIG_FILE, WEIGHTS_FILE, ResidualHead

        folder = Path(model).expanduser()
        if self.identity["model"] != "folder":
            both = [CONFIG_FILE, WEIGHTS_FILE]
            commit = self.identity["revision"]
            folder = Path(
                read_from_hub(
                    f"the model {model}",
                    lambda: snapshot_download(
                        str(model), revision=commit, allow_patterns=both, local_files_only=is_offline_mode()
                    ),
                )
            )
        ResidualHead.load(folder).attach(self.model)
        self.identity = {**self.identity, "head": f"residual sha256:{hash_file(folder / WEIGHTS_FILE)}"}

    def _logits(self, pairs: EncodedPairs, rows: Sequence[int]) -> "Tensor":
        # float32 before the softmax: bfloat16 probabilities would not sum to 1 within the tolerance.
        return self.model(**self._inputs(pairs, rows)).logits.float()  # type: ignore[no-any-return]

    def _inputs(self, pairs: EncodedPairs, rows: Sequence[int]) -> dict[str, "Tensor"]:
        """Build the padded model inputs for the pairs at `rows`, shape (b, longest), on the model's device."""
        arrays = self._padding.build_pair_arrays(pairs, rows)
        return {name: torch.from_numpy(array).to(self.model.device) for name, array in arrays.items()}


def resolve_device(dtype: Dtype, device: str | None) -> str:
    """Choose the device, and validate that it is available and supports the dtype."""
    if dtype not in DTYPES:
        raise ModelError(f"dtype: expected one of {', '.join(DTYPES)}, got {dtype!r}")
    device = device or choose_default_device()
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # an unknown name, or no such device on this machine
        raise ModelError(
            f"cannot use the device {device!r}: {extract_first_line(error)}; choose another --device"
        ) from None
    return device
