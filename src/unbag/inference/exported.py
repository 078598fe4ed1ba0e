"""Predictor for exported sequence classifiers: ONNX files (onnxruntime) and OpenVINO files (openvino)."""

import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForSequenceClassification

from unbag.inference.exported_files import fetch_exported_model, hash_exported_model
from unbag.inference.hub_files import resolve_origin
from unbag.inference.loading import (
    Classifier,
    build_classifier,
    load_config,
    load_tokenizer,
    validate_classifier_config,
    validate_token_ids,
)
from unbag.inference.pair_classifier import TEST_PAIRS, PairClassifier
from unbag.inference.predictor import ModelError
from unbag.inference.segments import SEGMENT_IDS, distinguishes_segments, has_segment_ids
from unbag.inference.single_output import Threshold
from unbag.inference.tokenization import CPU_BATCH_TOKENS, BatchPadding, EncodedPairs
from unbag.utils.redaction import extract_first_line, redact

if TYPE_CHECKING:
    import openvino


Run = Callable[[dict[str, NDArray[np.int64]]], NDArray[np.float32]]
"""Function from the model's arguments to the logits, shape (b, outputs)."""

Shapes = Mapping[str, tuple[int | None, ...]]
"""Batch size and length of each input of a graph; None for a size that is not fixed."""

_PADDING_TOLERANCE: Final = 1e-2  # as in `transformer`; an engine may round more
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
        is_onnx = path.suffix == ".onnx"
        self._run, shapes, engine = (_open_onnx if is_onnx else _open_openvino)(path)
        self._inputs = shapes.keys()
        self._fixed_batch, self._fixed_length = shapes.get("input_ids", (None, None))
        if self._fixed_length is not None:
            if max_length is not None and max_length > self._fixed_length:
                raise ModelError(
                    f"max_length (--max-length): expected 1 to {self._fixed_length} tokens, the length that {file} "
                    f"declares, got {max_length}; change --max-length"
                )
            self.max_length = min(self.max_length or self._fixed_length, self._fixed_length)
        is_single = is_onnx and is_dynamically_quantized(path)
        self.batch_tokens = batch_tokens or (_SINGLE_PAIRS if is_single else CPU_BATCH_TOKENS)
        takes_types = SEGMENT_IDS in self._inputs
        self._padding = replace(BatchPadding.from_model(self.tokenizer, self._network), takes_types=takes_types)
        if unknown := sorted(self._inputs - {"input_ids", "attention_mask", SEGMENT_IDS}):
            raise ModelError(
                f"{file}: expected the inputs input_ids, attention_mask and token_type_ids, got {', '.join(unknown)}; "
                "export the model for text classification"
            )
        if not takes_types and has_segment_ids(self._network) and distinguishes_segments(self.tokenizer):
            raise ModelError(
                f"{file}: expected the input token_type_ids, by which the network distinguishes premise and "
                "hypothesis, got a graph without it; export the model again with this input, or, if the model was "
                "trained without segments, set type_vocab_size to 1 in config.json"
            )
        encoded = self._encode(*zip(*TEST_PAIRS, strict=True))
        validate_token_ids(encoded.input_ids, self._network, self.tokenizer)
        self._has_softmax = False
        outputs = self._logits(encoded, range(len(TEST_PAIRS)))
        # Some graphs end with a softmax, whose logarithm has the same softmax.
        is_distribution = (outputs >= 0).all() and ((outputs.sum(dim=-1) - 1).abs() < 1e-3).all()
        self._has_softmax = self.n_outputs > 1 and bool(is_distribution)
        if batch_tokens is None and not is_single and self._reads_padding(encoded, _PADDING_TOLERANCE):
            self.batch_tokens = _SINGLE_PAIRS
        self._set_identity(
            "onnx" if is_onnx else "openvino",
            replace(classifier, supplies_segments=classifier.supplies_segments and takes_types),
            model_file=file,
            file_hash=hash_exported_model(path),
            **engine,
            **({"outputs": "probabilities"} if self._has_softmax else {}),
        )

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
        """Load an exported model from the Hub, or from a folder with config, tokenizer and the exported model.

        The options are those of `inference.options.ClassifierKwargs`.
        """
        origin = resolve_origin(model, revision)
        config = load_config(origin)
        validate_classifier_config(config, origin)
        file, path = fetch_exported_model(origin, model_file)
        with torch.device("meta"):  # the architecture without weights: it has the limits of length and vocabulary
            skeleton = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
        classifier = build_classifier(
            skeleton, load_tokenizer(origin), origin.compute_identity(), label_map=label_map, threshold=threshold
        )
        return cls(classifier, path, file, max_length, batch_tokens)

    def _logits(self, pairs: EncodedPairs, rows: Sequence[int]) -> torch.Tensor:
        arrays = self._padding.build_pair_arrays(pairs, rows)
        arrays = {name: array for name, array in arrays.items() if name in self._inputs}
        if SEGMENT_IDS in self._inputs:  # an exported graph has no default for it
            arrays.setdefault(SEGMENT_IDS, np.zeros_like(arrays["input_ids"]))
        step = self._fixed_batch or len(rows)
        try:
            parts = [
                self._run({name: self._fit(name, array[at : at + step]) for name, array in arrays.items()})
                for at in range(0, len(rows), step)
            ]
        except Exception as error:  # the errors of the engines have no common type
            reason = redact(" ".join(str(error).split()))[:300]  # of several lines: input, index, got and expected
            raise ModelError(f"exported model: cannot run a batch ({reason}); export the model again") from error
        logits = torch.tensor(np.concatenate(parts)[: len(rows)], dtype=torch.float32)
        if logits.shape != (len(rows), self.n_outputs):
            raise ModelError(
                f"exported model: expected logits of shape {(len(rows), self.n_outputs)}, got {tuple(logits.shape)}; "
                "export the model for text classification, with the labels of its config.json"
            )
        return logits.log() if self._has_softmax else logits

    def _fit(self, name: str, array: NDArray[np.int64]) -> NDArray[np.int64]:
        """Pad an input to the batch size and the length that the graph declares, if it declares any."""
        rows = (self._fixed_batch or len(array)) - len(array)
        tokens = max(0, (self._fixed_length or 0) - array.shape[1])
        left = self._padding.side == "left"
        value = self._padding.pad_id if name == "input_ids" else 0
        array = np.pad(array, ((0, 0), (tokens, 0) if left else (0, tokens)), constant_values=value)
        return np.pad(array, ((0, rows), (0, 0)), mode="edge")  # copies of the last pair, whose logits are dropped


def is_dynamically_quantized(path: Path) -> bool:
    """Check whether an ONNX model is dynamically quantized (input ranges are computed at run time)."""
    # In the protocol buffer, an operator is field 4 of a node: its key, the length and the text. A node's name has
    # another key. The package onnx, which parses the file, is no dependency.
    fields = [bytes([4 << 3 | 2, len(operator)]) + operator for operator in _DYNAMIC_OPERATORS]
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(field) >= 0 for field in fields)


def _open_onnx(path: Path) -> tuple[Run, Shapes, dict[str, str]]:
    """Open an ONNX file. Returns a function that runs it, the inputs, and the identity of the engine."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError("running an ONNX model requires onnxruntime: pip install 'unbag[onnx]'") from error
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:  # the errors of onnxruntime derive from Exception directly
        raise _build_invalid_file_error(path, "an ONNX model", error) from error
    types = {each.name: np.int32 if each.type == "tensor(int32)" else np.int64 for each in session.get_inputs()}
    names = [each.name for each in session.get_outputs()]
    wanted = ["logits" if "logits" in names else names[0]]
    shapes = {
        each.name: tuple(size if isinstance(size, int) else None for size in (*each.shape, None, None)[:2])
        for each in session.get_inputs()
    }
    return (
        lambda arrays: session.run(wanted, {name: array.astype(types[name]) for name, array in arrays.items()})[0],
        shapes,
        {"onnxruntime": onnxruntime.__version__},
    )


def _build_invalid_file_error(path: Path, expected: str, error: Exception) -> ModelError:
    return ModelError(
        f"{path.name}: expected {expected}, got an error ({extract_first_line(error)}); export the model again"
    )


@cache
def _openvino_core() -> "openvino.Core":
    """Return the only core of this process, which is never freed."""
    import openvino

    # The first model of a core installs an alternate signal stack; freeing the core unmaps it and restores the previous
    # one. Of two cores freed in the order of their creation, the second restores the unmapped stack of the first, and
    # the next signal (Ctrl-C, the end of a child process) is a segmentation fault. Seen with openvino 2026.4.
    return openvino.Core()


def _open_openvino(path: Path) -> tuple[Run, Shapes, dict[str, str]]:
    """Open an OpenVINO model, as `_open_onnx`."""
    try:
        import openvino
    except ImportError as error:
        raise ImportError("running an OpenVINO model requires openvino: pip install 'unbag[openvino]'") from error
    try:
        # Without the hint, openvino computes in bfloat16 on processors that have it.
        compiled = _openvino_core().compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    except Exception as error:
        raise _build_invalid_file_error(path, "an OpenVINO model", error) from error
    outputs = [each for each in compiled.outputs if "logits" in each.get_names()] or list(compiled.outputs)
    shapes = {
        each.get_any_name(): tuple(size.get_length() if size.is_static else None for size in each.partial_shape)
        for each in compiled.inputs
    }
    return lambda arrays: compiled(arrays)[outputs[0]], shapes, {"openvino": openvino.__version__}
