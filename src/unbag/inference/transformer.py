"""Any sequence classifier of the Hub as a predictor."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from huggingface_hub import is_offline_mode, snapshot_download
from numpy.typing import NDArray

try:
    import tokenizers
    import torch
    import transformers
except ImportError as error:
    raise ImportError("running a model needs PyTorch and transformers: pip install 'unbag[models]'") from error

from unbag.data.labels import label_space_of
from unbag.inference.distributed import default_device
from unbag.inference.loading import Classifier, load_classifier, validate_token_ids
from unbag.inference.memory import Halving
from unbag.inference.optimizations import use_first_token, use_packed_weights
from unbag.inference.predictor import ModelError, checked_pairs, checked_probabilities, from_batches
from unbag.inference.single_output import Threshold, logit_of
from unbag.inference.tokenization import (
    CPU_BATCH_TOKENS,
    GPU_BATCH_TOKENS,
    EncodedPairs,
    Padding,
    encode_pairs,
    token_batches,
    wanted,
)
from unbag.utils.hashing import file_hash
from unbag.utils.hub import hub_read
from unbag.utils.redaction import first_line

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
        threshold: of a model of one output, where entailment begins; None of one of several.
        has_probabilities: False of a model of one output, whose score says in what order the pairs are.
    """

    def __init__(
        self, classifier: Classifier, *, device: str, max_length: int | None = None, batch_tokens: int | None = None
    ) -> None:
        self.model = classifier.network.to(device)
        self.tokenizer = classifier.tokenizer
        self.order = classifier.order
        self.label_space = label_space_of(classifier.order)
        self.threshold = classifier.threshold
        self.has_probabilities = self.threshold is None
        self.max_length = classifier.tokens_read(max_length)
        self.truncated = 0
        self._halving = Halving()
        on_cpu = self.model.device.type == "cpu"
        self.batch_tokens = batch_tokens or (CPU_BATCH_TOKENS if on_cpu else GPU_BATCH_TOKENS)
        self._columns = [self.order.index(label) for label in self.label_space]
        self._padding = Padding.of(self.tokenizer, self.model)
        premises, hypotheses = zip(*_OF_DIFFERENT_LENGTHS, strict=True)
        compared = encode_pairs(self.tokenizer, premises, hypotheses, self.max_length)
        validate_token_ids(compared.input_ids, self.model, self.tokenizer)
        batch = self._inputs(compared, range(len(premises)))
        shortened = use_first_token(self.model, batch)
        packed = use_packed_weights(self.model, batch, self.batch_tokens)
        self.identity: Mapping[str, str] = {
            "kind": "transformer",
            "model": classifier.name,
            "revision": classifier.revision,
            "label_order": ",".join(self.order),
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": self.model.device.type,
            "attention": str(self.model.config._attn_implementation),
            "last_layer": "first-token" if shortened else "none",
            "weight_layout": "packed" if packed else "plain",
            "max_length": str(self.max_length),
            "batch_tokens": str(self.batch_tokens),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
            **({} if self.threshold is None else {"threshold": str(self.threshold)}),
            **({} if classifier.code is None else {"trusted_code": classifier.code}),
            **getattr(self.model, "extra_identity", dict)(),
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
        threshold: Threshold | None = None,
        trust_remote_code: bool = False,
    ) -> "TransformerPredictor":
        """Load a model from the Hub or a folder. No code of the repository is run unless it is trusted.

        Args:
            model: a Hub id such as `org/name`, or a folder made by `save_pretrained`.
            revision: the branch, tag or commit of a Hub model; `identity` records the commit found there.
            dtype: what the model computes in. Half precision is faster where the processor has instructions for it,
                and changes the label of a few pairs in a thousand.
            device: as torch names it; by default this process's GPU, else the CPU.
            label_map: which output is which label, as in `data.labels.resolve_order`, where the config does not tell.
            max_length: the most tokens a pair; by default, and at most, what the model and its tokenizer can read.
            batch_tokens: the most tokens a batch, padding included; by default what is fast on a CPU or a GPU.
            head: what answers: the model's own head (`plain`; of a model trained by HEX f([h, 0]), by which its
                authors' code predicts), or, of a model trained by HEX, that head less what the words alone explain
                (`residual`: F_L, by which the paper's text predicts; see `unbag.models.hex.residual`).
            threshold: of a model of one output, from which share of its sigmoid on a pair is entailed; or `break-even`,
                where that is not known (`unbag.inference.single_output`).
            trust_remote_code: run the code that the repository brings, at the commit that is read; `identity` has a
                hash of it.

        Raises:
            ModelError: if there is no such model, it has no trained classification head, a single output and no
                threshold, or code of its own that is not trusted; it cannot read `max_length` tokens, or there is no
                such dtype or device.
            ValueError: if a residual head is asked of a model that was not trained by HEX.
            labels.LabelError: if its config does not tell which output is which label.
        """
        device = usable_device(dtype, device)
        classifier = load_classifier(
            model,
            revision=revision,
            dtype=DTYPES[dtype],
            label_map=label_map,
            threshold=threshold,
            trust_remote_code=trust_remote_code,
        )
        try:
            predictor = cls(classifier, device=device, max_length=max_length, batch_tokens=batch_tokens)
        except ValueError as error:
            raise ModelError(f"{model}: {error}") from error
        except Exception as error:  # it is asked a first time there: what its files say of it may not fit its weights
            raise ModelError(f"{model} cannot be asked: {type(error).__name__}: {first_line(error)}") from error
        if head == "residual":
            predictor._answer_with_residual(model)
        return predictor

    def _answer_with_residual(self, model: str | Path) -> None:
        from unbag.models.hex.residual import CONFIG_FILE, WEIGHTS_FILE, ResidualHead

        assert self.identity is not None
        folder = Path(model).expanduser()
        if self.identity["model"] != "folder":
            both = [CONFIG_FILE, WEIGHTS_FILE]
            commit = self.identity["revision"]
            folder = Path(
                hub_read(
                    f"the model {model}",
                    lambda: snapshot_download(
                        str(model), revision=commit, allow_patterns=both, local_files_only=is_offline_mode()
                    ),
                )
            )
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
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        done: NDArray[np.bool_] | None = None,
        share: tuple[int, int] | None = None,
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield the positions of a batch's b pairs, shape (b,), and their probabilities, shape (b, len(label_space)).

        Raises:
            ValueError: as `predict`.
        """
        premises, hypotheses = checked_pairs(premises, hypotheses)
        if not premises:
            return
        pairs = encode_pairs(self.tokenizer, premises, hypotheses, self.max_length)
        validate_token_ids(pairs.input_ids, self.model, self.tokenizer)
        self.truncated += pairs.truncated
        for rows in wanted(token_batches(pairs.lengths, self.batch_tokens), done, share):
            for some, values in self._halving.ask(rows, pairs.lengths, partial(self._probabilities, pairs)):
                yield some, checked_probabilities(values, len(some), self.label_space)

    def _probabilities(self, pairs: EncodedPairs, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        with torch.inference_mode():
            logits = self.model(**self._inputs(pairs, rows.tolist())).logits.float()  # (b, labels) in its order
            if self.threshold is not None:  # a sigmoid is the softmax of the score and 0
                score = logits.reshape(len(rows), 1) - logit_of(self.threshold)
                logits = torch.cat([score, torch.zeros_like(score)], dim=-1)
            values: NDArray[np.float32] = logits.softmax(dim=-1)[:, self._columns].cpu().numpy()
        return values

    def _inputs(self, pairs: EncodedPairs, rows: Sequence[int]) -> dict[str, "Tensor"]:
        """Return the model's arguments for some of the pairs, each of shape (b, longest of them)."""
        arrays = self._padding.arrays_of(pairs, rows)
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
        raise ModelError(f"cannot use the device {device!r}: {first_line(error)}") from None
    if device == "cpu" and _emulated(dtype):
        logger.warning(
            "--dtype %s: this CPU has no instructions for %s, so float32 is faster; leave --dtype (dtype) out",
            dtype,
            dtype,
        )
    return device


def _emulated(dtype: Dtype) -> bool:
    """Tell whether this CPU certainly computes in `dtype` by way of float32, at a fifth of its speed."""
    if dtype == "float32" or not hasattr(torch.cpu, "get_capabilities"):
        return False
    abilities = torch.cpu.get_capabilities()
    names = ("avx512_bf16", "amx_bf16") if dtype == "bfloat16" else ("avx512_fp16", "amx_fp16")
    return abilities.get("architecture") == "x86_64" and not any(abilities.get(name) for name in names)
