"""K-fold cross-validation on SICCK (Akoju et al. 2023, section 4.2, Tables 9 and 18-24)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.challenge_sets import results
from unbag.challenge_sets.perturbations.sicck import CONTIGUOUS, SPREAD, WHOLE_SEEDS
from unbag.challenge_sets.request import BuiltSet, SetRequest, build_requested_set
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.corpora import OFFICIAL
from unbag.data.labels import ENTAILMENT, LABELS, REVERSE_ENTAILMENT, parse_label_map
from unbag.data.predictions import SetPredictions
from unbag.inference.distributed import connect_process_group
from unbag.inference.label_probe import validate_label_order
from unbag.inference.prediction_store import PREDICTIONS
from unbag.inference.runner import predict_rows
from unbag.inference.transformer import TransformerPredictor
from unbag.scoring.bootstrap import to_json
from unbag.scoring.natural_logic import MEASURES
from unbag.training import preflight
from unbag.training.config_recipes import SEEDS, FoldProtocol, KFoldConfig
from unbag.training.data import PairDataset, TrainingData, convert_rows_to_examples, filter_dataset
from unbag.training.output import Record
from unbag.training.rearranged import get_record_path, load_or_train
from unbag.training.recipes import Recipe
from unbag.training.run import run
from unbag.training.seeds import compute_mean_and_deviation, validate_distinct_seeds
from unbag.training.trainer import OnStep
from unbag.utils import rng
from unbag.utils.files import write_json

if TYPE_CHECKING:
    from unbag.utils.progress import OnProgress

FILE: Final = "kfold.json"
GROUPS: Final = ("modifier_type", "part", "seed")
"""Groups of pairs: Tables 18-21, Tables 22-24, and whether the training data has other pairs of the same seed (`seen`)
or not (`unseen`)."""
_SET: Final = "sicck"
_FOLDINGS: Final[Mapping[FoldProtocol, str]] = {"authors": CONTIGUOUS, "spread": SPREAD, "whole_seeds": WHOLE_SEEDS}
_SCHEMA: Final = 1


def cross_validate(
    recipe: Recipe,
    config: KFoldConfig,
    seeds: Sequence[int],
    *,
    built_set: BuiltSet | None = None,
    on_step: Callable[[str], OnStep | None] | None = None,
    progress_callback: "OnProgress | None" = None,
) -> Record:
    """Run k-fold cross-validation once per seed: predict each fold after fine-tuning on the others, and compute scores.

    A three-way classifier keeps its head. It learns pairs of SICCK with three labels (`select_fold_data`). It predicts
    both rows of each pair: the original and the one with premise and hypothesis exchanged. The reverse rule turns both
    predictions into one of four labels (`scoring.natural_logic`). The model without fine-tuning is scored in the same
    way. The config's `protocol` chooses folds and training pairs (`config_recipes.FoldProtocol`). Folds do not depend
    on the training seed; all other random numbers do. Predicted pairs never select a model: each fold is trained to the
    last step.

    An interrupted run resumes when called again: folds with stored predictions are not trained again, and an unfinished
    fold resumes from its checkpoint.

    Args:
        config: Its options. The output folder gets a folder per seed, with the predictions of each fold, and at the end
            the record `kfold.json`. A folder with folds of another run raises a `ValueError`.
        seeds: Training seeds; an empty list stands for the authors' five (`config_recipes.SEEDS`).

    Returns:
        `zero_shot`, the scores of the model without fine-tuning, and `runs`, the scores per seed, in which each pair is
        predicted by the model that was not trained on it; `summary`: by group of pairs and measure `zero_shot`, `mean`,
        `standard_deviation` (of a sample; None for one run) and `values`; config, data and versions.
    """
    seeds = validate_distinct_seeds(seeds) or list(SEEDS)
    preflight.validate_training_options(config)
    if built_set is None:
        options: dict[str, Any] = {"folds": config.folds, "folding": _FOLDINGS[config.protocol]}
        options |= {"file": str(config.official_file)} if config.official_file else {}
        built_set = build_requested_set(SetRequest(_SET, OFFICIAL, options))
    model, probabilities = _zero_shot(config, built_set, progress_callback)
    zero_shot = _scores(built_set, probabilities)
    runs: list[dict[str, Any]] = []
    for seed in seeds:
        folds: list[Record] = []
        for fold in range(config.folds):
            out = config.output_dir / f"seed-{seed}" / f"fold-{fold}"
            each = replace(config, seed=seed, output_dir=out)
            folds.append(
                _fold(recipe, each, built_set, fold, on_step(f"seed {seed}, fold {fold}") if on_step else None)
            )
            trained_from = folds[-1]["training"]["model"]["revision"]
            if trained_from != model["revision"]:
                raise ValueError(
                    f"{get_record_path(out)}: expected model revision {trained_from}, got {model['revision']}; "
                    "use --revision, or another --output-dir"
                )
        scores = _scores(built_set, collect_out_of_fold_probabilities(built_set, folds))
        fold_records = [
            {name: fold[name] for name in ("fold", "pairs", "truncated_pairs")} | {"steps": fold["training"]["steps"]}
            for fold in folds
        ]
        runs.append({"seed": seed, "folds": fold_records, "scores": scores})
    record: Record = {
        "schema": _SCHEMA,
        "recipe": recipe.name,
        # Paths of folders do not matter, and the seeds of all runs are recorded below.
        "config": config.to_json() | {"output_dir": config.output_dir.name, "official_file": None, "seed": None},
        "seeds": seeds,
        "model": model,
        "set": dict(built_set.config),
        "data": dict(built_set.data),
        "zero_shot": zero_shot,
        "runs": runs,
        "summary": summarize_folds(zero_shot, [each["scores"] for each in runs]),
        "environment": results.collect_environment(),
    }
    # Through JSON types once, so that the returned record equals the file.
    record = dict(to_json(record))
    if connect_process_group().rank == 0:
        write_json(record, config.output_dir / FILE)
    return record


def select_fold_data(built_set: BuiltSet, fold: int, *, protocol: FoldProtocol = "authors", seed: int) -> TrainingData:
    """Select the training and held-out pairs of the model that predicts a fold.

    `authors`: original rows, not exchanged, with three labels, forward and reverse entailment both entailment; a random
    tenth of them, rounded up, is held out. `spread` and `whole_seeds`: both rows of each pair, each with its own label
    (an exchanged one has entailment if its pair is reverse entailment); the fold is held out.

    Args:
        built_set: Challenge set with the column `fold`, which numbers the folds.
        seed: Random seed for the held-out tenth.
    """
    rows = built_set.rows
    in_fold = _of_fold(built_set, fold)
    if in_fold.all() or not in_fold.any():
        raise ValueError(
            f"expected pairs in fold {fold} and in other folds, got {in_fold.sum()} of {len(in_fold)} rows in fold "
            f"{fold}; use more pairs"
        )
    examples = convert_rows_to_examples(rows)
    if protocol == "authors":
        four_way = read_column(rows, "four_way").to_pylist()
        examples = [
            example._replace(label=ENTAILMENT) if four == REVERSE_ENTAILMENT else example
            for four, example in zip(four_way, examples, strict=True)
        ]
    record = {
        "origin": built_set.data["origin"],
        "splits": [],
        "revisions": [built_set.data["revision"]],
        "rows": len(examples),
        "excluded": {},
    }
    part = PairDataset(_SET, examples, 1.0, built_set.language, record)

    def keep(part: PairDataset, reason: str, kept: NDArray[np.bool_]) -> PairDataset:
        return filter_dataset(
            part, reason, [each for each, is_kept in zip(part.examples, kept, strict=True) if is_kept]
        )

    if protocol != "authors":
        return TrainingData((keep(part, "held out", ~in_fold),), (keep(part, "trained on", in_fold),))
    is_original = ~read_numeric_column(rows, "reverse").astype(bool)
    training = keep(keep(part, "exchanged", is_original), "predicted", ~in_fold[is_original])
    lots = [int(rng.compute_key(seed, "held out", fold, example.source_id)) for example in training.examples]
    tenth = np.zeros(len(lots), dtype=bool)
    # uint64, since the keys exceed the range of int64; stable, so that ties do not depend on the algorithm.
    tenth[np.argsort(np.array(lots, dtype=np.uint64), kind="stable")[: math.ceil(len(lots) / 10)]] = True
    return TrainingData((keep(training, "held out", ~tenth),), (keep(training, "trained on", tenth),))


def collect_out_of_fold_probabilities(built_set: BuiltSet, folds: Sequence[Mapping[str, Any]]) -> NDArray[np.float32]:
    """Collect the out-of-fold probabilities of all n rows, in the order of `LABELS`, shape (n, 3).

    The record of each fold has `probabilities` by row id.
    """
    by_id = {name: values for fold in folds for name, values in fold["probabilities"].items()}
    # JSON stores the float32 values as exact doubles, so that they return bit for bit.
    return np.array([by_id[name] for name in read_column(built_set.rows, "id").to_pylist()], dtype=np.float32)


def summarize_folds(zero_shot: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summarize the scores of all runs and the scores without fine-tuning, for all pairs and by group."""

    def summarize(select: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> dict[str, Any]:
        before = select(zero_shot)
        summary: dict[str, Any] = {"pairs": before[MEASURES[0]].n}
        for name in MEASURES:
            values = [select(scores)[name].value for scores in runs]
            summary[name] = {"zero_shot": before[name].value, **compute_mean_and_deviation(values)}
        return summary

    def group(name: str, value: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
        return lambda scores: scores["by"][name][value]

    by = {name: {value: summarize(group(name, value)) for value in zero_shot["by"][name]} for name in GROUPS}
    return {"all": summarize(lambda scores: scores), **by}


def _zero_shot(
    config: KFoldConfig, built: BuiltSet, progress_callback: "OnProgress | None"
) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """Predict all rows with the model before training. Returns its identity and the probabilities."""
    predictor = TransformerPredictor.load(
        config.model,
        revision=config.revision,
        label_map=parse_label_map(config.label_map) if config.label_map else None,
        max_length=config.max_length,
    )
    if predictor.label_space != LABELS:
        raise ValueError(
            f"--model: expected a classifier with the labels {', '.join(LABELS)}, got "
            f"{', '.join(predictor.label_space)}; use another model"
        )
    validate_label_order(predictor, built.language, has_label_map=config.label_map is not None)
    progress = None if progress_callback is None else partial(progress_callback, f"{_SET}, zero-shot")
    predictions = predict_rows(built.rows, predictor, config.output_dir / "zero-shot", progress=progress)
    identity = {"name": config.model, **predictor.identity, "truncated_pairs": predictions.truncated}
    return identity, predictions.load_probabilities(LABELS)


def _fold(recipe: Recipe, config: KFoldConfig, built: BuiltSet, fold: int, on_step: OnStep | None) -> Record:
    """Load the record of one fold with its predictions, or train and predict it."""
    data = select_fold_data(built, fold, protocol=config.protocol, seed=config.seed)

    def train_and_predict() -> Record:
        # The data identify the run; the path of their file does not.
        training = run(recipe, replace(config, official_file=None, keep_models=False), data=data, on_step=on_step)
        rows = built.rows.select(np.flatnonzero(_of_fold(built, fold)))
        predictor = TransformerPredictor.load(config.output_dir, max_length=config.max_length)
        predictions = predict_rows(rows, predictor, config.output_dir / PREDICTIONS)
        probabilities = predictions.load_probabilities(LABELS).tolist()
        return {
            "schema": _SCHEMA,
            "fold": fold,
            "pairs": len(rows.unique("pair")),
            "truncated_pairs": predictions.truncated,
            "labels": list(LABELS),
            "probabilities": dict(zip(read_column(rows, "id").to_pylist(), probabilities, strict=True)),
            "training": training,
        }

    return load_or_train(config, data, train_and_predict, keep_model=config.keep_models)


def _of_fold(built: BuiltSet, fold: int) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = read_numeric_column(built.rows, "fold") == fold
    return mask


def _scores(built: BuiltSet, probabilities: NDArray[np.float32]) -> dict[str, Any]:
    def score(rows: NDArray[np.bool_]) -> dict[str, Any]:
        predictions = SetPredictions(probabilities[rows], LABELS, has_probabilities=True)
        return dict(
            challenge_sets.get_challenge_set(_SET).score_rows(built.rows.select(np.flatnonzero(rows)), predictions)
        )

    scores, seen = score(np.ones(len(built.rows), dtype=bool)), compute_seed_leak_mask(built)
    by_seed = {
        name: {measure: group[measure] for measure in MEASURES}
        for name, rows in (("seen", seen), ("unseen", ~seen))
        if rows.any()
        for group in (score(rows),)
    }
    return {**scores, "by": {**scores["by"], "seed": by_seed}}


def compute_seed_leak_mask(built_set: BuiltSet) -> NDArray[np.bool_]:
    """Compute a mask of the rows whose seed (unmodified pair) also occurs in other folds, shape (n,).

    The model that predicts the row is trained on these other folds.
    """
    folds = read_numeric_column(built_set.rows, "fold").tolist()
    by_seed: dict[str, set[int]] = {}
    seeds = read_column(built_set.rows, "source_id").to_pylist()
    for seed, fold in zip(seeds, folds, strict=True):
        by_seed.setdefault(seed, set()).add(fold)
    return np.array([len(by_seed[seed]) > 1 for seed in seeds])
