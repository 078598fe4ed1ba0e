"""How often the verdict errs, and what it can show, by simulation: coins, bags of words, and models of a known score.

    python benchmarks/verdict_power.py [--simulations 2000]

Claims: of models without a score above 0, at most 5 % are said to be better on any of their challenge sets, whether
these are 3 or 60; and the least score that the verdict says a set can show (`evaluation.verdict.SetVerdict.least`) is
shown by two in three of the models that have it with 15 sources, and by four in five with 2,000. There is no peer but
the truth, which a simulation knows.

- `coin`: answers by chance, and its shuffled control by chance again;
- `bag`: right on six rows of ten, with its control the same answers;
- `noisy bag`: likewise, but shuffling changes a fifth of its answers at random;
- power: 15 sources of 87 rows (as SICCK), or 2,000 sources of one row, with answers of one source alike.

A seed decides all. One JSON line on standard output.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from unbag.challenge_sets.results import Result
from unbag.evaluation.verdict import SetVerdict, of_model
from unbag.scoring.skill import Credits, skill_score

LABELS = 3
CONTROL = 0.3  # s of the shuffled control of the models whose score is known
Draw = Callable[[np.random.Generator, int], tuple[Credits, Credits]]


def main() -> None:
    """Simulate, print one JSON line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--simulations", type=int, default=2000, help="models of each kind (default: 2000)")
    parser.add_argument("--resamples", type=int, default=300, help="bootstrap draws (default: 300)")
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


def coin(rng: np.random.Generator, rows: int) -> tuple[Credits, Credits]:
    """Return the credits of answers by chance, and of its control."""
    gold = rng.integers(0, LABELS, rows)
    return of(rng.integers(0, LABELS, rows) == gold, gold), of(rng.integers(0, LABELS, rows) == gold, gold)


def bag(rng: np.random.Generator, rows: int) -> tuple[Credits, Credits]:
    """Return the credits of a model that is blind to word order."""
    gold = rng.integers(0, LABELS, rows)
    own = of(rng.random(rows) < 0.6, gold)
    return own, own


def noisy_bag(rng: np.random.Generator, rows: int) -> tuple[Credits, Credits]:
    """Return the credits of a model to which shuffling does something that is no reading."""
    gold = rng.integers(0, LABELS, rows)
    right = rng.random(rows) < 0.6
    return of(right, gold), of(np.where(rng.random(rows) < 0.2, rng.random(rows) < 0.6, right), gold)


def of(right: Any, gold: Any, source: Any = None) -> Credits:
    """Return the credits of right answers."""
    return Credits(np.asarray(right, dtype=np.float64), gold, range(len(gold)) if source is None else source)


def verdicts(credits: list[tuple[Credits, Credits]], resamples: int, seed: int) -> list[SetVerdict]:
    """Return the verdicts on a model with some sets, of its own credits and those of its control."""
    data = {"name": "simulated", "split": ""}
    results = []
    for number, (own, control) in enumerate(credits):
        scores = skill_score(own, shuffled=control, resamples=resamples, seed=seed * 1000 + number)
        results.append(Result(f"set {number}", {}, {"name": "m"}, data, {"skill": scores}, {}))
    return of_model(results)


def share_better(draw: Draw, sets: int, models: int, resamples: int) -> float:
    """Return the share of models that are said to be better on any of their sets."""
    said = 0
    for model in range(models):
        rng = np.random.default_rng([7, sets, model])
        found = verdicts([draw(rng, 600) for _ in range(sets)], resamples, model)
        said += any(each.standing == "better" for each in found)
    return said / models


def power(sources: int, rows: int, sets: int, simulations: int, resamples: int) -> dict[str, Any]:
    """Return what one of several sets is said to be able to show, and how often a model of that score is seen."""
    least: list[float] = []
    seen = 0
    for model in range(simulations // 4):
        rng = np.random.default_rng([11, sources, model])
        true = 0.2 if not least else min(0.9, float(np.median(least)))
        # s of the control, and of a model whose score above it is the true one.
        shares = (CONTROL, CONTROL + true * (1 - CONTROL))
        control, own = (clustered(rng, sources, rows, 1 / LABELS + s * (1 - 1 / LABELS)) for s in shares)
        others = [(own, control)] * (sets - 1)  # the family: how many intervals hold together
        found = verdicts([(own, control), *others], resamples, model)[0]
        least.append(found.least or 1.0)
        seen += found.standing == "better"
    return {
        "sources": sources,
        "rows": sources * rows,
        "least score that can be shown, median": round(float(np.median(least)), 3),
        "shown by models of that score": round(seen / (simulations // 4), 3),
    }


def clustered(rng: np.random.Generator, sources: int, rows: int, right: float) -> Credits:
    """Return the credits of answers that are alike within a source: some sources are easier than others."""
    of_source = rng.beta(4 * right, 4 * (1 - right), sources)
    source = np.repeat(np.arange(sources), rows)
    gold = np.random.default_rng(0).integers(0, LABELS, sources * rows)  # the same rows for model and control
    return of(rng.random(sources * rows) < of_source[source], gold, source)


if __name__ == "__main__":
    main()
