"""Permutation Acceptance and row scores of the permuted set."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbag.data.predictions import NO_ANSWER, Columns, SetPredictions, select_rows
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.permutation_acceptance import ORIGINAL, PermutedRows, permutation_acceptance
from unbag.scoring.skill import RowScores
from unbag.scoring.validation import encode_names


def compute_permuted_scores(
    columns: Columns, predictions: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Compute Permutation Acceptance, overall and by BLEU, length and mini-tree ratio.

    Args:
        columns: Columns of n rows.
        predictions: Predictions, n rows.
        resamples: Number of bootstrap resamples.
        partial: Whether the rows are a part of the set. Only examples with all of their permutations then count.
    """
    if partial:
        columns, predictions = select_rows(_has_all_permutations(columns), columns, predictions)
        if not any(permutation != ORIGINAL for permutation in columns["permutation"]):
            return {}
    sources, _ = encode_names(columns["source_id"])  # in order of occurrence, which fixes the bootstrap resamples
    rows = PermutedRows(
        predictions.predicted,
        predictions.to_label_positions(columns["label"]),
        sources,
        columns["permutation"],
        probabilities=predictions.probabilities if predictions.has_confidence else None,
        bleu=_mean_of_sides(columns, "bleu_2"),
        bleu_3=_mean_of_sides(columns, "bleu_3"),
        bleu_4=_mean_of_sides(columns, "bleu_4"),
        minitree=_minitree_ratio(columns, sources),
        lengths=columns["premise_words"] + columns["hypothesis_words"] if "premise_words" in columns else None,
    )
    return dict(permutation_acceptance(rows, n_labels=len(predictions.label_space), curve=True, resamples=resamples))


def compute_permuted_row_scores(columns: Columns, predictions: SetPredictions) -> RowScores:
    """Compute the per-example scores that enter the skill score.

    The score is 1 for a correct prediction in order, minus the share of accepted permutations. A permutation without
    an answer counts as accepted. A bag of words and a constant prediction have 0 on every example, and random guessing
    has 0 on average. A perfect model has 1 in order and guesses on permutations, which gives 1 - 1/m with m labels. The
    paper's 1 - P^c is no such scale: it does not reward correct predictions in order, so random guessing is at its top.
    """
    gold = predictions.to_label_positions(columns["label"])
    right = predictions.predicted == gold
    source, names = encode_names(columns["source_id"])
    is_original = np.asarray(columns["permutation"]) == ORIGINAL
    orders = np.bincount(source[~is_original], minlength=len(names))
    is_accepted = right | (predictions.predicted == NO_ANSWER)
    accepted = np.bincount(source[~is_original], weights=is_accepted[~is_original], minlength=len(names)) / orders
    original_source = source[is_original]
    perfect = 1 - 1 / len(predictions.label_space)
    row_scores = right[is_original] - accepted[original_source]
    return RowScores(row_scores, gold[is_original], original_source, chance_score=0.0, perfect_score=perfect)


def _mean_of_sides(columns: Columns, name: str) -> NDArray[np.float64] | None:
    if f"premise_{name}" not in columns:
        return None
    sides = [np.asarray(columns[f"{side}_{name}"], dtype=np.float64) for side in ("premise", "hypothesis")]
    mean: NDArray[np.float64] = np.mean(sides, axis=0)
    return mean


def _minitree_ratio(columns: Columns, sources: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Compute the ratio of each pair's mini-tree overlap to that of the pair in order, shape (n,).

    The overlap is the mean over both sentences, as in the authors' code (Sinha et al. 2021, Figure 4). The paper's text
    describes the ratio for one sentence only. The ratio is NaN if the overlap in order is 0 or missing. The result is
    None if no overlap is known.
    """
    overlap = _mean_of_sides(columns, "minitree")
    if overlap is None or np.isnan(overlap).all():
        return None
    is_original = np.asarray(columns["permutation"]) == ORIGINAL
    original = np.full(int(sources.max()) + 1, np.nan)
    original[sources[is_original]] = overlap[is_original]
    denominator = original[sources]
    # `where` is False for 0 and for NaN, so that no division warns; these rows keep NaN.
    ratio: NDArray[np.float64] = np.divide(
        overlap, denominator, out=np.full(len(overlap), np.nan), where=denominator > 0
    )
    return ratio


def _has_all_permutations(columns: Columns) -> NDArray[np.bool_]:
    """Check for each row whether all permutations of its example are present, shape (n,)."""
    permutations: dict[Any, set[int]] = {}
    for name, permutation in zip(columns["source_id"], columns["permutation"], strict=True):
        permutations.setdefault(name, set()).add(int(permutation))
    every = set(range(ORIGINAL, max(map(max, permutations.values()), default=ORIGINAL) + 1))
    return np.array([permutations[name] == every for name in columns["source_id"]], dtype=np.bool_)
