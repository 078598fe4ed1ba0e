"""Cross-validation on SICCK: Akoju et al. (2023), section 4.2, Tables 9 and 18-24."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.challenge_sets import results
from unbag.challenge_sets.perturbations.sicck import CONTIGUOUS, SPREAD, WHOLE_SEEDS
from unbag.challenge_sets.request import BuiltSet, Request, build
from unbag.data.columns import column, numbers
from unbag.data.corpora import OFFICIAL
from unbag.data.labels import ENTAILMENT, LABELS, REVERSE_ENTAILMENT, parse_label_map
from unbag.data.predictions import SetPredictions
from unbag.inference.distributed import process_group
from unbag.inference.label_probe import validate_label_order
from unbag.inference.prediction_store import PREDICTIONS
from unbag.inference.runner import predict_rows
from unbag.inference.transformer import TransformerPredictor
from unbag.scoring.bootstrap import to_json
from unbag.scoring.natural_logic import MEASURES
from unbag.training import preflight
from unbag.training.config_recipes import SEEDS, KFoldConfig, Protocol
from unbag.training.data import Part, TrainingData, examples_from_rows, keep_examples
from unbag.training.loop import OnStep
from unbag.training.output import Record
from unbag.training.rearranged import answered, path_of
from unbag.training.recipes import Recipe
from unbag.training.run import run
from unbag.training.seeds import different, over_seeds
from unbag.utils import rng
from unbag.utils.files import write_json

if TYPE_CHECKING:
    from unbag.evaluation.evaluator import OnProgress

FILE: Final = "kfold.json"
GROUPS: Final = ("modifier_type", "part", "seed")
"""Tables 18-21, Tables 22-24, and whether training met other pairs of the same seed (`seen`) or none (`unseen`)."""
_SET: Final = "sicck"
_FOLDINGS: Final[Mapping[Protocol, str]] = {"authors": CONTIGUOUS, "spread": SPREAD, "whole_seeds": WHOLE_SEEDS}
_SCHEMA: Final = 1


def cross_validate(
    recipe: Recipe,
    config: KFoldConfig,
    seeds: Sequence[int],
    *,
    built: BuiltSet | None = None,
    on_step: Callable[[str], OnStep | None] | None = None,
    on_progress: "OnProgress | None" = None,
) -> Record:
    """Fine-tune a model on all folds but one and predict that one, for each fold and seed; score all predictions.

    A three-way classifier keeps its head. It learns pairs of SICCK with three labels (`fold_data`) and predicts both
    rows of each, as it is and with premise and hypothesis exchanged; the reverse rule makes one of four labels of them,
    as it does for the model as it is (`challenge_sets.sicck`), which is scored beside. Which pairs a fold has and what
    is learnt of the others is the config's `protocol` (`config_recipes.Protocol`): by default the authors', else ours.
    Folds do not depend on the training seed, which decides all else. Nothing is chosen by the pairs that are predicted:
    a fold is trained to the last step, and that model predicts.

    A run that was stopped goes on when called again: a fold whose predictions are there is not trained again, and one
    in the midst goes on from its checkpoint.

    Args:
        recipe: the recipe.
        config: its config. `out` gets a folder for each seed, with the predictions of each fold, and in the end
            `kfold.json`, what is returned.
        seeds: the training seeds; none means the authors' five (`config_recipes.SEEDS`).
        built: the set; by default the official one.
        on_step: makes the `OnStep` of a fold's run from what to call it.
        on_progress: see `unbag.evaluation.evaluator`; of the model as it is.

    Returns:
        `zero_shot`, the scores of the model as it is, and `runs`, for each seed the scores of all pairs, each by the
        model that did not train on it; `summary`: by group of pairs and measure `zero_shot`, `mean`,
        `standard_deviation` (of a sample; None of one run) and the `values`; what was run, on what, with what.

    Raises:
        ValueError: if a seed comes twice, or `config.output_dir` holds folds of another run; see also `run`.
    """
    seeds = different(seeds) or list(SEEDS)
    preflight.check(config)
    built = built or build(_official(config))
    model, answers = _zero_shot(
        config.model,
        built,
        config.output_dir / "zero-shot",
        revision=config.revision,
        label_map=config.label_map,
        max_length=config.max_length,
        on_progress=on_progress,
    )
    zero_shot = _scores(built, answers)
    runs: list[dict[str, Any]] = []
    for seed in seeds:
        folds: list[Record] = []
        for fold in range(config.folds):
            out = config.output_dir / f"seed-{seed}" / f"fold-{fold}"
            each = replace(config, seed=seed, output_dir=out)
            folds.append(_fold(recipe, each, built, fold, on_step(f"seed {seed}, fold {fold}") if on_step else None))
            trained_from = folds[-1]["training"]["model"]["revision"]
            if trained_from != model["revision"]:
                raise ValueError(
                    f"{path_of(out)} is of the model at {trained_from}, got it at {model['revision']}; name "
                    "that with --revision, or another folder with --out"
                )
        scores = _scores(built, out_of_fold(built, folds))
        fold_records = [
            {name: fold[name] for name in ("fold", "pairs", "truncated_pairs")} | {"steps": fold["training"]["steps"]}
            for fold in folds
        ]
        runs.append({"seed": seed, "folds": fold_records, "scores": scores})
    record: Record = {
        "schema": _SCHEMA,
        "recipe": recipe.name,
        # Where they lie does not matter; the seeds that were run stand beside.
        "config": config.to_json() | {"output_dir": config.output_dir.name, "file": None, "seed": None},
        "seeds": seeds,
        "model": model,
        "set": dict(built.config),
        "data": dict(built.data),
        "zero_shot": zero_shot,
        "runs": runs,
        "summary": summarise(zero_shot, [each["scores"] for each in runs]),
        "environment": results.environment(),
    }
    record = dict(to_json(record))
    if process_group().rank == 0:
        write_json(record, config.output_dir / FILE)
    return record


def _official(config: KFoldConfig) -> Request:
    options: dict[str, Any] = {"folds": config.folds, "folding": _FOLDINGS[config.protocol]}
    return Request(_SET, OFFICIAL, options | ({"file": str(config.file)} if config.file else {}))


def fold_data(built: BuiltSet, fold: int, *, protocol: Protocol = "authors", seed: int) -> TrainingData:
    """Return what is learnt of the rows of all folds but one, and what is held out.

    `authors`: pairs as they are, not exchanged, with three labels, forward and reverse entailment both entailment; held
    out is a random tenth of them, rounded up. `spread` and `whole_seeds`: both rows of each pair, each with its own
    label (one exchanged has entailment where its pair is reverse entailment); held out is the fold.

    Args:
        built: the set, with its column `fold`.
        fold: the one that is to be predicted.
        protocol: see `config_recipes.Protocol`; which pairs a fold has is the set's.
        seed: decides the tenth.

    Raises:
        ValueError: if no row is in the fold, or all are.
    """
    rows = built.rows
    in_fold = _of_fold(built, fold)
    if in_fold.all() or not in_fold.any():
        raise ValueError(
            f"expected pairs in fold {fold} and in others, got {in_fold.sum()} of {len(in_fold)} rows in it"
        )
    examples = examples_from_rows(rows)
    if protocol == "authors":
        four_way = column(rows, "four_way").to_pylist()
        examples = [
            example._replace(label=ENTAILMENT) if four == REVERSE_ENTAILMENT else example
            for four, example in zip(four_way, examples, strict=True)
        ]
    record = {
        "origin": built.data["origin"],
        "splits": [],
        "revisions": [built.data["revision"]],
        "rows": len(examples),
        "left_out": {},
    }
    part = Part(_SET, examples, 1.0, built.language, record)

    def some(part: Part, reason: str, kept: NDArray[np.bool_]) -> Part:
        return keep_examples(part, reason, [example for example, keep in zip(part.examples, kept, strict=True) if keep])

    if protocol != "authors":
        return TrainingData((some(part, "held out", ~in_fold),), (some(part, "trained on", in_fold),))
    as_it_is = ~numbers(rows, "reverse").astype(bool)
    learnt = some(some(part, "exchanged", as_it_is), "predicted", ~in_fold[as_it_is])
    lots = [int(rng.key(seed, "held out", fold, example.source_id)) for example in learnt.examples]
    tenth = np.zeros(len(lots), dtype=bool)
    tenth[np.argsort(np.array(lots, dtype=np.uint64), kind="stable")[: math.ceil(len(lots) / 10)]] = True
    return TrainingData((some(learnt, "held out", ~tenth),), (some(learnt, "trained on", tenth),))


def out_of_fold(built: BuiltSet, folds: Sequence[Mapping[str, Any]]) -> NDArray[np.float32]:
    """Return the probabilities of all rows, of `LABELS`, each by the model of its fold, shape (n, 3).

    Args:
        built: the set of n rows.
        folds: by fold its number and `probabilities`, of `LABELS` by the row's id.
    """
    by_id = {name: values for fold in folds for name, values in fold["probabilities"].items()}
    return np.array([by_id[name] for name in column(built.rows, "id").to_pylist()], dtype=np.float32)


def summarise(zero_shot: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return each measure before and after, over runs, of all pairs (`all`) and by each of `GROUPS`.

    Args:
        zero_shot: scores as `scoring.natural_logic` gives them.
        runs: likewise, of each run.
    """

    def measured(of: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> dict[str, Any]:
        before = of(zero_shot)
        summary: dict[str, Any] = {"pairs": before[MEASURES[0]].n}
        for name in MEASURES:
            values = [of(scores)[name].value for scores in runs]
            summary[name] = {"zero_shot": before[name].value, **over_seeds(values)}
        return summary

    def group(name: str, value: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
        return lambda scores: scores["by"][name][value]

    by = {name: {value: measured(group(name, value)) for value in zero_shot["by"][name]} for name in GROUPS}
    return {"all": measured(lambda scores: scores), **by}


def _zero_shot(
    model: str,
    built: BuiltSet,
    out: Path,
    *,
    revision: str | None,
    label_map: str | None,
    max_length: int | None,
    on_progress: "OnProgress | None",
) -> tuple[dict[str, Any], NDArray[np.float32]]:
    """Return what decides a model's numbers, and its probabilities of all rows before any training."""
    mapping = parse_label_map(label_map) if label_map else None
    predictor = TransformerPredictor.load(model, revision=revision, label_map=mapping, max_length=max_length)
    if predictor.label_space != LABELS:
        raise ValueError(f"expected a classifier of {', '.join(LABELS)}, got one of {', '.join(predictor.label_space)}")
    validate_label_order(predictor, built.language, mapped=label_map is not None)
    progress = None if on_progress is None else lambda done, total: on_progress(f"{_SET}, zero-shot", done, total)
    predictions = predict_rows(built.rows, predictor, out, progress=progress)
    identity = {"name": model, **predictor.identity, "truncated_pairs": predictions.truncated}
    return identity, predictions.array(LABELS)


def _fold(recipe: Recipe, config: KFoldConfig, built: BuiltSet, fold: int, on_step: OnStep | None) -> Record:
    """Return the record of one fold with its predictions; train and predict it if it is not there."""
    data = fold_data(built, fold, protocol=config.protocol, seed=config.seed)

    def train_and_predict() -> Record:
        # What is trained is known by its data, wherever they come from.
        training = run(recipe, replace(config, file=None, keep_models=False), data=data, on_step=on_step)
        rows = built.rows.select(np.flatnonzero(_of_fold(built, fold)))
        predictor = TransformerPredictor.load(config.output_dir, max_length=config.max_length)
        predictions = predict_rows(rows, predictor, config.output_dir / PREDICTIONS)
        probabilities = predictions.array(LABELS).tolist()
        return {
            "schema": _SCHEMA,
            "fold": fold,
            "pairs": len(rows.unique("pair")),
            "truncated_pairs": predictions.truncated,
            "labels": list(LABELS),
            "probabilities": dict(zip(column(rows, "id").to_pylist(), probabilities, strict=True)),
            "training": training,
        }

    return answered(config, data, train_and_predict, keep_model=config.keep_models)


def _of_fold(built: BuiltSet, fold: int) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = numbers(built.rows, "fold") == fold
    return mask


def _scores(built: BuiltSet, probabilities: NDArray[np.float32]) -> dict[str, Any]:
    def scored(rows: NDArray[np.bool_]) -> dict[str, Any]:
        answers = SetPredictions(probabilities[rows], LABELS, has_probabilities=True)
        return dict(challenge_sets.get(_SET).score_rows(built.rows.select(np.flatnonzero(rows)), answers))

    scores, seen = scored(np.ones(len(built.rows), dtype=bool)), seen_seeds(built)
    by_seed = {
        name: {measure: found[measure] for measure in MEASURES}
        for name, rows in (("seen", seen), ("unseen", ~seen))
        if rows.any()
        for found in (scored(rows),)
    }
    return {**scores, "by": {**scores["by"], "seed": by_seed}}


def seen_seeds(built: BuiltSet) -> NDArray[np.bool_]:
    """Return for each row whether other folds, which its fold's model is trained on, have rows of the same seed."""
    folds = numbers(built.rows, "fold").tolist()
    by_seed: dict[str, set[int]] = {}
    seeds = column(built.rows, "source_id").to_pylist()
    for seed, fold in zip(seeds, folds, strict=True):
        by_seed.setdefault(seed, set()).add(fold)
    return np.array([len(by_seed[seed]) > 1 for seed in seeds])
