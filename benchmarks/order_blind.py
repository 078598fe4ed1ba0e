"""Skill scores of models that ignore word order, of random predictions and of oracles, on the demonstration's sets.

    python benchmarks/order_blind.py [--output-dir DIR] [--markdown docs/studies/order_blind.md]

Claim: a model that ignores word order has a skill score of at most 0 on every set, and never the verdict "better".
An oracle has 1. The reader of the demonstration, and an oracle with a fifth of noise, lie between them.

- `dan`, `rse-bow`, `esim-bow`, `dr-bilstm-bow`, `dam`: networks that ignore word order, trained for 200 steps on the
  demonstration's training pairs;
- `lexical`, `hypothesis-only`: regressions on words, fitted to all 6,000 of these pairs;
- constants: one label for every pair; `coin`: a label by a checksum of the pair;
- `oracle`: the gold label; `noisy oracle`: the same, but a fifth of the pairs by the checksum. Both know only the rows
  of the sets, so they guess on shuffled words and on the permuted orders;
- `reader`: the network of `unbag demo`, which reads the words in order.

The program prints one table per set: the score of the model, of its predictions for shuffled words and of the lexical
baseline on the scale on which 0 is chance and 1 perfect, then the skill score with its simultaneous 95 % interval and
the verdict. It exits with code 1 if the claim fails.
"""

import argparse
import re
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from unbag.baselines.demo_reader import DemoNetworkPredictor
from unbag.challenge_sets.request import BuiltSet, build_requested_set
from unbag.challenge_sets.results import Result
from unbag.data import demo as pairs
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.labels import LABELS
from unbag.evaluation import demo, verdict
from unbag.evaluation.evaluator import evaluate_all
from unbag.training.config import TrainConfig
from unbag.training.initialization import initialize_model
from unbag.training.run import run

NETWORKS: Final = ("dan", "rse-bow", "esim-bow", "dr-bilstm-bow", "dam")
BLIND: Final = (*NETWORKS, "lexical", "hypothesis-only", *(f"always_{label}" for label in LABELS), "coin")
"""Models that must not be better than the baseline on any set."""

Pairs = Sequence[str]
Function = Callable[[Pairs, Pairs], list[str]]


def main() -> None:
    """Train, evaluate, print the tables, and check the claim."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output-dir", type=Path, help="folder that keeps models and results (default: temporary)")
    parser.add_argument("--max-steps", type=int, default=200, help="training steps per network (default: 200)")
    parser.add_argument("--markdown", type=Path, help="page whose tables are replaced (default: print only)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.output_dir or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        results = evaluate(folder, args.max_steps)
    verdicts = {name: verdict.compute_model_verdict(own) for name, own in results.items()}
    tables = "\n".join(markdown(verdicts))
    print(tables)
    if args.markdown:
        replace_tables(args.markdown, tables)
    broken = [f"{name} on {each.result.set}" for name in BLIND for each in verdicts[name] if each.standing == "better"]
    sys.exit(f"better than the baseline, but ignores word order: {', '.join(broken)}" if broken else 0)


def evaluate(folder: Path, max_steps: int) -> dict[str, list[Result]]:
    """Evaluate all models on all sets of the demonstration; return the results of each model."""
    demo.write_demo_data(folder)
    sets = [each if isinstance(each, BuiltSet) else build_requested_set(each) for each in demo.list_demo_sets(folder)]
    networks = [train(name, folder, max_steps) for name in NETWORKS]
    functions = [*(constant(label) for label in LABELS), coin, *oracles(sets)]
    models: list[Any] = [*networks, "lexical", "hypothesis-only", *functions, DemoNetworkPredictor()]
    found = evaluate_all(
        models, sets, output_dir=folder / "run", trust_labels=True, **demo.build_demo_training_options(folder)
    ).results
    by_name: dict[str, list[Result]] = {}
    for result in found:
        by_name.setdefault(short_name(result), []).append(result)
    return by_name


def short_name(result: Result) -> str:
    """Return the name of a model in the tables."""
    return str(result.model["name"]).replace(":", "/").rpartition("/")[2]


def train(name: str, folder: Path, max_steps: int) -> str:
    """Train a network on the demonstration's pairs; return its folder."""
    corpus, trained = str(folder / pairs.get_demo_file("train").name), folder / "models" / name
    if not trained.exists():
        untrained = folder / "untrained" / name
        if not untrained.exists():
            initialize_model(name, (corpus,), untrained, dimensions=50, options={"hidden_size": "50"}, seed=1)
        config = TrainConfig(
            model=str(untrained), corpus=(corpus,), max_steps=max_steps, learning_rate=1e-3, seed=1, output_dir=trained
        )
        run(config)
    return str(trained)


def constant(label: str) -> Function:
    """Build a function that predicts one label for every pair."""

    def predict(premises: Pairs, hypotheses: Pairs) -> list[str]:
        return [label for _ in premises]

    predict.__name__ = predict.__qualname__ = f"always_{label}"
    return predict


def coin(premises: Pairs, hypotheses: Pairs) -> list[str]:
    """Predict a label by a checksum of the pair, so that each order of a pair has its own."""
    return [LABELS[guess(*pair) % len(LABELS)] for pair in zip(premises, hypotheses, strict=True)]


def guess(premise: str, hypothesis: str) -> int:
    """Compute a checksum of a pair."""
    return zlib.crc32(f"|{premise}|{hypothesis}".encode()) // 7


def oracles(sets: Sequence[BuiltSet]) -> Iterator[Function]:
    """Build an oracle and a noisy oracle, which know the gold labels of the sets' rows in order."""
    gold: dict[tuple[str, str], str] = {}
    for each in sets:
        texts = (read_column(each.rows, side).to_pylist() for side in ("premise", "hypothesis"))
        in_order = read_numeric_column(each.rows, "permutation") < 0 if each.name == "permuted" else None
        for i, (pair, label) in enumerate(
            zip(zip(*texts, strict=True), read_numeric_column(each.rows, "label"), strict=True)
        ):
            if in_order is None or in_order[i]:
                gold.setdefault(pair, LABELS[label])

    def oracle(premises: Pairs, hypotheses: Pairs) -> list[str]:
        asked = zip(premises, hypotheses, strict=True)
        return [gold.get(pair, guessed) for pair, guessed in zip(asked, coin(premises, hypotheses), strict=True)]

    def noisy_oracle(premises: Pairs, hypotheses: Pairs) -> list[str]:
        answers = zip(premises, hypotheses, oracle(premises, hypotheses), coin(premises, hypotheses), strict=True)
        # Other digits of the checksum than `coin` uses, so that errors do not depend on the guess.
        return [guessed if guess(p, h) // 100 % 5 == 0 else known for p, h, known, guessed in answers]

    oracle.__qualname__, noisy_oracle.__qualname__ = "oracle", "noisy_oracle"
    yield from (oracle, noisy_oracle)


def markdown(verdicts: dict[str, list[verdict.SetVerdict]]) -> Iterator[str]:
    """Format one table per set."""
    for i, first in enumerate(next(iter(verdicts.values()))):
        yield f"## {first.result.set}\n"
        yield "| model | score | shuffled | lexical | skill score [95 %] | verdict |"
        yield "|---|---:|---:|---:|---:|---|"
        for name, own in verdicts.items():
            each = own[i]
            scores = " | ".join(number(value) for value in (each.model, each.shuffled, each.lexical))
            interval = "" if each.score.low is None else f" [{number(each.score.low)}, {number(each.score.high)}]"
            yield f"| {name.replace('_', ' ')} | {scores} | {number(each.score.value)}{interval} | {each.standing} |"
        yield ""


def number(value: float | None) -> str:
    """Format a score with three decimals."""
    # Adding 0 turns −0.0 into 0.0.
    return "" if value is None else re.sub(r"^(-?)0\.", r"\1.", f"{round(value, 3) + 0:.3f}").replace("-", "−")


def replace_tables(page: Path, tables: str) -> None:
    """Replace the part of a page from its first set on."""
    text = page.read_text("utf-8")
    page.write_text(text[: text.index("\n## plain") + 1] + tables, "utf-8")


if __name__ == "__main__":
    main()
