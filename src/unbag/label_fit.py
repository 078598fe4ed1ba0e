"""The label probe of saved predictions, on the set's own rows: a file has no model to ask further pairs.

Only rows that are pairs of a corpus as they are count. On rows that were altered, or chosen because models fail on
them, another order may fit a model whose labels are right.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.challenge_sets.request import BuiltSet
from unbag.data.columns import column, numbers
from unbag.data.labels import LABELS, NOT_ENTAILMENT, fold, label_space_of, two_label_orders
from unbag.data.predictions import Answers

LEAST_ROWS: Final = 8
"""Rows that each of the three labels must have: a coin then fits another order once in a thousand files or less."""

ENOUGH: Final = 10 / 12
"""The mean over gold labels of the share right that another order must have, as `inference.probe` has it of pairs."""

MARGIN: Final = 0.2
"""How much more than as the file names its labels. As contradiction or not, what tells entailment from the rest has a
quarter less."""


class LabelFit(NamedTuple):
    """How a file's predictions fit the rows that are pairs of a corpus.

    Attributes:
        right: how many are right as the file names its labels.
        rows: how many there are.
        warning: what is to be said where another order fits clearly better; None where none does.
    """

    right: int
    rows: int
    warning: str | None


def of_rows(built: BuiltSet, answers: Answers) -> LabelFit | None:
    """Return how predictions fit the set's rows that are pairs of a corpus; None where that says nothing.

    It says nothing of a set without such rows, of pairs that tell entailment from the rest alone, and where a label has
    fewer than `LEAST_ROWS` rows.
    """
    wanted = challenge_sets.get(built.request.name).corpus_pairs
    if wanted is None or NOT_ENTAILMENT in built.rows.features["label"].names:
        return None
    chosen = np.ones(len(built.rows), dtype=np.bool_)
    for name, value in wanted.items():
        chosen &= numbers(built.rows, name) == value
    labels = column(built.rows, "label").to_numpy()[chosen]
    if min(np.bincount(labels, minlength=len(LABELS))) < LEAST_ROWS:
        return None
    return fit(answers.predicted[chosen], labels, answers.label_space, has_columns=answers.has_probabilities)


def fit(
    predicted: NDArray[np.intp], labels: NDArray[np.intp], declared: Sequence[str], *, has_columns: bool
) -> LabelFit:
    """Compare the names of a file's labels with every other order of them.

    Args:
        predicted: positions in `declared`, shape (n,).
        labels: gold ids, shape (n,), all three among them.
        declared: the labels as the file names them.
        has_columns: whether the file has a column of probabilities for each, or names labels.
    """
    others = list(permutations(declared)) if len(declared) > 2 else two_label_orders()
    orders = [tuple(declared), *(order for order in others if order != tuple(declared))]
    shares = [_balanced(predicted, labels, order) for order in orders]
    best = max(range(len(orders)), key=shares.__getitem__)  # the file's own order comes first, so it wins a tie
    warning = None
    if shares[best] >= ENOUGH and shares[best] - shares[0] >= MARGIN:
        renamed = ", ".join(
            f"{name} to {meant}" for name, meant in zip(orders[0], orders[best], strict=True) if name != meant
        )
        warning = (
            f"gets {shares[0]:.1%} of {len(labels):,} pairs of the corpus right, the mean over labels, and "
            f"{shares[best]:.1%} with its labels renamed: its {'columns' if has_columns else 'predictions'} may be "
            f"named in the wrong order; if so, change {renamed} in the file"
        )
    gold = [list(declared).index(fold(label, declared)) for label in LABELS]
    return LabelFit(int((predicted == np.array(gold)[labels]).sum()), len(labels), warning)


def _balanced(predicted: NDArray[np.intp], labels: NDArray[np.intp], order: tuple[str, ...]) -> float:
    """Return the mean over gold labels of the share right, were the predictions' labels in that order."""
    space = label_space_of(order)
    gold = np.array([order.index(fold(label, space)) for label in LABELS])[labels]
    return float(np.mean([(predicted[gold == label] == label).mean() for label in range(len(order))]))
