"""Accuracy by category of replaced word, by how alike the words are, and by how often training showed their pair."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NotRequired, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.accuracy import Annotations, Kappa, agreement, fleiss_kappa
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, named_estimates
from unbag.scoring.validation import labelled, numbered

SIMILARITY_EDGES: Final = (-1.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Of the bins of section 5.2, which begin at 0.5; one below them is ours."""
FREQUENCY_STARTS: Final = (0, 1, 5, 10, 50, 100)
"""Where the bins of section 5.3 begin: 0, 1-4, 5-9, 10-49, 50-99, 100 and more."""


_SIMILARITIES: Final = tuple(pairwise(SIMILARITY_EDGES))
_FREQUENCIES: Final = (
    *((start, after - 1) for start, after in pairwise(FREQUENCY_STARTS)),
    (FREQUENCY_STARTS[-1], None),
)

_Subset = tuple[str, Hashable]  # by what, and which
_ALL: Final[_Subset] = ("all", None)


class CategoryRow(TypedDict):
    """The accuracy on the examples of one category, and one annotator's where annotators' labels are given."""

    category: str
    accuracy: Estimate
    human: NotRequired[Estimate]


class LabelRow(TypedDict):
    """The accuracy on the examples of one gold label, by its id; one annotator's likewise."""

    label: int
    accuracy: Estimate
    human: NotRequired[Estimate]


class SimilarityBin(TypedDict):
    """The accuracy where `low` ≤ similarity < `high`; the last bin holds 1 too."""

    low: float
    high: float
    accuracy: Estimate


class FrequencyBin(TypedDict):
    """The accuracy where `least` ≤ frequency ≤ `most`; None for no upper end."""

    least: int
    most: int | None
    accuracy: Estimate


class CategoryAccuracyScores(TypedDict):
    """How often predictions are right, by the kind of word.

    An accuracy is an `Estimate` (value, low, high, n) from 0 to 1, higher is better, of None where there is no example.

    Attributes:
        n_examples: how many examples there are.
        accuracy: share of all examples predicted right (Table 3).
        majority: share of the commonest gold label, what a constant answer gets: 0.874 on the official pairs.
        by_category: accuracy by category, in order of their names (Table 4).
        by_label: accuracy by gold label (ours: a set of one label above all tells little by one number).
        by_similarity: accuracy by cosine similarity of the two words (section 5.2), where similarities are given.
        by_frequency: accuracy by the number of contradicting training examples with the one word in the premise and
            the other in the hypothesis (section 5.3), where frequencies are given.
        human: how often one annotator gives the gold label (Table 2): of each example the share of its annotators, then
            the mean over examples, where annotators' labels are given. Examples without them count out.
        kappa: Fleiss' κ of the annotators (Table 2), `Kappa`, where an example has two labels or more.
    """

    n_examples: int
    accuracy: Estimate
    majority: float
    by_category: list[CategoryRow]
    by_label: list[LabelRow]
    by_similarity: NotRequired[list[SimilarityBin]]
    by_frequency: NotRequired[list[FrequencyBin]]
    human: NotRequired[Estimate]
    kappa: NotRequired[Kappa]


def category_accuracy(
    predictions: ArrayLike,
    references: ArrayLike,
    category: Sequence[str],
    *,
    similarity: Sequence[float | None] | None = None,
    pair_frequency: Sequence[int | None] | None = None,
    annotator_labels: Annotations | None = None,
    premise: Sequence[Hashable] | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> CategoryAccuracyScores:
    """Score predictions on pairs that differ in one word, by the kind of word.

    Glockner et al. 2018, "Breaking NLI Systems with Sentences that Require Simple Lexical Inferences", sections 4.3 and
    5.

    Args:
        predictions: predicted label ids, shape (n,). An id that is no label (-1 for no answer, say) is wrong.
        references: gold label ids, shape (n,).
        category: the category of each example, shape (n,).
        similarity: a number in [-1, 1] for each example, shape (n,), or None (or NaN) for an example that does not
            count: the paper leaves out replaced phrases of several words, and all that is no contradiction.
        pair_frequency: likewise, a number of training examples.
        annotator_labels: the label ids that annotators gave to each example, n rows of any length, or an array of shape
            (n, annotators). None and -1 are no label. For `human` and `kappa`.
        premise: the premise each example is made from, shape (n,): examples of one premise are no independent
            evidence. Without it each is an example of its own.
        resamples: bootstrap draws of the 95 % intervals of κ; 0 for no intervals.
        seed: decides the draws.

    Raises:
        ValueError: if lengths differ, there is no example, or a similarity or frequency is out of its range.

    >>> scores = category_accuracy([2, 2, 0, 1], [2, 2, 0, 0], ["colors", "colors", "synonyms", "synonyms"])
    >>> [(row["category"], row["accuracy"].value) for row in scores["by_category"]]
    [('colors', 1.0), ('synonyms', 0.5)]
    """
    gold, predicted = labelled(references, predictions=predictions)
    columns = {
        **{"category": category, "similarity": similarity, "pair_frequency": pair_frequency},
        **{"annotator_labels": annotator_labels, "premise": premise},
    }
    lengths = {"references": len(gold)} | {name: len(values) for name, values in columns.items() if values is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"expected the same number of examples everywhere, found {lengths}")
    kinds = np.asarray(category, dtype=np.str_)
    names, (labels, counts) = np.unique(kinds).tolist(), np.unique(gold, return_counts=True)
    subsets: dict[_Subset, NDArray[np.bool_]] = {_ALL: np.ones(len(gold), dtype=np.bool_)}
    subsets |= {("category", name): kinds == name for name in names}
    subsets |= {("label", label): gold == label for label in labels.tolist()}
    if similarity is not None:
        subsets |= _by_similarity(_numbers(similarity, "similarity", -1, 1))
    if pair_frequency is not None:
        subsets |= _by_frequency(_numbers(pair_frequency, "frequency", 0, np.inf))
    group = np.arange(len(gold)) if premise is None else numbered(premise)[0]
    estimates = _estimates(predicted == gold, subsets, group, resamples, seed)
    scores: CategoryAccuracyScores = {
        "n_examples": len(gold),
        "accuracy": estimates[_ALL],
        "majority": float(counts.max() / len(gold)),
        "by_category": [{"category": name, "accuracy": estimates["category", name]} for name in names],
        "by_label": [{"label": label, "accuracy": estimates["label", label]} for label in labels.tolist()],
    }
    if similarity is not None:
        scores["by_similarity"] = [
            {"low": low, "high": high, "accuracy": estimates["similarity", low]} for low, high in _SIMILARITIES
        ]
    if pair_frequency is not None:
        scores["by_frequency"] = [
            {"least": least, "most": most, "accuracy": estimates["frequency", least]} for least, most in _FREQUENCIES
        ]
    if annotator_labels is not None:
        people = agreement(annotator_labels, gold)
        votes = {name: inside & people.annotated for name, inside in subsets.items()}
        human = _estimates(people.share, votes, group, resamples, seed)
        scores["human"] = human[_ALL]
        for by_category in scores["by_category"]:
            by_category["human"] = human["category", by_category["category"]]
        for by_label in scores["by_label"]:
            by_label["human"] = human["label", by_label["label"]]
        kappa = fleiss_kappa(annotator_labels, groups=group, resamples=resamples, seed=seed)
        if kappa is not None:
            scores["kappa"] = kappa
    return scores


def _estimates(
    right: NDArray[np.bool_ | np.float64],
    subsets: Mapping[_Subset, NDArray[np.bool_]],
    group: NDArray[np.int64],
    resamples: int,
    seed: int,
) -> dict[_Subset, Estimate]:
    """Return the mean of `right`, a number from 0 to 1, over each subset; its n counts examples."""
    ratios = {
        name: (np.bincount(group, weights=right * inside), np.bincount(group, weights=inside))
        for name, inside in subsets.items()
    }
    estimates = named_estimates(ratios, resamples=resamples, seed=seed)
    return {name: estimate.of(estimate.sample, n=int(subsets[name].sum())) for name, estimate in estimates.items()}


def _by_similarity(values: NDArray[np.float64]) -> dict[_Subset, NDArray[np.bool_]]:
    return {
        ("similarity", low): (values >= low) & ((values < high) | ((high == 1) & (values == 1)))
        for low, high in _SIMILARITIES
    }


def _by_frequency(values: NDArray[np.float64]) -> dict[_Subset, NDArray[np.bool_]]:
    return {
        ("frequency", least): (values >= least) & (values <= (np.inf if most is None else most))
        for least, most in _FREQUENCIES
    }


def _numbers(values: Sequence[float | None], name: str, low: float, high: float) -> NDArray[np.float64]:
    """Return numbers, NaN for None, shape (n,)."""
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    outside = (numbers < low) | (numbers > high)  # false for NaN
    if outside.any():
        row = int(outside.argmax())
        raise ValueError(f"expected every {name} from {low} to {high}, found {numbers[row]} in row {row}")
    return numbers
