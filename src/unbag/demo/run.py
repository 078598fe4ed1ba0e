"""`unbag demo`: the whole flow on the demonstration corpus, offline."""

import json
from pathlib import Path
from typing import Final

from unbag.built import Request
from unbag.demo.baseline import LexicalBaseline
from unbag.demo.corpus import generate
from unbag.evaluation import OnProgress, evaluate
from unbag.files import whole
from unbag.results import Result

PAIRS: Final = "demo.jsonl"
_SPLIT: Final = "validation"


def run(out: Path, *, on_progress: OnProgress | None = None) -> list[Result]:
    """Write the demonstration corpus, build the sets from it, and evaluate a bag of words on them.

    Args:
        out: the folder for the pairs, the predictions and the results.
        on_progress: see `unbag.evaluation.OnProgress`.

    Returns:
        One result a set.
    """
    pairs = out / PAIRS
    with whole(pairs) as beside, beside.open("w", encoding="utf-8") as file:
        for pair in generate(_SPLIT):
            file.write(json.dumps(pair._asdict()) + "\n")
    requests = [Request("permuted", options={"data": str(pairs)})]
    return evaluate(LexicalBaseline(), requests, out=out, on_progress=on_progress)
