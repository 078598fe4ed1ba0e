"""How fast SOSwap and AddAmod pairs are made of an unparsed corpus, beside spaCy's bare pipeline on the same sentences.

    python benchmarks/adversaries.py --data pairs.jsonl --pipeline spacy/en_core_web_sm

Claims: from a corpus to its pairs (parse premises and hypotheses, keep the parses, count the adjectives, swap, add) at
90 % or more of the speed of the pipeline alone with the same components, which makes nothing of what it parses; memory
that hardly grows with the corpus. Each run is in a process of its own on one core, with an empty cache, several turns
of each in alternation; the turn with the fewest CPU seconds counts, for other work on the machine only adds to them.
Memory is that of the whole corpus beside a tenth of it. One JSON line on standard output.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from unbag.examples import Example, open_data
from unbag.labels import LABELS
from unbag.perturb.soswap_addamod import attestation, tables
from unbag.text.parses import Parser

BARE, OURS = "spacy", "ours"


def main() -> None:
    """Run the engines in turn, print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="file with premise, hypothesis and label")
    parser.add_argument("--pipeline", default="spacy/en_core_web_sm", help="spaCy pipeline that parses")
    parser.add_argument("--turns", type=int, default=3, help="turns of each engine (default 3)")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)  # what a child is started with: engine, examples
    args = parser.parse_args()
    if args.run:
        engine, n = args.run
        print(json.dumps(run(engine, args.data, args.pipeline, int(n))))
        return
    n = sum(1 for _ in examples(args.data, None))
    record: dict[str, Any] = {"benchmark": "adversaries", "examples": n, "cpus": 1}
    turns = [{engine: alone(engine, args, n) for engine in (BARE, OURS)} for _ in range(args.turns)]
    for engine in (BARE, OURS):
        record[engine] = min((turn[engine] for turn in turns), key=lambda found: found["cpu_seconds"])
    record["ratio"] = round(record[BARE]["cpu_seconds"] / record[OURS]["cpu_seconds"], 3)
    record["ours_tenth"] = alone(OURS, args, n // 10)
    print(json.dumps(record))


def alone(engine: str, args: argparse.Namespace, n: int) -> dict[str, Any]:
    """Run one engine in a process of its own, on one core."""
    command = [sys.executable, __file__, "--data", args.data, "--pipeline", args.pipeline]
    core = {min(os.sched_getaffinity(0))}
    done = subprocess.run(
        [*command, "--run", engine, str(n)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, core),
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"{engine}, {n:,} examples: {result['seconds']} s", file=sys.stderr)
    return result


def run(engine: str, data: str, pipeline: str, n: int) -> dict[str, Any]:
    """Parse the sentences of the first n examples of a file, and make what there is to make of them."""
    counts: Counter[str] = Counter()
    sentences = list(dict.fromkeys(text for row in examples(data, n) for text in (row.premise, row.hypothesis)))
    with tempfile.TemporaryDirectory() as cache:
        parser = Parser(pipeline, cache=Path(cache))
        pa.array([""])  # imports pandas, which a builder has done long before
        before = peak_mb()
        begin, begin_cpu = time.perf_counter(), time.process_time()
        if engine == BARE:
            for _ in parser._nlp.pipe(sentences, batch_size=256):
                pass
        else:
            attested = attestation(examples(data, n), parser)
            for _ in tables(examples(data, n), parser, attested=attested, counts=counts):
                pass
        seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - begin_cpu
    return {
        "sentences": len(sentences),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "sentences_per_cpu_second": round(len(sentences) / cpu_seconds),
        "peak_mb": peak_mb(),
        "mb_before": before,
        **{name: counts[name] for name in ("premises", "soswap", "addamod") if counts},
    }


def examples(data: str, n: int | None) -> Iterator[Example]:
    """Yield the first n labelled examples of a file, or all."""
    return islice(open_data(data, labels=LABELS).examples(), n)


def peak_mb() -> int:
    """Return the most memory this process has had; not getrusage's figure, which a child inherits from its parent."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) // 1024


if __name__ == "__main__":
    main()
