"""`unbag demo`: the whole flow on the demonstration corpus, offline."""

import json
from pathlib import Path

from unbag.demo.baseline import LexicalBaseline
from unbag.demo.corpus import generate
from unbag.evaluation import OnProgress, evaluate
from unbag.files import atomic_write
from unbag.lexical.words import ALL
from unbag.request import Request
from unbag.results import Result


def run(out: Path, *, on_progress: OnProgress | None = None) -> list[Result]:
    """Write the demonstration corpus, build the sets from it, and evaluate a bag of words on them.

    Args:
        out: the folder for the pairs, the predictions and the results.
        on_progress: see `unbag.evaluation.OnProgress`.

    Returns:
        One result a set.
    """
    pairs, training = (_written(out / f"demo-{split}.jsonl", split) for split in ("validation", "train"))
    requests = [
        Request("permuted", options={"data": pairs}),
        # No tagger is to be had offline: here every word counts.
        Request("cs_lambda", options={"data": pairs, "training": (training,), "pipeline": ALL}),
        Request("swapped", options={"data": pairs}),
    ]
    return evaluate(LexicalBaseline(), requests, out=out, on_progress=on_progress)


def _written(path: Path, split: str) -> str:
    """Write a split of the demonstration corpus, and return where."""
    with atomic_write(path) as tmp, tmp.open("w", encoding="utf-8") as file:
        for pair in generate(split):
            file.write(json.dumps(pair._asdict()) + "\n")
    return str(path)
