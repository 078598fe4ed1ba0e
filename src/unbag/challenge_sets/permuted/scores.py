"""Permutation Acceptance of the permuted set."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbag.data.predictions import Columns, SetPredictions, select_rows
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.permutation_acceptance import ORIGINAL, permutation_acceptance
from unbag.scoring.skill import Credits
from unbag.scoring.validation import numbered


def permuted_scores(
    columns: Columns, answers: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Score answers with `scoring.permutation_acceptance`, with acceptance by BLEU, length, and mini-tree ratio.

    Of a part of the rows, examples count all of whose permutations are there.
    """
    if partial:
        columns, answers = select_rows(_of_whole_examples(columns), columns, answers)
        if not any(permutation != ORIGINAL for permutation in columns["permutation"]):
            return {}
    sources, _ = numbered(columns["source_id"])  # of the examples as they come, which is how they are drawn
    return dict(
        permutation_acceptance(
            answers.predicted,
            answers.gold(columns["label"]),
            sources,
            columns["permutation"],
            probabilities=answers.probabilities if answers.has_probabilities else None,
            bleu=_mean_of_sides(columns, "bleu_2"),
            bleu_3=_mean_of_sides(columns, "bleu_3"),
            bleu_4=_mean_of_sides(columns, "bleu_4"),
            minitree=_minitree_ratio(columns, sources),
            lengths=columns["premise_words"] + columns["hypothesis_words"] if "premise_words" in columns else None,
            n_labels=len(answers.label_space),
            curve=True,
            resamples=resamples,
        )
    )


def permuted_credits(columns: Columns, answers: SetPredictions) -> Credits:
    """Return for `scoring.skill` what of each example's right answer is lost with the order of its words.

    The credit is 1 for a right answer in order, less the share of the orders accepted. A bag of words and a constant
    answer have 0 of every example, and a coin has 0 on average; one who reads has 1 in order, and out of order guesses:
    1 - 1/m of m labels. 1 - P^c, beside which no model is asked to be right in order, has a coin at the top.
    """
    gold = answers.gold(columns["label"])
    right = answers.predicted == gold
    source, names = numbered(columns["source_id"])
    is_original = np.asarray(columns["permutation"]) == ORIGINAL
    orders = np.bincount(source[~is_original], minlength=len(names))
    accepted = np.bincount(source[~is_original], weights=right[~is_original], minlength=len(names)) / orders
    of = source[is_original]
    perfect = 1 - 1 / len(answers.label_space)
    return Credits(right[is_original] - accepted[of], gold[is_original], of, guess=0.0, perfect=perfect)


def _mean_of_sides(columns: Columns, name: str) -> NDArray[np.float64] | None:
    if f"premise_{name}" not in columns:
        return None
    sides = [np.asarray(columns[f"{side}_{name}"], dtype=np.float64) for side in ("premise", "hypothesis")]
    mean: NDArray[np.float64] = np.mean(sides, axis=0)
    return mean


def _minitree_ratio(columns: Columns, sources: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return the mini-tree overlap of each pair by that of its pair in order, shape (n,).

    The mean of both sentences' by the mean of both in order, as the authors' code has it (Sinha et al. 2021, Figure 4);
    the paper's text has the ratio of one sentence only. NaN where it is not defined; None where no overlap is known.
    """
    overlap = _mean_of_sides(columns, "minitree")
    if overlap is None or np.isnan(overlap).all():
        return None
    is_original = np.asarray(columns["permutation"]) == ORIGINAL
    original = np.full(int(sources.max()) + 1, np.nan)
    original[sources[is_original]] = overlap[is_original]
    below = original[sources]
    ratio: NDArray[np.float64] = np.divide(overlap, below, out=np.full(len(overlap), np.nan), where=below > 0)
    return ratio


def _of_whole_examples(columns: Columns) -> NDArray[np.bool_]:
    """Return for which rows all permutations of their example are there, shape (n,)."""
    permutations: dict[Any, set[int]] = {}
    for name, permutation in zip(columns["source_id"], columns["permutation"], strict=True):
        permutations.setdefault(name, set()).add(int(permutation))
    every = set(range(ORIGINAL, max(map(max, permutations.values()), default=ORIGINAL) + 1))
    return np.array([permutations[name] == every for name in columns["source_id"]], dtype=np.bool_)
