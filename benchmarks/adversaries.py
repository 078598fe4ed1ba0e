"""How fast SOSwap and AddAmod pairs are made of an unparsed corpus, beside spaCy's bare pipeline on the same sentences.

    python benchmarks/adversaries.py --data pairs.jsonl --pipeline spacy/en_core_web_sm

Claims: from a corpus to its pairs (parse, keep the parses, count the adjectives, swap, add) at 90 % or more of the speed
of the pipeline alone with the same components, which makes nothing of what it parses; memory that hardly grows with the
corpus. The pipeline parses every sentence; we leave out hypotheses in which its tagger sees no adjective, for they
attest none. In a turn both run at once, each in a process of its own with an empty cache, on one core that they share a
slice at a time: what else slows the machine slows both. CPU seconds count, and the median over turns of their ratio.
Memory is that of the whole corpus beside a tenth of it. One JSON line on standard output.
"""

import argparse
import json
import os
import statistics
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
    parser.add_argument("--turns", type=int, default=3, help="how often both run (default 3)")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)  # what a child is started with: engine, examples
    args = parser.parse_args()
    if args.run:
        engine, n = args.run
        print(json.dumps(run(engine, args.data, args.pipeline, int(n))))
        return
    n = sum(1 for _ in examples(args.data, None))
    record: dict[str, Any] = {"benchmark": "adversaries", "examples": n, "cpus": 1}
    turns = []
    for _ in range(args.turns):
        both = {engine: started(engine, args, n) for engine in (BARE, OURS)}
        turns.append({engine: ended(engine, child) for engine, child in both.items()})
    ratios = [turn[BARE]["cpu_seconds"] / turn[OURS]["cpu_seconds"] for turn in turns]
    middle = sorted(range(len(turns)), key=ratios.__getitem__)[len(turns) // 2]
    record |= turns[middle]
    record["ratio"] = round(statistics.median(ratios), 3)
    record["ratios"] = [round(ratio, 3) for ratio in ratios]
    record["ours_tenth"] = ended(OURS, started(OURS, args, n // 10))
    print(json.dumps(record))


def started(engine: str, args: argparse.Namespace, n: int) -> "subprocess.Popen[str]":
    """Start one engine in a process of its own, on the first core."""
    command = [sys.executable, __file__, "--data", args.data, "--pipeline", args.pipeline]
    core = {min(os.sched_getaffinity(0))}
    return subprocess.Popen(
        [*command, "--run", engine, str(n)],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, core),
    )


def ended(engine: str, child: "subprocess.Popen[str]") -> dict[str, Any]:
    """Wait for an engine, and return what it measured."""
    said, _ = child.communicate()
    if child.returncode:
        raise SystemExit(f"{engine} failed")
    result: dict[str, Any] = json.loads(said.splitlines()[-1])
    print(f"{engine}, {result['sentences']:,} sentences: {result['cpu_seconds']} CPU seconds", file=sys.stderr)
    return result


def run(engine: str, data: str, pipeline: str, n: int) -> dict[str, Any]:
    """Parse the sentences of the first n examples of a file, and make what there is to make of them."""
    counts: Counter[str] = Counter()
    sentences = list(dict.fromkeys(text for row in examples(data, n) for text in (row.premise, row.hypothesis)))
    with tempfile.TemporaryDirectory() as cache:
        parser = Parser(pipeline, cache=Path(cache))
        pa.array([""])  # imports pandas, which a builder has done long before
        before = peak_mb()
        begin = time.process_time()
        if engine == BARE:
            for _ in parser._nlp.pipe(sentences, batch_size=256):
                pass
        else:
            attested = attestation(examples(data, n), parser)
            for _ in tables(examples(data, n), parser, attested=attested, counts=counts):
                pass
        cpu_seconds = time.process_time() - begin
    return {
        "sentences": len(sentences),
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
