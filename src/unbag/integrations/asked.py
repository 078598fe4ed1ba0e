"""Challenge sets as a training loop asks them: built once, and scored as names and plain numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.challenge_sets import suite
from unbag.challenge_sets.base import SCORE, ChallengeSet, Quantity
from unbag.challenge_sets.request import Request, build
from unbag.data.columns import column, count_distinct
from unbag.data.labels import LABEL_SPACES, LabelError, resolve_order
from unbag.data.predictions import SetPredictions, scatter_predictions

DEFAULT_EXAMPLES: Final = 100
"""Source examples of each set that is asked for by its name: seconds of a small model at each evaluation."""

BEYOND_GUESSING: Final = "beyond_guessing"
"""What the score beyond words is called where no lexical model was asked: 0 is then the best of chance, a constant
prediction and, in a training loop, the model's own answers to shuffled words (`scoring.skill`)."""

BOUNDS: Final = ("low", "high")
"""What follows a number's name, after `_`, where its 95 % interval begins and ends."""


@dataclass(frozen=True)
class BuiltChallengeSet:
    """A challenge set with its rows.

    Attributes:
        described: the set.
        rows: a `datasets.Dataset`.
        decisive: which rows the score beyond words rests on (`challenge_sets.request.BuiltSet.decisive`), shape (n,).
        control: these with shuffled words, draw after draw (`challenge_sets.request.BuiltSet.control`); None where
            these are not asked.
    """

    described: ChallengeSet
    rows: Any
    decisive: NDArray[np.bool_] | None = None
    control: Any = None

    def __len__(self) -> int:
        return len(self.rows) + (0 if self.control is None else len(self.control))

    @cached_property
    def pairs(self) -> tuple[list[str], list[str]]:
        """The premises and the hypotheses of all rows, then those of the control."""
        asked = (self.rows,) if self.control is None else (self.rows, self.control)
        premises, hypotheses = (
            [text for rows in asked for text in column(rows, side).to_pylist()] for side in ("premise", "hypothesis")
        )
        return premises, hypotheses

    def numbers(self, answers: SetPredictions) -> dict[str, float]:
        """Return the numbers that a model card quotes, by name, each with its interval.

        `p_c`, `p_c_low` and `p_c_high`, say. What has no example is left out.

        Args:
            answers: to all of `pairs`.
        """
        n = len(self.rows)
        own, draws = answers._replace(probabilities=answers.probabilities[:n]), []
        if self.control is not None and self.decisive is not None:
            size = int(self.decisive.sum())
            for start in range(n, len(answers.probabilities), size):
                draw = answers._replace(probabilities=answers.probabilities[start : start + size])
                draws.append(scatter_predictions(draw, self.decisive))
        found: dict[str, float] = {}
        scores = self.described.score_rows(self.rows, own, shuffled=draws)
        for quantity, estimate in self.described.measurements(scores, "quoted"):
            values = dict(zip(names(quantity), (estimate.value, estimate.low, estimate.high), strict=True))
            found |= {name: float(value) for name, value in values.items() if value is not None}
        return found


def names(quantity: Quantity) -> tuple[str, str, str]:
    """Return what a number and the ends of its interval are called."""
    name = BEYOND_GUESSING if quantity is SCORE else quantity.name
    return (name, *(f"{name}_{bound}" for bound in BOUNDS))  # type: ignore[return-value]


def quantities(requests: Sequence[Request]) -> Iterator[tuple[str, Quantity]]:
    """Yield `<set>_<number>`, and what it is, of all that may be logged of some sets; the ends of intervals too."""
    for request in requests:
        for quantity in challenge_sets.get(request.name).quantities_with_role("quoted"):
            for name in names(quantity):
                yield f"{request.name}_{name}", quantity


def requested(sets: Sequence[Request | str] | Request | str, examples: int) -> list[Request]:
    """Return the requests for some sets.

    Args:
        sets: names, of which a sample of so many examples is asked, and requests, which are asked as they are.
        examples: how many source examples of a set that is named.

    Raises:
        ValueError: if there is no such set, none is asked for, or one of them twice.
    """
    if examples < 1:
        raise ValueError(f"expected at least 1 example of each set, found examples={examples}")
    listed = [sets] if isinstance(sets, Request | str) else list(sets)
    requests = [
        each if isinstance(each, Request) else replace(suite.sampled(suite.request(each)), examples=examples)
        for each in listed
    ]
    found = [request.name for request in requests]
    if not found or len(set(found)) < len(found):
        raise ValueError(
            f"expected challenge sets, each once ({', '.join(challenge_sets.names())}), found "
            f"{', '.join(found) or 'none'}"
        )
    return requests


def built(request: Request) -> BuiltChallengeSet:
    """Build a set, or take it from the cache.

    Raises:
        ValueError: as `challenge_sets.request.build`.
    """
    item = build(request)
    return BuiltChallengeSet(challenge_sets.get(request.name), item.rows, item.decisive, item.control)


def bounded(requests: Sequence[Request], max_rows: int | None) -> list[BuiltChallengeSet]:
    """Build sets so that all of them together have at most `max_rows` rows, those with shuffled words included.

    Sets with few rows stay whole; the others share what is left, as many source examples of each as fit.

    Args:
        requests: the sets.
        max_rows: the most rows; None for all that the requests ask for.

    Raises:
        ValueError: if not even one example of each set fits; also as `challenge_sets.request.build`.
    """
    found = [built(request) for request in requests]
    if max_rows is None:
        return found
    left = max_rows
    by_size = sorted(range(len(found)), key=lambda place: len(found[place]))
    for done, place in enumerate(by_size):
        share = left // (len(found) - done)
        found[place] = _within(requests[place], found[place], share)
        left -= len(found[place])
    return found


def _within(request: Request, asked: BuiltChallengeSet, share: int) -> BuiltChallengeSet:
    """Draw as many source examples of a set as have at most `share` rows together."""
    examples = count_distinct(asked.rows, "source_id")
    while len(asked) > share:
        if examples == 1:
            raise ValueError(
                f"max_rows: expected room for one example of each set, got a share of {share} rows for {request.name}, "
                f"whose first example has {len(asked)}; set max_rows higher or name fewer sets"
            )
        # The control has more draws of each row where there are fewer rows: draw in smaller and smaller steps.
        examples = max(1, min(examples - 1, examples * share // len(asked)))
        asked = built(replace(request, examples=examples))
    return asked


def order_of(network: Any) -> tuple[str, ...]:
    """Return the labels of a classifier's outputs in their order, by its config.

    Raises:
        ValueError: if it has no config that names labels, or (`data.labels.LabelError`) the names say nothing.
    """
    id2label = getattr(getattr(network, "config", None), "id2label", None)
    if not id2label:
        raise ValueError(
            f"expected a sequence classifier of transformers, whose config has id2label, found "
            f"{type(network).__module__}.{type(network).__qualname__}"
        )
    return named_order(id2label)


def named_order(id2label: Mapping[int, str]) -> tuple[str, ...]:
    """Return the labels of a model's outputs in their order, by the names it gives them.

    Raises:
        labels.LabelError: if the names say nothing, as those of a new head do not.
    """
    theirs = {int(output): str(label) for output, label in id2label.items()}
    try:
        return resolve_order(theirs)
    except LabelError:
        raise LabelError(
            f"expected id2label to name the labels of NLI ({'; or '.join(', '.join(each) for each in LABEL_SPACES)}), "
            f"found {theirs}; set the model's config.id2label before training, each name at the id that the training "
            "data has for it"
        ) from None
