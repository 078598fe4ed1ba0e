"""Simulated coverage of the intervals of proportions and of differences, also near 0 and 1.

    python benchmarks/interval_coverage.py [--simulations 4000] [--markdown]

Claim: the coverage is at least 95 % for proportions of independent rows, for every share and number, and for
differences between two systems on the same rows. For rows that share sources, it is as close to 95 % as
`docs/concepts/skill_score.md` shows. The peer is the percentile bootstrap on the same examples in the same run.

- rows: n independent rows, each correct with probability p;
- sources: n sources of 10 rows. The share of correct rows of a source is drawn from a beta distribution with mean p and
  intraclass correlation .3, so that rows of one source are correlated;
- difference of equals: two systems, each correct with probability p; the second one repeats every other prediction of
  the first one;
- difference of opposites: the second system is correct with probability 1 - p.

The seed is fixed. The program prints one JSON line, or the table of the documentation. The test
`tests/scoring/test_intervals.py` runs fewer simulations.
"""

import argparse
import json
import time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.scoring.bootstrap import estimate_difference, estimate_ratio, resample_sums

SHARES: Final = (0.0, 0.01, 0.5, 0.99, 1.0)
NUMBERS: Final = (5, 12, 50, 400)
ROWS: Final = 10  # rows per source
CORRELATION: Final = 0.3  # intraclass correlation of the rows of a source
RESAMPLES: Final = 1000  # resamples of the peer
PROPORTION, EQUALS, OPPOSITES = "proportion", "difference of equals", "difference of opposites"
QUANTITIES: Final = (PROPORTION, EQUALS, OPPOSITES)

Floats = NDArray[np.float64]


def drawn(rng: np.random.Generator, share: float, n: int, rows: int, simulations: int) -> Floats:
    """Simulate which rows are correct, shape (n, rows, simulations); the second axis has the rows of one source."""
    if rows == 1 or share in (0.0, 1.0):
        of_source = np.full((n, 1, simulations), share)
    else:
        # The intraclass correlation of a beta-binomial distribution is 1 / (a + b + 1).
        scale = (1 - CORRELATION) / CORRELATION
        of_source = rng.beta(share * scale, (1 - share) * scale, (n, 1, simulations))
    return (rng.random((n, rows, simulations)) < of_source).astype(np.float64)


def coverage(quantity: str, share: float, n: int, rows: int, simulations: int) -> dict[str, float]:
    """Compute coverage and mean width of the interval of a quantity and of the peer's interval."""
    rng = np.random.default_rng([3, QUANTITIES.index(quantity), round(share * 100), n, rows])
    first = drawn(rng, share, n, rows, simulations)
    if quantity == PROPORTION:
        right, truth = first.sum(axis=1), share
    else:
        other = drawn(rng, share if quantity == EQUALS else 1 - share, n, rows, simulations)
        second = np.where(rng.random(first.shape) < 0.5, first, other) if quantity == EQUALS else other
        right = np.concatenate([first.sum(axis=1), second.sum(axis=1)], axis=1)
        truth = 0.0 if quantity == EQUALS else 1 - 2 * share
    found = [estimate_ratio(column / rows, float(rows)) for column in right.T]
    draws = resample_sums(right, RESAMPLES, seed=n) / (n * rows)
    if quantity != PROPORTION:
        found = [estimate_difference(*pair) for pair in zip(found[simulations:], found[:simulations], strict=True)]
        draws = draws[:, simulations:] - draws[:, :simulations]
    ends = np.array([(each.low, each.high) for each in found])
    peer = np.percentile(draws, [2.5, 97.5], axis=0).T
    return {"coverage": _held(ends, truth), "width": _width(ends), "bootstrap": _held(peer, truth)}


def _held(ends: Floats, truth: float) -> float:
    # The tolerance counts an end that equals the true value except for rounding.
    return float(np.mean((ends[:, 0] <= truth + 1e-12) & (truth - 1e-12 <= ends[:, 1])))


def _width(ends: Floats) -> float:
    return round(float((ends[:, 1] - ends[:, 0]).mean()), 4)


def table(cells: list[dict[str, Any]]) -> str:
    """Build the table of the documentation: coverage in percent, with the percentile bootstrap's in brackets."""
    lines = ["| | n | " + " | ".join(f"p = {share:g}" for share in SHARES) + " |"]
    lines.append("|---|---:" + "|---:" * len(SHARES) + "|")
    for quantity in QUANTITIES:
        for rows in (1, ROWS):
            for n in NUMBERS:
                of_row = [c for c in cells if (c["quantity"], c["rows"], c["n"]) == (quantity, rows, n)]
                shown = (f"{100 * cell['coverage']:.1f} ({100 * cell['bootstrap']:.1f})" for cell in of_row)
                what = f"{quantity}, {'rows' if rows == 1 else 'sources'}" if n == NUMBERS[0] else ""
                lines.append(f"| {what} | {n} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def main() -> None:
    """Simulate, and print one JSON line or the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--simulations", type=int, default=4000, help="simulations per cell (default: 4000)")
    parser.add_argument("--markdown", action="store_true", help="print the table of the documentation")
    args = parser.parse_args()
    begun = time.perf_counter()
    cells: list[dict[str, Any]] = [
        {"quantity": quantity, "rows": rows, "n": n, "p": share} | coverage(quantity, share, n, rows, args.simulations)
        for quantity in QUANTITIES
        for rows in (1, ROWS)
        for n in NUMBERS
        for share in SHARES
    ]
    if args.markdown:
        print(table(cells))
        return
    error = (0.95 * 0.05 / args.simulations) ** 0.5
    record = {"benchmark": "interval_coverage", "simulations": args.simulations, "standard_error": round(error, 4)}
    print(json.dumps(record | {"cells": cells, "seconds": round(time.perf_counter() - begun)}))


if __name__ == "__main__":
    main()
