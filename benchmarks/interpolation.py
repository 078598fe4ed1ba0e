"""Weights between a model and its mended version: every challenge set for each α, without training.

    unbag train mend --model ORG/NLI-MODEL --no-evaluate --output-dir runs/mended
    python benchmarks/interpolation.py ORG/NLI-MODEL runs/mended --out runs/interpolation
    python benchmarks/interpolation.py --out runs/interpolation --markdown     # the finished results

The model of each α is (1 − α) θ_plain + α θ_mended (`unbag models interpolate`). The first table has every α. A
difference from plain is in brackets if its 95 % bootstrap interval over pairs excludes zero. A bold difference has p <
.05 after Holm's correction over all differences. The second table has the intervals at some α, by default at 1 and at
the α that `unbag train mend --interpolate` would choose on the pairs of SNLI validation. Only these pairs influence the
choice. It is `alpha` in the JSON line.

Corpora and Breaking NLI are samples of `--pairs` pairs. A new start skips finished models. The JSON line has all
numbers.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from recipe_study import (
    PLAIN,
    Measures,
    differences_table,
    held_out,
    markdown_table,
    measure,
    open_results,
    read,
    show,
    summary,
    write,
)
from recipes import LAMBDA, add_held_out, of_held_out_words
from unbag.challenge_sets.loading import resolve_config
from unbag.challenge_sets.request import BuiltSet, SetRequest, build_requested_set
from unbag.evaluation.model_loading import load_predictor
from unbag.scoring.significance import compute_sample_value
from unbag.training.weight_averaging import GRID, average_models, choose_alpha

CORPUS: Final = "snli"
SEED: Final = 0  # `summary` averages over training seeds; here is one training


def main() -> None:
    """Evaluate the missing models, and print tables and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="PLAIN MENDED", help="Hub id or folder of both classifiers")
    parser.add_argument(
        "--alphas", nargs="+", type=float, default=list(GRID), help="values of α (default 0, 0.1, …, 1)"
    )
    parser.add_argument("--pairs", type=int, default=2_000, help="pairs of each corpus and of Breaking NLI")
    parser.add_argument("--permuted", type=int, default=100, help="sentence pairs to permute")
    parser.add_argument("--breaking-nli", help="file of Breaking NLI (default: downloaded)")
    add_held_out(parser)
    parser.add_argument("--intervals", nargs="+", type=float, help="α of the second table (default: the chosen one, 1)")
    parser.add_argument("--markdown", action="store_true", help="print the finished results in Markdown")
    parser.add_argument("--out", type=Path, default=Path("runs/interpolation"))
    args = parser.parse_args()
    if args.models:
        if len(args.models) != 2:
            parser.error(f"expected PLAIN and MENDED, got {len(args.models)} models")
        evaluate(args)
    results = open_results(args.out)
    found = {name_of(alpha): {SEED: read(path)} for alpha in GRID if (path := measured(results, alpha)).is_file()}
    if PLAIN not in found:
        parser.error(f"nothing is finished in {args.out}; name PLAIN and MENDED")
    record = {"benchmark": "interpolation", "alpha": chosen(found), **summary(found)}
    if args.markdown:
        print(markdown_table(record, list(found)))
        names = set(map(name_of, args.intervals or [record["alpha"], 1.0]))
        print(f"\n{differences_table(record, names)}")
        return
    show(record)
    print(json.dumps(record))


def evaluate(args: argparse.Namespace) -> None:
    """Evaluate the model of every α that has no results yet."""
    sets, permuted, unseen_words = asked(args)
    for alpha in args.alphas:
        if (path := measured(args.out, alpha)).is_file():
            continue
        folder = args.out / f"alpha-{alpha:g}"
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was interrupted
        average_models(args.models, folder, alphas=[alpha])
        predictor, _ = load_predictor(str(folder), dtype="float32")
        write(measure(predictor, sets, [permuted], unseen_words, out=args.out / "predictions", corpus=CORPUS), path)
        shutil.rmtree(folder)
        print(f"alpha {alpha:g}", file=sys.stderr, flush=True)


def asked(args: argparse.Namespace) -> tuple[dict[str, tuple[BuiltSet, dict[str, Any]]], BuiltSet, list[BuiltSet]]:
    """Build the sets that are scored by accuracy, the permuted set, and the pairs with held-out words."""
    plain = [CORPUS, f"{CORPUS}-test", "mnli-validation_matched"]
    sets: dict[str, tuple[BuiltSet, dict[str, Any]]] = {
        name: (build_requested_set(SetRequest("plain", name, max_examples=args.pairs)), {}) for name in plain
    }
    sets[f"{CORPUS}, CS_{LAMBDA}"] = build_requested_set(SetRequest("cs_lambda", CORPUS, {"min_lms": LAMBDA})), {}
    file = {"file": args.breaking_nli} if args.breaking_nli else {}
    official = SetRequest(
        "breaking_nli", resolve_config("breaking_nli", None, None, {})[0], file, max_examples=args.pairs
    )
    breaking = build_requested_set(official)
    sets["Breaking NLI"] = breaking, {"held-out words of Breaking NLI": of_held_out_words(breaking.rows)}
    return sets, build_requested_set(SetRequest("permuted", CORPUS, max_examples=args.permuted)), held_out(args)


def measured(out: Any, alpha: float) -> Any:
    """Build the path of a model's results."""
    return out / "measures" / f"alpha {alpha:g}.npz"


def name_of(alpha: float) -> str:
    """Build the row name of a model."""
    return f"α = {alpha:g}" if alpha else PLAIN


def chosen(found: Mapping[str, Mapping[int, Measures]]) -> float:
    """Choose α on the pairs of SNLI validation, by the rule of `unbag train mend --interpolate`."""
    curve = []
    for alpha in GRID:
        if name_of(alpha) in found:
            sample = found[name_of(alpha)][SEED].samples[CORPUS]
            metrics = {"accuracy": compute_sample_value(sample), "pairs": len(sample.columns)}
            curve.append({"alpha": alpha, CORPUS: metrics})
    return choose_alpha(curve)


if __name__ == "__main__":
    main()
