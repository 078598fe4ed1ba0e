"""K-fold cross-validation on SICCK (Akoju et al. 2023, section 4.2, Tables 9 and 18-24)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.challenge_sets.perturbations.sicck import CONTIGUOUS, SPREAD, WHOLE_SEEDS
from unbag.challenge_sets.request import BuiltSet, SetRequest, build_requested_set
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.corpora import OFFICIAL
from unbag.data.labels import ENTAILMENT, LABELS, REVERSE_ENTAILMENT, parse_label_map
from unbag.data.predictions import SetPredictions
from unbag.inference.label_probe import validate_label_order
from unbag.inference.runner import predict_rows
from unbag.inference.transformer import TransformerPredictor
from unbag.scoring.natural_logic import MEASURES
from unbag.training.data import PairDataset, TrainingData, convert_rows_to_examples, select_pairs
from unbag.training.output import Record
from unbag.training.rearranged import (
    get_record_path,
    order_probabilities,
    train_and_predict,
    write_protocol_record,
)
from unbag.training.seeds import compute_mean_and_deviation
from unbag.training.trainer import OnStep
from unbag.utils import rng

if TYPE_CHECKING:
    from unbag.utils.progress import OnProgress

FILE: Final = "kfold.json"
GROUPS: Final = ("modifier_type", "part", "seed")
"""Groups of pairs: Tables 18-21, Tables 22-24, and whether the training data has other pairs of the same seed (`seen`)
or not (`unseen`)."""
_SET: Final = "sicck"
SEEDS: Final = (12345, 34567, 56789, 98765, 76543)
"""Training seeds in the authors' notebook."""
_FOLDINGS: Final = {"authors": CONTIGUOUS, "spread": SPREAD, "whole_seeds": WHOLE_SEEDS}


def cross_validate(
    config: Any,
    seeds: Sequence[int],
    *,
    built_set: BuiltSet | None = None,
    on_step: Callable[[str], OnStep | None] | None = None,
    progress_callback: "OnProgress | None" = None,
) -> Record:
    """Run k-fold cross-validation once per seed: predict each fold after fine-tuning on the others, and compute scores.

    A three-way classifier learns pairs of SICCK with three labels (`select_fold_data`), and predicts both rows of each
    pair: the original and the one with premise and hypothesis exchanged. The reverse rule turns both predictions into
    one of four labels (`scoring.natural_logic`). The model without fine-tuning is scored in the same way. Folds do not
    depend on the training seed; all other random numbers do. Each fold is trained to the last step.

    An interrupted run resumes when called again.

    Args:
        config: Its options. The output folder gets a folder per seed, with the predictions of each fold, and at the end
            the record `kfold.json`. A folder with folds of another run raises a `ValueError`.
        seeds: Training seeds; an empty list stands for the authors' five (`SEEDS`).

    Returns:
        `zero_shot`, the scores of the model without fine-tuning, and `runs`, the scores per seed, in which each pair is
        predicted by the model that was not trained on it; `summary`: by group of pairs and measure `zero_shot`, `mean`,
        `standard_deviation` (of a sample; None for one run) and `values`; config, data and versions.
    """
    seeds = seeds or SEEDS
    if built_set is None:
        options: dict[str, Any] = {"folds": config.folds, "folding": _FOLDINGS[config.protocol]}
        options |= {"file": str(config.official_file)} if config.official_file else {}
        built_set = build_requested_set(SetRequest(_SET, OFFICIAL, options))
    model, probabilities = _zero_shot(config, built_set, progress_callback)
    zero_shot = _scores(built_set, probabilities)
    runs: list[dict[str, Any]] = []
    for seed in seeds:
        folds: list[dict[str, Any]] = []
        by_id: dict[str, list[float]] = {}
        for fold in range(config.folds):
            out = config.output_dir / f"seed-{seed}" / f"fold-{fold}"
            rows = built_set.rows.select(np.flatnonzero(read_numeric_column(built_set.rows, "fold") == fold))
            trained = train_and_predict(
                # The data identify the run; the path of their file does not.
                replace(config, seed=seed, output_dir=out, official_file=None, keep_models=False),
                select_fold_data(built_set, fold, protocol=config.protocol, seed=seed),
                rows,
                ("plain",),
                title=f"seed {seed}, fold {fold}",
                keep_model=config.keep_models,
                on_step=on_step,
            )
            by_id |= trained["probabilities"]["plain"]
            steps, truncated = trained["training"]["steps"], trained["truncated_pairs"]
            pairs = len(rows.unique("pair"))
            folds.append({"fold": fold, "pairs": pairs, "truncated_pairs": truncated, "steps": steps})
            trained_from = trained["training"]["model"]["revision"]
            if trained_from != model["revision"]:
                raise ValueError(
                    f"{get_record_path(out)}: expected model revision {trained_from}, got {model['revision']}; "
                    "use --revision, or another --output-dir"
                )
        scores = _scores(built_set, order_probabilities(built_set.rows, by_id))
        runs.append({"seed": seed, "folds": folds, "scores": scores})
    record = {
        "model": model,
        "set": dict(built_set.config),
        "data": dict(built_set.data),
        "zero_shot": zero_shot,
        "runs": runs,
        "summary": summarize_folds(zero_shot, [each["scores"] for each in runs]),
    }
    # The path of the file does not matter, and the seeds of all runs are recorded.
    return write_protocol_record(config.output_dir / FILE, config, seeds, record, official_file=None, seed=None)


def select_fold_data(built_set: BuiltSet, fold: int, *, protocol: str = "authors", seed: int) -> TrainingData:
    """Select the training and held-out pairs of the model that predicts a fold.

    `authors`: original rows, not exchanged, with three labels, forward and reverse entailment both entailment; a random
    tenth of them, rounded up, is held out. `spread` and `whole_seeds`: both rows of each pair, each with its own label
    (an exchanged one has entailment if its pair is reverse entailment); the fold is held out.

    Args:
        built_set: Challenge set with the column `fold`, which numbers the folds.
        seed: Random seed for the held-out tenth.
    """
    rows = built_set.rows
    in_fold = read_numeric_column(rows, "fold") == fold
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

    if protocol != "authors":
        return TrainingData((select_pairs(part, "held out", ~in_fold),), (select_pairs(part, "trained on", in_fold),))
    is_original = ~read_numeric_column(rows, "reverse").astype(bool)
    training = select_pairs(select_pairs(part, "exchanged", is_original), "predicted", ~in_fold[is_original])
    lots = [int(rng.compute_key(seed, "held out", fold, example.source_id)) for example in training.examples]
    tenth = np.zeros(len(lots), dtype=bool)
    # uint64, since the keys exceed the range of int64; stable, so that ties do not depend on the algorithm.
    tenth[np.argsort(np.array(lots, dtype=np.uint64), kind="stable")[: math.ceil(len(lots) / 10)]] = True
    return TrainingData((select_pairs(training, "held out", ~tenth),), (select_pairs(training, "trained on", tenth),))


def summarize_folds(zero_shot: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summarize the scores of all runs and the scores without fine-tuning, for all pairs and by group."""

    def summarize(before: Mapping[str, Any], after: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        summary: dict[str, Any] = {"pairs": before[MEASURES[0]].n}
        for name in MEASURES:
            values = [scores[name].value for scores in after]
            summary[name] = {"zero_shot": before[name].value, **compute_mean_and_deviation(values)}
        return summary

    by = {
        name: {
            value: summarize(scores, [each["by"][name][value] for each in runs])
            for value, scores in zero_shot["by"][name].items()
        }
        for name in GROUPS
    }
    return {"all": summarize(zero_shot, runs), **by}


def _zero_shot(
    config: Any, built: BuiltSet, progress_callback: "OnProgress | None"
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


def _scores(built: BuiltSet, probabilities: NDArray[np.float32]) -> dict[str, Any]:
    def score(rows: NDArray[np.bool_]) -> dict[str, Any]:
        predictions = SetPredictions(probabilities[rows], LABELS, has_probabilities=True)
        return dict(
            challenge_sets.get_challenge_set(_SET).score_rows(built.rows.select(np.flatnonzero(rows)), predictions)
        )

    scores, seen = score(np.ones(len(built.rows), dtype=bool)), compute_seed_leak_mask(built)
    by_seed = {name: score(rows) for name, rows in (("seen", seen), ("unseen", ~seen)) if rows.any()}
    of_seed = {name: {measure: group[measure] for measure in MEASURES} for name, group in by_seed.items()}
    return {**scores, "by": {**scores["by"], "seed": of_seed}}


def compute_seed_leak_mask(built_set: BuiltSet) -> NDArray[np.bool_]:
    """Compute a mask of the rows whose seed (unmodified pair) also occurs in other folds, shape (n,).

    The model that predicts the row is trained on these other folds.
    """
    rows = built_set.rows.select_columns(["source_id", "fold"]).to_pandas()
    mask: NDArray[np.bool_] = (rows.groupby("source_id")["fold"].transform("nunique") > 1).to_numpy()
    return mask
