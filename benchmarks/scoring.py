"""Speed of scoring a million rows: the pure function, compared with the same module through `evaluate`.

    python benchmarks/scoring.py

Claim: the pure function scores one million rows in less than 0.3 s (point values; the bootstrap intervals are timed
separately). The peer is the same module through `evaluate.load(…).compute(…)`, which copies every row through Arrow.
The program prints one JSON line.
"""

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from unbag import scripts
from unbag.scoring.permutation_acceptance import permutation_acceptance

SOURCES, Q, ROUNDS = 9_901, 100, 5  # 1,000,001 rows


def seconds(run: Callable[[], Any], rounds: int) -> float:
    """Measure the median time of several runs."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return round(statistics.median(times), 3)


def main() -> None:
    """Time all variants on the same rows, and print one JSON line."""
    rng = np.random.default_rng(0)
    rows: dict[str, Any] = {
        "predictions": rng.integers(0, 3, SOURCES * (Q + 1)),
        "references": np.repeat(rng.integers(0, 3, SOURCES), Q + 1),
        "source_id": [f"source-{i}" for i in range(SOURCES) for _ in range(Q + 1)],
        "permutation": np.tile(np.arange(-1, Q), SOURCES),
    }
    probabilities = rng.dirichlet([1.0] * 3, SOURCES * (Q + 1))
    import evaluate

    module = evaluate.load(str(scripts.find_script_folder("metrics", "permutation_acceptance")))
    record = {
        "benchmark": "scoring",
        "rows": len(rows["predictions"]),
        "pure_s": seconds(lambda: permutation_acceptance(**rows, resamples=0), ROUNDS),
        "pure_with_intervals_s": seconds(lambda: permutation_acceptance(**rows), ROUNDS),
        "pure_with_probabilities_and_intervals_s": seconds(
            lambda: permutation_acceptance(**rows, probabilities=probabilities), ROUNDS
        ),
        "evaluate_compute_s": seconds(lambda: module.compute(**rows, resamples=0), 1),
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
