"""Permutation acceptance: how often shuffled pairs are predicted with the gold label (Sinha et al. 2021, section 4)."""

from collections.abc import Hashable, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.predictions import Columns, SetPredictions, select_rows
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, estimate_ratio
from unbag.scoring.validation import encode_names, validate_columns

ORIGINAL: Final = -1
"""Permutation index of the unpermuted pair."""
CONFIDENCES: Final = (0.0, 0.5, 0.9)
"""Thresholds τ on the probability of the gold label; 0 is the paper's definition."""
BLEU_WIDTH: Final = 0.1
LENGTH_WIDTH: Final = 5
MINITREE_WIDTH: Final = 0.1

Bools = NDArray[np.bool_]


def permutation_acceptance(
    predictions: ArrayLike,
    references: ArrayLike,
    source_id: Sequence[Hashable] | NDArray[Any],
    permutation: ArrayLike,
    probabilities: ArrayLike | None = None,
    *,
    bleu: ArrayLike | None = None,
    bleu_3: ArrayLike | None = None,
    bleu_4: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    minitree: ArrayLike | None = None,
    n_labels: int = 3,
    entropy_over: Literal["examples", "permutations"] = "examples",
    curve: bool = False,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute how often the gold label of the original pair is predicted for permuted pairs.

    For example i with gold label y_i, Pr_i is the share of its q permutations that are predicted as y_i (Sinha et al.
    2021, https://aclanthology.org/2021.acl-long.569, equation 1). There is one row per source example and permutation,
    in any order. For a bag-of-words model, p_c is 1 and omega_max equals accuracy.

    Args:
        predictions: Predicted label ids, shape (n,). A negative id is a missing prediction, which never improves a
            score. Without a prediction, a permutation counts as accepted, and an unpermuted pair as wrong. Such a pair
            belongs to D^c or D^f only where it raises the mean.
        references: Gold label ids, shape (n,), equal in all rows of a source.
        permutation: Permutation index, shape (n,): 0 … q - 1, and -1 for the unpermuted pair.
        probabilities: Predicted distributions by label id, shape (n, n_labels); required for τ > 0 and for entropies.
        bleu, bleu_3, bleu_4: BLEU of each row against its original, in [0, 1], shape (n,), for the bins of the same
            name.
        lengths: Number of words of each row, shape (n,), for `by_length`.
        minitree: POS mini-tree overlap of each row divided by that of its original (`scoring.pos_minitree`), shape
            (n,); NaN where undefined.
        entropy_over: Unit that has equal weight in the mean entropies: `examples` or accepted `permutations`.
        curve: Whether to compute `curve`.
        resamples: Number of bootstrap resamples over examples for the 95 % intervals of entropies; 0 for no intervals.

    Returns:
        The scores of the card `metrics/permutation_acceptance/README.md`: `Estimate`s in [0, 1], where lower acceptance
        and higher accuracy are better, and entropies in nats. A value is None if it would be computed from no examples.

    >>> scores = permutation_acceptance([0, 0, 1, 2, 0, 2], [0, 0, 0, 0, 0, 0], list("aaabbb"), [-1, 0, 1, -1, 0, 1])
    >>> scores["omega_max"].value, scores["p_c"].value, scores["p_f"].value
    (1.0, 0.5, 0.5)
    """
    if entropy_over not in ("examples", "permutations"):
        raise ValueError(f"entropy_over: expected 'examples' or 'permutations', got {entropy_over!r}; use one of these")
    distributions = None if probabilities is None else np.asarray(probabilities, dtype=np.float64)
    others = {"source_id": source_id, "probabilities": distributions, "lengths": lengths, "minitree": minitree}
    others |= {"bleu": bleu, "bleu_3": bleu_3, "bleu_4": bleu_4}
    gold, predicted, index = validate_columns(references, others, predictions=predictions, permutation=permutation)
    rows = _ScoredRows(predicted, gold, *encode_names(source_id), index)
    scores: dict[str, Any] = {
        "n_examples": len(rows.is_correct),
        "q": rows.q,
        "n_labels": n_labels,
        "n_c": int(rows.is_correct.sum()),
        "n_f": int(rows.is_flipped.sum()),
        "accuracy": estimate_ratio(rows.is_correct, resamples=resamples),
        **rows.estimate_acceptance(rows.n_right, n_labels, resamples),
    }
    if distributions is not None:
        from scipy.special import entr  # harnesses have no probabilities and need only numpy

        gold_probabilities = _select_gold_probabilities(distributions, gold)
        entropy = rows.sum_permutations(np.where(rows.is_right, entr(distributions).sum(axis=1), 0.0))
        means = entropy / np.maximum(rows.n_right, 1)  # of each example's accepted permutations
        weights = np.minimum(rows.n_right, 1) if entropy_over == "examples" else rows.n_right
        for name, of in (("c", rows.is_correct), ("f", ~rows.is_correct)):
            scores[f"entropy_{name}"] = estimate_ratio(
                means, weights * of, is_mean=True, resamples=resamples, seed=seed
            )
        for name, of in (("c", rows.is_correct), ("f", ~rows.is_correct)):
            subset = means[of & (rows.n_right > 0)]
            scores[f"entropy_quartiles_{name}"] = np.percentile(subset, [25, 50, 75]).tolist() if len(subset) else None
        scores["confident"] = {}
        for tau in CONFIDENCES[1:]:
            n_right = rows.sum_permutations(rows.is_right & (gold_probabilities >= tau))
            scores["confident"][f"{tau:g}"] = rows.estimate_acceptance(n_right, n_labels, resamples)
    if curve:
        shares = [round(x / 100, 2) for x in range(100)]
        # Rounded, because 0.07 * 100 is 7.000000000000001.
        scores["curve"] = [(x, float(np.mean(rows.n_accepted > round(x * rows.q, 6)))) for x in shares]
        scores["curve"].append((1.0, float(np.mean(rows.n_accepted == rows.q))))
    properties = {
        "by_bleu": (bleu, BLEU_WIDTH),
        "by_bleu_3": (bleu_3, BLEU_WIDTH),
        "by_bleu_4": (bleu_4, BLEU_WIDTH),
        "by_minitree": (minitree, MINITREE_WIDTH),
        "by_length": (lengths, LENGTH_WIDTH),
    }
    for name, (values, width) in properties.items():
        if values is not None:
            scores[name] = rows.compute_bins(np.asarray(values, dtype=np.float64), width)
    return scores


class _ScoredRows:
    """Validated rows, with the outcome of each row and each source."""

    def __init__(
        self,
        predicted: NDArray[np.int64],
        gold: NDArray[np.int64],
        source: NDArray[np.int64],
        names: Sequence[Hashable],
        index: NDArray[np.int64],
    ) -> None:
        self.source, self.is_original = source, index == ORIGINAL
        self.q = _count_permutations(source, index, names)
        original = np.empty(len(names), dtype=np.int64)
        original[source[self.is_original]] = np.flatnonzero(self.is_original)
        if (mixed := gold != gold[original][source]).any():
            raise ValueError(
                f"references: expected the same gold label in all rows of a source, got different labels for source "
                f"{names[source[mixed.argmax()]]!r}"
            )
        self.is_right: Bools = predicted == gold
        is_missing = predicted < 0
        # Lower acceptance is better, so a missing prediction must count as accepted.
        self.is_accepted: Bools = self.is_right | is_missing
        self.n_right = self.sum_permutations(self.is_right)
        self.n_missing = self.sum_permutations(is_missing)
        self.n_accepted = self.n_right + self.n_missing
        self.is_correct: Bools = self.is_right[original]  # D^c
        self.is_unknown: Bools = is_missing[original]
        self.is_flipped: Bools = ~self.is_correct & (self.n_accepted > 0)  # D^f

    def sum_permutations(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Sum values over the permutations of each source example, shape (sources,)."""
        weights = np.where(self.is_original, 0.0, values)
        # The numpy stubs type bincount as integers, also with float weights.
        sums: NDArray[Any] = np.bincount(self.source, weights=weights)
        return sums

    def estimate_acceptance(self, n_right: NDArray[np.float64], n_labels: int, resamples: int) -> dict[str, Estimate]:
        """Estimate the scores that are computed for each threshold τ, given the right permutations by example."""
        q, count = self.q, n_right + self.n_missing
        share = count / q
        correct = _raise_mean(share, self.is_correct, self.is_unknown)
        accepted, wrong = (
            _raise_mean(share, certain & ~self.is_unknown & (n_right > 0), (certain | self.is_unknown) & (count > 0))
            for certain in (self.is_correct, ~self.is_correct)
        )
        everything = np.ones(len(count), dtype=bool)
        parts: dict[str, tuple[NDArray[Any], Bools]] = {
            "omega_max": (count > 0, everything),
            "omega_rand": (count * n_labels > q, everything),  # in integers, because 1/3 is not exact as a float
            "omega_all": (count == q, everything),
            "acceptance": (share, everything),
            "p_c": (share, correct),
            "p_c_accepted": (share, accepted),
            "p_f": (share, wrong),
        }
        return {name: estimate_ratio(*part, resamples=resamples) for name, part in parts.items()}

    def compute_bins(self, values: NDArray[np.float64], width: float) -> list[dict[str, Any]]:
        """Compute the acceptance per bin [low, high) of a property for all sources, D^c and D^f, without NaN rows."""
        permuted = ~self.is_original & ~np.isnan(values)
        # The small constant puts 0.3 / 0.1 = 2.9999… into the bin that starts at 0.3.
        index = np.floor(values[permuted] / width + 1e-9).astype(np.int64)
        is_accepted, sources = self.is_accepted[permuted], self.source[permuted]
        n_bins = int(index.max(initial=-1)) + 1

        def count(subset: Bools) -> tuple[list[int], list[float | None]]:
            """Compute the number of permutations in each bin, and the fraction of them that is accepted."""
            counts = np.bincount(index[subset], minlength=n_bins)
            accepted = np.bincount(index[subset], weights=is_accepted[subset], minlength=n_bins)
            return counts.tolist(), [float(k / n) if n else None for k, n in zip(accepted, counts, strict=True)]

        n, acceptance = count(np.ones(len(sources), dtype=bool))
        n_c, acceptance_c = count(self.is_correct[sources])
        n_f, acceptance_f = count(self.is_flipped[sources])
        return [
            {
                "low": round(float(i * width), 6),
                "high": round(float((i + 1) * width), 6),
                "n": n[i],
                "acceptance": acceptance[i],
                "n_c": n_c[i],
                "acceptance_c": acceptance_c[i],
                "n_f": n_f[i],
                "acceptance_f": acceptance_f[i],
            }
            for i in range(n_bins)
            if n[i]
        ]


def _raise_mean(values: NDArray[np.float64], certain: Bools, possible: Bools) -> Bools:
    """Add those possible members to a subset that raise the mean of its values as far as possible."""
    selected = certain.copy()
    total, n = float(values[certain].sum()), int(certain.sum())
    others = np.flatnonzero(possible & ~certain)
    # From the highest value: after a value that does not raise the mean, no other does.
    for example in others[np.argsort(-values[others], kind="stable")]:
        if n and values[example] * n <= total:
            break
        selected[example] = True
        total, n = total + float(values[example]), n + 1
    return selected


def _select_gold_probabilities(probabilities: NDArray[np.float64], gold: NDArray[np.int64]) -> NDArray[np.float64]:
    """Select the probability of each row's gold label, shape (n,), and validate the probabilities."""
    if probabilities.ndim != 2 or gold.max() >= probabilities.shape[1]:
        raise ValueError(
            f"probabilities: expected shape ({len(gold)}, n_labels) with a column for every gold label id "
            f"(up to {gold.max()}), got shape {probabilities.shape}"
        )
    if np.isnan(probabilities).any():
        row = int(np.isnan(probabilities).any(axis=1).argmax())
        raise ValueError(f"probabilities: expected no NaN, got NaN in row {row}; correct the predictions")
    selected: NDArray[np.float64] = probabilities[np.arange(len(gold)), gold]
    return selected


def _count_permutations(source: NDArray[np.int64], index: NDArray[np.int64], names: Sequence[Hashable]) -> int:
    """Check that every source has its unpermuted pair and each of the permutations 0 … q - 1 once, and return q."""
    if index.min() < ORIGINAL:
        raise ValueError(
            f"permutation: expected indices of at least {ORIGINAL}, got {index.min()}; pass the column permutation "
            "of the set"
        )
    q = int(index.max()) + 1
    # Column 0 counts the unpermuted pair, whose index is -1.
    times = np.bincount(source * (q + 1) + index + 1, minlength=len(names) * (q + 1)).reshape(len(names), q + 1)
    if q == 0:
        raise ValueError("permutation: expected permuted pairs, got only unpermuted pairs; pass all rows of the set")
    if (wrong := times != 1).any():
        number, permutation = divmod(int(wrong.argmax()), q + 1)
        raise ValueError(
            f"permutation: expected each index from {ORIGINAL} (unpermuted) to {q - 1} exactly once per source, got "
            f"{permutation - 1} of source {names[number]!r} {times[number, permutation]} times; pass all rows of the "
            "set exactly once"
        )
    return q


def score_permuted(columns: Columns, predictions: SetPredictions, *, partial: bool = False) -> dict[str, Any]:
    """Compute Permutation Acceptance, overall and by BLEU, length and mini-tree ratio.

    Args:
        columns: Columns of n rows: `label`, `source_id` and `permutation`, and optionally the properties of the rows.
        partial: Whether the rows are a part of the set. Only examples with all of their permutations then count.
    """
    if partial:
        columns, predictions = select_rows(_has_all_permutations(columns), columns, predictions)
        if not any(permutation != ORIGINAL for permutation in columns["permutation"]):
            return {}
    sources, _ = encode_names(columns["source_id"])  # in order of occurrence, which fixes the bootstrap resamples
    return permutation_acceptance(
        predictions.predicted,
        predictions.to_label_positions(columns["label"]),
        sources,
        columns["permutation"],
        predictions.probabilities if predictions.has_confidence else None,
        bleu=_average_sides(columns, "bleu_2"),
        bleu_3=_average_sides(columns, "bleu_3"),
        bleu_4=_average_sides(columns, "bleu_4"),
        minitree=_compute_minitree_ratio(columns, sources),
        lengths=np.add(columns["premise_words"], columns["hypothesis_words"]) if "premise_words" in columns else None,
        n_labels=len(predictions.label_space),
        curve=True,
        resamples=0 if partial else DEFAULT_RESAMPLES,
    )


def _average_sides(columns: Columns, name: str) -> NDArray[np.float64] | None:
    if f"premise_{name}" not in columns:
        return None
    sides = [np.asarray(columns[f"{side}_{name}"], dtype=np.float64) for side in ("premise", "hypothesis")]
    mean: NDArray[np.float64] = np.mean(sides, axis=0)
    return mean


def _compute_minitree_ratio(columns: Columns, sources: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Compute the ratio of each pair's mini-tree overlap to that in order, shape (n,); NaN where undefined."""
    # The mean over both sentences follows the authors' code (Sinha et al. 2021, Figure 4). The paper's text describes
    # the ratio for one sentence only.
    overlap = _average_sides(columns, "minitree")
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
