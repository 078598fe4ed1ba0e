"""How fast SOSwap and AddAmod pairs are made of an unparsed corpus, beside spaCy's bare pipeline on the same sentences.

    python benchmarks/adversaries.py --data pairs.jsonl --pipeline spacy/en_core_web_sm
    python benchmarks/adversaries.py --data pairs.jsonl --reasons [--attested more.jsonl]

The second counts, in place of the speed, what every premise comes to: pairs, or the first reason why it makes none, as
the set's card has them (with `--attested`, adjectives are attested by the pairs of another file too).

Claims: from a corpus to its pairs (parse, keep the parses, count the adjectives, swap, add) at 90 % or more of the
speed of the pipeline alone with the same components, which makes nothing of what it parses; memory that hardly grows
with the corpus. The pipeline parses every sentence; we leave out hypotheses in which its tagger sees no adjective, for
they attest none. In a turn both run at once, each in a process of its own with an empty cache, on one core that they
share a slice at a time: what else slows the machine slows both. CPU seconds count, and the median over turns of their
ratio. Memory is that of the whole corpus beside a tenth of it. One JSON line on standard output.
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from children import at_once, ended, peak_mb, started
from unbag.challenge_sets.perturbations.soswap_addamod import LABELS_OF, adjective_counts, soswap_addamod_tables
from unbag.data.labels import LABELS
from unbag.data.sources import Example, open_data
from unbag.data.text.parses import Parser

BARE, OURS = "spacy", "ours"


def main() -> None:
    """Run the engines in turn, print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="file with premise, hypothesis and label")
    parser.add_argument("--pipeline", default="spacy/en_core_web_sm", help="spaCy pipeline that parses")
    parser.add_argument("--turns", type=int, default=3, help="how often both run (default 3)")
    parser.add_argument("--reasons", action="store_true", help="count what premises come to, in place of the speed")
    parser.add_argument("--attested", help="with --reasons: another file whose sentences attest adjectives too")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)  # what a child is started with: engine, examples
    args = parser.parse_args()
    if args.run:
        engine, n = args.run
        print(json.dumps(run(engine, args.data, args.pipeline, int(n))))
        return
    if args.reasons:
        print(reasons(args.data, args.attested, args.pipeline))
        return
    n = sum(1 for _ in examples(args.data, None))
    record: dict[str, Any] = {"benchmark": "adversaries", "examples": n, "cpus": 1}
    record |= at_once({engine: arguments(engine, args, n) for engine in (BARE, OURS)}, args.turns)
    record["ours_tenth"] = ended(started(arguments(OURS, args, n // 10), on_one_core=True))
    print(json.dumps(record))


def arguments(engine: str, args: argparse.Namespace, n: int) -> list[str]:
    """Return what a child is started with that runs one engine on the first n examples."""
    return ["--data", args.data, "--pipeline", args.pipeline, "--run", engine, str(n)]


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
            adjectives = adjective_counts(examples(data, n), parser)
            for _ in soswap_addamod_tables(examples(data, n), parser, adjectives=adjectives, counts=counts):
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


def reasons(data: str, attested: str | None, pipeline: str) -> str:
    """Return a Markdown table of what the premises of a file come to: a pair of a kind, or the reason for none."""
    parser = Parser(pipeline)
    adjectives = adjective_counts(examples(data, None), parser)
    if attested:
        adjectives = adjective_counts(examples(attested, None), parser, adjectives)
    counts: Counter[str] = Counter()
    for _ in soswap_addamod_tables(examples(data, None), parser, adjectives=adjectives, counts=counts):
        pass
    lines = [f"| of {counts.pop('premises')} distinct premises | |", "|---|---:|"]
    for kind in LABELS_OF:
        lines += [f"| **{kind}** | **{counts[kind]}** |"]
        lines += [f"| {name} | {n} |" for name, n in counts.most_common() if name.startswith(f"{kind}: ")]
    return "\n".join(lines)


def examples(data: str, n: int | None) -> Iterator[Example]:
    """Yield the first n labelled examples of a file, or all."""
    return islice(open_data(data, labels=LABELS).examples(), n)


if __name__ == "__main__":
    main()
