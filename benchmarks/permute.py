"""Speed of building the permuted set with its BLEU columns, compared with the same computation in NLTK.

    python benchmarks/permute.py --data pairs.jsonl          a file with premise, hypothesis and label
    python benchmarks/permute.py                             the demonstration corpus

Claims: 369,700 permuted pairs (SNLI dev at the defaults) take less than a minute on one core and less than 1 GB. With
ten times the pairs, the rows per second stay the same within 10 %. Each build runs in its own process on one core, as
`unbag build` does: read, tokenize, permute, score, write. The peer shuffles a sentence until no word keeps its place,
and computes BLEU-2, 3 and 4 of both sides with `nltk.translate.bleu_score.sentence_bleu`. It gets fewer pairs, because
it is slow, and writes no file. The program prints one JSON line.
"""

import argparse
import json
import random
import tempfile
import time
import warnings
from pathlib import Path

from children import ended, peak_mb, started

TIMES = (1, 10)
PEER_EXAMPLES = 40


def main() -> None:
    """Run the builds and the peer, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="file with premise, hypothesis and label (default: the demonstration corpus)")
    parser.add_argument("--q", type=int, default=100, help="permutations per pair (default 100)")
    parser.add_argument("--build", help=argparse.SUPPRESS)  # internal: file of a child process
    args = parser.parse_args()
    if args.build:
        print(json.dumps(build(args.build, args.q)))
        return
    pairs = read_pairs(args.data)
    record: dict[str, object] = {"benchmark": "permute", "pairs": len(pairs), "q": args.q, "cpus": 1}
    with tempfile.TemporaryDirectory() as folder:
        for times in TIMES:
            path = Path(folder) / f"{times}.jsonl"
            write_pairs(path, pairs, times)
            record[f"x{times}"] = run_alone(path, args.q)
    record["nltk"] = peer([pair for pair in pairs if min(len(side.split()) for side in pair[:2]) >= 8], args.q)
    print(json.dumps(record))


def read_pairs(data: str | None) -> list[tuple[str, str, str]]:
    """Load premise, hypothesis and label of each pair."""
    from unbag.data import demo
    from unbag.data.sources import open_data

    source = open_data(data or demo.get_demo_file("train"))
    return [(example.premise, example.hypothesis, example.label) for example in source.iter_examples()]


def write_pairs(path: Path, pairs: list[tuple[str, str, str]], times: int) -> None:
    """Write several copies of the pairs. Each copy has other ids and therefore other permutations."""
    with path.open("w", encoding="utf-8") as file:
        for copy in range(times):
            for number, (premise, hypothesis, label) in enumerate(pairs):
                row = {"id": f"{copy}-{number}", "premise": premise, "hypothesis": hypothesis, "label": label}
                file.write(json.dumps(row) + "\n")


def run_alone(path: Path, q: int) -> dict[str, float]:
    """Build in a separate process on one core, so that its memory can be measured."""
    return ended(started(["--build", str(path), "--q", str(q)], on_one_core=True))


def build(path: str, q: int) -> dict[str, float]:
    """Build the set of one file, and measure rows, seconds and peak memory."""
    import datasets

    from unbag.challenge_sets.loading import load

    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as cache:
        begin = time.perf_counter()
        rows = load("permuted", data=path, q=q, cache_dir=Path(cache))
        seconds = time.perf_counter() - begin
        permuted = len(rows) * q // (q + 1)
    return {
        "permuted_pairs": permuted,
        "seconds": round(seconds, 2),
        "pairs_per_second": round(permuted / seconds),
        "peak_mb": peak_mb(),
    }


def peer(pairs: list[tuple[str, str, str]], q: int) -> dict[str, float]:
    """Permute and score a few pairs with the standard library and NLTK."""
    from nltk.translate.bleu_score import sentence_bleu

    rng = random.Random(0)
    weights = [[1 / n] * n for n in (2, 3, 4)]
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NLTK warns about every 4-gram precision of 0
        for premise, hypothesis, _ in pairs[:PEER_EXAMPLES]:
            for words in (premise.split(), hypothesis.split()):
                for _ in range(q):
                    order = list(range(len(words)))
                    while any(i == place for i, place in enumerate(order)):
                        rng.shuffle(order)
                    sentence_bleu([words], [words[i] for i in order], weights=weights)
    seconds = time.perf_counter() - begin
    permuted = min(PEER_EXAMPLES, len(pairs)) * q
    return {
        "permuted_pairs": permuted,
        "seconds": round(seconds, 2),
        "pairs_per_second": round(permuted / seconds),
    }


if __name__ == "__main__":
    main()
