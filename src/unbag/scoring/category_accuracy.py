"""Accuracy by category of the replaced word, by word similarity, and by training frequency of the word pair."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NotRequired, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.accuracy import Annotations, FleissKappaScores, compute_annotator_agreement, fleiss_kappa
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, estimate_named_ratios
from unbag.scoring.validation import encode_names, validate_columns

SIMILARITY_EDGES: Final = (-1.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Edges of the similarity bins. The bins of section 5.2 start at 0.5; the bin below 0.5 is not in the paper."""
FREQUENCY_STARTS: Final = (0, 1, 5, 10, 50, 100)
"""First frequency of each bin of section 5.3: 0, 1-4, 5-9, 10-49, 50-99, 100 and more."""


_SIMILARITIES: Final = tuple(pairwise(SIMILARITY_EDGES))
_FREQUENCIES: Final = (
    *((start, after - 1) for start, after in pairwise(FREQUENCY_STARTS)),
    (FREQUENCY_STARTS[-1], None),
)

_Subset = tuple[str, Hashable]  # dimension and value: ("category", "colors")
_ALL: Final[_Subset] = ("all", None)


class CategoryRow(TypedDict):
    """Accuracy on the examples of one category, and human accuracy if annotator labels are given."""

    category: str
    accuracy: Estimate
    human: NotRequired[Estimate]


class LabelRow(TypedDict):
    """Accuracy on the examples with one gold label, and human accuracy if annotator labels are given."""

    label: int
    accuracy: Estimate
    human: NotRequired[Estimate]


class SimilarityBin(TypedDict):
    """Accuracy on the examples with `low` ≤ similarity < `high`. The last bin includes 1."""

    low: float
    high: float
    accuracy: Estimate


class FrequencyBin(TypedDict):
    """Accuracy on the examples with `least` ≤ frequency ≤ `most`. In the last bin, `most` is None."""

    least: int
    most: int | None
    accuracy: Estimate


class CategoryAccuracyScores(TypedDict):
    """Accuracy by category of the replaced word.

    An accuracy is an `Estimate` (value, low, high, n): a fraction in [0, 1] (higher is better), its 95 % interval and
    the number of examples. The value is None without examples.

    Attributes:
        n_examples: Number of examples.
        accuracy: Share of all examples predicted correctly (Table 3).
        majority: Share of the most frequent gold label, which is the accuracy of the best constant prediction; 0.874 on
            the official pairs.
        by_category: Accuracy by category, in alphabetical order (Table 4).
        by_label: Accuracy by gold label. The paper does not report it; overall accuracy says little if most examples
            have the same label.
        by_similarity: Accuracy by cosine similarity of the two words (section 5.2), if similarities are given.
        by_frequency: Accuracy by number of contradicting training examples with one word in the premise and the other
            in the hypothesis (section 5.3), if frequencies are given.
        human: Human accuracy (Table 2): the share of annotators who give the gold label, averaged over the examples
            that have annotators. Present if annotator labels are given.
        kappa: Fleiss' κ between annotators (Table 2), a `FleissKappaScores`. Present if an example has at least two
            annotator labels.
    """

    n_examples: int
    accuracy: Estimate
    majority: float
    by_category: list[CategoryRow]
    by_label: list[LabelRow]
    by_similarity: NotRequired[list[SimilarityBin]]
    by_frequency: NotRequired[list[FrequencyBin]]
    human: NotRequired[Estimate]
    kappa: NotRequired[FleissKappaScores]


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
    """Compute accuracy on pairs that differ in one word, by category of the replaced word.

    Glockner et al. 2018, "Breaking NLI Systems with Sentences that Require Simple Lexical Inferences"
    (https://aclanthology.org/P18-2103), sections 4.3 and 5.

    Args:
        predictions: Predicted label ids, shape (n,). An id that is not a label, such as -1, counts as wrong.
        references: Gold label ids, shape (n,).
        category: Category of each example, shape (n,).
        similarity: Cosine similarity of the two words in [-1, 1], shape (n,). None or NaN excludes an example. The
            paper excludes multi-word phrases and all pairs that are not contradictions.
        pair_frequency: Number of training examples with the word pair, at least 0, shape (n,). None or NaN excludes an
            example.
        annotator_labels: Label ids of the annotators, n rows of any length or shape (n, annotators), for `human` and
            `kappa`. None and -1 are missing labels.
        premise: Premise of each example, shape (n,). Examples with the same premise are not independent (default: all
            examples are independent).
        resamples: Number of bootstrap resamples for the 95 % intervals of κ; 0 for no intervals.
        seed: Random seed for the resamples.

    Returns:
        Fractions in [0, 1]; higher is better.

    Raises:
        ValueError: If the lengths differ, there are no examples, or a similarity or frequency is out of range.

    >>> scores = category_accuracy([2, 2, 0, 1], [2, 2, 0, 0], ["colors", "colors", "synonyms", "synonyms"])
    >>> [(row["category"], row["accuracy"].value) for row in scores["by_category"]]
    [('colors', 1.0), ('synonyms', 0.5)]
    """
    gold, predicted = validate_columns(references, predictions=predictions)
    columns = {
        **{"category": category, "similarity": similarity, "pair_frequency": pair_frequency},
        **{"annotator_labels": annotator_labels, "premise": premise},
    }
    lengths = {"references": len(gold)} | {name: len(values) for name, values in columns.items() if values is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"category_accuracy: expected columns of equal length, got {lengths}; pass one value per example"
        )
    kinds = np.asarray(category, dtype=np.str_)
    names, (labels, counts) = np.unique(kinds).tolist(), np.unique(gold, return_counts=True)
    subsets: dict[_Subset, NDArray[np.bool_]] = {_ALL: np.ones(len(gold), dtype=np.bool_)}
    subsets |= {("category", name): kinds == name for name in names}
    subsets |= {("label", label): gold == label for label in labels.tolist()}
    if similarity is not None:
        subsets |= _by_similarity(_numbers(similarity, "similarity", -1, 1))
    if pair_frequency is not None:
        subsets |= _by_frequency(_numbers(pair_frequency, "pair_frequency", 0, np.inf))
    group = np.arange(len(gold)) if premise is None else encode_names(premise)[0]
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
        human_agreement = compute_annotator_agreement(annotator_labels, gold)
        annotated = {name: inside & human_agreement.annotated for name, inside in subsets.items()}
        human = _estimates(human_agreement.share, annotated, group, resamples, seed)
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
    """Estimate the mean of `right`, values in [0, 1], over each subset; `n` counts examples, not groups."""
    # Sums by group: examples of one premise are not independent, so the intervals treat the premise as the unit.
    ratios = {
        name: (np.bincount(group, weights=right * inside), np.bincount(group, weights=inside))
        for name, inside in subsets.items()
    }
    estimates = estimate_named_ratios(ratios, resamples=resamples, seed=seed)
    return {
        name: estimate.copy_with_sample(estimate.sample, n=int(subsets[name].sum()))
        for name, estimate in estimates.items()
    }


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
    """Convert to floats with NaN for None, shape (n,), and check the range."""
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    outside = (numbers < low) | (numbers > high)  # false for NaN
    if outside.any():
        row = int(outside.argmax())
        raise ValueError(
            f"{name}: expected values from {low} to {high}, got {numbers[row]} in row {row}; correct the column {name}"
        )
    return numbers
