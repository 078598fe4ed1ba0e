"""A typical user script, checked with `mypy --strict` by tests/test_type_hints.py."""

from pathlib import Path
from typing import reveal_type

import unbag


def overlap(premises: list[str], hypotheses: list[str]) -> list[str]:
    """Predict entailment if the premise contains every word of the hypothesis."""
    return [
        "entailment" if set(h.split()) <= set(p.split()) else "neutral"
        for p, h in zip(premises, hypotheses, strict=True)
    ]


def main(data: Path, out: Path) -> str:
    """Evaluate a function and a bag of words, and compare them."""
    report: unbag.Report = unbag.evaluate(overlap, ["swapped", "permuted"], data=data, max_examples=100)
    report.save(out / "overlap")
    for result in report:
        (out / f"{result.set}.txt").write_text(f"{len(result.scores)} by {unbag.__version__}")
    words = unbag.evaluate(
        "lexical", "swapped", data=data, train_data=[str(data)], output_dir=out / "words", lexical_baseline=False
    )
    compared = unbag.compare(out / "overlap", words.folder, across_data=True)
    reveal_type(report)
    reveal_type(report.verdict)
    reveal_type(report[0])
    reveal_type(compared.differences[0].p)
    return report.verdict
