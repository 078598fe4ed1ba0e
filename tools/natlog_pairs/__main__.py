"""Measure the coverage and the accuracy of the natural-logic labeler on the monotonicity pairs.

python -m tools.natlog_pairs [--pipeline FOLDER] [--wrong]
"""

import argparse
import sys
from collections import Counter

from tools.natlog_pairs import iter_pairs
from unbag.baselines.natlog.labeler import NatlogLabeler
from unbag.data.labels import ENTAILMENT, NEUTRAL
from unbag.data.text.tagging import PIPELINE


def main() -> None:
    """Print a table; with `--wrong` also the development pairs with a wrong label or without a label."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pipeline", default=PIPELINE)
    options.add_argument("--wrong", action="store_true")
    arguments = options.parse_args()
    labeler = NatlogLabeler.load(arguments.pipeline)
    pairs = list(iter_pairs())
    verdicts = labeler.iter_verdicts([pair.premise for pair in pairs], [pair.hypothesis for pair in pairs])
    counts: Counter[tuple[str, str, str]] = Counter()
    for pair, verdict in zip(pairs, verdicts, strict=True):
        # In these pairs, neutral means "not entailed".
        said = verdict.label and (ENTAILMENT if verdict.label == ENTAILMENT else NEUTRAL)
        outcome = "no label" if said is None else "right" if said == pair.label else "wrong"
        part = "held out" if pair.held_out else "development"
        counts[part, pair.polarity, outcome] += 1
        counts[part, "all", outcome] += 1
        if arguments.wrong and outcome != "right" and not pair.held_out:
            sys.stdout.write(f"{outcome}: {pair.label}: {pair.premise} => {pair.hypothesis} {verdict.unsupported}\n")
    for part in ("development", "held out"):
        for polarity in ("up", "down", "neither", "all"):
            right, wrong, unsupported = (counts[part, polarity, name] for name in ("right", "wrong", "no label"))
            read = right + wrong
            shares = f"coverage {read / (read + unsupported):6.1%}, accuracy {right / max(read, 1):6.1%}"
            sys.stdout.write(f"{part:12} {polarity:8} {read + unsupported:5} pairs, {shares}\n")


if __name__ == "__main__":
    main()
