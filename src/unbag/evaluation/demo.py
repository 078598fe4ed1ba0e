"""Evaluation of `unbag demo`: it runs offline on bundled pairs and shows a pair on which two models disagree."""

import json
import shutil
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from unbag.baselines.demo_reader import DemoNetworkPredictor, tokenize_words
from unbag.baselines.lexical.words import ALL
from unbag.challenge_sets import selection
from unbag.challenge_sets.request import BuiltSet, SetRequest, read_exported_set
from unbag.data import demo, readers
from unbag.data.labels import ENTAILMENT, LABELS, get_label_id
from unbag.data.sources import Example
from unbag.evaluation.evaluator import evaluate_all
from unbag.evaluation.model_loading import load_predictor
from unbag.evaluation.outcome import EvaluationCallbacks, EvaluationOutcome
from unbag.utils.files import atomic_write
from unbag.utils.offline import enable_offline_mode

MODELS: Final = ("reader", "lexical", "hypothesis-only")
"""A network that processes the words in order, a bag of words, and a bag of words without the premise."""

_FOR_SEEDS: Final = 330  # pairs, which yield about 60 seeds for SICCK
_FOR_MANY_ROWS: Final = 440  # pairs for sets with several rows per pair; all of them would take half a minute
_Q: Final = 20  # permutations per pair
_TEST_SIZE: Final = 1_000  # pairs that are hardest for a bag of words: fifty in each of twenty partitions


def build_demo_requests(output_dir: Path) -> list[SetRequest]:
    """Build the requests for the demo's challenge sets, in the order of the suite. Bundled sets are omitted."""
    data, training = (
        str(output_dir / demo.get_demo_file("validation").name),
        (str(output_dir / demo.get_demo_file("train").name),),
    )
    own: dict[str, dict[str, Any]] = {
        "breaking_nli": {"data": str(_first(output_dir, _FOR_MANY_ROWS)), "train_data": training},
        # A tagger may not be installed, and the demo is offline, so no words are excluded by tag.
        "cs_lambda": {"train_data": training, "pipeline": ALL},
        "resnli": {"embeddings": str(output_dir / demo.VECTORS.name), "test_size": _TEST_SIZE},
        "permuted": {"data": str(_first(output_dir, _FOR_MANY_ROWS)), "q": _Q},
    }
    return [
        SetRequest(name, options={"data": data, **own.get(name, {})})
        for name in selection.list_suite_sets()
        if name not in demo.BUILT_SETS
    ]


def list_demo_sets(output_dir: Path) -> list[SetRequest | BuiltSet]:
    """List all challenge sets of the demo, in the order of the suite."""
    order = selection.list_suite_sets()
    built = map(read_exported_set, demo.BUILT_SETS.values())
    return sorted([*build_demo_requests(output_dir), *built], key=lambda each: order.index(each.name))


def run_demo(
    output_dir: Path,
    callbacks: EvaluationCallbacks = EvaluationCallbacks(),  # noqa: B008 (immutable)
) -> EvaluationOutcome:
    """Evaluate the demo network and the bag-of-words models on all challenge sets of the demo.

    Pairs and results are written to the folder. The process does not access the network after this call.
    """
    enable_offline_mode()
    write_demo_data(output_dir)
    return evaluate_all(
        (DemoNetworkPredictor(), *MODELS[1:]),
        list_demo_sets(output_dir),
        output_dir=output_dir,
        callbacks=callbacks,
        **build_demo_training_options(output_dir),
    )


def build_demo_training_options(output_dir: Path) -> dict[str, Any]:
    """Build the training options of the demo's bag-of-words models, as arguments of `model_loading.load_predictor`."""
    return {"train_data": (str(output_dir / demo.get_demo_file("train").name),), "pipeline": ALL}


def write_demo_data(output_dir: Path) -> None:
    """Write the demo's pairs and word vectors to the output folder, so that users can inspect and reuse them."""
    for path in (*map(demo.get_demo_file, demo.SPLITS), demo.VECTORS):
        with atomic_write(output_dir / path.name) as tmp:
            shutil.copyfile(path, tmp)
    for pairs in (_FOR_SEEDS, _FOR_MANY_ROWS):
        with atomic_write(_first(output_dir, pairs)) as tmp, tmp.open("w", encoding="utf-8") as file:
            for row in islice(readers.open_data_file(demo.get_demo_file("validation")).read(), pairs):
                file.write(json.dumps(row.values) + "\n")


def get_seed_file(output_dir: Path) -> Path:
    """Locate the file from which the bundled SICCK rows were generated, among the files of `write_demo_data`."""
    return _first(output_dir, _FOR_SEEDS)


def _first(output_dir: Path, pairs: int) -> Path:
    return output_dir / f"demo-validation-{pairs}.jsonl"


_DECIMALS: Final = 4  # of the joint confidence; rounded so that near-ties are broken by the order of the pairs


class LabelPrediction(NamedTuple):
    """Predicted label and its probability."""

    label: str
    probability: float


class DisputedPair(NamedTuple):
    """Pair on which the demo network is correct and the bag of words is wrong, with both predictions."""

    pair: Example
    reader: LabelPrediction
    bag: LabelPrediction


class DemoDisagreement(NamedTuple):
    """Counts of pairs on which the demo network and the bag of words disagree, with an example."""

    pairs: int
    n_different: int  # number of pairs with different predictions
    reader_right: int  # number of these pairs that the reader predicts correctly
    bag_right: int  # the same for the bag of words; on the remaining pairs, both are wrong
    # Pair with a different meaning in nearly the same words, among those that the reader gets right: not entailed, and
    # with the fewest words that only one sentence has. Ties go to the highest joint confidence.
    example: DisputedPair | None


def compare_demo_models(output_dir: Path) -> DemoDisagreement:
    """Compare the predictions of the demo network and the bag of words on the demo's validation pairs.

    `output_dir` is the output folder of `run_demo`.
    """
    pairs = list(demo.iter_demo_pairs("validation"))
    sentences = [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs]
    bag_of_words, _ = load_predictor("lexical", **build_demo_training_options(output_dir))
    reader, bag = (model.predict(*sentences) for model in (DemoNetworkPredictor(), bag_of_words))  # (n, 3)
    gold = np.array([get_label_id(pair.label) for pair in pairs])
    differs = reader.argmax(axis=1) != bag.argmax(axis=1)
    reader_right, bag_right = (differs & (each.argmax(axis=1) == gold) for each in (reader, bag))
    confidence = np.round(reader.max(axis=1) * bag.max(axis=1), _DECIMALS)

    def get_rank(row: int) -> tuple[bool, int, float]:
        pair = pairs[row]
        differing = {*tokenize_words(pair.premise)} ^ {*tokenize_words(pair.hypothesis)}
        return pair.label == ENTAILMENT, len(differing), -float(confidence[row])

    example = None
    if reader_right.any():
        row = min(np.flatnonzero(reader_right).tolist(), key=get_rank)
        predicted = (LabelPrediction(LABELS[each[row].argmax()], float(each[row].max())) for each in (reader, bag))
        example = DisputedPair(pairs[row], *predicted)
    return DemoDisagreement(len(pairs), int(differs.sum()), int(reader_right.sum()), int(bag_right.sum()), example)
