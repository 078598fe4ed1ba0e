"""Speed of fitting the lexical model, compared with scikit-learn on the same features.

There are three peers in scikit-learn: CountVectorizer over the names of the features with LogisticRegression; the same
with FeatureHasher, which needs no vocabulary; and, as the strongest peer, LogisticRegression alone on the float32
matrix of unbag.

    python benchmarks/lexical.py --train train.parquet --test validation.parquet --pipeline spacy/en_core_web_sm

Claims, for the pairs of the files: a twentieth of scikit-learn's time and a fraction of its memory, with the same
held-out accuracy and the same ranking of examples by LMS. For pairs built by re-pairing the sentences of the files: the
time grows as the number of pairs to the power of 1.1 (a step is linear in the pairs, and the number of steps grows
slightly). SNLI and MNLI's 942,854 pairs take a minute and less than 4 GB.

Each fit runs in its own process, so that its memory can be measured. The time covers features, fit and LMS scores,
starting from content words. The fits take turns, and the turn with the median time is reported. Tagging is measured
separately: unbag and the bare pipeline tag the same sentences at the same time and share one core. The result is the
ratio of CPU seconds, median over turns. The program prints one JSON line.
"""

import argparse
import json
import pickle
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from children import at_once, ended, peak_mb, started
from unbag.baselines.lexical.features import FeatureVocabulary, Words, compute_lms
from unbag.baselines.lexical.regression import fit_softmax_regression
from unbag.baselines.lexical.words import select_content_words
from unbag.data.labels import LABELS, get_label_id
from unbag.data.sources import open_data
from unbag.data.text.tagging import Tagger

BARE, OURS = "spacy", "ours"
ENGINES = (OURS, "scikit-learn", "scikit-learn hashed", "scikit-learn on our matrix")
Pairs = tuple[list[tuple[Words, Words]], list[int]]


def main() -> None:
    """Tag the sentences, run every fit, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", help="file with premise, hypothesis and label")
    parser.add_argument("--test", help="file of the same kind, for scoring")
    parser.add_argument("--pipeline", default="spacy/en_core_web_sm", help="spaCy pipeline for tagging")
    parser.add_argument("--l2", type=float, default=5.0, help="L2 penalty of all engines (default 5)")
    parser.add_argument("--times", type=int, nargs="*", default=[10, 20, 40], help="re-paired sizes (default 10 20 40)")
    parser.add_argument("--pairs", type=int, nargs="*", default=[942_854], help="re-paired numbers of pairs")
    parser.add_argument("--turns", type=int, default=3, help="number of turns (default 3)")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)  # internal: engine, words, pairs
    parser.add_argument("--tag", nargs=2, help=argparse.SUPPRESS)  # internal: engine, words
    args = parser.parse_args()
    if args.tag:
        engine, words = args.tag
        print(json.dumps(tag(engine, args, Path(words))))
        return
    if args.run:
        engine, words, n_pairs = args.run
        print(json.dumps(run(engine, Path(words), int(n_pairs), args.l2)))
        return
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder) / "words.pickle"
        record: dict[str, Any] = {"benchmark": "lexical", "l2": args.l2, "tagging": tagging(args, words)}
        n = len(pickle.loads(words.read_bytes())["train"][0])
        turns = [{engine: alone(engine, words, n, args.l2) for engine in ENGINES} for _ in range(args.turns)]
        for engine in ENGINES:
            record[engine] = median(turn[engine] for turn in turns)
        scores = {engine: np.array(record[engine].pop("lms")) for engine in ENGINES}
        ours = scores.pop(OURS)
        record["lms_rank_correlation"] = {name: round(rank_correlation(ours, peer), 4) for name, peer in scores.items()}
        record["times_faster"] = {name: round(record[name]["seconds"] / record[OURS]["seconds"], 1) for name in scores}
        record["share_of_memory"] = {
            name: round(record[OURS]["peak_mb"] / record[name]["peak_mb"], 2) for name in scores
        }
        sizes = [n * times for times in args.times] + args.pairs
        turns = [{size: alone(OURS, words, size, args.l2) for size in sizes} for _ in range(args.turns)]
        for size in sizes:
            record[f"ours_{size}"] = median(turn[size] for turn in turns)
            del record[f"ours_{size}"]["lms"]
    print(json.dumps(record))


def tagging(args: argparse.Namespace, path: Path) -> dict[str, Any]:
    """Tag the sentences of both files with an empty cache and, on the same core, with the bare pipeline."""
    files = ["--train", args.train, "--test", args.test, "--pipeline", args.pipeline]
    return at_once({engine: [*files, "--tag", engine, str(path)] for engine in (BARE, OURS)}, args.turns)


def tag(engine: str, args: argparse.Namespace, path: Path) -> dict[str, float]:
    """Tag the sentences of both files. The engine of unbag also writes their content words."""
    data = {
        name: list(open_data(file, labels=LABELS).iter_examples())
        for name, file in (("train", args.train), ("test", args.test))
    }
    sentences = sorted({text for rows in data.values() for row in rows for text in (row.premise, row.hypothesis)})
    with tempfile.TemporaryDirectory() as cache:
        tagger = Tagger(args.pipeline, cache=Path(cache))
        begin = time.process_time()
        if engine == BARE:
            for _ in tagger._nlp.pipe(sentences, batch_size=256):
                pass
        else:
            tagged = tagger.tag(sentences, is_fine=True)
        cpu_seconds = time.process_time() - begin
    if engine == OURS:
        words = {sentence: select_content_words(found) for sentence, found in tagged.items()}
        pairs = {
            name: (
                [(words[row.premise], words[row.hypothesis]) for row in rows],
                [get_label_id(row.label) for row in rows],
            )
            for name, rows in data.items()
        }
        path.write_bytes(pickle.dumps(pairs))
    return {
        "sentences": len(sentences),
        "cpu_seconds": round(cpu_seconds, 2),
        "sentences_per_cpu_second": round(len(sentences) / cpu_seconds),
    }


def alone(engine: str, words: Path, n_pairs: int, l2: float) -> dict[str, Any]:
    """Run one fit in its own process."""
    result = ended(started(["--l2", str(l2), "--run", engine, str(words), str(n_pairs)]))
    print(f"{engine}, {n_pairs:,} pairs: {result['seconds']} s", file=sys.stderr)
    return result


def median(results: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Select the result with the median time; of an even number, the slower one of the middle two."""
    by_time = sorted(results, key=lambda result: float(result["seconds"]))
    return by_time[len(by_time) // 2]


def run(engine: str, path: Path, n_pairs: int, l2: float) -> dict[str, Any]:
    """Fit and score. Return seconds, peak memory, accuracy and the LMS of the test pairs."""
    # Unpickling is safe here: `tag` has written the file in another process.
    data: dict[str, Pairs] = pickle.loads(path.read_bytes())
    pairs, labels = repaired(*data["train"], n_pairs)
    test, gold = data["test"][0], np.array(data["test"][1])
    before = peak_mb()
    begin = time.perf_counter()
    matrix, tested = matrices(engine, pairs, test)
    featured = time.perf_counter()
    if engine == OURS:
        model = fit_softmax_regression(matrix, np.array(labels), l2=l2)
        probabilities, steps = model.probabilities(tested), model.steps
    else:
        from sklearn.linear_model import LogisticRegression

        # scikit-learn's C is the inverse of the penalty.
        peer = LogisticRegression(C=1 / l2, max_iter=1000).fit(matrix, labels)
        probabilities, steps = peer.predict_proba(tested), int(peer.n_iter_[0])
    end = time.perf_counter()
    return {
        "pairs": len(pairs),
        "features": matrix.shape[1],
        "features_per_pair": round(matrix.nnz / len(pairs), 1),
        "seconds": round(end - begin, 2),
        "fit_seconds": round(end - featured, 2),
        "steps": steps,
        "peak_mb": peak_mb(),
        "mb_before": before,
        "test_accuracy": round(float(np.mean(probabilities.argmax(axis=1) == gold)), 4),
        "lms": [round(float(score), 6) for score in compute_lms(probabilities, gold)],
    }


def _list_features(premise: Words, hypothesis: Words) -> list[tuple[str | None, str | None]]:
    return [(one, other) for one in (*premise, None) for other in (*hypothesis, None) if one or other]


def matrices(engine: str, pairs: list[tuple[Words, Words]], test: list[tuple[Words, Words]]) -> tuple[Any, Any]:
    """Build the feature matrices of the training pairs and the test pairs with an engine."""
    if engine in (OURS, "scikit-learn on our matrix"):
        vocabulary, matrix = FeatureVocabulary.fit(pairs)
        return matrix, vocabulary.matrix(test)
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.feature_extraction.text import CountVectorizer

    fitted, scored = ([list(map(str, _list_features(*pair))) for pair in some] for some in (pairs, test))
    if engine == "scikit-learn hashed":
        hasher = FeatureHasher(input_type="string", alternate_sign=False)
        return hasher.transform(fitted), hasher.transform(scored)
    counter = CountVectorizer(analyzer=lambda names: names, binary=True, dtype=np.float64)
    return counter.fit_transform(fitted), counter.transform(scored)


def repaired(pairs: list[tuple[Words, Words]], labels: list[int], n: int) -> Pairs:
    """Build n pairs: the original pairs, followed by premises with hypotheses at a growing distance."""
    size = len(pairs)
    if n <= size:
        return pairs[:n], labels[:n]
    # A pair keeps its hypothesis's label, since most lexical information on a label is in the hypothesis.
    moved = ((i % size, (i + 7 * (i // size)) % size) for i in range(n))
    made = [(pairs[a][0], pairs[b][1], labels[b]) for a, b in moved]
    return [(premise, hypothesis) for premise, hypothesis, _ in made], [label for _, _, label in made]


def rank_correlation(one: Any, other: Any) -> float:
    """Compute Spearman's rank correlation."""
    from scipy.stats import spearmanr

    return float(spearmanr(one, other).statistic)


if __name__ == "__main__":
    main()
