"""`unbag demo`: the whole flow on the demonstration's pairs, offline."""

import json
import shutil
from itertools import islice
from pathlib import Path
from typing import Any, Final

from unbag import demo
from unbag.baselines.lexical.words import ALL
from unbag.challenge_sets import suite
from unbag.challenge_sets.request import BuiltSet, Request, read_back
from unbag.challenge_sets.results import Result
from unbag.data import readers
from unbag.demo.reader import ReaderPredictor
from unbag.evaluation import OnProgress, OnResult, OnSet, evaluate_all
from unbag.utils.files import atomic_write
from unbag.utils.offline import go_offline

MODELS: Final = ("reader", "lexical", "hypothesis-only")
"""A network that reads the words in their order; a bag of words; and that when it may not see the premise."""

_FOR_SEEDS: Final = 60  # pairs: some fifteen seeds, as the authors of SICCK had; hundreds would take minutes
_FOR_MANY_ROWS: Final = 440  # pairs for the sets that make several rows of a pair; all 1,500 would take half a minute
_Q: Final = 20  # permutations of a pair
_BUILT: Final = "soswap_addamod"  # the set that is shipped built, since its builder needs a parser
_LEAST_TOLD: Final = 1_000  # pairs, those of which words tell least: fifty in each of twenty partitions


def requests(out: Path) -> list[Request]:
    """Return requests for the sets that the demonstration builds, in the order of the suite.

    Args:
        out: the folder where `run` puts the pairs and the word vectors.
    """
    data, training = str(out / demo.file("validation").name), (str(out / demo.file("train").name),)
    own: dict[str, dict[str, Any]] = {
        "sicck": {"data": str(_first(out, _FOR_SEEDS))},
        "breaking_nli": {"data": str(_first(out, _FOR_MANY_ROWS)), "training": training},
        # No tagger is sure to be had offline: here every word counts.
        "cs_lambda": {"training": training, "pipeline": ALL},
        "resnli": {"embeddings": str(out / demo.VECTORS.name), "test_size": _LEAST_TOLD},
        "permuted": {"data": str(_first(out, _FOR_MANY_ROWS)), "q": _Q},
    }
    return [Request(name, options={"data": data, **own.get(name, {})}) for name in suite.names() if name != _BUILT]


def sets(out: Path) -> list[Request | BuiltSet]:
    """Return all sets, made from the demonstration's pairs, in the order of the suite.

    Args:
        out: see `requests`.
    """
    order = suite.names()
    return sorted([*requests(out), read_back(demo.SOSWAP_ADDAMOD)], key=lambda each: order.index(each.name))


def run(
    out: Path,
    *,
    on_set: OnSet | None = None,
    on_progress: OnProgress | None = None,
    on_result: OnResult | None = None,
) -> list[Result]:
    """Evaluate the reader and bags of words on all sets, made from the demonstration's pairs.

    Pairs and results are left in a folder.

    From here on the process keeps off the network.

    Args:
        out: the folder.
        on_set: see `unbag.evaluation`.
        on_progress: likewise.
        on_result: likewise.

    Returns:
        One result for each model and set.
    """
    go_offline()
    fill(out)
    return evaluate_all(
        (ReaderPredictor(), *MODELS[1:]),
        sets(out),
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
    for pairs in (_FOR_SEEDS, _FOR_MANY_ROWS):
        with atomic_write(_first(out, pairs)) as tmp, tmp.open("w", encoding="utf-8") as file:
            for row in islice(readers.open_file(demo.file("validation")).read(), pairs):
                file.write(json.dumps(row.values) + "\n")


def _first(out: Path, pairs: int) -> Path:
    return out / f"demo-validation-{pairs}.jsonl"
