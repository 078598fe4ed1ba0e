"""Any sequence classifier of the Hub as a predictor."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from huggingface_hub import snapshot_download
from numpy.typing import NDArray

try:
    import tokenizers
    import torch
    import transformers
except ImportError as error:
    raise ImportError("running a model needs PyTorch and transformers: pip install 'unbag[models]'") from error

from unbag.fingerprint import file_hash
from unbag.inference.batching import CPU_BATCH_TOKENS, GPU_BATCH_TOKENS, token_batches
from unbag.inference.encoding import EncodedPairs, Padding, encode_pairs
from unbag.inference.first_token import use_first_token
from unbag.inference.loading import Classifier, ModelError, load_classifier
from unbag.inference.predictor import checked_pairs, checked_probabilities, from_batches
from unbag.inference.process_group import default_device
from unbag.labels import label_space_of

if TYPE_CHECKING:
    from torch import Tensor

Dtype = Literal["float32", "bfloat16", "float16"]
Head = Literal["plain", "residual"]

DTYPES: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

_OF_DIFFERENT_LENGTHS: Final = (  # for comparing two forwards, padding included
    ("A woman reads.", "She reads."),
    ("Two children are playing with a red ball in the garden behind the old house.", "A dog is asleep."),
    ("The train has left.", "Nobody was on the platform when the last train of the evening left the small station."),
)

logger = logging.getLogger(__name__)


class TransformerPredictor:
    """A sequence classifier and its tokenizer; made by `load`.

    The probabilities of a pair depend on that pair alone up to rounding: the pairs it shares a batch with change them
    by less than 1e-5 in float32. The same pairs asked about together give the same bits on the same machine.

    Attributes:
        label_space: the labels of the columns of `predict`.
        order: the labels of the model's outputs, in the model's own order.
        identity: what decides the numbers, by name.
        max_length: the most tokens of a pair that the model is shown; None where nothing limits it.
        truncated: how many of the pairs so far were longer than that and lost their ends.
    """

    has_probabilities: Final = True

    def __init__(
        self, classifier: Classifier, *, device: str, max_length: int | None = None, batch_tokens: int | None = None
    ) -> None:
        self.model = classifier.network.to(device)
        self.tokenizer = classifier.tokenizer
        self.order = classifier.order
        self.label_space = label_space_of(classifier.order)
        self.max_length = classifier.tokens_read(max_length)
        self.truncated = 0
        on_cpu = self.model.device.type == "cpu"
        self.batch_tokens = batch_tokens or (CPU_BATCH_TOKENS if on_cpu else GPU_BATCH_TOKENS)
        self._columns = [self.order.index(label) for label in self.label_space]
        self._padding = Padding.of(self.tokenizer, self.model)
        premises, hypotheses = zip(*_OF_DIFFERENT_LENGTHS, strict=True)
        compared = encode_pairs(self.tokenizer, premises, hypotheses, self.max_length)
        shortened = use_first_token(self.model, self._inputs(compared, range(len(premises))))
        self.identity: Mapping[str, str] = {
            "kind": "transformer",
            "model": classifier.name,
            "revision": classifier.revision,
            "outputs": ",".join(self.order),
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": self.model.device.type,
            "attention": str(self.model.config._attn_implementation),
            "shortcut": "first-token" if shortened else "none",
            "max_length": str(self.max_length),
            "batch_tokens": str(self.batch_tokens),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
        }

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
    ) -> "TransformerPredictor":
        """Load a model from the Hub or a folder. No code of the repository is run.

        Args:
            model: a Hub id such as `org/name`, or a folder made by `save_pretrained`.
            revision: the branch, tag or commit of a Hub model; `identity` records the commit found there.
            dtype: what the model computes in. Half precision is faster where the processor has instructions for it,
                and changes the label of a few pairs in a thousand.
            device: as torch names it; by default this process's GPU, else the CPU.
            label_map: which output is which label, as in `labels.resolve_order`, where the config does not tell.
            max_length: the most tokens a pair; by default, and at most, what the model and its tokenizer can read.
            batch_tokens: the most tokens a batch, padding included; by default what is fast on a CPU or a GPU.
            head: what answers: the model's own head (`plain`; of a model trained by HEX f([h, 0]), by which its
                authors' code predicts), or, of a model trained by HEX, that head less what the words alone explain
                (`residual`: F_L, by which the paper's text predicts; see `unbag.hex.residual`).

        Raises:
            ModelError: if there is no such model, it has no trained classification head or a single output, it cannot
                read `max_length` tokens, or there is no such dtype or device.
            ValueError: if a residual head is asked of a model that was not trained by HEX.
            labels.LabelError: if its config does not tell which output is which label.
        """
        device = usable_device(dtype, device)
        classifier = load_classifier(model, revision=revision, dtype=DTYPES[dtype], label_map=label_map)
        predictor = cls(classifier, device=device, max_length=max_length, batch_tokens=batch_tokens)
        if head == "residual":
            predictor._answer_with_residual(model)
        return predictor

    def _answer_with_residual(self, model: str | Path) -> None:
        from unbag.hex.residual import CONFIG_FILE, WEIGHTS_FILE, ResidualHead

        assert self.identity is not None
        folder = Path(model).expanduser()
        if self.identity["model"] != "folder":
            both = [CONFIG_FILE, WEIGHTS_FILE]
            folder = Path(snapshot_download(str(model), revision=self.identity["revision"], allow_patterns=both))
        ResidualHead.load(folder).attach(self.model)
        self.identity = {**self.identity, "head": f"residual sha256:{file_hash(folder / WEIGHTS_FILE)}"}

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of n pairs in their order, shape (n, len(label_space)).

        Raises:
            ValueError: if there are more premises than hypotheses or fewer, one of them is not text, or the model
                answers with something else than numbers (as on an overflow in float16).
        """
        return from_batches(self, premises, hypotheses)

    def batches(
        self, premises: Sequence[str], hypotheses: Sequence[str]
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield the positions of a batch's b pairs, shape (b,), and their probabilities, shape (b, len(label_space)).

        Raises:
            ValueError: as `predict`.
        """
        premises, hypotheses = checked_pairs(premises, hypotheses)
        if not premises:
            return
        pairs = encode_pairs(self.tokenizer, premises, hypotheses, self.max_length)
        self.truncated += pairs.truncated
        for rows in token_batches(pairs.lengths, self.batch_tokens):
            with torch.inference_mode():
                logits = self.model(**self._inputs(pairs, rows.tolist())).logits  # (b, labels) in the model's order
                values = logits.float().softmax(dim=-1)[:, self._columns].cpu().numpy()
            yield rows, checked_probabilities(values, len(rows), self.label_space)

    def _inputs(self, pairs: EncodedPairs, rows: Sequence[int]) -> dict[str, "Tensor"]:
        """Return the model's arguments for some of the pairs, each of shape (b, longest of them)."""
        types = pairs.token_type_ids
        arrays = self._padding.arrays(
            [pairs.input_ids[row] for row in rows], None if types is None else [types[row] for row in rows]
        )
        return {name: torch.from_numpy(array).to(self.model.device) for name, array in arrays.items()}


def usable_device(dtype: Dtype, device: str | None) -> str:
    """Return the device to compute on, having seen that it is there.

    Raises:
        ModelError: if there is no such dtype or device.
    """
    if dtype not in DTYPES:
        raise ModelError(f"expected a dtype of {', '.join(DTYPES)}, found {dtype!r}")
    device = device or default_device()
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # an unknown name, or no such device on this machine
        raise ModelError(f"cannot use the device {device!r}: {str(error).splitlines()[0]}") from None
    if device == "cpu" and _emulated(dtype):
        logger.warning("this CPU has no instructions for %s, float32 will be faster", dtype)
    return device


def _emulated(dtype: Dtype) -> bool:
    """Tell whether this CPU certainly computes in `dtype` by way of float32, at a fifth of its speed."""
    if dtype == "float32" or not hasattr(torch.cpu, "get_capabilities"):
        return False
    abilities = torch.cpu.get_capabilities()
    names = ("avx512_bf16", "amx_bf16") if dtype == "bfloat16" else ("avx512_fp16", "amx_fp16")
    return abilities.get("architecture") == "x86_64" and not any(abilities.get(name) for name in names)
