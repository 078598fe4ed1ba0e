"""Simulated coverage of 95 % intervals: how often they contain the true accuracy, P^c over sources, or paired gap.

    python benchmarks/coverage.py [--simulations 4000]

Claim: the coverage is 95 % ± 1 from a few hundred examples on. Each quantity is drawn from a known distribution and
scored by the code that scores models. The interval is then compared with the true value of the distribution:

- accuracy: 300 independent examples, each correct with probability .8;
- P^c: 300 sources with 100 permutations each. A source is correct in order with probability .8. If so, the share of its
  accepted permutations is drawn from Beta(9, 1), so that P^c is .9 and permutations of one source are correlated;
- the same P^c with permutations treated as independent rows, to show the error of ignoring sources;
- the gap in accuracy of two models on the same 300 examples, which are correct together more often than by chance.

The seed is fixed. The program prints one JSON line. The test `tests/scoring/test_intervals.py` runs fewer simulations.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbag.scoring.accuracy import accuracy
from unbag.scoring.bootstrap import RATIO, Estimate, Sample, estimate_ratio
from unbag.scoring.permutation_acceptance import permutation_acceptance
from unbag.scoring.significance import compute_paired_difference

EXAMPLES, Q, RIGHT = 300, 100, 0.8
ALPHA, BETA = 9.0, 1.0  # distribution of the accepted share of a source that is correct in order
P_C = ALPHA / (ALPHA + BETA)
ONLY_SECOND, ONLY_FIRST = 0.10, 0.05  # shares of examples that only one of the two models predicts correctly

Trial = Callable[[np.random.Generator, int], Estimate]


def of_accuracy(rng: np.random.Generator, seed: int) -> Estimate:
    """Estimate an accuracy of .8."""
    gold = np.zeros(EXAMPLES, dtype=np.int64)
    estimate: Estimate = accuracy((rng.random(EXAMPLES) >= RIGHT).astype(np.int64), gold, seed=seed)["accuracy"]
    return estimate


def of_p_c(rng: np.random.Generator, seed: int) -> Estimate:
    """Estimate a P^c of .9, as for the permuted set."""
    right, accepted = _sources(rng)
    answers = np.concatenate([right[:, None], accepted], axis=1)
    rows = EXAMPLES * (Q + 1)
    permuted = (
        1 - answers.ravel(),
        np.zeros(rows, dtype=np.int64),
        np.repeat(np.arange(EXAMPLES), Q + 1),
        np.tile(np.arange(-1, Q), EXAMPLES),
    )
    scores = permutation_acceptance(*permuted, seed=seed)
    estimate: Estimate = scores["p_c"]
    return estimate


def of_p_c_by_permutation(rng: np.random.Generator, seed: int) -> Estimate:
    """Estimate P^c with permutations treated as independent examples."""
    right, accepted = _sources(rng)
    values = accepted[right == 1].ravel().astype(np.float64)
    return estimate_ratio(values, resamples=200, seed=seed)


def of_a_gap(rng: np.random.Generator, seed: int) -> Estimate:
    """Estimate a gap of .05 between two models."""
    drawn = rng.random(EXAMPLES)
    both = drawn < RIGHT - ONLY_FIRST
    first = both | (drawn > 1 - ONLY_FIRST)
    second = both | ((drawn >= RIGHT) & (drawn < RIGHT + ONLY_SECOND))
    samples = [Sample(RATIO, np.stack([right, np.ones(EXAMPLES)], axis=1)) for right in (first, second)]
    return compute_paired_difference(samples[0], samples[1], resamples=1000, seed=seed).difference


def _sources(rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Simulate which sources are correct in order, shape (n,), and which permutations are accepted, shape (n, q)."""
    right = (rng.random(EXAMPLES) < RIGHT).astype(np.int64)
    share = np.where(right == 1, rng.beta(ALPHA, BETA, EXAMPLES), rng.beta(BETA, ALPHA, EXAMPLES))
    return right, (rng.random((EXAMPLES, Q)) < share[:, None]).astype(np.int64)


def coverage(trial: Trial, truth: float, simulations: int) -> float:
    """Compute the share of simulations whose interval contains the true value."""
    held = 0
    for number in range(simulations):
        found = trial(np.random.default_rng([1, number]), number)
        if found.low is None or found.high is None:
            raise ValueError(f"expected an interval in every simulation, got none in simulation {number}")
        # The tolerance counts an end that equals the true value except for rounding.
        held += found.low - 1e-12 <= truth <= found.high + 1e-12
    return held / simulations


TRIALS: dict[str, tuple[Trial, float]] = {
    "accuracy": (of_accuracy, RIGHT),
    "p_c": (of_p_c, P_C),
    "paired_gap": (of_a_gap, ONLY_SECOND - ONLY_FIRST),
    "p_c_by_permutation": (of_p_c_by_permutation, P_C),
}


def main() -> None:
    """Simulate, and print one JSON line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--simulations", type=int, default=4000, help="simulations of each quantity (default: 4000)")
    simulations = parser.parse_args().simulations
    begun = time.perf_counter()
    found: dict[str, Any] = {}
    for name, (trial, truth) in TRIALS.items():
        # The last one is so far from 95 % that a tenth of the simulations shows it.
        found[name] = coverage(trial, truth, simulations if name != "p_c_by_permutation" else simulations // 10)
    error = (0.95 * 0.05 / simulations) ** 0.5
    record = {"benchmark": "coverage", "simulations": simulations, "standard_error": round(error, 4), "coverage": found}
    print(json.dumps(record | {"seconds": round(time.perf_counter() - begun)}))


if __name__ == "__main__":
    main()
