"""Predictor for exported sequence classifiers: ONNX files (onnxruntime) and OpenVINO files (openvino)."""

import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import tokenizers
import torch
import transformers
from numpy.typing import NDArray
from transformers import AutoModelForSequenceClassification

from unbag.inference.exported_files import fetch_exported_model, hash_exported_model
from unbag.inference.hub_files import resolve_origin
from unbag.inference.loading import Classifier, build_classifier, is_causal_lm, load_config, load_tokenizer
from unbag.inference.pair_classifier import PairClassifier
from unbag.inference.predictor import ModelError
from unbag.inference.single_output import Threshold
from unbag.inference.tokenization import CPU_BATCH_TOKENS, BatchPadding, EncodedPairs
from unbag.utils.redaction import extract_first_line

if TYPE_CHECKING:
    import openvino


Run = Callable[[dict[str, NDArray[np.int64]]], NDArray[np.float32]]
"""Function from the model's arguments to the logits, shape (b, outputs)."""

_SINGLE_PAIRS: Final = 1  # tokens per batch; a longer pair is a batch of its own
_DYNAMIC_OPERATORS: Final = (b"DynamicQuantizeLinear", b"DynamicQuantizeMatMul", b"DynamicQuantizeLSTM")


class ExportedPredictor(PairClassifier):
    """Predictor that runs an exported (ONNX or OpenVINO) sequence classifier on the CPU. Build it with `load`.

    A dynamically quantized ONNX model computes the range of its activations over a batch, so that the probabilities of
    a pair depend on the other pairs of the batch. Such a model runs one pair at a time, unless `batch_tokens` is given.
    """

    def __init__(
        self, classifier: Classifier, path: Path, file: str, max_length: int | None, batch_tokens: int | None
    ) -> None:
        super().__init__(classifier, max_length)
        open_file = _open_onnx if path.suffix == ".onnx" else _open_openvino
        self._run, inputs, engine = open_file(path)
        single = path.suffix == ".onnx" and is_dynamically_quantized(path)
        self.batch_tokens = batch_tokens or (_SINGLE_PAIRS if single else CPU_BATCH_TOKENS)
        takes_types = "token_type_ids" in inputs
        self._padding = replace(BatchPadding.from_model(self.tokenizer, self._network), takes_types=takes_types)
        if unknown := sorted(inputs - {"input_ids", "attention_mask", "token_type_ids"}):
            raise ModelError(
                f"{file}: expected the inputs input_ids, attention_mask and token_type_ids, got {', '.join(unknown)}; "
                "export the model for text classification"
            )
        self._inputs = inputs
        self.identity: Mapping[str, str] = {
            "kind": "onnx" if path.suffix == ".onnx" else "openvino",
            "model": classifier.name,
            "revision": classifier.revision,
            "model_file": file,
            "file_hash": hash_exported_model(path),
            "label_order": ",".join(self.order),
            "max_length": str(self.max_length),
            "batch_tokens": str(self.batch_tokens),
            **engine,
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
        }

    @classmethod
    def load(
        cls,
        model: str | Path,
        *,
        revision: str | None = None,
        label_map: Mapping[str, str] | None = None,
        max_length: int | None = None,
        batch_tokens: int | None = None,
        threshold: Threshold | None = None,
        model_file: str | None = None,
    ) -> "ExportedPredictor":
        """Load an exported model from the Hub or a folder.

        Args:
            model: Hub id such as `org/name`, or folder with config, tokenizer and the exported model.
            revision: Branch, tag or commit of a Hub model (default: the main branch).
            label_map: Label of each output, as in `data.labels.resolve_output_labels`, if the config does not define
                it.
            max_length: Maximum tokens per pair (default, and upper limit: what the model and its tokenizer can read).
            batch_tokens: Maximum tokens per batch, padding included (default: 1,024; one pair per batch for a
                dynamically quantized ONNX model).
            threshold: As for `TransformerPredictor.load`.
            model_file: Path of the exported model in the repository (default: the only one).

        Raises:
            ModelError: If there is no such model, several exist and none is named, or it cannot be run.
            labels.LabelError: If its config does not define the label of each output.
        """
        origin = resolve_origin(model, revision)
        config = load_config(origin)
        if is_causal_lm(config):
            raise ModelError(
                f"{origin}: expected a sequence classifier, got a causal language model; export a sequence classifier"
            )
        file, path = fetch_exported_model(origin, model_file)
        with torch.device("meta"):  # the architecture without weights: it has the limits of length and vocabulary
            skeleton = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
        name, commit = origin.get_identity()
        tokenizer = load_tokenizer(origin)
        classifier = build_classifier(
            skeleton,
            tokenizer,
            name=name,
            revision=commit,
            source=origin.source,
            label_map=label_map,
            threshold=threshold,
        )
        return cls(classifier, path, file, max_length, batch_tokens)

    def _logits(self, pairs: EncodedPairs, rows: Sequence[int]) -> torch.Tensor:
        arrays = self._padding.build_pair_arrays(pairs, rows)
        arrays = {name: array for name, array in arrays.items() if name in self._inputs}
        if "token_type_ids" in self._inputs:  # an exported graph has no default for it
            arrays.setdefault("token_type_ids", np.zeros_like(arrays["input_ids"]))
        try:
            logits = torch.tensor(self._run(arrays), dtype=torch.float32)
        except Exception as error:  # the errors of the engines have no common type
            raise ModelError(
                f"exported model: cannot run a batch ({extract_first_line(error)}); export the model again"
            ) from error
        if logits.shape != (len(rows), self.n_outputs):
            raise ModelError(
                f"exported model: expected logits of shape {(len(rows), self.n_outputs)}, got {tuple(logits.shape)}; "
                "export the model for text classification, with the labels of its config.json"
            )
        return logits


def is_dynamically_quantized(path: Path) -> bool:
    """Check whether an ONNX model is dynamically quantized (input ranges are computed at run time)."""
    # In the protocol buffer, an operator is field 4 of a node: its key, the length and the text. A node's name has
    # another key. The package onnx, which parses the file, is no dependency.
    fields = [bytes([4 << 3 | 2, len(operator)]) + operator for operator in _DYNAMIC_OPERATORS]
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(field) >= 0 for field in fields)


def _open_onnx(path: Path) -> tuple[Run, frozenset[str], dict[str, str]]:
    """Open an ONNX file. Returns a function that runs it, the input names, and the identity of the engine."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError("running an ONNX model requires onnxruntime: pip install 'unbag[onnx]'") from error
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:  # the errors of onnxruntime derive from Exception directly
        raise ModelError(
            f"{path.name}: expected an ONNX model, got an error ({extract_first_line(error)}); export the model again"
        ) from error
    types = {each.name: np.int32 if each.type == "tensor(int32)" else np.int64 for each in session.get_inputs()}
    names = [each.name for each in session.get_outputs()]
    wanted = ["logits" if "logits" in names else names[0]]

    def run(arrays: dict[str, NDArray[np.int64]]) -> NDArray[np.float32]:
        logits: NDArray[np.float32] = session.run(wanted, {k: v.astype(types[k]) for k, v in arrays.items()})[0]
        return logits

    return run, frozenset(types), {"onnxruntime": onnxruntime.__version__}


@cache
def _openvino_core() -> "openvino.Core":
    """Return the only core of this process, which is never freed.

    The first model of a core installs an alternate signal stack; freeing the core unmaps it and restores the previous
    one. Of two cores freed in the order of their creation, the second restores the unmapped stack of the first, and the
    next signal (Ctrl-C, the end of a child process) is a segmentation fault. Seen with openvino 2026.4.
    """
    import openvino

    return openvino.Core()


def _open_openvino(path: Path) -> tuple[Run, frozenset[str], dict[str, str]]:
    """Open an OpenVINO model, as `_open_onnx`."""
    try:
        import openvino
    except ImportError as error:
        raise ImportError("running an OpenVINO model requires openvino: pip install 'unbag[openvino]'") from error
    try:
        # Without the hint, openvino computes in bfloat16 on processors that have it.
        compiled = _openvino_core().compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    except Exception as error:
        raise ModelError(
            f"{path.name}: expected an OpenVINO model, got an error ({extract_first_line(error)}); export the "
            "model again"
        ) from error
    outputs = [each for each in compiled.outputs if "logits" in each.get_names()] or list(compiled.outputs)

    def run(arrays: dict[str, NDArray[np.int64]]) -> NDArray[np.float32]:
        logits: NDArray[np.float32] = compiled(arrays)[outputs[0]]
        return logits

    return run, frozenset(each.get_any_name() for each in compiled.inputs), {"openvino": openvino.__version__}
