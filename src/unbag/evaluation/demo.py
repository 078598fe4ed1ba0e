"""`unbag demo`: the whole flow on the demonstration's pairs, offline, and one pair on which its models disagree."""

import json
import shutil
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.demo_reader import ReaderPredictor, words
from unbag.baselines.lexical.words import ALL
from unbag.challenge_sets import suite
from unbag.challenge_sets.request import BuiltSet, Request, read_back
from unbag.challenge_sets.results import Result
from unbag.data import demo, readers
from unbag.data.labels import ENTAILMENT, LABELS, label_id
from unbag.data.sources import Example
from unbag.evaluation.evaluator import OnProgress, OnResult, OnSet, evaluate_all
from unbag.evaluation.model_loading import predictor_of
from unbag.utils.files import atomic_write
from unbag.utils.offline import go_offline

MODELS: Final = ("reader", "lexical", "hypothesis-only")
"""A network that reads the words in their order; a bag of words; and that when it may not see the premise."""

_FOR_SEEDS: Final = 60  # pairs: some fifteen seeds, as the authors of SICCK had; hundreds would take minutes
_FOR_MANY_ROWS: Final = 440  # pairs for the sets that make several rows of a pair; all 1,500 would take half a minute
_Q: Final = 20  # permutations of a pair
_BUILT: Final = {"soswap_addamod": demo.SOSWAP_ADDAMOD, "recombined": demo.RECOMBINED}
"""The sets that are shipped built, since their builders need a parser."""
_LEAST_TOLD: Final = 1_000  # pairs, those of which words tell least: fifty in each of twenty partitions


def requests(output_dir: Path) -> list[Request]:
    """Return requests for the sets that the demonstration builds, in the order of the suite.

    Args:
        output_dir: the folder where `run` puts the pairs and the word vectors.
    """
    data, training = str(output_dir / demo.file("validation").name), (str(output_dir / demo.file("train").name),)
    own: dict[str, dict[str, Any]] = {
        "sicck": {"data": str(_first(output_dir, _FOR_SEEDS))},
        "breaking_nli": {"data": str(_first(output_dir, _FOR_MANY_ROWS)), "train_data": training},
        # No tagger is sure to be had offline: here every word counts.
        "cs_lambda": {"train_data": training, "pipeline": ALL},
        "resnli": {"embeddings": str(output_dir / demo.VECTORS.name), "test_size": _LEAST_TOLD},
        "permuted": {"data": str(_first(output_dir, _FOR_MANY_ROWS)), "q": _Q},
    }
    return [Request(name, options={"data": data, **own.get(name, {})}) for name in suite.names() if name not in _BUILT]


def sets(output_dir: Path) -> list[Request | BuiltSet]:
    """Return all sets, made from the demonstration's pairs, in the order of the suite.

    Args:
        output_dir: see `requests`.
    """
    order = suite.names()
    built = map(read_back, _BUILT.values())
    return sorted([*requests(output_dir), *built], key=lambda each: order.index(each.name))


def run(
    output_dir: Path,
    *,
    on_set: OnSet | None = None,
    progress_callback: OnProgress | None = None,
    on_result: OnResult | None = None,
) -> list[Result]:
    """Evaluate the reader and bags of words on all sets, made from the demonstration's pairs.

    Pairs and results are left in a folder.

    From here on the process keeps off the network.

    Args:
        output_dir: the folder.
        on_set: see `unbag.evaluation.evaluator`.
        progress_callback: likewise.
        on_result: likewise.

    Returns:
        One result for each model and set.
    """
    go_offline()
    fill(output_dir)
    return evaluate_all(
        (ReaderPredictor(), *MODELS[1:]),
        sets(output_dir),
        output_dir=output_dir,
        on_set=on_set,
        progress_callback=progress_callback,
        on_result=on_result,
        **fitted_to(output_dir),
    )


def fitted_to(output_dir: Path) -> dict[str, Any]:
    """Return what the bags of words are fitted to, and which words count, as options of `predictors.predictor_of`.

    Args:
        output_dir: see `requests`.
    """
    return {"train_data": (str(output_dir / demo.file("train").name),), "pipeline": ALL}


def fill(output_dir: Path) -> None:
    """Put the pairs and the word vectors into the folder, for whoever wants to look at them or go on with them."""
    for path in (*map(demo.file, demo.SPLITS), demo.VECTORS):
        with atomic_write(output_dir / path.name) as tmp:
            shutil.copyfile(path, tmp)
    for pairs in (_FOR_SEEDS, _FOR_MANY_ROWS):
        with atomic_write(_first(output_dir, pairs)) as tmp, tmp.open("w", encoding="utf-8") as file:
            for row in islice(readers.open_file(demo.file("validation")).read(), pairs):
                file.write(json.dumps(row.values) + "\n")


def _first(output_dir: Path, pairs: int) -> Path:
    return output_dir / f"demo-validation-{pairs}.jsonl"


_DECIMALS: Final = 4  # of how sure both are: near ties are broken by the order of the pairs


class Said(NamedTuple):
    """A model's answer to a pair, and the probability it gives it."""

    label: str
    probability: float


class Shown(NamedTuple):
    """A pair that the reader gets right and the bag does not, with what each says."""

    pair: Example
    reader: Said
    bag: Said


class Disagreement(NamedTuple):
    """How two models' answers to the same pairs differ.

    Attributes:
        pairs: how many were asked.
        apart: on how many the two give different labels.
        reader_right: of these, how many the reader has right.
        bag_right: likewise the bag; on the others both are wrong.
        shown: of those that the reader has right, the pair that says another thing in the most nearly same words: one
            that is not entailed, with the fewest words that only one side has; of several, where both are surest. None
            if the reader has none right.
    """

    pairs: int
    apart: int
    reader_right: int
    bag_right: int
    shown: Shown | None


def disagreement(output_dir: Path) -> Disagreement:
    """Ask the reader and the bag of words the demonstration's validation pairs, as they are written.

    Args:
        output_dir: the folder that `run` filled.
    """
    pairs = list(demo.pairs("validation"))
    sentences = [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs]
    bag_of_words, _ = predictor_of("lexical", **fitted_to(output_dir))
    reader, bag = (model.predict(*sentences) for model in (ReaderPredictor(), bag_of_words))  # (n, 3)
    gold = np.array([label_id(pair.label) for pair in pairs])
    apart = reader.argmax(axis=1) != bag.argmax(axis=1)
    reader_right, bag_right = (apart & (each.argmax(axis=1) == gold) for each in (reader, bag))
    sure = np.round(reader.max(axis=1) * bag.max(axis=1), _DECIMALS)
    order = sorted(
        np.flatnonzero(reader_right).tolist(),
        key=lambda row: (pairs[row].label == ENTAILMENT, _only_in_one(pairs[row]), -sure[row]),
    )
    shown = Shown(pairs[order[0]], *(_said(each[order[0]]) for each in (reader, bag))) if order else None
    return Disagreement(len(pairs), int(apart.sum()), int(reader_right.sum()), int(bag_right.sum()), shown)


def _said(probabilities: NDArray[np.floating[Any]]) -> Said:
    return Said(LABELS[int(probabilities.argmax())], float(probabilities.max()))


def _only_in_one(pair: Example) -> int:
    return len({*words(pair.premise)} ^ {*words(pair.hypothesis)})
