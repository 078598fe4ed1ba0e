"""Tests of speed measurements, with a simulated clock, so that all numbers can be worked out by hand."""

import json

import numpy as np
import pytest

from tests.factories import run_unbag
from unbag.data import demo
from unbag.inference.speed import measure_speed, select_fastest

PAIRS = [f"A dog runs {n} times." for n in range(100)]


class TimedPredictor:
    """A predictor that takes 10 ms per call and 1 ms per pair, and 100 ms more for one pair."""

    label_space = ("entailment", "neutral", "contradiction")
    identity = None

    def __init__(self, slow=None):
        self.now, self.slow, self.sizes = 0.0, slow, []

    def predict(self, premises, _):
        self.sizes.append(len(premises))
        self.now += 0.010 + 0.001 * len(premises) + 0.1 * (self.slow in premises)
        return np.full((len(premises), 3), 1 / 3, dtype=np.float32)


def test_measure_counts_whole_calls_and_pairs():
    predictor = TimedPredictor()
    one, ten, rest = measure_speed(
        predictor, PAIRS, PAIRS, sizes=(1, 10, 64, 128), rounds=2, clock=lambda: predictor.now
    )
    assert (one.pairs_per_call, ten.pairs_per_call, rest.pairs_per_call) == (1, 10, 64), "128 is more than there are"
    assert (one.calls, ten.calls, rest.calls) == (200, 20, 2), "36 pairs are no whole call of 64"
    assert one[1:4] == pytest.approx((1 / 0.011, 11, 11))
    assert ten[1:4] == pytest.approx((10 / 0.020, 20, 20))
    assert rest[1:4] == pytest.approx((64 / 0.074, 74, 74))
    assert select_fastest([one, ten, rest]) is rest
    assert predictor.sizes[0] == 32, "a call before the measurement"
    assert predictor.sizes[1:112] == [1] * 100 + [10] * 10 + [64], "sizes take turns in each round"


@pytest.mark.parametrize(("n", "p99"), [(100, 11), (50, 111)])
def test_measure_p99_is_nearest_rank(n, p99):
    predictor = TimedPredictor(slow=PAIRS[0])
    [one] = measure_speed(predictor, PAIRS[:n], PAIRS[:n], sizes=(1,), rounds=1, clock=lambda: predictor.now)
    assert (one.p50, one.p99) == pytest.approx((11, p99)), "one of 100 calls lies above the 99th, one of 50 does not"
    assert one.pairs_per_second == pytest.approx(n / (0.011 * n + 0.1))


def measure(*arguments):
    data = str(demo.get_demo_file("validation"))
    return run_unbag("speed", *arguments, "--data", data, "--max-examples", "5", "--rounds", "1", COLUMNS="80")


def test_command_prints_row_per_size_and_json(tiny_bert):
    found = json.loads(measure(str(tiny_bert), "--json").stdout.splitlines()[-1])
    assert [each["pairs_per_call"] for each in found["timings"]] == [1, 2, 4]
    assert [each["calls"] for each in found["timings"]] == [5, 2, 1]
    assert found["best"] in found["timings"]
    assert (found["model"]["kind"], found["pairs"]) == ("transformer", 5)
    done = measure(str(tiny_bert))
    assert (done.exit_code, done.stdout.count("(best)")) == (0, 1)
    assert max(map(len, done.stdout.splitlines())) <= 80
    for model in ("endpoint:lm", str(tiny_bert)):
        assert measure(model, "--base-url", "http://localhost:1/v1").exit_code == 2
