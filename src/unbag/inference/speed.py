"""Measurement of a predictor's throughput (pairs per second) and latency."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from unbag.inference.predictor import Predictor

SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128)
"""Measured numbers of pairs per call."""

ROUNDS: Final = 3
PAIRS: Final = 256

_WARM_UP: Final = 32  # pairs before the measurement, so that lazy initialization does not count


class SpeedTiming(NamedTuple):
    """Speed of a predictor at one batch size (number of pairs per call)."""

    pairs_per_call: int  # the batch size of a service
    pairs_per_second: float  # number of pairs divided by the time of all calls
    p50: float  # median over the pairs of the time of the pair's call, in milliseconds
    p99: float  # time of the call within which 99 % of the pairs have their prediction, in milliseconds
    calls: int


def measure_speed(
    predictor: Predictor,
    premises: Sequence[str],
    hypotheses: Sequence[str],
    *,
    sizes: Sequence[int] = SIZES,
    rounds: int = ROUNDS,
    clock: Callable[[], float] = time.perf_counter,
) -> list[SpeedTiming]:
    """Measure the speed of a predictor at several batch sizes (numbers of pairs per call).

    The time of a call includes tokenization. All sizes take turns in each round, so that other load on the machine
    affects them equally. A pair waits for the whole call that contains it.

    Args:
        sizes: Numbers of pairs per call; those above n are skipped.
        rounds: Number of times that each size predicts the pairs, 1 or more.
    """
    n = len(premises)
    if n < 1 or rounds < 1:
        raise ValueError(f"speed: expected at least 1 pair and 1 round, got {n} pairs and {rounds} rounds")
    predictor.predict(premises[:_WARM_UP], hypotheses[:_WARM_UP])
    times: dict[int, list[float]] = {size: [] for size in sizes if size <= n}
    for _ in range(rounds):
        for size, of_size in times.items():
            for start in range(0, n - size + 1, size):  # whole calls only
                part = slice(start, start + size)
                begun = clock()
                predictor.predict(premises[part], hypotheses[part])
                of_size.append(clock() - begun)
    return [_timing(size, of_size) for size, of_size in times.items()]


def select_fastest(timings: Sequence[SpeedTiming]) -> SpeedTiming:
    """Select the timing with the most pairs per second. Ties go to the fewest pairs per call."""
    return max(timings, key=lambda each: (each.pairs_per_second, -each.pairs_per_call))


def _timing(size: int, times: Sequence[float]) -> SpeedTiming:
    ordered = sorted(times)
    total = math.fsum(ordered)
    # All calls have the same number of pairs, so quantiles over calls are quantiles over pairs (nearest rank).
    p50, p99 = (1000 * ordered[math.ceil(share * len(ordered)) - 1] for share in (0.5, 0.99))
    return SpeedTiming(size, size * len(ordered) / total if total else math.inf, p50, p99, len(ordered))
