"""Say how many of the pairs the labeller reads, and how many of these are right.

    python -m tools.natlog_pairs [--pipeline FOLDER] [--wrong]
"""

import argparse
from collections import Counter

from tools.natlog_pairs import made
from unbag.natlog.sentences import Labeller
from unbag.text.pipeline import PIPELINE


def main() -> None:
    """Print a table; with `--wrong` also the pairs of the development contexts that are wrong or not read."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pipeline", default=PIPELINE)
    options.add_argument("--wrong", action="store_true")
    arguments = options.parse_args()
    labeller = Labeller.load(arguments.pipeline)
    pairs = list(made())
    verdicts = labeller.labels([pair.premise for pair in pairs], [pair.hypothesis for pair in pairs])
    counts: Counter[tuple[str, str, str]] = Counter()
    for pair, verdict in zip(pairs, verdicts, strict=True):
        # Neutral is "not entailed" here, as in MED.
        said = verdict.label and ("entailment" if verdict.label == "entailment" else "neutral")
        outcome = "not read" if said is None else "right" if said == pair.label else "wrong"
        part = "held out" if pair.held_out else "development"
        counts[part, pair.polarity, outcome] += 1
        counts[part, "all", outcome] += 1
        if arguments.wrong and outcome != "right" and not pair.held_out:
            print(f"{outcome}: {pair.label} ({pair.polarity}) {pair.premise} => {pair.hypothesis} {verdict.unread}")
    for part in ("development", "held out"):
        for polarity in ("up", "down", "neither", "all"):
            right, wrong, unread = (counts[part, polarity, name] for name in ("right", "wrong", "not read"))
            print(
                f"{part:12} {polarity:8} {right + wrong + unread:5} pairs, read {(right + wrong) / (right + wrong + unread):6.1%}, "
                f"right of those {right / max(right + wrong, 1):6.1%}"
            )


if __name__ == "__main__":
    main()
