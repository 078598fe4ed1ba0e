"""Study of training recipes on a fixed grid: effects on the challenge sets, and costs on the corpora.

    python benchmarks/recipe_study.py --model ORG/PRETRAINED --official breaking_nli sicck --out runs/study
    python benchmarks/recipe_study.py --only plain product --seeds 1 --draw 200 …   # a part of the grid, or a trial run
    python benchmarks/recipe_study.py --out runs/study --table                      # results so far; or --markdown

Each entry of `GRID` is trained with each seed for one epoch, and each model is evaluated as in `benchmarks/recipes.py`.
Each number has its mean and standard deviation over seeds, and the difference from `plain` on the same pairs with its
95 % bootstrap interval over pairs. Numbers are averaged over seeds first, so that the interval describes another sample
of pairs for the same models.

p values are from a normal approximation to the bootstrap, with Holm's correction over all differences of the table. A
star marks a p value below .05. `corrected` in the JSON is the simultaneous interval (Bonferroni). ECE, over 15 bins of
equal width, has no difference.

A new start skips finished models, so that an interrupted study can be resumed. A table goes to stderr, one JSON line to
stdout.
"""

import argparse
import io
import json
import sys
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from recipes import OF_CATEGORY, add_columns, add_held_out, answers, asked, scored
from unbag.challenge_sets.perturbations.vocabulary_split import HELD_OUT
from unbag.challenge_sets.request import BuiltSet, SetRequest, build_requested_set
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.predictions import SetPredictions
from unbag.evaluation.model_loading import load_predictor
from unbag.inference.predictor import Predictor
from unbag.scoring.bootstrap import RATIO, Sample
from unbag.scoring.significance import compute_sample_value, correct_p_values, resample_statistics
from unbag.training.recipes import find_recipe
from unbag.training.run import run
from unbag.training.seeds import compute_mean_and_deviation
from unbag.utils.files import atomic_write, write_json

PLAIN: Final = "plain"
RESAMPLES: Final = 2_000
LEVEL: Final = 0.05
_WIDTH: Final = 36
TITLES: Final = {
    **{"snli": "SNLI validation", "snli, CS_0.7": "… CS_0.7", "snli, words tell least": "… hardest ReSNLI partition"},
    **{"snli-test": "SNLI test", "swapped, both orders": "swapped, both orders"},
    **{"mnli-validation_matched": "MNLI-m", "sick-test": "SICK test"},
    **{"soswap, held-out words": "SOSwap, held-out words", "addamod, held-out words": "AddAmod, held-out words"},
    **{"Breaking NLI": "Breaking NLI", "held-out words of Breaking NLI": "… held-out words"},
    **{
        "Ω_max, p ≥ 0.5": "Ω_max, p ≥ 0.5",
        "P^c": "P^c",
        "SICCK, macro F1": "SICCK, macro F1",
        "snli, ECE": "SNLI, ECE",
    },
}
"""Titles of the measures in Markdown; those without a title are in the table of a terminal and in the JSON."""


class Measures(NamedTuple):
    """The results of one model: numbers with their examples, and numbers without examples."""

    samples: Mapping[str, Sample]
    values: Mapping[str, float]


def open_results(out: Path) -> Any:
    """Open the results of a study: a folder (`Path`) or a zip archive (`zipfile.Path`)."""
    return out if out.is_dir() or out.suffix != ".zip" else zipfile.Path(out)


def read(path: Any) -> Measures:
    """Load the results that `write` stored, in a folder or in an archive."""
    with np.load(io.BytesIO(path.read_bytes())) as kept:
        about = json.loads(str(kept["about"]))
        statistics: dict[str, str] = about["statistics"]
        samples = {name: Sample(how, kept[f"sample {number}"]) for number, (name, how) in enumerate(statistics.items())}
    return Measures(samples, about["values"])


def summary(found: Mapping[str, Mapping[int, Measures]]) -> dict[str, Any]:
    """Compute mean and standard deviation of every number, and the differences from `plain`."""
    models = [measures for by_seed in found.values() for measures in by_seed.values()]
    first = models[0]
    # A number that some model lacks (P^f of a model without errors) is excluded from the table and listed.
    numbers_of = [{*each.samples, *each.values} for each in models]
    shared = set.intersection(*numbers_of)
    table: dict[str, dict[str, Any]] = {}
    for measure in (name for name in (*first.samples, *first.values) if name in shared):
        is_sample = measure in first.samples
        row: dict[str, Any] = {"n": len(first.samples[measure].columns)} if is_sample else {}
        for name, by_seed in found.items():
            values = [
                compute_sample_value(m.samples[measure]) if is_sample else m.values[measure] for m in by_seed.values()
            ]
            row[name] = {**compute_mean_and_deviation(values), "seeds": list(by_seed)}
        if is_sample and PLAIN in found:
            for name, difference in differences(measure, found).items():
                row[name]["difference"] = difference
        table[measure] = row
    tested = [row[name]["difference"] for row in table.values() for name in found if "difference" in row.get(name, {})]
    for each, p in zip(tested, correct_p_values([each["p"] for each in tested]), strict=True):
        each["p_holm"] = float(p)
    # Bonferroni's correction, because Holm's does not give intervals.
    z = norm.isf(LEVEL / 2 / max(len(tested), 1))
    for each in tested:
        each["corrected"] = [each["value"] - z * each["error"], each["value"] + z * each["error"]]
    excluded = sorted(set.union(*numbers_of) - shared)
    return {"compared_with": PLAIN, "differences": len(tested), "excluded": excluded, "measures": table}


def differences(measure: str, found: Mapping[str, Mapping[int, Measures]]) -> dict[str, dict[str, Any]]:
    """Compute each recipe's difference from `plain`: of means over seeds, on the same resamples of the examples."""
    places = [(name, seed) for name, by_seed in found.items() for seed in by_seed]
    samples = [found[name][seed].samples[measure] for name, seed in places]
    drawn = np.array(resample_statistics(samples, resamples=RESAMPLES))
    names = np.array([name for name, _ in places])
    at = np.array([compute_sample_value(each) for each in samples])
    differences = {}
    for name in found:
        if name == PLAIN:
            continue
        gaps = drawn[names == name].mean(axis=0) - drawn[names == PLAIN].mean(axis=0)
        # A resample may have no example that the statistic divides by.
        gaps = gaps[~np.isnan(gaps)]
        gap = float(at[names == name].mean() - at[names == PLAIN].mean())
        error = float(gaps.std(ddof=1))
        low, high = np.quantile(gaps, (0.025, 0.975))
        p = float(2 * norm.sf(abs(gap) / error)) if error else float(gap == 0)
        differences[name] = {"value": gap, "low": float(low), "high": float(high), "error": error, "p": p}
    return differences


def show(record: Mapping[str, Any]) -> None:
    """Print tables to stderr, in percent, with a few recipes each, because all do not fit beside each other."""
    names = [name for name in next(iter(record["measures"].values())) if name != "n"]
    for start in range(0, len(names), 4):
        some = names[start : start + 4]
        print(f"\n{'':30}{'n':>7}" + "".join(f"{name:>{_WIDTH}}" for name in some), file=sys.stderr)
        for measure, row in record["measures"].items():
            if measure.startswith(OF_CATEGORY):  # in the JSON
                continue
            cells = (f"{_cell(row[name]):>{_WIDTH}}" for name in some)
            print(f"{measure:30}{row.get('n', ''):>7}" + "".join(cells), file=sys.stderr)
    if record["excluded"]:
        print(f"\nexcluded, because some models have no value: {', '.join(record['excluded'])}", file=sys.stderr)
    print(f"\n* below {LEVEL:g} by Holm among {record['differences']} differences", file=sys.stderr)


def _mean(each: Mapping[str, Any]) -> str:
    deviation = each["standard_deviation"]
    return f"{100 * each['mean']:.1f}" + ("" if deviation is None else f" ± {100 * deviation:.1f}")


def _cell(each: Mapping[str, Any]) -> str:
    cell = _mean(each)
    if found := each.get("difference"):
        star = "*" if found["p_holm"] <= LEVEL else " "
        cell += f" {100 * found['value']:+.1f} [{100 * found['low']:+.1f}, {100 * found['high']:+.1f}]{star}"
    return cell


def markdown_table(record: Mapping[str, Any], names: Sequence[str], titles: Mapping[str, str] = TITLES) -> str:
    """Build a Markdown table in percent, with one row per recipe and the differences from plain fine-tuning.

    A difference in points is in brackets if its interval excludes zero, and bold if p < .05 after Holm's correction.
    """
    rows = {title: record["measures"][measure] for measure, title in titles.items() if measure in record["measures"]}
    sizes = [f"{row['n']:,}" if "n" in row else "" for row in rows.values()]
    lines = [f"| | {' | '.join(rows)} |", "|---|" + "---:|" * len(rows), f"| n | {' | '.join(sizes)} |"]
    lines += [f"| {name} | " + " | ".join(_short(row[name]) for row in rows.values()) + " |" for name in names]
    return "\n".join(lines)


def _short(each: Mapping[str, Any]) -> str:
    cell = _mean(each)
    found = each.get("difference")
    if found and not found["low"] <= 0 <= found["high"]:
        points = f"{100 * found['value']:+.1f}".replace("-", "−")
        cell += f" (**{points}**)" if found["p_holm"] <= LEVEL else f" ({points})"
    return cell


def differences_table(record: Mapping[str, Any], names: Collection[str], titles: Mapping[str, str] = TITLES) -> str:
    """Build the Markdown table with the differences of some models from plain, in points with 95 % intervals."""
    chosen = [name for name in next(iter(record["measures"].values())) if name in names]
    lines = [f"| | n | {PLAIN} | {' | '.join(chosen)} |", "|---|---:|---:|" + "---|" * len(chosen)]
    for measure, title in titles.items():
        row = record["measures"].get(measure, {})
        if "n" in row:
            cells = [_interval(row[name]["difference"]) for name in chosen]
            lines.append(f"| {title} | {row['n']:,} | {100 * row[PLAIN]['mean']:.1f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _interval(found: Mapping[str, float]) -> str:
    value, low, high = (f"{100 * found[name]:+.1f}".replace("-", "−") for name in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


class Entry(NamedTuple):
    """A recipe with the options that differ from its defaults."""

    recipe: str
    options: Mapping[str, Any] = {}


COMMON: Final = {"num_train_epochs": 1, "batch_size": 32, "learning_rate": 1e-4, "save_steps": 10_000}
AUGMENTED: Final = {"augment": ("soswap", "addamod"), "augment_pairs": 1_500}
SUBSTITUTED: Final = {**AUGMENTED, "augment": ("soswap", "addamod", "substituted")}
MORE_KINDS: Final = {**AUGMENTED, "augment": ("soswap", "addamod", "negated", "substituted")}
UNDECIDED: Final = {"alpha": 1.0}

# Fixed before the first run of the study: every recipe alone with its defaults, which are those of its paper
# if it has any; then the candidates for `mend`: the strength and annealing of the bias, with and without the two other
# parts. Nothing was added after the first table. Later trials are in `AFTERWARDS`.
GRID: Final[Mapping[str, Entry]] = {
    PLAIN: Entry("finetune"),
    "max-entropy": Entry("max_entropy"),
    "hex": Entry("hex"),
    "product": Entry("product_of_experts"),
    "product, hypothesis": Entry("product_of_experts", {"bias": "hypothesis"}),
    "product, both": Entry("product_of_experts", {"bias": "both"}),
    "product, half": Entry("product_of_experts", {"bias_strength": 0.5}),
    "product, to 0": Entry("product_of_experts", {"anneal": 0.0}),
    "mixin": Entry("learned_mixin"),
    "reweighting": Entry("reweighting"),
    "focal": Entry("focal"),
    "confidence": Entry("confidence_regularization"),
    "self": Entry("self_debiasing"),
    "balanced": Entry("group_balanced"),
    "augmented": Entry("finetune", AUGMENTED),
    "undecided, augmented": Entry("max_entropy", AUGMENTED),
    "mend": Entry("product_of_experts", UNDECIDED | AUGMENTED),
    "mend, half": Entry("product_of_experts", {"bias_strength": 0.5} | UNDECIDED | AUGMENTED),
    "mend, to 0": Entry("product_of_experts", {"anneal": 0.0} | UNDECIDED | AUGMENTED),
    "mend, half to 0": Entry("product_of_experts", {"bias_strength": 0.5, "anneal": 0.0} | UNDECIDED | AUGMENTED),
    "mend, less undecided": Entry("product_of_experts", {"bias_strength": 0.5, "alpha": 0.3} | AUGMENTED),
    "mend by confidence": Entry("confidence_regularization", UNDECIDED | AUGMENTED),
    "mend by reweighting": Entry("reweighting", UNDECIDED | AUGMENTED),
    "mend by balance": Entry("group_balanced", UNDECIDED | AUGMENTED),
}

# Added after the results of the first seed: no entry of the grid has training pairs that differ in one replaced word.
AFTERWARDS: Final[Mapping[str, Entry]] = {
    "undecided, substituted": Entry("max_entropy", SUBSTITUTED),
    "undecided, more kinds": Entry("max_entropy", MORE_KINDS),
    "mend, half, more kinds": Entry("product_of_experts", {"bias_strength": 0.5} | UNDECIDED | MORE_KINDS),
}
ENTRIES: Final = {**GRID, **AFTERWARDS}
_NAMES: Final = f"entries of the grid (default all): {', '.join(GRID)}; or {', '.join(AFTERWARDS)}"

ECE: Final = "ECE"
BINS: Final = 15


def main() -> None:
    """Train and evaluate the missing models, and print a table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a Hub id or folder of a pre-trained model")
    parser.add_argument("--train-on", nargs="+", default=["snli", "mnli"], metavar="CORPUS")
    parser.add_argument("--only", nargs="+", choices=ENTRIES, default=list(GRID), metavar="NAME", help=_NAMES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--draw", type=int, help="maximum number of training pairs, sampled (default all)")
    parser.add_argument("--precision", choices=("no", "bf16"), default="no", help="of training (default float32)")
    parser.add_argument(
        "--dtype", choices=("float32", "bfloat16"), default="float32", help="data type of the evaluated models"
    )
    add_held_out(parser)
    parser.add_argument("--table", action="store_true", help="show the finished results without training")
    parser.add_argument("--markdown", action="store_true", help="print the finished results in Markdown")
    add_columns(parser)
    parser.add_argument("--out", type=Path, default=Path("runs/study"))
    args = parser.parse_args()
    args.official = dict(name.partition("=")[::2] for name in args.official)
    if not (args.table or args.markdown):
        if args.model is None:
            parser.error("expected --model, or --table")
        study(args)
    results = open_results(args.out)
    found = {
        name: {seed: read(path) for seed in args.seeds if (path := measured(results, name, seed)).is_file()}
        for name in args.only
    }
    found = {name: by_seed for name, by_seed in found.items() if by_seed}
    if not found:
        parser.error(f"nothing is finished in {args.out}")
    record = {"benchmark": "recipe_study", **summary(found)}
    if args.markdown:
        print(markdown_table(record, list(found)))
        return
    show(record)
    print(json.dumps(record))


def study(args: argparse.Namespace) -> None:
    """Train and evaluate the missing models, seed by seed, so that an early table has all recipes."""
    settings = {
        name: str(each)
        for name, each in vars(args).items()
        if name not in ("only", "seeds", "out", "table", "markdown")
    }
    record = args.out / "study.json"
    if record.is_file() and json.loads(record.read_text()) != settings:
        raise SystemExit(
            f"--out: expected a study with the same options, got other options in {args.out}; name another folder"
        )
    write_json(settings, record)
    sets = None
    for seed in args.seeds:
        for name in args.only:
            path = measured(args.out, name, seed)
            if path.is_file():
                continue
            entry = ENTRIES[name]
            recipe = find_recipe(entry.recipe)
            options = {**COMMON, **entry.options, "corpus": tuple(args.train_on), "max_examples": args.draw}
            options["precision"] = args.precision
            if args.draw and "weak_examples" in recipe.__dataclass_fields__:
                options["weak_examples"] = min(2_000, args.draw // 2)
            folder = args.out / "models" / name.replace(", ", "-").replace(" ", "-") / f"seed-{seed}"
            run(recipe(model=args.model, output_dir=folder, seed=seed, max_validation_examples=1_000, **options))
            sets = sets or (*asked(args), held_out(args))
            predictor, _ = load_predictor(str(folder), dtype=args.dtype)
            write(measure(predictor, *sets, out=args.out / "predictions", corpus=args.corpus), path)
            print(f"{name}, seed {seed}", file=sys.stderr, flush=True)


def measured(out: Any, name: str, seed: int) -> Any:
    """Build the path of a model's results."""
    return out / "measures" / f"{name} seed {seed}.npz"


def held_out(args: argparse.Namespace) -> list[BuiltSet]:
    """Select the role reversals and moved modifiers whose words do not occur in augmented training pairs."""
    return [build_requested_set(SetRequest("soswap_addamod", config, {"words": HELD_OUT})) for config in args.held_out]


def measure(
    predictor: Predictor,
    right_sets: Mapping[str, Any],
    other: Sequence[BuiltSet],
    unseen_words: Sequence[BuiltSet],
    *,
    out: Path,
    corpus: str,
) -> Measures:
    """Evaluate a model."""
    samples: dict[str, Sample] = {}
    values: dict[str, float] = {}
    for title, (built, parts) in right_sets.items():
        found = answers(built, predictor, out)
        correct = right(built, found)
        for part, rows in {title: None, **parts}.items():
            samples[part] = share(correct if rows is None else correct[rows])
        if title == corpus:
            values[f"{corpus}, {ECE}"] = calibration_error(found, correct)
    if unseen_words:
        correct = np.concatenate([right(built, answers(built, predictor, out)) for built in unseen_words])
        kinds = np.concatenate(
            [read_column(built.rows, "kind").to_numpy(zero_copy_only=False) for built in unseen_words]
        )
        samples |= {f"{kind}, held-out words": share(correct[kinds == kind]) for kind in ("soswap", "addamod")}
    for built in other:
        for name, estimate in scored(built, answers(built, predictor, out)):
            if estimate.sample is None:
                values[name] = float(estimate.value or 0)
            else:
                samples[name] = estimate.sample
    return Measures(samples, values)


def right(built: BuiltSet, found: SetPredictions) -> NDArray[np.float64]:
    """Compute 1 for each correct prediction and 0 for each wrong one, shape (n,)."""
    correct: NDArray[np.float64] = (
        found.predicted == found.to_label_positions(read_numeric_column(built.rows, "label"))
    ).astype(np.float64)
    return correct


def share(correct: NDArray[np.float64]) -> Sample:
    """Build the sample whose statistic is the accuracy."""
    return Sample(RATIO, np.stack([correct, np.ones_like(correct)], axis=1))


def calibration_error(found: SetPredictions, correct: NDArray[np.float64]) -> float:
    """Compute the expected calibration error (Guo et al. 2017): |accuracy − confidence|, mean over pairs."""
    confidence = found.probabilities.max(axis=1).astype(np.float64)
    # A confidence of 1 belongs to the last bin.
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, correct - confidence, BINS)
    return float(np.abs(gaps).sum() / len(correct))


def write(measures: Measures, path: Path) -> None:
    """Write a model's results atomically."""
    about = {"statistics": {name: each.statistic for name, each in measures.samples.items()}, "values": measures.values}
    columns: dict[str, Any] = {
        f"sample {number}": each.columns for number, each in enumerate(measures.samples.values())
    }
    # An open file, because savez appends `.npz` to paths that do not end in it.
    with atomic_write(path) as tmp, tmp.open("wb") as file:
        np.savez_compressed(file, about=np.array(json.dumps(about)), **columns)


if __name__ == "__main__":
    main()
