"""Permutation Acceptance: how often words in no order get the gold label (Sinha et al. 2021, section 4)."""

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, named_estimates

ORIGINAL: Final = -1
"""The permutation index of the unpermuted pair."""
CONFIDENCES: Final = (0.0, 0.5, 0.9)
"""The τ at which everything is reported: 0 is the paper's."""
BLEU_WIDTH: Final = 0.1
LENGTH_WIDTH: Final = 5
MINITREE_WIDTH: Final = 0.1

Bools = NDArray[np.bool_]


def permutation_acceptance(
    predictions: ArrayLike,
    references: ArrayLike,
    source_ids: Sequence[Hashable] | NDArray[Any],
    permutations: ArrayLike,
    *,
    probabilities: ArrayLike | None = None,
    bleu: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    minitree: ArrayLike | None = None,
    n_labels: int = 3,
    curve: bool = False,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Score predictions on permuted pairs.

    For example i with gold label y_i, Pr_i is the share of its q permutations predicted y_i (equation 1).

    - `accuracy`: share of examples predicted right unpermuted.
    - `omega_max`, `omega_rand`, `omega_all`: share of examples with Pr_i > 0, Pr_i > 1 / n_labels, Pr_i = 1
      (equation 2).
    - `p_c`: mean Pr_i over D^c, the examples predicted right unpermuted (equation 3).
    - `p_f`: mean Pr_i over D^f, the examples predicted wrong unpermuted but accepted at least once.
    - `confident`: the same five at each τ > 0 of `CONFIDENCES`; a permutation then counts as accepted only if the gold
      label is predicted with probability τ or more. (Ours: the argmax of a near-uniform output is noise.) D^c stays.
    - `entropy_c`, `entropy_f`: mean entropy, in nats, of the predicted distribution on the accepted permutations of D^c
      and of D^f (Figure 2).
    - `by_bleu`, `by_minitree`, `by_length`: acceptance by bin of the permutation's BLEU-2 (Figure 3), of its POS
      mini-tree ratio (Figure 4), and of the length (Figure 6).

    A model that reads words but not their order has p_c = 1 and an empty D^f, so omega_max = accuracy. A model that
    always answers one label has every omega at the share of that label.

    Args:
        predictions: predicted label ids, shape (n,).
        references: gold label ids, shape (n,), the same for all rows of a source.
        source_ids: which example each row is made from, shape (n,). Rows may come in any order.
        permutations: index of the permutation, shape (n,): 0 … q - 1, and -1 for the unpermuted pair.
        probabilities: predicted distributions by label id, shape (n, n_labels); needed for τ > 0 and the entropies.
        bleu: BLEU-2 of each row against its original, shape (n,), for `by_bleu`.
        lengths: words of each row, shape (n,), for `by_length`.
        minitree: POS mini-tree overlap of each row by that of its original (`scoring.pos_minitree`), shape (n,), for
            `by_minitree`; NaN where there is none.
        n_labels: how many labels the model chooses from.
        curve: also give `curve`, the list of (x, omega_x) for x = 0, 0.01, … 1 (Figure 8).
        resamples: bootstrap draws of the 95 % intervals, over examples; 0 for none.
        seed: decides the draws.

    Returns:
        The quantities above, each an `Estimate` (value, low, high, n), with `n_examples`, `q`, and the sizes `n_c` and
        `n_f` of D^c and D^f. What cannot be computed from the inputs given is left out; what has no example is None.

    Raises:
        ValueError: if lengths differ, there is no example, a source lacks its unpermuted pair or some permutation, a
            row comes twice, or the gold label changes within a source.

    >>> scores = permutation_acceptance([0, 0, 1, 2, 0, 2], [0, 0, 0, 0, 0, 0], list("aaabbb"), [-1, 0, 1, -1, 0, 1])
    >>> scores["omega_max"].value, scores["p_c"].value, scores["p_f"].value
    (1.0, 0.5, 0.5)
    """
    rows = _Rows.of(predictions, references, source_ids, permutations, probabilities)
    right = rows.predictions == rows.references
    correct = right[rows.original]  # (sources,) predicted right unpermuted

    parts: dict[str, tuple[NDArray[Any], NDArray[Any] | float]] = {"accuracy": (correct, 1.0)}
    taus = CONFIDENCES if rows.gold is not None else CONFIDENCES[:1]
    counts = {}
    for tau in taus:
        accepted = right if rows.gold is None or tau == 0 else right & (rows.gold >= tau)
        counts[tau] = rows.per_source(accepted)
        parts |= _parts(counts[tau], correct, rows.q, n_labels, _suffix(tau))
    flipped = ~correct & (counts[0.0] > 0)
    if rows.probabilities is not None:
        entropy = rows.per_source(np.where(right, _entropy(rows.probabilities), 0.0))
        for name, subset in (("entropy_c", correct), ("entropy_f", flipped)):
            parts[name] = (entropy * subset, counts[0.0] * subset)

    estimates = named_estimates(parts, resamples=resamples, seed=seed)
    result: dict[str, Any] = {
        "n_examples": len(correct),
        "q": rows.q,
        "n_c": int(correct.sum()),
        "n_f": int(flipped.sum()),
        **{name: estimate for name, estimate in estimates.items() if "@" not in name},
    }
    if rows.gold is not None:
        result["confident"] = {
            f"{tau:g}": {name: estimates[name + _suffix(tau)] for name in _NAMES} for tau in CONFIDENCES[1:]
        }
    if curve:
        shares = [round(x / 100, 2) for x in range(101)]
        result["curve"] = [(x, float(np.mean(counts[0.0] > round(x * rows.q, 6)))) for x in shares]
    for name, values, width in (
        ("by_bleu", bleu, BLEU_WIDTH),
        ("by_minitree", minitree, MINITREE_WIDTH),
        ("by_length", lengths, LENGTH_WIDTH),
    ):
        if values is not None:
            result[name] = _by_bin(rows, right, correct, flipped, np.asarray(values, dtype=np.float64), width)
    return result


_NAMES: Final = ("omega_max", "omega_rand", "omega_all", "p_c", "p_f")


def _suffix(tau: float) -> str:
    return f"@{tau:g}" if tau else ""


def _parts(
    count: NDArray[np.float64], correct: Bools, q: int, n_labels: int, suffix: str
) -> dict[str, tuple[NDArray[Any], NDArray[Any] | float]]:
    """Return numerator and denominator by example of each quantity, from how many permutations were accepted."""
    flipped = ~correct & (count > 0)
    share = count / q
    columns: tuple[tuple[NDArray[Any], NDArray[Any] | float], ...] = (
        (count > 0, 1.0),
        (count * n_labels > q, 1.0),  # whole numbers: a third is not a float
        (count == q, 1.0),
        (share * correct, correct),
        (share * flipped, flipped),
    )
    return {name + suffix: column for name, column in zip(_NAMES, columns, strict=True)}


def _entropy(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy of each row, in nats, shape (n,); 0 log 0 is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(probabilities > 0, probabilities * np.log(probabilities), 0.0)
    entropy: NDArray[np.float64] = -terms.sum(axis=1)
    return entropy


def _by_bin(
    rows: "_Rows", right: Bools, correct: Bools, flipped: Bools, values: NDArray[np.float64], width: float
) -> list[dict[str, float | int | None]]:
    """Return the acceptance of the permutations in each bin [low, high), over all examples, D^c and D^f.

    Rows whose value is NaN are in no bin.
    """
    if len(values) != len(rows.codes):
        raise ValueError(f"expected one value a row ({len(rows.codes)}), found {len(values)}")
    permuted = ~rows.is_original & ~np.isnan(values)
    if not permuted.any():
        return []
    # The nudge keeps 0.3 / 0.1 = 2.9999… in the bin that begins at 0.3.
    index = np.floor(values[permuted] / width + 1e-9).astype(np.int64)
    sources = rows.codes[permuted]
    subsets = {"": np.ones(len(sources), dtype=bool), "_c": correct[sources], "_f": flipped[sources]}
    n_bins = int(index.max()) + 1
    table: dict[str, NDArray[Any]] = {}
    for name, subset in subsets.items():
        table["n" + name] = np.bincount(index[subset], minlength=n_bins)
        table["accepted" + name] = np.bincount(index[subset], weights=right[permuted][subset], minlength=n_bins)
    bins = []
    for i in np.flatnonzero(table["n"]):
        row: dict[str, float | int | None] = {
            "low": round(float(i * width), 6),
            "high": round(float((i + 1) * width), 6),
        }
        for name in subsets:
            n = int(table["n" + name][i])
            row["n" + name] = n
            row["acceptance" + name] = float(table["accepted" + name][i] / n) if n else None
        bins.append(row)
    return bins


class _Rows(NamedTuple):
    """The inputs, checked."""

    predictions: NDArray[Any]
    references: NDArray[Any]
    codes: NDArray[np.int64]  # (n,) number of each row's source
    is_original: Bools  # (n,)
    original: NDArray[np.int64]  # (sources,) row of each source's unpermuted pair
    probabilities: NDArray[np.float64] | None  # (n, labels)
    gold: NDArray[np.float64] | None  # (n,) probability of the gold label
    q: int

    @classmethod
    def of(
        cls,
        predictions: ArrayLike,
        references: ArrayLike,
        source_ids: Sequence[Hashable] | NDArray[Any],
        permutations: ArrayLike,
        probabilities: ArrayLike | None,
    ) -> "_Rows":
        predicted, gold_ids, index = np.asarray(predictions), np.asarray(references), np.asarray(permutations)
        lengths = {
            "predictions": len(predicted),
            "references": len(gold_ids),
            "source_ids": len(source_ids),
            "permutations": len(index),
        }
        distributions = None
        if probabilities is not None:
            distributions = np.asarray(probabilities, dtype=np.float64)
            lengths["probabilities"] = len(distributions)
        if len(set(lengths.values())) > 1:
            raise ValueError(f"expected the same number of rows everywhere, found {lengths}")
        if len(predicted) == 0:
            raise ValueError("expected at least one example, found no rows")
        codes, names = _number(source_ids)
        is_original = index == ORIGINAL
        original = _originals(codes, is_original, names)
        q = _check_complete(codes, index, names)
        if (mixed := gold_ids != gold_ids[original][codes]).any():
            raise ValueError(f"source {names[codes[mixed.argmax()]]!r}: its rows have different gold labels")
        gold = None
        if distributions is not None:
            if distributions.ndim != 2 or gold_ids.max() >= distributions.shape[1]:
                raise ValueError(
                    f"expected probabilities of shape ({len(index)}, labels) with a column for every gold label id "
                    f"(up to {gold_ids.max()}), found shape {distributions.shape}"
                )
            if np.isnan(distributions).any():
                raise ValueError(
                    f"row {int(np.isnan(distributions).any(axis=1).argmax())} has a probability that is NaN"
                )
            gold = distributions[np.arange(len(index)), gold_ids]
        return cls(predicted, gold_ids, codes, is_original, original, distributions, gold, q)

    def per_source(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Sum a value over the permutations of each source, shape (sources,)."""
        weights = np.where(self.is_original, 0.0, values)
        sums: NDArray[Any] = np.bincount(self.codes, weights=weights, minlength=len(self.original))
        return sums


def _number(source_ids: Sequence[Hashable] | NDArray[Any]) -> tuple[NDArray[np.int64], list[Hashable]]:
    """Return each row's source as a number, in the order the sources come, and the sources."""
    ids = source_ids.tolist() if isinstance(source_ids, np.ndarray) else source_ids
    numbers: dict[Hashable, int] = {}
    codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name in ids), dtype=np.int64, count=len(ids))
    return codes, list(numbers)


def _originals(codes: NDArray[np.int64], is_original: Bools, names: list[Hashable]) -> NDArray[np.int64]:
    """Return the row of each source's unpermuted pair."""
    found = np.bincount(codes[is_original], minlength=len(names))
    if (wrong := found != 1).any():
        source = int(wrong.argmax())
        raise ValueError(
            f"expected one unpermuted pair (permutation {ORIGINAL}) for each source, found {found[source]} for "
            f"{names[source]!r}"
        )
    rows = np.flatnonzero(is_original)
    original = np.empty(len(names), dtype=np.int64)
    original[codes[rows]] = rows
    return original


def _check_complete(codes: NDArray[np.int64], index: NDArray[np.int64], names: list[Hashable]) -> int:
    """Return q, having seen that every source has the permutations 0 … q - 1 once each."""
    if index.min() < ORIGINAL:
        raise ValueError(f"expected permutation indices from {ORIGINAL} up, found {index.min()}")
    q = int(index.max()) + 1
    if q == 0:
        raise ValueError("expected permuted pairs, found only unpermuted ones")
    times = np.bincount(codes * (q + 1) + index + 1, minlength=len(names) * (q + 1)).reshape(len(names), q + 1)
    if (wrong := times != 1).any():
        source, permutation = np.unravel_index(int(wrong.argmax()), times.shape)
        raise ValueError(
            f"expected each of the permutations 0 to {q - 1} once for every source, found permutation "
            f"{permutation - 1} of {names[int(source)]!r} {times[source, permutation]} times; "
            "score all rows of the set, each once"
        )
    return q
