"""Accuracy by category of the replaced word, by word similarity, and by training frequency of the word pair."""

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import CONTRADICTION, get_label_id
from unbag.data.predictions import NO_ANSWER, Columns, SetPredictions
from unbag.scoring.accuracy import Annotations, compute_annotator_agreement, fleiss_kappa
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, estimate_ratio
from unbag.scoring.validation import encode_names, validate_columns

SIMILARITY_EDGES: Final = (-1.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Edges of the similarity bins. The bins of section 5.2 start at 0.5; the bin below 0.5 is not in the paper."""
FREQUENCY_STARTS: Final = (0, 1, 5, 10, 50, 100)
"""First frequency of each bin of section 5.3: 0, 1-4, 5-9, 10-49, 50-99, 100 and more."""


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
) -> dict[str, Any]:
    """Compute accuracy on pairs that differ in one word, by category of the replaced word.

    Glockner et al. 2018, "Breaking NLI Systems with Sentences that Require Simple Lexical Inferences"
    (https://aclanthology.org/P18-2103), sections 4.3 and 5.

    Args:
        predictions: Predicted label ids, shape (n,). An id that is not a label, such as -1, counts as wrong.
        references: Gold label ids, shape (n,).
        category: Category of each example, shape (n,).
        similarity: Cosine similarity of the two words in [-1, 1], shape (n,). None or NaN excludes an example.
        pair_frequency: Number of training examples with the word pair, shape (n,). None or NaN excludes an example.
        annotator_labels: Label ids of the annotators, n rows of any length. None and -1 are missing labels.
        premise: Premise of each example, shape (n,). Examples with the same premise are not independent (default: all
            examples are independent).
        resamples: Number of bootstrap resamples for the 95 % intervals of κ; 0 for no intervals.

    Returns:
        The scores of the card `metrics/category_accuracy/README.md`. Accuracies are `Estimate`s in [0, 1], where higher
        is better; the value is None without examples. Categories are in alphabetical order.

    >>> scores = category_accuracy([2, 2, 0, 1], [2, 2, 0, 0], ["colors", "colors", "synonyms", "synonyms"])
    >>> [(row["category"], row["accuracy"].value) for row in scores["by_category"]]
    [('colors', 1.0), ('synonyms', 0.5)]
    """
    numbers = {"similarity": similarity, "pair_frequency": pair_frequency}
    others = numbers | {"category": category, "annotator_labels": annotator_labels, "premise": premise}
    gold, predicted = validate_columns(references, others, predictions=predictions)
    kinds = np.asarray(category, dtype=np.str_)
    labels, counts = np.unique(gold, return_counts=True)
    group = np.arange(len(gold)) if premise is None else encode_names(premise)[0]
    human = None if annotator_labels is None else compute_annotator_agreement(annotator_labels, gold)

    def estimate(values: NDArray[Any], rows: NDArray[np.bool_]) -> Estimate:
        # Examples of one premise are not independent, so the intervals treat the premise as the unit.
        return estimate_ratio(values, rows, group, is_count_of_rows=True, resamples=resamples)

    def score(rows: NDArray[np.bool_]) -> dict[str, Any]:
        found = {"accuracy": estimate(predicted == gold, rows)}
        return found if human is None else {**found, "human": estimate(human.share, rows & human.annotated)}

    overall = score(np.ones(len(gold), dtype=np.bool_))
    scores: dict[str, Any] = {
        "n_examples": len(gold),
        "accuracy": overall["accuracy"],
        "majority": float(counts.max() / len(gold)),
        "by_category": [{"category": name, **score(kinds == name)} for name in np.unique(kinds).tolist()],
        "by_label": [{"label": label, **score(gold == label)} for label in labels.tolist()],
    }
    if similarity is not None:
        values = _read_numbers(similarity, "similarity", -1, 1)
        # The last bin includes its upper edge.
        bins = ((low, high, high if high < 1 else np.inf) for low, high in pairwise(SIMILARITY_EDGES))
        scores["by_similarity"] = [
            {"low": low, "high": high, "accuracy": estimate(predicted == gold, (values >= low) & (values < below))}
            for low, high, below in bins
        ]
    if pair_frequency is not None:
        values = _read_numbers(pair_frequency, "pair_frequency", 0, np.inf)
        scores["by_frequency"] = [
            {
                "least": start,
                "most": None if after is None else after - 1,
                "accuracy": estimate(predicted == gold, (values >= start) & (values < (after or np.inf))),
            }
            for start, after in zip(FREQUENCY_STARTS, (*FREQUENCY_STARTS[1:], None), strict=True)
        ]
    if annotator_labels is not None:
        scores["human"] = overall["human"]
        kappa = fleiss_kappa(annotator_labels, groups=group, resamples=resamples, seed=seed)
        if kappa is not None:
            scores["kappa"] = kappa
    return scores


def _read_numbers(values: Sequence[float | None], name: str, low: float, high: float) -> NDArray[np.float64]:
    """Convert to floats with NaN for None, shape (n,), and check the range."""
    numbers = np.array(values, dtype=np.float64)
    outside = (numbers < low) | (numbers > high)  # false for NaN
    if outside.any():
        row = int(outside.argmax())
        raise ValueError(
            f"{name}: expected values from {low} to {high}, got {numbers[row]} in row {row}; correct the column {name}"
        )
    return numbers


def score_breaking_nli(columns: Columns, predictions: SetPredictions, *, partial: bool = False) -> dict[str, Any]:
    """Compute the accuracy by category. The bootstrap resamples examples that share a premise together.

    A tie of the highest probability counts as no answer, hence as wrong. The paper counts a pair like this for which
    its WordNet baseline finds no relation. The scores by similarity and frequency cover contradictions only, as in
    section 5 of the paper. They are present if the set was built with these columns. The agreement of annotators is
    present if the pairs have their labels.

    The columns are `label` and `category`, and optionally `premise` and properties of the words.
    """
    votes = predictions.to_vote_positions(columns)
    tied = find_tied_rows(predictions)
    scores = category_accuracy(
        np.where(tied, NO_ANSWER, predictions.predicted),
        predictions.to_label_positions(columns["label"]),
        columns["category"],
        similarity=_select_contradictions(columns, "similarity"),
        pair_frequency=_select_contradictions(columns, "pair_frequency"),
        annotator_labels=votes,
        premise=columns.get("premise"),
        resamples=0 if partial else DEFAULT_RESAMPLES,
    )
    return {**scores, "labels": list(predictions.label_space), "unanswered": int(tied.sum())}


def find_tied_rows(predictions: SetPredictions) -> NDArray[np.bool_]:
    """Find the rows where several labels share the highest probability, shape (n,)."""
    # Exact equality is intended: it detects predictors that give the same value to several labels, not near ties.
    best = predictions.probabilities.max(axis=1, keepdims=True)
    tied: NDArray[np.bool_] = (predictions.probabilities == best).sum(axis=1) > 1
    return tied


def _select_contradictions(columns: Columns, name: str) -> Any:
    """Read a column of numbers with NaN for all rows but contradictions; None if no number remains."""
    if name not in columns:
        return None
    is_contradiction = np.asarray(columns["label"]) == get_label_id(CONTRADICTION)
    numbers = np.where(is_contradiction, np.asarray(columns[name], dtype=np.float64), np.nan)
    return None if np.isnan(numbers).all() else numbers
