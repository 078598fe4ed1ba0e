"""Where the bag of words and the one that reads part company, and a pair that shows it."""

from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag import demo
from unbag.data.labels import ENTAILMENT, LABELS, label_id
from unbag.data.sources import Example
from unbag.demo.reader import ReaderPredictor, words
from unbag.demo.run import fitted_to
from unbag.predictors import predictor_of

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


def disagreement(out: Path) -> Disagreement:
    """Ask the reader and the bag of words the demonstration's validation pairs, as they are written.

    Args:
        out: the folder that `demo.run.run` filled.
    """
    pairs = list(demo.pairs("validation"))
    sentences = [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs]
    bag_of_words, _ = predictor_of("lexical", **fitted_to(out))
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
