"""Measure the stages of `unbag evaluate`, and compare their time with the time that the model itself needs.

    python benchmarks/evaluation.py MODEL                  # the suite, from empty caches
    python benchmarks/evaluation.py MODEL --sets plain,permuted

A child process evaluates the model as the command does, with empty caches of unbag, and with an empty Hub cache
(`--warm-hub` keeps the user's). The script prints one line per stage with wall-clock seconds and CPU seconds, where
CPU seconds include those of the child's own processes. A second child loads the model and predicts the same rows in one
call per set, without caches, files or scores. `ratio` divides the time of the first child by the prediction time of the
second.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import children


class Stages:
    """Wall-clock and CPU seconds of consecutive stages. The first one, the imports, began at `started` (Unix time)."""

    def __init__(self, started: float) -> None:
        self._name, self._wall, self._cpu = "start", started, 0.0
        self._started = started
        self.seconds: dict[str, list[float]] = {}
        self.tables: dict[str, float] = {}

    def begin(self, name: str) -> None:
        """End the current stage and begin another one."""
        wall, cpu = time.time(), sum(sum(resource.getrusage(who)[:2]) for who in _WHO)
        total = self.seconds.setdefault(self._name, [0.0, 0.0])
        total[0] += wall - self._wall
        total[1] += cpu - self._cpu
        self._name, self._wall, self._cpu = name, wall, cpu

    def update(self, name: str, done: int, total: int) -> None:
        """Begin a stage at its first progress callback, and end it at its last."""
        if name != self._name:
            self.begin(name)
        elif done >= total:
            self.begin(f"after {name}")

    def add_table(self, name: str) -> None:
        """Record when the table of a set can be printed first."""
        self.tables.setdefault(name, time.time() - self._started)


_WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def build_requests(sets: Sequence[str] | None) -> list[Any]:
    """Build the requests of the suite, or of some of its sets."""
    from unbag.challenge_sets import selection
    from unbag.challenge_sets.selection import PairSelection

    failed: list[Any] = []
    requests = PairSelection().build_requests(sets or selection.list_suite_sets(), on_failure=failed.append)
    return [selection.apply_suite_sample(request) for request in requests]


def evaluate(options: argparse.Namespace) -> dict[str, Any]:
    """Evaluate the model, and return the stages."""
    stages = Stages(options.started)
    from unbag.evaluation import evaluator
    from unbag.evaluation.outcome import EvaluationCallbacks
    from unbag.utils import parallel

    callbacks = EvaluationCallbacks(
        on_set=lambda name: stages.begin(f"build {name}"),
        on_progress=stages.update,
        on_result=lambda result: stages.add_table(result.set),
    )
    with parallel.set_num_proc(options.num_proc):
        outcome = evaluator.evaluate_all(
            [options.model],
            build_requests(options.sets),
            output_dir=options.output_dir,
            keep_going=True,
            callbacks=callbacks,
        )
    stages.begin("end")
    return {
        "wall_seconds": time.time() - options.started,
        "cpu_seconds": sum(seconds[1] for seconds in stages.seconds.values()),
        "peak_mb": children.peak_mb(),
        "second_process_peak_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
        "sets": len(outcome.results),
        "failures": [f"{each.set}: {each.reason}" for each in outcome.skipped],
        "stages": {name: [round(each, 2) for each in both] for name, both in stages.seconds.items()},
        "tables": {name: round(seconds, 1) for name, seconds in stages.tables.items()},
    }


def predict(options: argparse.Namespace) -> dict[str, Any]:
    """Predict the rows of the evaluation, one call per set, and return the seconds without building and loading."""
    from unbag.challenge_sets.request import build_requested_set
    from unbag.inference.transformer import TransformerPredictor

    predictor = TransformerPredictor.load(options.model)
    # Warm up, so that the costs of the first call are not counted.
    predictor.predict(["A man is sleeping."] * 8, ["A person is asleep."] * 8)
    rows, wall, cpu = 0, 0.0, 0.0
    of_sets: dict[str, list[float]] = {}
    for request in build_requests(options.sets):
        try:
            built = build_requested_set(request)
        except Exception as error:
            print(f"{request.name}: {error}", file=sys.stderr)
            continue
        for name, table in ((request.name, built.rows), (f"{request.name}, words shuffled", built.control)):
            if table is None:
                continue
            premises, hypotheses = list(table["premise"]), list(table["hypothesis"])
            start, cpu_start = time.perf_counter(), time.process_time()
            predictor.predict(premises, hypotheses)
            seconds = [time.perf_counter() - start, time.process_time() - cpu_start]
            of_sets[name] = [len(premises), *(round(each, 2) for each in seconds)]
            rows, wall, cpu = rows + len(premises), wall + seconds[0], cpu + seconds[1]
    return {"rows": rows, "wall_seconds": wall, "cpu_seconds": cpu, "sets": of_sets}


def run_child(part: str, arguments: Sequence[str], environment: dict[str, str]) -> dict[str, Any]:
    """Run a part of the benchmark in a child process, and parse the last line of its output."""
    command = [sys.executable, sys.argv[0], *arguments, "--part", part, "--started", str(time.time())]
    output = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    record: dict[str, Any] = json.loads(output.splitlines()[-1])
    return record


def main() -> None:
    """Print the stages as a table, and everything as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--sets", type=lambda text: text.split(","))
    parser.add_argument("--num-proc", type=int, default=1)
    parser.add_argument("--warm-hub", action="store_true", help="keep the Hub cache of the user")
    parser.add_argument("--output-dir", help="folder of the run (default: a temporary folder)")
    parser.add_argument("--no-ratio", action="store_true", help="do not measure the model itself")
    parser.add_argument("--part", choices=["evaluate", "predict"], help=argparse.SUPPRESS)
    parser.add_argument("--started", type=float, default=0.0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part is not None:
        print(json.dumps((evaluate if options.part == "evaluate" else predict)(options)))
        return
    with tempfile.TemporaryDirectory() as folder:
        # Empty caches, as in the first run of a user.
        environment = {"UNBAG_CACHE": f"{folder}/unbag"}
        if not options.warm_hub:
            environment["HF_HOME"] = f"{folder}/hub"
        arguments = [*sys.argv[1:], "--output-dir", options.output_dir or str(Path(folder) / "run")]
        record = run_child("evaluate", arguments, environment)
        print(f"{'stage':60} {'wall s':>8} {'CPU s':>8}")
        for name, (wall, cpu) in record["stages"].items():
            print(f"{name:60} {wall:8.1f} {cpu:8.1f}", flush=True)
        if not options.no_ratio:
            record["model"] = run_child("predict", arguments, environment)
            record["ratio"] = round(record["wall_seconds"] / record["model"]["wall_seconds"], 2)
        print(json.dumps(record))


if __name__ == "__main__":
    main()
