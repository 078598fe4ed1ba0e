"""Other systems that run the same classifier, configured as a careful user would, for `inference.py`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

BATCH: Final = 32
"""Pairs a batch for all peers: CrossEncoder's own default; the pipeline's own is 1, which is slower."""

Labels = NDArray[np.str_]
System = Callable[[list[str], list[str]], Labels]


def cross_encoder(model: str, device: str, order: Sequence[str]) -> System:
    """Load sentence-transformers' CrossEncoder in float32, whatever the type of the stored weights."""
    from sentence_transformers import CrossEncoder

    encoder = CrossEncoder(model, device=device, model_kwargs={"dtype": torch.float32})
    names = np.array(order)

    def ask(premises: list[str], hypotheses: list[str]) -> Labels:
        pairs = list(zip(premises, hypotheses, strict=True))
        found: Labels = names[encoder.predict(pairs, batch_size=BATCH, show_progress_bar=False).argmax(axis=1)]
        return found

    return ask


def pipeline(model: str, device: str, order: Sequence[str]) -> System:
    """Load transformers' text-classification pipeline in float32."""
    from transformers import pipeline as make

    classify: Any = make("text-classification", model=model, device=device, dtype=torch.float32)
    named = {classify.model.config.id2label[output]: label for output, label in enumerate(order)}

    def ask(premises: list[str], hypotheses: list[str]) -> Labels:
        pairs = [{"text": p, "text_pair": h} for p, h in zip(premises, hypotheses, strict=True)]
        return np.array([named[answer["label"]] for answer in classify(pairs, batch_size=BATCH)])

    return ask


def openvino(model: str, order: Sequence[str], precision: str) -> System:
    """Load the model in OpenVINO on the CPU, with batches sorted by length; `precision` is f32 or bf16."""
    import openvino as ov

    network, tokenizer = _loaded(model)
    graph = ov.convert_model(network, example_input=_example(tokenizer))
    hints = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": torch.get_num_threads()}
    compiled = ov.Core().compile_model(graph, "CPU", hints)
    inputs = [next(iter(each.names)) for each in compiled.inputs]
    return _sorted(lambda batch: compiled([batch[name] for name in inputs])[0], tokenizer, order)


def onnxruntime(model: str, order: Sequence[str]) -> System:
    """Load the model in ONNX Runtime on the CPU in float32, with batches sorted by length. It has no bfloat16 there."""
    import onnxruntime as ort

    network, tokenizer = _loaded(model)
    example = _example(tokenizer)
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = torch.get_num_threads()
    settings.log_severity_level = 3  # errors only
    with TemporaryDirectory() as folder:
        file = str(Path(folder) / "model.onnx")
        rows, length = torch.export.Dim("rows"), torch.export.Dim("length")
        axes = {name: {0: rows, 1: length} for name in example}
        torch.onnx.export(network, (), file, kwargs=example, dynamic_shapes=axes, dynamo=True, verbose=False)
        session = ort.InferenceSession(file, settings, providers=["CPUExecutionProvider"])
    return _sorted(lambda batch: session.run(None, batch)[0], tokenizer, order)


def _loaded(model: str) -> tuple[Any, Any]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    network = AutoModelForSequenceClassification.from_pretrained(model, dtype=torch.float32).eval()
    network.config.return_dict = False  # exporters expect tuples as outputs
    return network, AutoTokenizer.from_pretrained(model)


def _example(tokenizer: Any) -> dict[str, Any]:
    return dict(
        # Two pairs, since torch.export treats a dimension of size 1 as constant.
        tokenizer(["A man sleeps.", "It rains."], ["He rests.", "It is wet today."], padding=True, return_tensors="pt")
    )


def _sorted(answers: Callable[[dict[str, Any]], Any], tokenizer: Any, order: Sequence[str]) -> System:
    """Build a system that predicts in batches of pairs of similar length, each padded to its longest pair."""
    names = np.array(order)

    def ask(premises: list[str], hypotheses: list[str]) -> Labels:
        encoded = tokenizer(premises, hypotheses)
        longest_first = np.argsort([-len(ids) for ids in encoded["input_ids"]], kind="stable")
        found = np.empty(len(premises), dtype=np.intp)
        for start in range(0, len(premises), BATCH):
            rows = longest_first[start : start + BATCH]
            some = {name: [values[row] for row in rows] for name, values in encoded.items()}
            found[rows] = answers(dict(tokenizer.pad(some, return_tensors="np"))).argmax(axis=1)
        return names[found]

    return ask
