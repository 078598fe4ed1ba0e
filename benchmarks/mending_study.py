"""Study of mending without a loss of accuracy: added pairs, distillation, interpolated weights and soups.

    python benchmarks/mending_study.py prepare --model ORG/NLI-MODEL --out runs/mending
    python benchmarks/mending_study.py train --out runs/mending --jobs 8
    python benchmarks/mending_study.py table --out runs/mending --markdown
    python benchmarks/mending_study.py table --out benchmarks/mending_study.zip --markdown  # the stored results

`prepare` needs the corpora, spaCy's parser and WordNet. It writes the training pairs, the added pairs of the first
epoch and all evaluation sets. `train` needs only this folder, for example on a GPU without a network. It trains each
entry of `GRID` with the first seed, chooses an entry on validation pairs, and trains this entry and the references with
all seeds. A new start skips finished models.

Every entry starts from `plain` with the same seed, except `plain`, which starts from the given model. `plain` and the
entries train for one epoch on the same pairs. `longer` is a second reference: plain training for one more epoch.

Interpolation: α is the largest at which no validation corpus loses more than `MAX_LOSS` points compared with `plain`.
Selection uses only pairs of SNLI validation and MNLI-mm, and added kinds of pairs with the training half of the words.
Results are reported for other pairs: SNLI test, MNLI-m, held-out words and the official Breaking NLI.
"""

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest import mock

import numpy as np
from huggingface_hub import snapshot_download

from recipe_study import (
    PLAIN,
    Measures,
    calibration_error,
    differences_table,
    markdown_table,
    open_results,
    read,
    right,
    share,
    summary,
    write,
)
from recipes import of_held_out_words, scored
from unbag.challenge_sets.loading import resolve_config
from unbag.challenge_sets.perturbations.vocabulary_split import HELD_OUT, TRAINING
from unbag.challenge_sets.request import BuiltSet, SetRequest, export_challenge_set, read_exported_set
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.labels import TWO_WAY
from unbag.data.predictions import SetPredictions
from unbag.data.sources import Example
from unbag.inference.transformer import TransformerPredictor
from unbag.scoring.bootstrap import RATIO, Sample
from unbag.scoring.significance import compute_sample_value
from unbag.training import run as training
from unbag.training.augmented import PairAugmenter
from unbag.training.config import TrainConfig
from unbag.training.data import PairDataset, TrainingData, load_training_data
from unbag.training.recipes import find_recipe
from unbag.training.weight_averaging import average_models, choose_alpha, clone_weights, interpolate_weights
from unbag.utils.files import write_json

TITLES: Final = {
    **{"snli-test": "SNLI test", "mnli-validation_matched": "MNLI-m", "CS_0.7": "CS_0.7", "swapped": "swapped"},
    **{"soswap": "SOSwap", "addamod": "AddAmod", "Breaking NLI": "Breaking NLI"},
    **{"Breaking NLI, held-out words": "… held-out words", "negation": "negation", "recombined": "recombined"},
    **{"Ω_max, p ≥ 0.5": "Ω_max, p ≥ 0.5", "P^c": "P^c", "ECE, snli-test": "ECE"},
}
"""Titles of the reported measures. The others are for selection."""
FIRST_SEED: Final = 1
_SEED: Final = " seed "
_CHOSEN: Final = " chosen"
INTERPOLATED: Final = ", interpolated"
_SOUP: Final = "soup of "


def load(results: Any) -> dict[str, dict[int, Measures]]:
    """Load the results by name and seed; a soup has seed 1.

    The folder (`Path`) or archive (`zipfile.Path`) has the subfolder `measures`. Results of a model at the chosen α, if
    it is below 1, have a name that ends in `INTERPOLATED`.
    """
    alphas = load_alphas(results)
    found: dict[str, dict[int, Measures]] = {}
    for file in sorted((results / "measures").iterdir(), key=lambda file: file.name):
        title, _, suffix = file.name.rpartition(".")
        if suffix != "npz":
            continue
        name, _, rest = title.partition(_SEED)
        if title.startswith(_SOUP):
            name, rest = title, str(FIRST_SEED)
        elif rest.endswith(_CHOSEN):
            rest = rest.removesuffix(_CHOSEN)
            if alphas[f"{name}{_SEED}{rest}"] == 1:
                continue  # the model itself
            name += INTERPOLATED
        found.setdefault(name, {})[int(rest)] = read(file)
    return found


def load_alphas(results: Any) -> dict[str, float]:
    """Load the chosen α of each model."""
    files = [file for file in (results / "measures").iterdir() if file.name.endswith(".json")]
    return {file.name.removesuffix(".json"): float(json.loads(file.read_text())["alpha"]) for file in files}


def results_of(out: Path) -> dict[str, Any]:
    """Summarise the grid, the soups, and the models with all seeds; `out` is a folder or a zip archive."""
    results = open_results(out)
    found = load(results)
    first = {name: {FIRST_SEED: by_seed[FIRST_SEED]} for name, by_seed in found.items() if FIRST_SEED in by_seed}
    soups = {name: each for name, each in first.items() if name.startswith(_SOUP)}
    seeds = {name: by_seed for name, by_seed in found.items() if len(by_seed) > 1}
    parts = {"grid": {name: each for name, each in first.items() if name not in soups}, "soups": soups, "seeds": seeds}
    record: dict[str, Any] = {"alphas": dict(sorted(load_alphas(results).items()))}
    record |= {name: summary({PLAIN: found[PLAIN]} | some) for name, some in parts.items() if some}
    chosen = results / "chosen.json"
    return record | (json.loads(chosen.read_text()) if chosen.is_file() else {})


def markdown(out: Path) -> str:
    """Build the tables in Markdown: the grid without interpolation, then soups and all seeds with their differences."""
    record = results_of(out)
    parts = [
        markdown_table(record["grid"], [each for each in _names(record["grid"]) if INTERPOLATED not in each], TITLES)
    ]
    for part in ("soups", "seeds"):
        if part in record:
            names = _names(record[part])
            parts.append(markdown_table(record[part], names, TITLES))
            parts.append(differences_table(record[part], [name for name in names if name != PLAIN], TITLES))
    parts.append("\n".join(f"{name}: α = {alpha:g}" for name, alpha in record["alphas"].items()))
    return "\n\n".join(parts)


def _names(record: Mapping[str, Any]) -> list[str]:
    return [name for name in next(iter(record["measures"].values())) if name != "n"]


SEEDS: Final = (1, 2, 3)
LONGER: Final = "longer"
BASE: Final = "model"
CORPORA: Final = ("snli", "mnli")
COMMON: Final[Mapping[str, Any]] = {"num_train_epochs": 1, "batch_size": 32, "learning_rate": 1e-4, "save_steps": 10**6}
KINDS: Final[Mapping[str, int]] = {
    **{"soswap": 1_500, "addamod": 4_500, "substituted": 1_500},
    **{"contrast": 3_000, "negation": 1_500, "recombined": 1_500},
}
"""Maximum number of added pairs of each kind."""
THREE: Final = ("soswap=1500", "addamod=1500", "substituted=1500")
"""Added pairs of the defaults of `unbag train mend`."""
CONTRAST: Final = ("soswap=1500", "contrast=3000")
ALL_KINDS: Final = (*CONTRAST, "negation=1500", "recombined=1500")


class Entry(NamedTuple):
    """A recipe of the grid."""

    # Options that differ from those of `COMMON` and from the defaults of `unbag train mend`.
    options: Mapping[str, Any] = {}
    start: str = PLAIN  # entry whose model is trained further, with the same seed
    recipe: str = "mend"


# Fixed before the first training.
GRID: Final[Mapping[str, Entry]] = {
    PLAIN: Entry(start=BASE, recipe="finetune"),
    LONGER: Entry(recipe="finetune"),
    "mend": Entry({"augment": THREE}),
    "distilled .5": Entry({"augment": THREE, "distill": 0.5}),
    "distilled 1": Entry({"augment": THREE, "distill": 1.0}),
    "half rate": Entry({"augment": THREE, "learning_rate": 5e-5}),
    "more AddAmod": Entry({"augment": ("soswap=1500", "addamod=4500", "substituted=1500")}),
    "stratified": Entry({"augment": THREE, "augment_batches": "stratified"}),
    "contrast": Entry({"augment": CONTRAST}),
    "contrast, distilled .5": Entry({"augment": CONTRAST, "distill": 0.5}),
    "permuted only": Entry({"augment": ()}),
    "SOSwap only": Entry({"augment": ("soswap=1500",)}),
    "AddAmod only": Entry({"augment": ("addamod=1500",)}),
    "substituted only": Entry({"augment": ("substituted=1500",)}),
    "first stage": Entry({"augment": ("soswap=1500", "substituted=1500")}),
    "second stage": Entry({"augment": ("soswap=750", "addamod=3000", "substituted=750")}, start="first stage"),
    "product": Entry({"augment": (), "alpha": 0.0, "bias_strength": 0.5}),
    "product, strong": Entry({"augment": (), "alpha": 0.0, "bias_strength": 1.0}),
    "product, contrast, distilled .5": Entry({"augment": CONTRAST, "distill": 0.5, "bias_strength": 0.5}),
    "negation": Entry({"augment": (*THREE, "negation=1500")}),
    "all kinds": Entry({"augment": ALL_KINDS}),
    "all kinds, distilled .5": Entry({"augment": ALL_KINDS, "distill": 0.5}),
}
CANDIDATES: Final = tuple(
    name
    for name, entry in GRID.items()
    if {kind.partition("=")[0] for kind in entry.options.get("augment", ())} & {"addamod", "contrast"}
    and name != "AddAmod only"
)
"""Entries among which validation pairs choose: those with each kind of added pairs that the targets name."""

REFERENCES: Final = (PLAIN, LONGER)
MAX_LOSS: Final = 0.5  # percentage points
ALPHAS: Final = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
VALIDATION: Final = ("snli-validation", "mnli-validation_mismatched")
_ALL_PAIRS: Final = ("snli-validation", "snli-test", "mnli-validation_matched", "mnli-validation_mismatched")
_FILE: Final = ".parquet"
_TRIAL: Final = 20  # source examples per set in a trial run


def sets(official: str | None) -> dict[str, SetRequest]:
    """Build the requests of all evaluation sets, by file name. Those with the word `validation` are for selection."""
    found = {name: SetRequest("plain", name) for name in _ALL_PAIRS}
    for words, title in ((TRAINING, "validation"), (HELD_OUT, "held-out")):
        corpora = ("snli",) if words == TRAINING else ("snli", "snli-test", "mnli-validation_matched")
        for corpus in corpora:
            found[f"soswap_addamod {title} {corpus}"] = SetRequest("soswap_addamod", corpus, {"words": words})
            found[f"negation {title} {corpus}"] = SetRequest("negation", corpus, {"words": words})
    found["permuted validation"] = SetRequest("permuted", "snli", max_examples=100)
    found["permuted test"] = SetRequest("permuted", "snli-test", max_examples=200)
    for corpus in ("snli", "snli-test"):
        found[f"cs_lambda {corpus}"] = SetRequest("cs_lambda", corpus, {"min_lms": 0.7})
    found["swapped"] = SetRequest("swapped", "snli-test", max_examples=3_000)
    found["recombined"] = SetRequest("recombined", "snli-test")
    file = {"file": official} if official else {}
    found["breaking_nli"] = SetRequest("breaking_nli", resolve_config("breaking_nli", None, None, {})[0], file)
    return found


def main() -> None:
    """Run one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("prepare", "train", "one", "soup", "table"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="of one and soup: the entry, or the models to average")
    parser.add_argument("--model", help="NLI classifier to start from, a Hub id or folder")
    parser.add_argument("--breaking-nli", help="file of Breaking NLI (default: downloaded)")
    parser.add_argument("--seed", type=int, default=SEEDS[0], help="of one")
    parser.add_argument("--jobs", type=int, default=1, help="number of simultaneous trainings")
    parser.add_argument("--only", nargs="+", choices=GRID, help="entries of the grid (default all)")
    parser.add_argument("--max-examples", type=int, help="number of training pairs, for a trial run (default all)")
    parser.add_argument("--markdown", action="store_true", help="print the tables in Markdown")
    parser.add_argument("--out", type=Path, default=Path("runs/mending"))
    args = parser.parse_args()
    if args.step == "prepare":
        prepare(args)
    elif args.step == "train":
        train_all(args.out, args.jobs, args.only or list(GRID))
    elif args.step == "one":
        train_one(args.out, args.names[0], args.seed)
    elif args.step == "soup":
        soup(args.out, args.names)
    elif args.markdown:
        print(markdown(args.out))
    else:
        print(json.dumps({"benchmark": "mending_study", **results_of(args.out)}))


def prepare(args: argparse.Namespace) -> None:
    """Write everything that `train` reads."""
    if not (args.out / "data.json.gz").is_file():
        config = TrainConfig(
            model=str(args.out / BASE),
            output_dir=args.out,
            corpus=CORPORA,
            max_examples=args.max_examples,
            max_validation_examples=1_000,
            seed=SEEDS[0],
        )
        data = load_training_data(config)
        _write_json(args.out / "data.json.gz", {each: [_part(part) for part in getattr(data, each)] for each in _PARTS})
    if not (args.out / BASE).is_dir():
        shutil.copytree(args.model if Path(args.model).is_dir() else snapshot_download(args.model), args.out / BASE)
    for name, request in sets(args.breaking_nli).items():
        if args.max_examples:
            request = replace(request, max_examples=_TRIAL)
        if not (path := args.out / "sets" / f"{name}{_FILE}").is_file():
            record = export_challenge_set(request, path)
            print(f"{name}: {record['rows']:,} rows", file=sys.stderr, flush=True)
    data = read_data(args.out)
    for kind, pairs in KINDS.items():
        for seed in SEEDS:
            if not (path := _added(args.out, kind, seed)).is_file():
                augmenter = PairAugmenter(data.training, pairs={kind: pairs}, words=TRAINING, seed=seed)
                _write_json(
                    path, {"pairs": augmenter(0), "record": augmenter.build_record(), "identity": augmenter.identity}
                )
                print(f"{kind}, seed {seed}", file=sys.stderr, flush=True)


_PARTS: Final = ("training", "held_out")


def _part(part: PairDataset) -> dict[str, Any]:
    return {**part.__dict__, "examples": list(part.examples), "record": dict(part.record)}


def read_data(out: Path) -> TrainingData:
    """Read the training and held-out pairs that `prepare` wrote."""
    record = _read_json(out / "data.json.gz")
    parts = {
        name: tuple(PairDataset(**{**each, "examples": list(map(_example, each["examples"]))}) for each in record[name])
        for name in _PARTS
    }
    return TrainingData(parts["training"], parts["held_out"])


def _example(values: Sequence[Any]) -> Example:
    return Example(*values)._replace(annotators=tuple(Example(*values).annotators))


def _added(out: Path, kind: str, seed: int) -> Path:
    return out / "added" / f"{kind}-{seed}.json.gz"


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the time, equal content has equal bytes.
    path.write_bytes(gzip.compress(json.dumps(value).encode(), mtime=0))


def _read_json(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


class StoredPairs:
    """The added pairs that `prepare` wrote, in place of a `PairAugmenter`. Epochs other than the first are missing."""

    folder: Path

    def __init__(self, parts: Sequence[PairDataset], *, pairs: Mapping[str, int], words: str, seed: int) -> None:
        assert words == TRAINING, "the default"
        stored = {kind: _read_json(_added(self.folder, kind, seed)) for kind in pairs}
        # The pairs of an epoch are drawn one after another, so that fewer pairs are the first ones of more pairs.
        self._pairs = [_example(each) for kind, n in pairs.items() for each in islice(stored[kind]["pairs"], n)]
        self.identity = {name: text for each in stored.values() for name, text in each["identity"].items()}

    def __call__(self, epoch: int) -> list[Example]:
        """Return the pairs of the first epoch."""
        assert epoch == 0, "one epoch"
        return list(self._pairs)

    def build_record(self) -> dict[str, Any]:
        """Return an empty record."""
        return {}


def train_all(out: Path, jobs: int, names: Sequence[str]) -> None:
    """Train the grid with one seed, and the references and the chosen entry with all seeds; then evaluate soups."""
    _run_all(out, jobs, {(name, SEEDS[0]) for name in names} | {(name, seed) for name in REFERENCES for seed in SEEDS})
    candidates = [name for name in CANDIDATES if _measured(out, f"{name} seed {SEEDS[0]} chosen").is_file()]
    if not candidates:
        return
    best = max(candidates, key=lambda name: (_skill_of(out, name), name))
    write_json({"chosen": best, "skills": {name: _skill_of(out, name) for name in candidates}}, out / "chosen.json")
    print(f"chosen: {best}", file=sys.stderr, flush=True)
    _run_all(out, jobs, {(best, seed) for seed in SEEDS})
    soups = [[f"{name} seed {seed}" for seed in SEEDS] for name in (PLAIN, best)]
    soups += [[f"{best} seed {SEEDS[0]}", f"product seed {SEEDS[0]}"]]
    missing = [each for each in soups if not _measured(out, _soup_title(each)).is_file()]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda models: _call(out, ["soup", *models]), missing))


def _soup_title(names: Sequence[str]) -> str:
    return f"soup of {' and '.join(names)}"


def _skill_of(out: Path, name: str) -> float:
    return _skill(read(_measured(out, f"{name} seed {SEEDS[0]} chosen")))


def _skill(measures: Measures) -> float:
    """Compute the mean of the skills on validation pairs: SOSwap, AddAmod, negation, and rejected permutations."""
    values = {name: float(compute_sample_value(each)) for name, each in measures.samples.items()}
    names = ("soswap, validation", "addamod, validation", "negation, validation")
    return float(np.mean([*(values[name] for name in names), 1 - values["P^c, validation"]]))


def _run_all(out: Path, jobs: int, wanted: set[tuple[str, int]]) -> None:
    """Train models in subprocesses, each after the model that it starts from."""
    for name, seed in list(wanted):
        while GRID[name].start != BASE:
            name = GRID[name].start
            wanted.add((name, seed))
    waiting = {each for each in wanted if not _measured(out, f"{each[0]} seed {each[1]} chosen").is_file()}
    running: dict[Future[None], tuple[str, int]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        while waiting or running:
            for each in sorted(waiting, key=lambda each: (each[1], list(GRID).index(each[0]))):
                name, seed = each
                start = GRID[name].start
                if start == BASE or _model(out, f"{start} seed {seed}").is_dir():
                    running[pool.submit(_call, out, ["one", name, "--seed", str(seed)])] = each
                    waiting.remove(each)
            assert running, f"cannot start {waiting}"
            done, _ = wait(running, timeout=1, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
                del running[future]


def _call(out: Path, arguments: Sequence[str]) -> None:
    command = [sys.executable, __file__, *arguments, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{' '.join(arguments)}: failed\n{done.stderr[-2000:]}", file=sys.stderr, flush=True)
    else:
        print(f"{' '.join(arguments)}: {done.stdout.strip()}", file=sys.stderr, flush=True)


def _model(out: Path, name: str) -> Path:
    return out / "models" / name.replace(" ", "-").replace(",", "").replace(".", "")


def _measured(out: Path, name: str) -> Path:
    return out / "measures" / f"{name}.npz"


def train_one(out: Path, name: str, seed: int) -> None:
    """Train one model and evaluate it, and a candidate at the chosen α too."""
    entry, title = GRID[name], f"{name} seed {seed}"
    folder = _model(out, title)
    start = out / BASE if entry.start == BASE else _model(out, f"{entry.start} seed {seed}")
    recipe = find_recipe(entry.recipe)
    options = {**COMMON, "corpus": CORPORA, "seed": seed, **entry.options}
    if entry.recipe == "mend":
        options["no_evaluate"] = True
    config = recipe(model=str(start), output_dir=folder, **options)
    StoredPairs.folder = out
    began = time.perf_counter()
    with mock.patch.object(training, "PairAugmenter", StoredPairs):
        training.run(config, data=read_data(out))
    trained = time.perf_counter()
    predictor = TransformerPredictor.load(folder)
    write(measure(out, predictor), _measured(out, title))
    alpha = 1.0
    curve: list[dict[str, Any]] = []
    if name not in REFERENCES:
        plain = TransformerPredictor.load(_model(out, f"{PLAIN} seed {seed}"))
        original, mended = clone_weights(plain.model), clone_weights(predictor.model)
        alpha, curve = _choose(out, predictor, original, mended)
        if alpha < 1:
            predictor.model.load_state_dict(interpolate_weights(original, mended, alpha))
            write(measure(out, predictor), _measured(out, f"{title} chosen"))
    if alpha == 1:
        shutil.copyfile(_measured(out, title), _measured(out, f"{title} chosen"))
    write_json({"alpha": alpha, "curve": curve}, out / "measures" / f"{title}.json")
    print(f"α = {alpha:g}, {trained - began:.0f} s of training, {time.perf_counter() - trained:.0f} s of evaluation")


def _choose(
    out: Path, predictor: TransformerPredictor, original: Mapping[str, Any], mended: Mapping[str, Any]
) -> tuple[float, list[dict[str, Any]]]:
    """Choose α on the validation pairs of the corpora."""
    curve = []
    for alpha in ALPHAS:
        predictor.model.load_state_dict(interpolate_weights(original, mended, alpha))
        row: dict[str, Any] = {"alpha": alpha}
        for name in VALIDATION:
            built = read_exported_set(out / "sets" / f"{name}{_FILE}")
            sample = share(right(built, _answers(built, predictor)))
            row[name] = {"accuracy": float(compute_sample_value(sample)), "pairs": len(sample.columns)}
        curve.append(row)
    return choose_alpha(curve, max_accuracy_loss=MAX_LOSS), curve


def soup(out: Path, names: Sequence[str]) -> None:
    """Evaluate the mean of the weights of several models."""
    folder = _model(out, _soup_title(names))
    average_models([_model(out, name) for name in names], folder)
    write(measure(out, TransformerPredictor.load(folder)), _measured(out, _soup_title(names)))


def _answers(built: BuiltSet, predictor: TransformerPredictor) -> SetPredictions:
    premises, hypotheses = (read_column(built.rows, name).to_pylist() for name in ("premise", "hypothesis"))
    return SetPredictions(predictor.predict(premises, hypotheses), predictor.label_space, has_probabilities=True)


def measure(out: Path, predictor: TransformerPredictor) -> Measures:
    """Evaluate a model on all sets."""
    samples: dict[str, Sample] = {}
    values: dict[str, float] = {}
    parts: dict[str, list[Sample]] = {}
    for path in sorted((out / "sets").glob(f"*{_FILE}")):
        name, built = path.stem, read_exported_set(path)
        found = _answers(built, predictor)
        kind = ", validation" if "validation" in name.split() else ""
        if built.request.name == "permuted":
            picked = dict(scored(built, found))
            for measure_name in ("Ω_max, p ≥ 0.5", "P^c"):
                sample = picked[measure_name].sample
                assert sample is not None
                samples[measure_name + kind] = sample
            continue
        if built.request.name in ("negation", "recombined"):
            parts.setdefault(f"{built.request.name}{kind}", []).append(_clustered(built, found))
            continue
        correct = right(built, found)
        if built.request.name == "soswap_addamod":
            kinds = read_column(built.rows, "kind").to_numpy(zero_copy_only=False)
            for each in ("soswap", "addamod"):
                parts.setdefault(f"{each}{kind}", []).append(share(correct[kinds == each]))
        elif built.request.name == "cs_lambda":
            parts.setdefault("CS_0.7", []).append(share(correct))
        elif built.request.name == "breaking_nli":
            samples["Breaking NLI"] = share(correct)
            samples["Breaking NLI, held-out words"] = share(correct[of_held_out_words(built.rows)])
        else:
            samples[name] = share(correct)
            if name == "snli-test":
                values["ECE, snli-test"] = calibration_error(found, correct)
    samples |= {name: Sample(RATIO, np.concatenate([each.columns for each in some])) for name, some in parts.items()}
    return Measures(samples, values)


def _clustered(built: BuiltSet, found: SetPredictions) -> Sample:
    """Build the sample of the accuracy on two labels, one row per source, whose pairs are not independent."""
    gold = read_numeric_column(built.rows, "label")
    correct = found.align_to_gold(TWO_WAY).predicted == gold
    _, source = np.unique(read_column(built.rows, "source_id").to_numpy(zero_copy_only=False), return_inverse=True)
    columns = np.stack([np.bincount(source, correct), np.bincount(source)], axis=1).astype(np.float64)
    return Sample(RATIO, columns)


if __name__ == "__main__":
    main()
