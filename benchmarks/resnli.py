"""Speed of rearranging a corpus as for ReSNLI, compared with scikit-learn on the mean embeddings.

    python benchmarks/resnli.py --data train.parquet validation.parquet test.parquet --embeddings ORG/MODEL

Claims: for the pairs of the files, the uncertainties are those of scikit-learn's `LogisticRegression` without penalty,
in a fraction of its time and with the same memory. For pairs built by re-pairing the sentences of the files, the time
grows in proportion to the pairs, and SNLI's 569,033 pairs take minutes.

There are two peers with the same means. `as written` has scikit-learn's default tolerance, which stops far from the
optimum. `converged` has the tolerance of unbag, and runs on the files' pairs only, because it is slow. Each run has its
own process, so that its memory can be measured. `token_seconds` is the time from text to counts, which is the same for
all. `fit_seconds` covers means, fit and uncertainties, and for unbag also the rearrangement. The program prints one
JSON line.
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from children import ended, peak_mb, started
from unbag.baselines.lexical import embeddings, rearrangement
from unbag.baselines.lexical.embeddings import compute_mean_embeddings
from unbag.baselines.lexical.rearrangement import rearrange_examples
from unbag.data.labels import LABELS, get_label_id
from unbag.data.sources import open_data

SNLI: Final = 569_033  # labelled pairs of its three splits
K_TE = K_DV = 9_800  # about the size of SNLI's test and validation splits
PEERS: Final = {"as written": 1e-4, "converged": 1e-9}  # tolerance of each peer


def main() -> None:
    """Run unbag and the peers, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", required=True, help="files with premise, hypothesis and label")
    parser.add_argument("--embeddings", default=embeddings.DEFAULT, help="table of embeddings")
    parser.add_argument("--pairs", type=int, nargs="*", default=[4 * 42_254, SNLI], help="re-paired numbers of pairs")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)  # internal: engine, pairs, file
    args = parser.parse_args()
    if args.run:
        engine, n, out = args.run
        print(json.dumps(run(engine, int(n), args, Path(out))))
        return
    n_files = sum(1 for file in args.data for _ in open_data(file, labels=LABELS).iter_examples())
    record: dict[str, Any] = {"benchmark": "resnli", "embeddings": embeddings.find_embeddings(args.embeddings).identity}
    with tempfile.TemporaryDirectory() as folder:
        for n in (n_files, *args.pairs):
            ours = alone("ours", n, args, Path(folder))
            record[f"ours_{n}"] = ours[0]
            for peer in PEERS if n == n_files else ["as written"]:
                theirs = alone(peer, n, args, Path(folder))
                apart = float(np.abs(ours[1] - theirs[1]).max())
                record[f"{peer}_{n}"] = theirs[0] | {"largest_difference_of_uncertainty": float(f"{apart:.2g}")}
    print(json.dumps(record))


def alone(engine: str, n: int, args: argparse.Namespace, folder: Path) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """Run one fit in its own process. Return its record and the uncertainties."""
    out = folder / "uncertainty.npy"
    files = ["--data", *args.data, "--embeddings", args.embeddings]
    result = ended(started([*files, "--run", engine, str(n), str(out)]))
    print(f"{engine}, {n:,} pairs: {result}", file=sys.stderr)
    uncertainty: NDArray[np.float64] = np.load(out)
    return result, uncertainty


def run(engine: str, n: int, args: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Fit and rearrange n pairs. Write the uncertainties; return seconds, peak memory and loss."""
    pairs = [
        (example.premise, example.hypothesis, get_label_id(example.label))
        for file in args.data
        for example in open_data(file, labels=LABELS).iter_examples()
    ]
    table = embeddings.load_embeddings(args.embeddings)
    gold = np.fromiter((label for _, _, label in repaired(pairs, n)), dtype=np.int64, count=n)
    begin = time.perf_counter()
    counts = table.count_tokens((premise, hypothesis) for premise, hypothesis, _ in repaired(pairs, n))
    counted, before = time.perf_counter(), peak_mb()
    if engine == "ours":
        model = rearrangement.fit_mean_embedding_model(counts, table.vectors, gold)
        uncertainty, steps = model.compute_uncertainty(counts, gold), model.steps
        rearrange_examples(
            uncertainty.round(7), list(map(str, range(n))), min(K_TE, n // 10), min(K_DV, n // 10), seed=13
        )
    else:
        uncertainty, steps = peer(counts, table.vectors, gold, PEERS[engine])
    fitted = time.perf_counter()
    np.save(out, uncertainty)
    return {
        "pairs": n,
        "dimensions": table.vectors.shape[1],
        "token_seconds": round(counted - begin, 2),
        "fit_seconds": round(fitted - counted, 2),
        "steps": steps,
        "peak_mb": peak_mb(),
        "mb_before": before,
        "loss": round(float(-np.log(1 - uncertainty).mean()), 8),
    }


def peer(
    counts: sparse.csr_matrix, vectors: NDArray[np.float32], gold: NDArray[np.int64], tolerance: float
) -> tuple[NDArray[np.float64], int]:
    """Compute the uncertainties and the number of steps of scikit-learn's solver on the mean embeddings."""
    from sklearn.linear_model import LogisticRegression

    means = compute_mean_embeddings(counts, vectors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver = LogisticRegression(C=np.inf, fit_intercept=False, tol=tolerance, max_iter=100_000).fit(means, gold)
    certain = solver.predict_proba(means)[np.arange(len(gold)), gold]
    return 1 - certain, int(solver.n_iter_[0])


def repaired(pairs: list[tuple[str, str, int]], n: int) -> Iterator[tuple[str, str, int]]:
    """Iterate over n pairs: the original pairs, followed by premises with hypotheses at a growing distance."""
    size = len(pairs)
    for i in range(n):
        # A pair keeps its hypothesis's label, since most lexical information on a label is in the hypothesis.
        _, hypothesis, label = pairs[(i + 7 * (i // size)) % size]
        yield pairs[i % size][0], hypothesis, label


if __name__ == "__main__":
    main()
