"""Measure exported models: agreement with PyTorch, and speed beside a plain loop over sorted batches.

    python benchmarks/exported.py FOLDER PAIRS.jsonl --reference MODEL

The plain loop runs the same session on batches of a fixed number of pairs, sorted by length. The rounds of both
alternate, and the table has the median of each.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from unbag.inference.exported import ExportedPredictor
from unbag.inference.exported_files import find_exported_models
from unbag.inference.tokenization import encode_pairs
from unbag.inference.transformer import TransformerPredictor


def plain_loop(predictor: ExportedPredictor, premises: list[str], hypotheses: list[str], size: int) -> np.ndarray:
    """Predict batches of `size` pairs, sorted by length."""
    pairs = encode_pairs(predictor.tokenizer, premises, hypotheses, predictor.max_length)
    order = np.argsort(pairs.lengths, kind="stable")
    values = np.empty((len(premises), len(predictor.label_space)), dtype=np.float32)
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        values[rows] = predictor._probabilities(pairs, rows)
    return values


def seconds(run: Callable[[], object]) -> float:
    """Measure the wall-clock time of a call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    """Print one line of JSON per exported model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pairs", type=Path, help="JSON lines with premise and hypothesis")
    parser.add_argument("--reference", required=True, help="the same model for PyTorch")
    parser.add_argument("--limit", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=32)
    options = parser.parse_args()
    with options.pairs.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for _, line in zip(range(options.limit), lines, strict=False)]
    premises, hypotheses = [row["premise"] for row in rows], [row["hypothesis"] for row in rows]
    reference = TransformerPredictor.load(options.reference, device="cpu")
    expected = reference.predict(premises, hypotheses)
    torch_rounds = [seconds(lambda: reference.predict(premises, hypotheses)) for _ in range(options.rounds)]
    torch_time = statistics.median(torch_rounds)
    for file in find_exported_models(
        [each.relative_to(options.folder).as_posix() for each in options.folder.rglob("*")]
    ):
        predictor = ExportedPredictor.load(options.folder, model_file=file)
        values = predictor.predict(premises, hypotheses)
        plain = plain_loop(predictor, premises, hypotheses, options.batch_size)
        run = partial(predictor.predict, premises, hypotheses)
        plain_run = partial(plain_loop, predictor, premises, hypotheses, options.batch_size)
        # In turns, so that other load on the machine slows both.
        ours, theirs = zip(*[(seconds(run), seconds(plain_run)) for _ in range(options.rounds)], strict=True)
        record = {
            "file": file,
            "pairs": len(rows),
            "largest_difference": float(np.abs(values - expected).max()),
            "changed_labels": float((values.argmax(1) != expected.argmax(1)).mean()),
            "difference_between_batchings": float(np.abs(values - plain).max()),
            "pairs_per_second": round(len(rows) / statistics.median(ours)),
            "plain_loop": round(len(rows) / statistics.median(theirs)),
            "pytorch": round(len(rows) / torch_time),
        }
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
