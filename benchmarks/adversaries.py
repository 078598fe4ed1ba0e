"""Speed of building SOSwap and AddAmod pairs from an unparsed corpus, compared with spaCy's bare pipeline.

    python benchmarks/adversaries.py --data pairs.jsonl --pipeline spacy/en_core_web_sm
    python benchmarks/adversaries.py --data pairs.jsonl --reasons [--attested more.jsonl]

The second command counts the outcome of every premise instead of the speed: pairs, or the first reason for none, as on
the set's card. With `--attested`, the pairs of another file attest adjectives too.

Claims: building the pairs (parse, store the parses, count the adjectives, swap, add) reaches at least 90 % of the speed
of the pipeline alone, with the same components. Memory hardly grows with the corpus.

The pipeline parses every sentence. The builder skips hypotheses in which the tagger finds no adjective, because they
attest none. In each turn, both run at the same time, each in its own process with an empty cache, and share one core.
Other load on the machine therefore slows both equally. The result is the ratio of CPU seconds, median over turns.
Memory is measured for the whole corpus and for a tenth of it. The program prints one JSON line.
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
from unbag.challenge_sets.perturbations.soswap_addamod import (
    LABEL_BY_KIND,
    build_soswap_addamod_operators,
    count_adjectives,
    iter_soswap_addamod_rows,
)
from unbag.data.labels import LABELS
from unbag.data.sources import Example, open_data
from unbag.data.text.parses import Parser

BARE, OURS = "spacy", "ours"


def main() -> None:
    """Run the engines in turns and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="file with premise, hypothesis and label")
    parser.add_argument("--pipeline", default="spacy/en_core_web_sm", help="spaCy pipeline that parses")
    parser.add_argument("--turns", type=int, default=3, help="number of turns (default 3)")
    parser.add_argument("--reasons", action="store_true", help="count the outcomes of premises instead of the speed")
    parser.add_argument("--attested", help="with --reasons: another file whose sentences attest adjectives too")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)  # internal: engine, examples
    args = parser.parse_args()
    if args.run:
        engine, n = args.run
        print(json.dumps(run(engine, args.data, args.pipeline, int(n))))
        return
    if args.reasons:
        print(reasons(args.data, args.attested, args.pipeline))
        return
    n = sum(1 for _ in iter_examples(args.data, None))
    record: dict[str, Any] = {"benchmark": "adversaries", "examples": n, "cpus": 1}
    record |= at_once({engine: arguments(engine, args, n) for engine in (BARE, OURS)}, args.turns)
    record["ours_tenth"] = ended(started(arguments(OURS, args, n // 10), on_one_core=True))
    print(json.dumps(record))


def arguments(engine: str, args: argparse.Namespace, n: int) -> list[str]:
    """Build the arguments of a child process that runs one engine on the first n examples."""
    return ["--data", args.data, "--pipeline", args.pipeline, "--run", engine, str(n)]


def run(engine: str, data: str, pipeline: str, n: int) -> dict[str, Any]:
    """Parse the sentences of the first n examples of a file, and build all pairs from them."""
    counts: Counter[str] = Counter()
    sentences = list(dict.fromkeys(text for row in iter_examples(data, n) for text in (row.premise, row.hypothesis)))
    with tempfile.TemporaryDirectory() as cache:
        parser = Parser(pipeline, cache=Path(cache))
        pa.array([""])  # triggers the import of pandas before timing starts
        before = peak_mb()
        begin = time.process_time()
        if engine == BARE:
            for _ in parser._nlp.pipe(sentences, batch_size=256):
                pass
        else:
            adjectives = count_adjectives(iter_examples(data, n), parser)
            operators = build_soswap_addamod_operators(adjectives=adjectives)
            for _ in iter_soswap_addamod_rows(iter_examples(data, n), parser, operators, counts):
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
    """Build a Markdown table of the outcomes of a file's premises: a pair of a kind, or the reason for none."""
    parser = Parser(pipeline)
    adjectives = count_adjectives(iter_examples(data, None), parser)
    if attested:
        adjectives = count_adjectives(iter_examples(attested, None), parser, adjectives)
    counts: Counter[str] = Counter()
    operators = build_soswap_addamod_operators(adjectives=adjectives)
    for _ in iter_soswap_addamod_rows(iter_examples(data, None), parser, operators, counts):
        pass
    lines = [f"| of {counts.pop('premises')} distinct premises | |", "|---|---:|"]
    for kind in LABEL_BY_KIND:
        lines += [f"| **{kind}** | **{counts[kind]}** |"]
        lines += [f"| {name} | {n} |" for name, n in counts.most_common() if name.startswith(f"{kind}: ")]
    return "\n".join(lines)


def iter_examples(data: str, n: int | None) -> Iterator[Example]:
    """Iterate over the first n labelled examples of a file (default: all)."""
    return islice(open_data(data, labels=LABELS).iter_examples(), n)


if __name__ == "__main__":
    main()
