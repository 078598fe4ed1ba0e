"""Simulated error rate and power of the verdict, for random predictions, bags of words, and models of a known score.

    python benchmarks/verdict_power.py [--simulations 2000]

Claims: of the models whose true score is not above 0, at most 5 % get the verdict "better" on any of their challenge
sets, for 3 sets as well as for 60. A verdict names the lowest score that a set can detect
(`evaluation.verdict.SetVerdict.min_detectable`). Of the models with this true score, two in three get the verdict
"better" with 15 sources, and four in five with 2,000. The simulation knows the true scores.

- `coin`: random predictions, and other random predictions for the shuffled control;
- `bag`: correct on six rows of ten, with the same predictions for the control;
- `noisy bag`: as `bag`, but shuffling changes a fifth of the predictions at random;
- power: 15 sources of 87 rows (as SICCK), or 2,000 sources of one row, with correlated predictions within a source.

The seed is fixed. The program prints one JSON line.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from unbag.challenge_sets.results import Result
from unbag.evaluation.verdict import SetVerdict, compute_model_verdict
from unbag.scoring.skill import RowScores, skill_score

LABELS = 3
CONTROL = 0.3  # score s of the shuffled control, for the models whose score is known
Draw = Callable[[np.random.Generator, int], tuple[RowScores, RowScores]]


def main() -> None:
    """Simulate, and print one JSON line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--simulations", type=int, default=2000, help="number of models of each kind (default: 2000)")
    parser.add_argument("--resamples", type=int, default=300, help="number of bootstrap resamples (default: 300)")
    args = parser.parse_args()
    begun = time.perf_counter()
    found: dict[str, Any] = {"benchmark": "verdict_power", "simulations": args.simulations}
    kinds: dict[str, Draw] = {"coin": coin, "bag": bag, "noisy bag": noisy_bag}
    for sets in (3, 7, 60):
        models = max(1, args.simulations * 3 // sets)
        found[f"said better, {sets} sets"] = {
            name: round(share_better(draw, sets, models, args.resamples), 4) for name, draw in kinds.items()
        }
    found["power"] = [
        power(*shape, args.simulations, args.resamples) for shape in ((15, 87, 7), (2000, 1, 7), (300, 1, 7))
    ]
    print(json.dumps(found | {"seconds": round(time.perf_counter() - begun)}))


def coin(rng: np.random.Generator, rows: int) -> tuple[RowScores, RowScores]:
    """Simulate the row scores of random predictions, and of their control."""
    gold = rng.integers(0, LABELS, rows)
    return of(rng.integers(0, LABELS, rows) == gold, gold), of(rng.integers(0, LABELS, rows) == gold, gold)


def bag(rng: np.random.Generator, rows: int) -> tuple[RowScores, RowScores]:
    """Simulate the row scores of a model that ignores word order."""
    gold = rng.integers(0, LABELS, rows)
    own = of(rng.random(rows) < 0.6, gold)
    return own, own


def noisy_bag(rng: np.random.Generator, rows: int) -> tuple[RowScores, RowScores]:
    """Simulate the row scores of a model whose predictions change at random when words are shuffled."""
    gold = rng.integers(0, LABELS, rows)
    right = rng.random(rows) < 0.6
    return of(right, gold), of(np.where(rng.random(rows) < 0.2, rng.random(rows) < 0.6, right), gold)


def of(right: Any, gold: Any, source: Any = None) -> RowScores:
    """Build row scores from a mask of correct predictions."""
    return RowScores(np.asarray(right, dtype=np.float64), gold, range(len(gold)) if source is None else source)


def verdicts(row_scores: list[tuple[RowScores, RowScores]], resamples: int, seed: int) -> list[SetVerdict]:
    """Compute the verdicts on a model for some sets, from the row scores of the model and of its control."""
    data = {"name": "simulated", "split": ""}
    results = []
    for number, (own, control) in enumerate(row_scores):
        scores = skill_score(own, shuffled_scores=control, resamples=resamples, seed=seed * 1000 + number)
        results.append(Result(f"set {number}", {}, {"name": "m"}, data, {"skill": scores}, {}))
    return compute_model_verdict(results)


def share_better(draw: Draw, sets: int, models: int, resamples: int) -> float:
    """Compute the share of models with the verdict "better" on any of their sets."""
    said = 0
    for model in range(models):
        rng = np.random.default_rng([7, sets, model])
        found = verdicts([draw(rng, 600) for _ in range(sets)], resamples, model)
        said += any(each.standing == "better" for each in found)
    return said / models


def power(sources: int, rows: int, sets: int, simulations: int, resamples: int) -> dict[str, Any]:
    """Compute the least score that one of several sets can show, and the power for a model with this score."""
    least: list[float] = []
    seen = 0
    for model in range(simulations // 4):
        rng = np.random.default_rng([11, sources, model])
        true = 0.2 if not least else min(0.9, float(np.median(least)))
        # The score s of the control, and of a model whose score above the control is the true one.
        shares = (CONTROL, CONTROL + true * (1 - CONTROL))
        control, own = (clustered(rng, sources, rows, 1 / LABELS + s * (1 - 1 / LABELS)) for s in shares)
        others = [(own, control)] * (sets - 1)  # the family of sets with simultaneous intervals
        found = verdicts([(own, control), *others], resamples, model)[0]
        least.append(found.min_detectable or 1.0)
        seen += found.standing == "better"
    return {
        "sources": sources,
        "rows": sources * rows,
        "least score that can be shown, median": round(float(np.median(least)), 3),
        "shown by models of that score": round(seen / (simulations // 4), 3),
    }


def clustered(rng: np.random.Generator, sources: int, rows: int, right: float) -> RowScores:
    """Simulate row scores that are correlated within a source: some sources are easier than others."""
    of_source = rng.beta(4 * right, 4 * (1 - right), sources)
    source = np.repeat(np.arange(sources), rows)
    gold = np.random.default_rng(0).integers(0, LABELS, sources * rows)  # the same rows for model and control
    return of(rng.random(sources * rows) < of_source[source], gold, source)


if __name__ == "__main__":
    main()
