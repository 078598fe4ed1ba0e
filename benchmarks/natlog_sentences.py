"""Coverage, accuracy and speed of the natural-logic baseline on sentences.

    python benchmarks/natlog_sentences.py [--pipeline FOLDER] [--file SICCK-Ground-Truth-apr24.csv] [PAIRS …]

PAIRS are files that `unbag.data.sources.open_data` reads, with the label ids of `unbag.data.labels`. Rows without a
label are skipped. `--file` is the authors' file of SICCK, scored four-way without the labels of the seeds. There,
`told` is the accuracy of the labeller that knows these labels, on the same rows. `majority` is the accuracy of the most
frequent label on the parsed pairs. Sentences are parsed without a cache, on one core. The program prints one JSON line
per file.
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sicck_reproduction import build_official_logical_forms
from unbag.baselines.natlog.labeler import NatlogLabeler, NatlogResult
from unbag.baselines.natlog.model_checking import compute_relation
from unbag.baselines.natlog.relations import to_four_way_label
from unbag.challenge_sets.perturbations.sicck import read_sicck
from unbag.data.labels import LABELS
from unbag.data.sources import open_data
from unbag.data.text.tagging import PIPELINE


def shares(found: Sequence[str | None], gold: Sequence[str]) -> dict[str, Any]:
    """Compute the number of pairs, the share that is parsed, and among these the accuracy and the majority share."""
    decided = [(mine, theirs) for mine, theirs in zip(found, gold, strict=True) if mine is not None]
    n = max(len(decided), 1)
    return {
        "pairs": len(gold),
        "read": round(len(decided) / max(len(gold), 1), 4),
        "right": round(sum(mine == theirs for mine, theirs in decided) / n, 4),
        "majority": round(max(Counter(theirs for _, theirs in decided).values(), default=0) / n, 4),
    }


def timed(labeler: NatlogLabeler, pairs: Sequence[tuple[str, str]]) -> tuple[list[NatlogResult], dict[str, Any]]:
    """Label pairs, and measure the pairs per second."""
    begun = time.perf_counter()
    verdicts = list(labeler.iter_verdicts([pair[0] for pair in pairs], [pair[1] for pair in pairs]))
    return verdicts, {"pairs_per_second": round(len(pairs) / (time.perf_counter() - begun), 1)}


def of_sicck(labeler: NatlogLabeler, file: Path) -> dict[str, Any]:
    """Score SICCK's rows that have a four-way label."""
    all_rows = read_sicck(file)
    from_seeds = [to_four_way_label(compute_relation(shape)) for shape in build_official_logical_forms(all_rows)]
    labelled = zip(all_rows, from_seeds, strict=True)
    rows = [(row.premise, row.hypothesis, row.four_way, label) for row, label in labelled if row.four_way is not None]
    verdicts, speed = timed(labeler, [row[:2] for row in rows])
    # Equivalence has no four-way label, so that a verdict of equivalence counts as parsed and wrong.
    found = [verdict.relation and (to_four_way_label(verdict.relation) or "equivalence") for verdict in verdicts]
    seeded = [row[3] or "equivalence" if mine is not None else None for mine, row in zip(found, rows, strict=True)]
    gold = [row[2] for row in rows]
    return {**shares(found, gold), "told": shares(seeded, gold)["right"], **speed}


def of_pairs(labeler: NatlogLabeler, file: Path) -> dict[str, Any]:
    """Score a file of pairs."""
    examples = list(open_data(file, labels=LABELS).iter_examples())
    verdicts, speed = timed(labeler, [(example.premise, example.hypothesis) for example in examples])
    return {**shares([verdict.label for verdict in verdicts], [example.label for example in examples]), **speed}


def main() -> None:
    """Score each file, and print one JSON line per file."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--pipeline", default=PIPELINE)
    options.add_argument("--file", type=Path)
    options.add_argument("pairs", type=Path, nargs="*")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        labeler = NatlogLabeler.load(arguments.pipeline, cache=Path(cache))
        labeler.label("A dog barks.", "An animal barks.")  # loads everything before timing starts
        record = {"benchmark": "natlog_sentences"}
        if arguments.file:
            print(json.dumps({**record, "file": arguments.file.name, **of_sicck(labeler, arguments.file)}))
        for file in arguments.pairs:
            print(json.dumps({**record, "file": file.name, **of_pairs(labeler, file)}))


if __name__ == "__main__":
    main()
