"""Speed and agreement of predictions, compared with other systems that run the same classifier.

    python benchmarks/inference.py --model MODEL --data pairs.parquet [--device cuda]
    pip install openvino onnxruntime onnxscript     # optional peers on a CPU

One process loads the same model for every system. In each round, the systems predict the same pairs in turns. Other
load on the machine affects all systems equally, so the ratios (medians over rounds) are reliable, and the pairs per
second are not. A `cpu_share` below 0.9 shows that the machine had other load. The labels are compared too. A table goes
to stderr, one JSON line to stdout.

The data are SNLI-like pairs. The words of each sentence are shuffled with a fixed seed, as in the permuted set, unless
`--as-is` is given.

Share of peak: pairs per second × floating-point operations per pair ÷ the highest rate of large matrix products in the
same rounds. With hidden size d and feed-forward size f, a pair of t tokens needs

    2t(4d² + 2df) + 4t²d                     in each layer except the last, and
    2t·2d² + 2(2d² + 2df) + 4td + 2d²        in the last layer, where only the first position is used, and the pooler.

The formula excludes padding, embeddings, norms and activations.
"""

import argparse
import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow.json
import pyarrow.parquet
import torch
from numpy.typing import NDArray

from unbag.inference.tokenization import encode_pairs
from unbag.inference.transformer import TransformerPredictor

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


CROSS_ENCODER: Final = "cross_encoder"


def read_pairs(path: Path, count: int, *, as_is: bool) -> tuple[list[str], list[str]]:
    """Load the first `count` premises and hypotheses of a parquet or jsonl file; shuffle the words unless `as_is`."""
    read = pyarrow.parquet.read_table if path.suffix == ".parquet" else pyarrow.json.read_json
    table = read(path).slice(0, count)
    draw = random.Random(0)

    def shuffled(sentence: str) -> str:
        words = sentence.split()
        return " ".join(draw.sample(words, len(words)))

    premises, hypotheses = (table.column(name).to_pylist() for name in ("premise", "hypothesis"))
    if as_is:
        return premises, hypotheses
    return [shuffled(sentence) for sentence in premises], [shuffled(sentence) for sentence in hypotheses]


def ours(predictor: TransformerPredictor) -> System:
    """Build a function from pairs to label names that uses the predictor of unbag."""
    names = np.array(predictor.label_space)
    return lambda premises, hypotheses: names[predictor.predict(premises, hypotheses).argmax(axis=1)]


def flops_needed(predictor: TransformerPredictor, premises: list[str], hypotheses: list[str]) -> tuple[float, float]:
    """Compute the mean number of tokens and of floating-point operations per pair, by the formula above."""
    lengths = encode_pairs(predictor.tokenizer, premises, hypotheses, predictor.max_length).lengths
    t = np.array(lengths, dtype=float)
    config = predictor.model.config
    d, layers = config.hidden_size, config.num_hidden_layers
    f = getattr(config, "intermediate_size", None) or config.hidden_dim  # DistilBERT's name for it
    full = 2 * t * (4 * d * d + 2 * d * f) + 4 * t * t * d
    last = 2 * t * 2 * d * d + 2 * (2 * d * d + 2 * d * f) + 4 * t * d + 2 * d * d
    return float(t.mean()), float(((layers - 1) * full + last).mean())


def matrix_product_peak(dtype: torch.dtype, device: str) -> float:
    """Measure the floating-point operations per second of a large matrix product, best of five."""
    size = 8192 if device != "cpu" else 2048
    a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    best = float("inf")
    for _ in range(5):
        begun = time.perf_counter()
        product = a @ b
        product[0, 0].item()  # waits until a GPU has finished
        best = min(best, time.perf_counter() - begun)
    return 2 * size**3 / best


def main() -> None:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a Hub id or folder of a BERT-like classifier")
    parser.add_argument("--data", required=True, type=Path, help="parquet or jsonl with premise and hypothesis")
    parser.add_argument("--as-is", action="store_true", help="keep the word order, for the rows of a built set")
    parser.add_argument("--pairs", type=int, default=512, help="pairs per round (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()

    premises, hypotheses = read_pairs(options.data, options.pairs, as_is=options.as_is)
    full = TransformerPredictor.load(options.model, device=options.device)
    half = TransformerPredictor.load(options.model, device=options.device, dtype="bfloat16")
    systems: dict[str, System] = {
        CROSS_ENCODER: cross_encoder(options.model, options.device, full.order),
        "pipeline": pipeline(options.model, options.device, full.order),
        "ours_float32": ours(full),
        "ours_bfloat16": ours(half),
    }
    if options.device == "cpu" and find_spec("openvino"):
        systems["openvino_float32"] = openvino(options.model, full.order, "f32")
        systems["openvino_bfloat16"] = openvino(options.model, full.order, "bf16")
    if options.device == "cpu" and find_spec("onnxruntime"):
        systems["onnxruntime_float32"] = onnxruntime(options.model, full.order)
    peaks: dict[str, list[float]] = {"float32": [], "bfloat16": []}
    speeds: dict[str, list[float]] = {name: [] for name in systems}
    answers: dict[str, Labels] = {}
    for ask in systems.values():
        # Warm up: the first call compiles kernels and allocates memory.
        ask(premises[:64], hypotheses[:64])
    wall, cpu = time.perf_counter(), time.process_time()
    for done in range(options.rounds):
        for dtype, measured in peaks.items():
            measured.append(matrix_product_peak(getattr(torch, dtype), options.device))
        for name, ask in systems.items():
            begun = time.perf_counter()
            answers[name] = ask(premises, hypotheses)
            speeds[name].append(len(premises) / (time.perf_counter() - begun))
        print(f"round {done + 1} of {options.rounds}", file=sys.stderr)
    cpu_share = (time.process_time() - cpu) / (time.perf_counter() - wall) / torch.get_num_threads()

    def against(name: str, peer: str) -> float:
        rounds = zip(speeds[name], speeds[peer], strict=True)
        return round(statistics.median(one / other for one, other in rounds), 3)

    def precision(name: str) -> str:
        return "bfloat16" if name.endswith("bfloat16") else "float32"

    tokens, flops = flops_needed(full, premises, hypotheses)
    peak = {dtype: max(measured) for dtype, measured in peaks.items()}
    speed = {name: statistics.median(measured) for name, measured in speeds.items()}
    result: dict[str, Any] = {
        "benchmark": "inference",
        "model": full.identity["revision"],
        "device": torch.cuda.get_device_name() if options.device.startswith("cuda") else platform.machine(),
        "threads": torch.get_num_threads(),
        "cpu_share": round(cpu_share, 2),
        "pairs": len(premises),
        "rounds": options.rounds,
        "tokens_per_pair": round(tokens, 1),
        "peer_batch_size": BATCH,
        "batch_tokens": full.batch_tokens,
        "last_layer": full.identity["last_layer"],
        "weight_layout": full.identity["weight_layout"],
        "pairs_per_second": {name: round(value, 1) for name, value in speed.items()},
        "times_cross_encoder": {name: against(name, CROSS_ENCODER) for name in systems},
        "times_openvino": {
            name: against(name, peer) for name in systems if (peer := f"openvino_{precision(name)}") in systems
        },
        "labels_as_cross_encoder": {
            name: float(np.mean(found == answers[CROSS_ENCODER])) for name, found in answers.items()
        },
        "needed_gflop_per_pair": round(flops / 1e9, 4),
        "peak_gflop_per_second": {dtype: round(value / 1e9, 1) for dtype, value in peak.items()},
        "share_of_peak": {name: round(value * flops / peak[precision(name)], 3) for name, value in speed.items()},
        "versions": {name: version(name) for name in ("torch", "transformers", "sentence-transformers", "unbag")},
    }
    print(f"{'':22}{'pairs/s':>9}{'× CE':>8}{'× OV':>8}{'of peak':>9}{'same labels as CE':>20}", file=sys.stderr)
    for name in systems:
        ratios = f"{result['times_cross_encoder'][name]:8.2f}{result['times_openvino'].get(name, float('nan')):8.2f}"
        share, same = result["share_of_peak"][name], result["labels_as_cross_encoder"][name]
        print(f"{name:22}{speed[name]:9.1f}{ratios}{share:9.1%}{same:20.2%}", file=sys.stderr)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
