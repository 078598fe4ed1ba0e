"""`unbag demo`: the whole flow on the demonstration's pairs, offline."""

import json
import shutil
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final

from unbag import demo, prefetch, rows, suite
from unbag.demo.reader import ReaderPredictor
from unbag.evaluation import OnFailure, OnProgress, OnResult, OnSet, evaluate_all
from unbag.failures import Failure
from unbag.files import atomic_write
from unbag.lexical.words import ALL
from unbag.offline import go_offline
from unbag.request import Request
from unbag.results import Result
from unbag.text.pipeline import PIPELINE

MODELS: Final = ("reader", "lexical", "hypothesis-only")
"""A network that reads the words in their order; a bag of words; and that when it may not see the premise."""

_FOR_SEEDS: Final = 60  # pairs: some fifteen seeds, as the authors of SICCK had; hundreds would take minutes
_Q: Final = 20  # permutations of a pair
_EXAMPLES: Final = {"permuted": 400}  # with their orders 8,400 rows; more of them would take half of the minute
_LEAST_TOLD: Final = 1_000  # pairs, those of which words tell least: fifty in each of twenty partitions


def requests(out: Path) -> list[Request]:
    """Return all sets, made from the demonstration's pairs, in the order of the suite.

    Args:
        out: the folder where `run` puts the pairs and the word vectors.
    """
    data, training = str(out / demo.file("validation").name), (str(out / demo.file("train").name),)
    own: dict[str, dict[str, Any]] = {
        "sicck": {"data": str(_seeds(out))},
        "breaking_nli": {"training": training},
        "soswap_addamod": {"pipeline": _pipeline()},
        # No tagger is sure to be had offline: here every word counts.
        "cs_lambda": {"training": training, "pipeline": ALL},
        "resnli": {"embeddings": str(out / demo.VECTORS.name), "test_size": _LEAST_TOLD},
        "permuted": {"q": _Q},
    }
    return [
        Request(name, options={"data": data, **own.get(name, {})}, examples=_EXAMPLES.get(name))
        for name in suite.names()
    ]


def run(
    out: Path,
    *,
    on_set: OnSet | None = None,
    on_progress: OnProgress | None = None,
    on_result: OnResult | None = None,
    on_failure: OnFailure | None = None,
) -> list[Result]:
    """Evaluate the reader and bags of words on all sets, made from the demonstration's pairs.

    Pairs and results are left in a folder.

    From here on the process keeps off the network. A set that needs what is not on this machine is left out.

    Args:
        out: the folder.
        on_set: see `unbag.evaluation`.
        on_progress: likewise.
        on_result: likewise.
        on_failure: called with each set that is left out.

    Returns:
        One result for each model and set.
    """
    go_offline()
    fill(out)
    at_hand = []
    for request in requests(out):
        if lacking := prefetch.missing(prefetch.of_run([request])):
            get = f"unbag prefetch --sets {request.name}"
            reason = f"offline, and without {', '.join(lacking)}; `{get}` gets it while there is a network"
            if on_failure is not None:
                on_failure(Failure(request.name, prefetch.MissingError(reason)))
        else:
            at_hand.append(request)
    return evaluate_all(
        (ReaderPredictor(), *MODELS[1:]),
        at_hand,
        out=out,
        on_set=on_set,
        on_progress=on_progress,
        on_result=on_result,
        **fitted_to(out),
    )


def fitted_to(out: Path) -> dict[str, Any]:
    """Return what the bags of words are fitted to, and which words count, as options of `predictors.predictor_of`.

    Args:
        out: see `requests`.
    """
    return {"training": (str(out / demo.file("train").name),), "pipeline": ALL}


def fill(out: Path) -> None:
    """Put the pairs and the word vectors into the folder, for whoever wants to look at them or go on with them."""
    for path in (*map(demo.file, demo.SPLITS), demo.VECTORS):
        with atomic_write(out / path.name) as tmp:
            shutil.copyfile(path, tmp)
    with atomic_write(_seeds(out)) as tmp, tmp.open("w", encoding="utf-8") as file:
        for row in islice(rows.open_file(demo.file("validation")).read(), _FOR_SEEDS):
            file.write(json.dumps(row.values) + "\n")


def _pipeline() -> str:
    """Return the English spaCy pipeline: the package where it is installed, or else the Hub's, which may be cached."""
    package = PIPELINE.rpartition("/")[2]
    return package if find_spec(package) else PIPELINE


def _seeds(out: Path) -> Path:
    return out / f"demo-validation-{_FOR_SEEDS}.jsonl"
