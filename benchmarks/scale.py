"""Scaling of builds with the number of processes: rows per second, memory, and equality of the output.

    python benchmarks/scale.py --data pairs.parquet --pairs 1000000 --set permuted -o q=10 --processes 1 2
    python benchmarks/scale.py --data pairs.parquet --pairs 1000000 --engines processes ray --processes 2
    python benchmarks/scale.py --data pairs.parquet --model ORG/MODEL --gpu H200 --price 4.5

Claims: two processes build at least 1.8 times the rows per second of one process on two idle cores (on busy cores,
compare the rows per CPU second, which stay the same). Memory does not grow with the number of pairs. The file and its
hash are the same, byte for byte. Ray Data builds the same rows on as many processors, in several files; its start is
part of the time.

The pairs are those of the given file, re-paired: each premise with a hypothesis some places further on, and that
hypothesis's label. Each engine builds the set from empty caches in its own processes, as `unbag build` does: read,
build rows, hash them, write Parquet. The engines take turns, and the turn with the median time is reported.

`memory_mb` is the peak of the private memory of all processes (Pss_Anon, sampled twice a second). It excludes pages of
files, which the kernel can drop, and counts pages that a fork shares once.

With `--gpu`, the line also has an estimate for 100,000,000 pairs. It is not a measurement of that GPU:

- measured on this machine: rows built and pairs tokenized per second and core, operations per pair, and the share of
  the processor's peak that the model reaches;
- from NVIDIA's data sheets: the peak of the GPU;
- assumed: the model reaches between a tenth of the GPU's peak and the share measured here, and the other cores tokenize
  at the same time, as fast as those here.

The program prints one JSON line.
"""

import argparse
import hashlib
import json
import logging
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

from children import ended, started

GPUS = {"T4": 65e12, "L4": 121e12, "A100": 312e12, "H100": 989e12, "H200": 989e12}
"""Multiplications and additions a second by NVIDIA's data sheets: dense, 16 bits, the SXM form where there are two."""

ESTIMATED_PAIRS = 100_000_000
SAMPLE, TURNS = 2_000, 3  # pairs that the model predicts, and repetitions, of which the fastest counts
LEAST_SHARE = 0.1  # of a GPU's peak; small models do not use it fully


def by_processes(arguments: Mapping[str, Any], out: Path, workers: int) -> dict[str, Any]:
    """Build a set with processes of `datasets`, as `unbag build --num-proc` does, and return its record."""
    from unbag.challenge_sets.request import SetRequest, export_challenge_set
    from unbag.utils import parallel

    with parallel.set_num_proc(workers):
        return export_challenge_set(
            SetRequest(arguments["set"], options={"data": arguments["data"], **arguments["options"]}), out
        )


def by_ray(arguments: Mapping[str, Any], out: Path, workers: int) -> dict[str, Any]:
    """Build a set on a Ray cluster, as `unbag build --engine ray` does. The start of Ray is part of the time."""
    # The priority of the other engines. Ray's default has a lower one, so that other load would slow it more.
    os.environ |= {"RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    import ray

    from unbag.challenge_sets.request import SetRequest
    from unbag.evaluation.ray.building import build_set_on_cluster

    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    return build_set_on_cluster(
        SetRequest(arguments["set"], options={"data": arguments["data"], **arguments["options"]}), out
    )


ENGINES: dict[str, Callable[[Mapping[str, Any], Path, int], dict[str, Any]]] = {
    "processes": by_processes,
    "ray": by_ray,
}
"""Functions that build a set from the arguments, the output path and the number of workers, and return the record."""

WRITTEN = {"processes": "set.parquet", "ray": "set"}
"""What an engine writes: a file, or a folder of them."""


def main() -> None:
    """Build with each engine and number of processes, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="file with premise, hypothesis and label (default: the demonstration corpus)")
    parser.add_argument("--pairs", type=int, default=200_000, help="number of re-paired pairs (default 200,000)")
    parser.add_argument("--set", default="permuted", help="the challenge set (default permuted)")
    parser.add_argument("-o", "--option", action="append", default=[], help="option of the set, such as q=10")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2], help="numbers of processes (default 1 2)")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["processes"])
    parser.add_argument("--turns", type=int, default=1, help="number of turns (default 1)")
    parser.add_argument("--model", help="classifier to measure for the estimate")
    parser.add_argument("--gpu", choices=GPUS, help="GPU of the estimate")
    parser.add_argument("--cores", type=int, default=16, help="CPU cores of the machine with the GPU (default 16)")
    parser.add_argument("--price", type=float, help="price per hour of the GPU, in any currency")
    parser.add_argument("--run", help=argparse.SUPPRESS)  # internal: the task of a child process, as JSON
    args = parser.parse_args()
    if args.run:
        print(json.dumps(run(json.loads(args.run))))
        return
    if args.gpu and not (args.model and args.data):
        parser.error("an estimate (--gpu) wants a --model to measure, on pairs of yours (--data)")
    from unbag.challenge_sets import get_challenge_set
    from unbag.utils.options import parse_text

    texts = dict(text.split("=", 1) for text in args.option)
    hints = get_type_hints(get_challenge_set(args.set).Options, include_extras=True)
    options = {name: parse_text(name, hints[name], text) for name, text in texts.items()}
    record: dict[str, Any] = {"benchmark": "scale", "pairs": args.pairs, "set": args.set, "options": options}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "pairs.parquet"  # several processes divide only Parquet files and Hub datasets
        write_pairs(data, args.data, args.pairs)
        arguments = {"data": str(data), "set": args.set, "options": options}
        for engine in args.engines:
            record[engine] = compared(engine, arguments, args.processes, args.turns)
    all_files = [{found["file"] for found in record[engine].values()} for engine in args.engines]
    hashes = {found["sha256"] for engine in args.engines for found in record[engine].values()}
    if len(hashes) > 1 or any(len(files) > 1 for files in all_files):
        raise SystemExit(f"the rows or files differ: {json.dumps(record)}")
    if args.gpu:
        best = max(found["rows_per_second"] / int(n) for n, found in record[args.engines[0]].items())
        record["estimate"] = estimate(args, best)
    print(json.dumps(record))


def write_pairs(path: Path, data: str | None, pairs: int) -> None:
    """Write a number of pairs to a Parquet file: premises with hypotheses at a growing distance."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from unbag.data import demo
    from unbag.data.labels import LABELS
    from unbag.data.sources import open_data

    examples = list(open_data(data or demo.get_demo_file("train"), labels=LABELS).iter_examples())
    premises = [example.premise for example in examples]
    hypotheses, labels = [example.hypothesis for example in examples], [example.label for example in examples]
    with pq.ParquetWriter(path, pa.schema(dict.fromkeys(("premise", "hypothesis", "label"), pa.string()))) as writer:
        for first in range(0, pairs, len(examples)):
            shift = first // len(examples) % len(examples)
            columns = (premises, *(each[shift:] + each[:shift] for each in (hypotheses, labels)))
            rows = pa.table(dict(zip(writer.schema.names, columns, strict=True)))
            writer.write_table(rows.slice(0, pairs - first))


def compared(engine: str, arguments: Mapping[str, Any], numbers: list[int], turns: int) -> dict[str, Any]:
    """Select the turn with the median time for each engine and number of processes."""
    found: dict[int, list[dict[str, Any]]] = {number: [] for number in numbers}
    for _ in range(turns):
        for number in numbers:
            found[number].append(child({"engine": engine, "workers": number, **arguments}))
    median = {n: sorted(each, key=lambda turn: turn["seconds"])[len(each) // 2] for n, each in found.items()}
    least = median[min(numbers)]["rows_per_second"]
    return {str(n): each | {"times": round(each["rows_per_second"] / least, 2)} for n, each in median.items()}


def child(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run one task in its own process, so that its memory can be measured."""
    return ended(started(["--run", json.dumps(arguments)]))


def run(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run a build, and measure it."""
    import datasets

    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UNBAG_CACHE"] = f"{folder}/kept"
        datasets.config.HF_DATASETS_CACHE = Path(folder) / "cache"
        begin = time.perf_counter()
        with watched() as memory:
            made = built(arguments, Path(folder) / WRITTEN[arguments["engine"]])
        seconds = time.perf_counter() - begin
    cpu_seconds = memory.pop("cpu_seconds")
    made["rows_per_second"] = round(made["rows"] / seconds)
    made["rows_per_cpu_second"] = round(made["rows"] / cpu_seconds)
    return {"seconds": round(seconds, 2), "cpu_seconds": round(cpu_seconds, 2), **made, **memory}


def built(arguments: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Build a set. Return the number of rows, their hash, and the hash of the file."""
    from unbag.utils.hashing import hash_file

    record = ENGINES[arguments["engine"]](arguments, out, arguments["workers"])
    files = [out] if out.is_file() else sorted(out.iterdir())
    written = hashlib.sha256("".join(map(hash_file, files)).encode()).hexdigest()
    return {"rows": record["rows"], "sha256": record["data"]["sha256"], "file": written}


@contextmanager
def watched() -> Iterator[dict[str, float]]:
    """Measure the peak memory and the CPU time of this process and its descendants into the yielded record.

    The CPU time of a process is its last sample, taken at most half a second before the end of the process. The exact
    time is not available for processes that are not children of this one, such as Ray's.
    """
    peak: dict[str, float] = {"memory_mb": 0}
    seconds: dict[int, float] = {}
    done = threading.Event()

    def look() -> None:
        over = False
        while not over:
            at_work = list(_with_children(os.getpid()))
            peak["memory_mb"] = max(peak["memory_mb"], sum(map(_own_kb, at_work)) // 1024)
            seconds.update((pid, max(_cpu_seconds(pid), seconds.get(pid, 0.0))) for pid in at_work)
            over = done.wait(0.5)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()
        peak["cpu_seconds"] = sum(seconds.values())


def _with_children(pid: int) -> Iterator[int]:
    yield pid
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = file.read_text().split()
        except OSError:  # the process has ended
            continue
        for other in children:
            yield from _with_children(int(other))


def _cpu_seconds(pid: int) -> float:
    try:
        # The name may contain spaces. The 12th and 13th fields after it are the ticks in user mode and in the kernel.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _own_kb(pid: int) -> int:
    try:
        memory = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in memory.splitlines() if line.startswith("Pss_Anon")), 0)


def estimate(args: argparse.Namespace, rows_per_second: float) -> dict[str, Any]:
    """Estimate the cost of 100 million pairs on a GPU, from measurements on this machine and the GPU's data sheet."""
    import torch

    from inference import flops_needed, matrix_product_peak, read_pairs
    from unbag.inference.tokenization import encode_pairs
    from unbag.inference.transformer import TransformerPredictor

    predictor = TransformerPredictor.load(args.model, device="cpu")
    premises, hypotheses = read_pairs(Path(args.data), SAMPLE, as_is=False)
    predictor.predict(premises[:64], hypotheses[:64])  # warm-up: the first batch is slower
    encode = partial(encode_pairs, predictor.tokenizer, premises, hypotheses, predictor.max_length)
    tokenized = SAMPLE / _seconds(encode, time.process_time)  # CPU time of all threads
    _, flops = flops_needed(predictor, premises, hypotheses)
    peak = matrix_product_peak(torch.float32, "cpu")
    rate = SAMPLE / _seconds(partial(predictor.predict, premises, hypotheses), time.perf_counter)
    share = rate * flops / peak
    alone = ESTIMATED_PAIRS / tokenized / args.cores / 3600  # hours of tokenizing, a lower bound: the GPU would wait
    hours = [max(alone, ESTIMATED_PAIRS * flops / (s * GPUS[args.gpu]) / 3600) for s in (share, LEAST_SHARE)]
    return {
        "is": f"an estimate for {ESTIMATED_PAIRS:,} pairs; nothing was measured on a GPU",
        "measured_here": {
            "rows_built_per_second_and_core": round(rows_per_second),
            "pairs_tokenized_per_second_and_core": round(tokenized),
            "pairs_predicted_per_second": round(rate),
            "operations_per_pair": round(flops),
            "share_of_peak": round(share, 2),
        },
        "assumed": f"{LEAST_SHARE:.0%} to {share:.0%} of the {GPUS[args.gpu]:.3g} operations a second in the data "
        f"sheet of {args.gpu}, and {args.cores} cores that tokenize",
        "gpu_hours": [round(each, 2) for each in hours],
        "hours_of_tokenizing": round(alone, 2),
        "core_hours_to_build": round(ESTIMATED_PAIRS / rows_per_second / 3600, 1),
        **({} if args.price is None else {"price": [round(each * args.price, 2) for each in hours]}),
    }


def _seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    taken = []
    for _ in range(TURNS):
        begin = clock()
        work()
        taken.append(clock() - begin)
    return min(taken)


if __name__ == "__main__":
    main()
