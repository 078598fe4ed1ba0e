"""Compare samples of n examples with q permutations by the precision of Permutation Acceptance.

    unbag evaluate MODEL --sets permuted --max-examples 240 --predictions-csv PAIRS.csv
    python benchmarks/permuted_sample.py PAIRS.csv

The script resamples stored predictions: n examples with replacement, and q of the permutations of each without
replacement. For each n and q it prints the number of rows, the mean of each quantity, and the width of the central
95 % of its values. The mean of P^c does not depend on q. That of Ω_max does, so its values at different q are different
quantities.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Accepted = NDArray[np.bool_]


def read_accepted(path: Path) -> tuple[Accepted, Accepted]:
    """Read whether each example is right in order, shape (n,), and its accepted permutations, shape (n, q)."""
    original: dict[str, bool] = {}
    permuted: defaultdict[str, list[bool]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            source, _, number = row["id"].rpartition("#")
            if int(number) < 0:
                original[source] = row["prediction"] == row["gold"]
            else:
                permuted[source].append(row["prediction"] == row["gold"])
    names = sorted(original)
    return np.array([original[name] for name in names]), np.array([permuted[name] for name in names])


def estimate(right: Accepted, accepted: Accepted) -> Mapping[str, float]:
    """Estimate the quantities whose precision is compared (Sinha et al. 2021, equations 1 to 3), and the row score."""
    share = accepted.mean(axis=1)
    return {
        "P^c": float(share[right].mean()),
        "row score": float((right - share).mean()),
        "Ω_max": float((share > 0).mean()),
        "Ω_rand": float((share > 1 / 3).mean()),
        "Ω_1.0": float((share == 1).mean()),
    }


def resample(
    right: Accepted, accepted: Accepted, n: int, q: int, rounds: int, random: np.random.Generator
) -> Mapping[str, NDArray[np.float64]]:
    """Estimate the quantities on `rounds` samples of n examples with q permutations."""
    values = defaultdict(list)
    for _ in range(rounds):
        examples = random.integers(0, len(right), n)
        # q different permutations of each example, drawn without replacement.
        orders = random.permuted(np.tile(np.arange(accepted.shape[1]), (n, 1)), axis=1)[:, :q]
        for name, value in estimate(right[examples], accepted[examples[:, None], orders]).items():
            values[name].append(value)
    return {name: np.array(each) for name, each in values.items()}


def main() -> None:
    """Print one line per sample."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help="CSV file of predictions for the permuted set")
    parser.add_argument("--rounds", type=int, default=1000)
    options = parser.parse_args()
    right, accepted = read_accepted(options.pairs)
    print(f"{len(right)} examples × {accepted.shape[1]} permutations, right in order: {right.mean():.3f}")
    random = np.random.default_rng(0)
    samples = [(240, 100), (475, 50), (932, 25), (2204, 10), (240, 10), (400, 25), (500, 10), (500, 5)]
    for n, q in samples:
        values = resample(right, accepted, n, q, options.rounds, random)
        widths = {name: np.quantile(each, 0.975) - np.quantile(each, 0.025) for name, each in values.items()}
        cells = [f"{name} {values[name].mean():.3f} ± {widths[name] / 2:.3f}" for name in values]
        print(f"{n:5} × {q:3} = {n * (q + 1):6,} rows   " + "   ".join(cells), flush=True)


if __name__ == "__main__":
    main()
