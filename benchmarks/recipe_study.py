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
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recipe_study_table import PLAIN, Measures, markdown_table, open_results, read, show, summary
from recipes import add_columns, add_held_out, answers, asked, scored
from unbag.challenge_sets.perturbations.vocabulary_split import HELD_OUT
from unbag.challenge_sets.request import BuiltSet, SetRequest, build_requested_set
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.predictions import SetPredictions
from unbag.evaluation.model_loading import load_predictor
from unbag.inference.predictor import Predictor
from unbag.scoring.bootstrap import RATIO, Sample
from unbag.training.recipes import find_recipe
from unbag.training.run import run
from unbag.utils.files import atomic_write, write_json


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
            if args.draw and "weak_examples" in recipe.config.__dataclass_fields__:
                options["weak_examples"] = min(2_000, args.draw // 2)
            folder = args.out / "models" / name.replace(", ", "-").replace(" ", "-") / f"seed-{seed}"
            run(
                recipe,
                recipe.config(model=args.model, output_dir=folder, seed=seed, max_validation_examples=1_000, **options),
            )
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
