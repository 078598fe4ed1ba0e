"""A prediction run in a process to be killed or run in parallel: `python -m tests.inference.predict_child …`."""

import argparse
import hashlib
import os
import time
from pathlib import Path

import datasets
import numpy as np

from tests.inference.fixtures import WORDS
from unbag.inference.distributed import destroy_process_group
from unbag.inference.function import CallablePredictor
from unbag.inference.predictor import Predictor
from unbag.inference.runner import Shard, predict_rows, predict_shard

CHUNK_ROWS = 50


def make_rows(n: int) -> datasets.Dataset:
    """Return n deterministic pairs of generated sentences."""
    draw = np.random.default_rng(0)
    sentences = [" ".join(draw.choice(WORDS, size=draw.integers(1, 12))) for _ in range(2 * n)]
    columns = {"id": [f"row-{i}" for i in range(n)], "source_id": [f"source-{i // 3}" for i in range(n)]}
    return datasets.Dataset.from_dict(
        columns | {"premise": sentences[:n], "hypothesis": sentences[n:], "label": [0] * n}
    )


def predict_from_hash(premises: list[str], hypotheses: list[str]) -> list[list[float]]:
    """Return probabilities that depend on every character of a pair."""
    answers = []
    for pair in zip(premises, hypotheses, strict=True):
        numbers = np.frombuffer(hashlib.sha256("\n".join(pair).encode()).digest()[:3], dtype=np.uint8) + 1.0
        answers.append((numbers / numbers.sum()).tolist())
    return answers


def main() -> None:
    """Run the prediction, and write a line to `calls` at the start of each chunk."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=8 * CHUNK_ROWS)
    parser.add_argument("--calls", type=Path, default=Path(os.devnull))
    parser.add_argument("--seconds", type=float, default=0.0, help="how long a chunk takes")
    parser.add_argument("--model", type=Path, help="a classifier; by default made-up probabilities")
    parser.add_argument("--fail-on-rank", default="none")
    parser.add_argument("--shard", type=Shard.parse, help="one of several that nothing connects")
    options = parser.parse_args()

    def predict_slowly(premises: list[str], hypotheses: list[str]) -> list[list[float]]:
        with options.calls.open("a") as file:
            file.write(f"{len(premises)}\n")
        time.sleep(options.seconds)
        if os.environ.get("RANK") == options.fail_on_rank:
            raise RuntimeError("out of luck")
        return predict_from_hash(premises, hypotheses)

    predictor: Predictor = CallablePredictor(predict_slowly, identity={"model": "hashed"})
    if options.model is not None:
        from unbag.inference.transformer import TransformerPredictor

        predictor = TransformerPredictor.load(options.model)
    folder = str(options.folder).format(rank=os.environ.get("RANK", "0"))
    rows = make_rows(options.rows)
    if options.shard is not None:
        predict_shard(rows, predictor, folder, options.shard, chunk_rows=CHUNK_ROWS)
        return
    predict_rows(rows, predictor, folder, chunk_rows=CHUNK_ROWS)
    destroy_process_group()


if __name__ == "__main__":
    main()
