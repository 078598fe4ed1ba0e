"""A large evaluation by three independent processes, one of which is killed, compared with one uninterrupted process.

    python benchmarks/shards.py                              a million pairs on this machine
    python benchmarks/shards.py --rows 100000 --to s3://BUCKET/runs

Claims: results.json has the same bytes. No row is predicted twice, except those of the chunk that the killed process
was working on. Each process needs less than 1 GB. After the shards, one more process scores.

The pairs are re-paired sentences of the demonstration, in a Parquet file. The model is a function that derives a random
label from a hash of the pair, and logs the number of pairs per call. Its cost is negligible, so that the benchmark
measures everything else: building, hashing, storing and scoring. The program prints one JSON line.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

COIN: Final = """
import hashlib, os, time

def coin(premises, hypotheses):
    names = ("entailment", "neutral", "contradiction")
    pairs = zip(premises, hypotheses, strict=True)
    answers = [names[hashlib.sha256(f"{p}\\n{h}".encode()).digest()[0] % 3] for p, h in pairs]
    time.sleep(float(os.environ["COIN_SECONDS"]) if len(answers) > 1 else 0)
    with open(f"{os.environ['COIN_CALLS']}-{os.getpid()}", "a") as file:
        file.write(f"{len(premises)}\\n")
    return answers
"""
SHARDS: Final = 3
KILLED_AFTER: Final = 0.3  # share of the chunks that are stored when the process is killed
MOST_MB: Final = 1000


def main() -> None:
    """Run both evaluations, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="pairs (default 1,000,000)")
    parser.add_argument("--set", default="plain", help="the challenge set (default: plain, the pairs themselves)")
    parser.add_argument("--to", help="folder or URL (default: a temporary folder)")
    parser.add_argument("--seconds", type=float, default=0.1, help="seconds per chunk (default 0.1)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unbag-shards-") as name:
        here = Path(name)
        to = args.to or str(here / "runs")
        (here / "coin.py").write_text(COIN)
        write_pairs(here / "pairs.parquet", args.rows)
        command = ["coin:coin", "--sets", args.set, "--data", "pairs.parquet", "--no-lexical-baseline", "--json"]
        begun = time.perf_counter()
        one = Run(here, "one", [*command, "--output-dir", f"{to}/one"], args.seconds)
        one.ended()
        one_seconds = time.perf_counter() - begun
        begun = time.perf_counter()
        whole = [*command, "--output-dir", f"{to}/shards"]
        together = [*whole, "--shard"]
        runs = [Run(here, f"shard{index}", [*together, f"{index}/{SHARDS}"], args.seconds) for index in range(SHARDS)]
        killed = runs[1]
        while killed.asked() < KILLED_AFTER * args.rows / SHARDS:
            if killed.process.poll() is not None:
                raise SystemExit("the shard ended before it could be killed; give it more rows or --seconds")
            time.sleep(0.02)
        # SIGKILL cannot be handled: the shard ends as it would when its machine fails.
        killed.process.send_signal(signal.SIGKILL)
        killed.process.wait()
        replacement = Run(here, "again", [*together, f"1/{SHARDS}"], args.seconds)
        rest = [runs[0], runs[2], replacement]
        for run in rest:
            run.ended()
        rest.append(Run(here, "scoring", whole, args.seconds))
        rest[-1].ended()
        seconds = time.perf_counter() - begun
        everyone = [*runs, replacement, rest[-1]]
        asked = sum(run.asked() for run in everyone)
        record = {
            "benchmark": "shards",
            "rows": args.rows,
            "cpus": len(os.sched_getaffinity(0)),
            "one": {"seconds": round(one_seconds, 1), "peak_mb": one.peak_mb},
            "shards": {"seconds": round(seconds, 1), "peak_mb": [run.peak_mb for run in everyone]},
            "rows_by_process": [run.asked() for run in everyone],
            "rows_asked_again": asked - args.rows,
            "same_results": read(f"{to}/one/results.json") == read(f"{to}/shards/results.json"),
        }
    print(json.dumps(record))
    if not record["same_results"] or max(one.peak_mb, *(run.peak_mb for run in rest)) > MOST_MB:
        raise SystemExit("not as claimed")


class Run:
    """An evaluation in its own process, whose memory is sampled while it runs."""

    def __init__(self, folder: Path, name: str, arguments: list[str], seconds: float) -> None:
        self._folder, self._name = folder, name
        environment = os.environ | {"COIN_CALLS": str(folder / f"calls-{name}"), "COIN_SECONDS": str(seconds)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "unbag", "evaluate", *arguments],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        self.peak_mb = 0
        threading.Thread(target=self._follow, daemon=True).start()

    def ended(self) -> None:
        """Wait for the end of the process. Exits if the process failed."""
        if self.process.wait():
            raise SystemExit(f"{self._name} failed; what it said is above")

    def asked(self) -> int:
        """Count the predicted pairs, without the pair that every function is first tested with."""
        files = self._folder.glob(f"calls-{self._name}-*")
        return sum(n for file in files for n in map(int, file.read_text().split()) if n > 1)

    def _follow(self) -> None:
        while self.process.poll() is None:
            try:
                # The kernel removes the peak with the process, so it is read while the process runs.
                status = Path(f"/proc/{self.process.pid}/status").read_text()
            except OSError:
                return
            for line in status.splitlines():
                if line.startswith("VmHWM"):
                    self.peak_mb = int(line.split()[1]) // 1024
            time.sleep(0.05)


def write_pairs(path: Path, rows: int) -> None:
    """Write a Parquet file with a number of different pairs."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from unbag.data import demo
    from unbag.data.readers import open_data_file

    given = [row.values for row in open_data_file(Path(demo.get_demo_file("train"))).read()]
    n, size = len(given), 100_000
    writer = None
    for start in range(0, rows, size):
        places = range(start, min(start + size, rows))
        table = pa.table(
            {
                "id": [f"pair-{place:09}" for place in places],
                "premise": [given[place % n]["premise"] for place in places],
                # Each pass over the pairs combines other premises with other hypotheses, so that all pairs differ.
                "hypothesis": [given[(place + place // n) % n]["hypothesis"] for place in places],
                "label": [given[place % n]["label"] for place in places],
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def read(place: str) -> bytes:
    """Read the bytes of a file."""
    from unbag.utils.storage import StorageFolder

    folder, _, name = place.rpartition("/")
    return StorageFolder(folder).read(name)


if __name__ == "__main__":
    main()
