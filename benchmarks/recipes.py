"""Comparison of training recipes with plain fine-tuning on the corpora and challenge sets.

    for seed in 1 2 3; do unbag train finetune --model ORG/MODEL --seed $seed --output-dir runs/plain-$seed; …; done
    python benchmarks/recipes.py plain=runs/plain-* hex=runs/hex-* --max-examples 2000 --permuted 200

The first name is the reference. Each number has its mean and standard deviation over a recipe's models, which differ in
their seeds. Accuracies also have the difference in points from the reference on the same pairs, with its 95 % bootstrap
interval over pairs. The bootstrap resamples each pair's share of correct predictions over seeds, so that the interval
describes another sample of pairs for the same models. A table goes to stderr, one JSON line to stdout.

All pairs of the corpus are evaluated once. They include the pairs of CS_0.7, and the twentieths with the least and the
greatest certainty of a classifier on averaged embeddings (ReSNLI's measure). Predictions are stored in `--out`.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.challenge_sets.perturbations.vocabulary_split import HELD_OUT, are_in_vocabulary_half
from unbag.challenge_sets.request import BuiltSet, SetRequest, build_requested_set
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.predictions import SetPredictions
from unbag.evaluation.model_loading import load_predictor
from unbag.inference.runner import predict_rows
from unbag.scoring.bootstrap import Estimate, estimate_difference, estimate_ratio
from unbag.training.seeds import compute_mean_and_deviation

HARDEST: Final = 0.05  # share of pairs in each of the paper's twenty partitions
LAMBDA: Final = 0.7
OF_CATEGORY: Final = "Breaking NLI, "
_WIDTH: Final = 31  # characters of a column with mean, deviation, difference and interval

Bools = NDArray[np.bool_]


def main() -> None:
    """Evaluate every model, and print a table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="NAME=FOLDER", help="a trained model; its folder's name or NAME=")
    add_columns(parser)
    parser.add_argument("--out", type=Path, default=Path("runs/recipes"), help="folder of the predictions")
    args = parser.parse_args()
    args.official = dict(name.partition("=")[::2] for name in args.official)

    groups: dict[str, list[str]] = {}
    # A shell expands NAME=a-* to NAME=a-1 and further words, so that a bare folder belongs to the last name.
    for each in args.models:
        name, equals, folder = each.partition("=")
        name, folder = (name, folder) if equals else (list(groups)[-1], each)
        groups.setdefault(name, []).append(folder)

    right_sets, other = asked(args)
    right: dict[str, dict[str, list[Any]]] = {}
    scores: dict[str, dict[str, list[float]]] = {}
    for name, folders in groups.items():
        for folder in folders:
            predictor, _ = load_predictor(folder)
            for title, (built, parts) in right_sets.items():
                found = answers(built, predictor, args.out)
                correct = found.predicted == found.to_label_positions(read_numeric_column(built.rows, "label"))
                for part, rows in {title: None, **parts}.items():
                    right.setdefault(part, {}).setdefault(name, []).append(correct if rows is None else correct[rows])
            for built in other:
                for measure, estimate in scored(built, answers(built, predictor, args.out)):
                    scores.setdefault(measure, {}).setdefault(name, []).append(float(estimate.value or 0))
            print(f"{name}: {folder}", file=sys.stderr, flush=True)
    record = {"benchmark": "recipes", "models": groups, **summary(right, scores, next(iter(groups)))}
    show(record["measures"], list(groups))
    print(json.dumps(record))


def add_held_out(parser: argparse.ArgumentParser) -> None:
    """Add the option `--held-out`."""
    parser.add_argument(
        "--held-out",
        nargs="*",
        default=["snli-validation", "snli-test", "mnli-validation_matched"],
        metavar="CONFIG",
        help="configs whose SOSwap and AddAmod pairs with held-out words are evaluated, as one set",
    )


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Add the options that select the evaluated pairs."""
    parser.add_argument("--corpus", default="snli", help="training corpus of the models (default snli)")
    parser.add_argument("--elsewhere", nargs="*", default=["mnli-validation_matched", "sick-test"], metavar="CONFIG")
    parser.add_argument("--max-examples", type=int, help="pairs of each other corpus and of swapped (default all)")
    parser.add_argument("--permuted", type=int, help="sentence pairs to permute (default all)")
    parser.add_argument("--train-data", nargs="*", help="training data of CS's lexical model (default: the set's)")
    parser.add_argument("--embeddings", help="table of embeddings for ReSNLI's measure (default: the set's)")
    parser.add_argument(
        "--official",
        nargs="*",
        default=[],
        metavar="SET[=FILE]",
        help="also evaluate breaking_nli or sicck, from the authors' FILE if given",
    )


def asked(args: argparse.Namespace) -> tuple[dict[str, tuple[BuiltSet, dict[str, Bools]]], list[BuiltSet]]:
    """Build the sets that are scored by accuracy, with masks of parts of their rows, and the other sets."""
    corpus: str = args.corpus
    own = build_requested_set(SetRequest("plain", corpus))
    ids = read_column(own.rows, "source_id")
    cs = build_requested_set(
        SetRequest("cs_lambda", corpus, {"train_data": args.train_data} if args.train_data else {})
    ).rows
    misleading = read_column(cs, "source_id").filter(pa.array(read_numeric_column(cs, "lms") >= LAMBDA))
    uncertainty = _uncertainty(corpus, args.embeddings, own.data["split"], ids)
    order = np.argsort(uncertainty, kind="stable")
    size = round(HARDEST * len(order))
    parts = {
        f"{corpus}, CS_{LAMBDA}": pc.is_in(ids, value_set=misleading).to_numpy(zero_copy_only=False),
        f"{corpus}, words tell most": _mask(order[:size], len(order)),
        f"{corpus}, words tell least": _mask(order[-size:], len(order)),
    }
    exchanged = build_requested_set(SetRequest("swapped", corpus, max_examples=args.max_examples))
    adversaries = build_requested_set(SetRequest("soswap_addamod", corpus))
    kind = read_column(adversaries.rows, "kind")
    found: dict[str, tuple[BuiltSet, dict[str, Bools]]] = {corpus: (own, parts)}
    found["swapped, both orders"] = (exchanged, {"swapped": read_numeric_column(exchanged.rows, "swapped")})
    for config in args.elsewhere:
        found[config] = (build_requested_set(SetRequest("plain", config, max_examples=args.max_examples)), {})
    found["soswap and addamod"] = (
        adversaries,
        {name: pc.equal(kind, name).to_numpy(zero_copy_only=False) for name in ("soswap", "addamod")},
    )
    if "breaking_nli" in args.official:
        breaking = build_requested_set(_official("breaking_nli", args))
        category = read_column(breaking.rows, "category")
        of_each = {f"{OF_CATEGORY}{name}": pc.equal(category, name) for name in sorted(set(category.to_pylist()))}
        found["Breaking NLI"] = (
            breaking,
            {name: rows.to_numpy(zero_copy_only=False) for name, rows in of_each.items()}
            | {"held-out words of Breaking NLI": of_held_out_words(breaking.rows)},
        )
    others = [build_requested_set(SetRequest("permuted", corpus, max_examples=args.permuted))]
    return found, [*others, *([build_requested_set(_official("sicck", args))] if "sicck" in args.official else [])]


def of_held_out_words(rows: pa.Table) -> Bools:
    """Check which pairs replace a held-out word or phrase by another one, which no substituted training pair does."""
    found = []
    sentences = (read_column(rows, name).to_pylist() for name in ("premise", "hypothesis"))
    for premise, hypothesis in zip(*sentences, strict=True):
        old, new = (sentence.lower().rstrip(" .").split() for sentence in (premise, hypothesis))
        start = _same_at_start(old, new)
        end = _same_at_start(old[start:][::-1], new[start:][::-1])
        changed = [" ".join(words[start : len(words) - end]) for words in (old, new)]
        found.append(are_in_vocabulary_half(HELD_OUT, filter(None, changed)))
    return np.array(found)


def _same_at_start(one: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda words: words[0] == words[1], zip(one, other, strict=False)))


def _official(name: str, args: argparse.Namespace) -> SetRequest:
    """Build the request for a set from its authors' file, with the path of the file if given."""
    path = args.official[name]
    return SetRequest(name, loading.resolve_config(name, None, None, {})[0], {"file": path} if path else {})


def _uncertainty(corpus: str, embeddings: str | None, split: str, ids: Any) -> NDArray[np.float64]:
    """Compute the uncertainty of a classifier on averaged embeddings, fitted to a corpus, for some of its pairs."""
    options: dict[str, Any] = {"embeddings": embeddings} if embeddings else {}
    builder = loading.create_builder("resnli", corpus, **options)
    loading.load_evaluation_split(builder)
    rows = datasets.concatenate_datasets(list(builder.as_dataset().values()))
    rows = rows.select(np.flatnonzero(np.array(rows["source_split"]) == split))
    known = dict(zip(rows["source_id"], rows["uncertainty"], strict=True))
    return np.array([known[name] for name in ids.to_pylist()])


def _mask(rows: NDArray[np.intp], n: int) -> Bools:
    found = np.zeros(n, dtype=bool)
    found[rows] = True
    return found


def answers(built: BuiltSet, predictor: Any, out: Path) -> SetPredictions:
    """Predict the rows of a set with a model; stored predictions are reused."""
    found = predict_rows(built.rows, predictor, out)
    return found.to_set_predictions()


def scored(built: BuiltSet, found: SetPredictions) -> list[tuple[str, Estimate]]:
    """Select the numbers of Permutation Acceptance or of SICCK for the table, by name."""
    name = built.request.name
    scores: Mapping[str, Any] = challenge_sets.get_challenge_set(name).score_rows(built.rows, found)
    if name == "sicck":
        return [("SICCK, macro F1", scores["f1"])]
    picked: dict[str, Estimate] = {
        "Ω_max": scores["omega_max"],
        "Ω_max, p ≥ 0.5": scores["confident"]["0.5"]["omega_max"],
        "Ω_rand": scores["omega_rand"],
        "P^c": scores["p_c"],
        "P^f": scores["p_f"],
    }
    return [(name, each) for name, each in picked.items() if each.value is not None]


def summary(
    right: Mapping[str, Mapping[str, list[Any]]], scores: Mapping[str, Mapping[str, list[float]]], first: str
) -> dict[str, Any]:
    """Compute mean and standard deviation of every number, and the differences from the first recipe."""
    found: dict[str, Any] = {}
    for part, by_recipe in right.items():
        shares = {name: np.mean(each, axis=0) for name, each in by_recipe.items()}
        estimates = {name: estimate_ratio(share) for name, share in shares.items()}
        found[part] = {"n": len(shares[first])} | {
            name: compute_mean_and_deviation([float(each.mean()) for each in runs])
            | ({"difference": estimate_difference(estimates[name], estimates[first])[:3]} if name != first else {})
            for name, runs in by_recipe.items()
        }
    for measure, by_recipe in scores.items():
        found[measure] = {name: compute_mean_and_deviation(values) for name, values in by_recipe.items()}
    return {"compared_with": first, "measures": found}


def show(found: Mapping[str, Any], names: list[str]) -> None:
    """Print a table to stderr, in percent."""
    print(f"{'':30}{'n':>7}" + "".join(f"{name:>{_WIDTH}}" for name in names), file=sys.stderr)
    for measure, by_recipe in found.items():
        if measure.startswith(OF_CATEGORY):  # in the JSON
            continue
        cells = []
        for name in names:
            each = by_recipe[name]
            cell = f"{100 * each['mean']:.1f}"
            if each["standard_deviation"] is not None:
                cell += f" ± {100 * each['standard_deviation']:.1f}"
            if "difference" in each:
                value, low, high = (100 * number for number in each["difference"])
                cell += f" {value:+.1f} [{low:+.1f}, {high:+.1f}]"
            cells.append(f"{cell:>{_WIDTH}}")
        print(f"{measure:30}{by_recipe.get('n', ''):>7}" + "".join(cells), file=sys.stderr)


if __name__ == "__main__":
    main()
